"""uvicorn around the application: one process, its signals, and an end that lets answers finish."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from importlib.util import find_spec
from types import FrameType
from typing import Any

import uvicorn

from ..client.models_file import ConfigError
from .app import Gateway
from .config import Snapshot, StartError
from .state import State

__all__ = ["Server", "in_background", "serve", "settings_of"]

log = logging.getLogger("interlingua.gateway")
START_SECONDS = 20.0


class Server(uvicorn.Server):
    """As uvicorn's; at SIGTERM it is not ready first, then stops accepting, then ends. SIGHUP reads the file again."""

    def __init__(self, config: uvicorn.Config, state: State, read: Callable[[], Snapshot] | None = None) -> None:
        super().__init__(config)
        self._state, self._read = state, read

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if sig != signal.SIGTERM or self._state.draining:
            super().handle_exit(sig, frame)
            return
        self._state.draining = True
        seconds = self._state.snapshot.settings.not_ready_seconds
        asyncio.get_running_loop().call_later(seconds, super().handle_exit, sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self._read is not None and hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self.reload)

    def reload(self) -> None:
        """Read the configuration again. A file with errors changes nothing, and the log says why."""
        assert self._read is not None
        try:
            self._state.replace(self._read())
        except (ConfigError, StartError) as error:
            log.warning("the configuration has errors; the old one stays in use: %s", error)


def settings_of(state: State) -> dict[str, Any]:
    """How uvicorn is run. It speaks no WebSocket, and logs only what is wrong."""
    return {
        "app": Gateway(state),
        "host": state.snapshot.settings.host,
        "loop": "uvloop" if find_spec("uvloop") is not None else "asyncio",
        "http": "httptools" if find_spec("httptools") is not None else "h11",
        "ws": "none",
        "lifespan": "on",
        "access_log": False,
        "log_config": None,
        "log_level": "critical",  # an answer that is broken off on purpose is an error to it
        "server_header": False,
        "date_header": True,
        "timeout_graceful_shutdown": state.snapshot.settings.stream_seconds,
        "timeout_keep_alive": 75,
    }


@contextmanager
def in_background(state: State) -> Generator[str]:
    """A server in a thread of its own, on a free port of loopback, for as long as the block runs. Gives its URL."""
    started = threading.Event()

    class Announced(Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            started.set()

    settings: dict[str, Any] = {**settings_of(state), "host": "127.0.0.1", "port": 0, "timeout_graceful_shutdown": 1}
    server = Announced(uvicorn.Config(**settings), state)
    thread = threading.Thread(target=server.run, name="interlingua-gateway", daemon=True)
    thread.start()
    if not started.wait(START_SECONDS):
        raise StartError("the gateway did not start; its log says why")
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(START_SECONDS)


def serve(state: State, announce: Callable[[str], object], read: Callable[[], Snapshot] | None = None) -> int:
    """Serve until a signal ends it. ``announce`` is told the URL; ``read`` reads the configuration again."""
    listening = socket.socket(socket.AF_INET6 if ":" in state.snapshot.settings.host else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((state.snapshot.settings.host, state.snapshot.settings.port))
    except OSError as error:
        log.error("cannot listen on %s: %s", state.snapshot.settings.port, error)
        return 1
    listening.listen(2048)
    host, port = listening.getsockname()[:2]
    announce(f"http://{f'[{host}]' if ':' in host else host}:{port}")
    Server(uvicorn.Config(**settings_of(state)), state, read).run(sockets=[listening])
    return 0

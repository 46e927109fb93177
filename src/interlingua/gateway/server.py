"""uvicorn around the application: one process or several, their signals, and a shutdown that lets answers finish."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from ..client.models_file import ConfigError
from ..client.models_file.watching import stamp_of
from .app import Gateway
from .config import Snapshot, StartError
from .connection import Connection
from .state import State
from .workers import can_fork, supervise

__all__ = ["Server", "in_background", "serve", "settings_of"]

log = logging.getLogger("interlingua.gateway")
START_SECONDS = 20.0
GC_THRESHOLDS = 20_000, 2, 2
"""How many new objects start a garbage collection; the default makes it needlessly frequent."""
SETTLED = 100, 5_000
"""After so many requests, most of what is loaded on first use is loaded: the collector is adjusted again."""
TICKS = 10
"""How often uvicorn ticks in a second."""
FIXED = ("host", "port", "workers", "models", "secret_env")
"""Settings that take effect only at the start."""

Read = Callable[[], Snapshot]


class Server(uvicorn.Server):
    """uvicorn's server, which at SIGTERM first reports that it is not ready, then stops accepting, then ends.

    It reads the configuration again at SIGHUP and when the file has changed.
    """

    unsettled: tuple[int, ...] = SETTLED

    def __init__(self, config: uvicorn.Config, state: State, read: Read | None = None) -> None:
        super().__init__(config)
        self._state, self._read = state, read
        self._gateway: Gateway = config.app  # type: ignore[assignment]
        self._stamp = self._stamp_now()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        was_draining, self._state.draining = self._state.draining, True
        if sig != signal.SIGTERM or was_draining:
            super().handle_exit(sig, frame)
            return
        seconds = self._state.snapshot.settings.not_ready_seconds
        asyncio.get_running_loop().call_later(seconds, super().handle_exit, sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        if self._read is not None and hasattr(signal, "SIGHUP"):
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self.reload)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._state.draining = True
        self.config.timeout_graceful_shutdown = self._grace_seconds  # type: ignore[assignment]
        await super().shutdown(sockets=sockets)
        await self._gateway.close()

    @property
    def _grace_seconds(self) -> float:
        """How long answers may go on after the server stopped accepting."""
        return self._state.snapshot.settings.stream_seconds

    async def on_tick(self, counter: int) -> bool:
        if counter % TICKS == 0:
            if self.unsettled and self.server_state.total_requests > self.unsettled[0]:
                self.unsettled = self.unsettled[1:]
                calm_collector()
            self._state.publish_sums()
            self._state.manager.refresh()
            stamp = self._stamp_now()
            if stamp != self._stamp:
                self._stamp = stamp
                self.reload()
        return await super().on_tick(counter)

    def _stamp_now(self) -> tuple[int, ...] | None:
        """A value that differs after the configuration file was changed; None if there is no file."""
        return None if self._read is None else stamp_of(self._state.snapshot.source)

    def reload(self) -> None:
        """Read the configuration again. A file with errors changes nothing, and the log says why."""
        if self._read is None:
            return
        before = self._state.snapshot.settings
        try:
            self._state.replace(self._read())
        except (ConfigError, StartError) as error:
            log.warning("the configuration has errors; the old one stays in use: %s", error)
            return
        after = self._state.snapshot.settings
        for name in FIXED:
            if getattr(before, name) != getattr(after, name):
                log.warning("settings.%s has changed, which is used from the next start on", name)
        log.info("the configuration was read again")


def settings_of(state: State) -> dict[str, Any]:
    """The settings of uvicorn, which accepts connections and ends the process; ``Connection`` handles HTTP itself."""
    gateway = Gateway(state)
    return {
        "app": gateway,
        "host": state.snapshot.settings.host,
        "loop": "uvloop" if find_spec("uvloop") is not None else "asyncio",
        "http": partial(Connection, gateway),
        "ws": "none",
        "lifespan": "off",
        "interface": "asgi3",
        "proxy_headers": False,
        "access_log": False,
        "log_config": None,
        "log_level": "critical",  # uvicorn would log answers that are broken off on purpose as errors
        "server_header": False,
        "date_header": True,
    }


@contextmanager
def in_background(state: State) -> Generator[str]:
    """Run a server in a thread, on a free port of loopback, while the ``with`` block runs. Gives its URL."""
    started = threading.Event()

    class Announced(Server):
        unsettled = ()  # other code of this process uses the collector too

        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            await super().startup(sockets=sockets)
            started.set()

        @property
        def _grace_seconds(self) -> float:
            return 1

    settings: dict[str, Any] = {**settings_of(state), "host": "127.0.0.1", "port": 0}
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


def calm_collector() -> None:
    """Collect garbage rarely, and skip all objects that exist now: calls leave hardly any cycles behind."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def serve(state: State, announce: Callable[[str], object], read: Read | None = None) -> int:
    """Serve until a signal ends it. ``announce`` gets the URL; ``read`` reads the configuration again."""
    settings = state.snapshot.settings
    if settings.workers > 1 and not can_fork():
        raise StartError("this system cannot run more than one process: leave `workers` out", 1)
    try:
        sockets = open_sockets(settings.host, settings.port, settings.workers)
    except OSError as error:
        reason = f"cannot listen on {settings.host}, port {settings.port}: {error.strerror or error}"
        raise StartError(f"{reason}; choose another with --host and --port (0 takes a free port)", 1) from None
    host, port = sockets[0].getsockname()[:2]
    state.warm_up()
    announce(f"http://{f'[{host}]' if ':' in host else host}:{port}")
    calm_collector()
    if len(sockets) == 1:
        Server(uvicorn.Config(**settings_of(state)), state, read).run(sockets=sockets)
        return 0
    with tempfile.TemporaryDirectory(prefix="interlingua-") as folder:
        return _serve_together(state, read, sockets, str(Path(folder) / "shared.sqlite"))


def _serve_together(state: State, read: Read | None, sockets: list[socket.socket], path: str) -> int:
    """Serve with several processes, which share the new file ``path``. Returns the exit code."""
    import_module(".shared", __package__).create(path)

    def work(number: int, alive: int) -> int:
        for other in sockets:
            if other is not sockets[number]:
                other.close()
        state.share(path, number)
        Worker(uvicorn.Config(**settings_of(state)), state, read, alive).run(sockets=[sockets[number]])
        return 0

    def release() -> None:
        for each in sockets:
            each.close()

    return supervise(len(sockets), work, release)


class Worker(Server):
    """The server of one of several processes. It ends when its parent process has ended."""

    def __init__(self, config: uvicorn.Config, state: State, read: Read | None, alive: int) -> None:
        super().__init__(config, state, read)
        self._alive = alive

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets=sockets)
        asyncio.get_running_loop().add_reader(self._alive, self._orphaned)

    def _orphaned(self) -> None:
        asyncio.get_running_loop().remove_reader(self._alive)
        self.handle_exit(signal.SIGTERM, None)


def open_sockets(host: str, port: int, count: int) -> list[socket.socket]:
    """A listening socket for each process. Linux spreads connections over sockets of one port; elsewhere all processes
    accept from the same socket."""
    first = _open_socket(host, port, shared=False)
    if count == 1 or sys.platform != "linux":
        return [first] * count
    port = first.getsockname()[1]
    first.close()  # the port was free; SO_REUSEPORT must be set on every socket that shares it
    return [_open_socket(host, port, shared=True) for _ in range(count)]


def _open_socket(host: str, port: int, *, shared: bool) -> socket.socket:
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind((host, port))
        made.listen(2048)
    except OSError:
        made.close()
        raise
    return made

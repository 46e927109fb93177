"""The servers of llama.cpp in this process, one for each file. They end with their last user."""

from __future__ import annotations

import atexit
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any

from ...errors import InvalidRequestError, NotConfigured

__all__ = ["release", "url_of"]

CONTEXT = 16_384
"""The default size of the context in tokens, if the model was made for as many."""

_lock = Lock()
_servers: dict[Path, Any] = {}
_users: dict[Path, set[int]] = {}


def url_of(path: Path, user: object, options: Mapping[str, Any]) -> str:
    """The address of the server for a model, which is started if there is none. Blocks until the model is loaded."""
    with _lock:
        if path not in _servers:
            _servers[path] = _started(path, options)
        _users.setdefault(path, set()).add(id(user))
        return str(_servers[path].listening_address)


def release(user: object) -> None:
    """Forget a user; servers that nobody uses any more end."""
    with _lock:
        for path, users in list(_users.items()):
            users.discard(id(user))
            if not users:
                del _users[path], _servers[path]


def _started(path: Path, options: Mapping[str, Any]) -> Any:
    try:
        llama: Any = import_module("xllamacpp")
    except ImportError as error:
        why = "" if isinstance(error, ModuleNotFoundError) else f" ({error})"
        raise NotConfigured(f"local models need the extra `local`: pip install 'interlingua[local]'{why}") from None
    params = llama.CommonParams()
    params.model.path = str(path)
    params.model_alias = {path.stem}
    params.port = 0
    params.n_ctx, params.n_parallel = int(options.get("context", CONTEXT)), int(options.get("parallel", 1))
    params.n_batch = params.n_ubatch = 512
    threads = int(options.get("threads", _threads()))
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.use_jinja = True
    params.ui = False
    params.cache_ram_mib = 0
    params.verbosity = 0
    params.endpoint_metrics = True
    try:
        server = llama.Server(params)
    except RuntimeError as error:
        raise InvalidRequestError(f"{path} is no model that llama.cpp can load: {error}") from None
    server.handle_metrics()  # waits until the server's loop runs: a server that is ended before that never ends
    return server


def _threads() -> int:
    """Half of the processors: threads of llama.cpp wait in a busy loop, so two on one core slow each other down."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, available // 2)


@atexit.register
def _end() -> None:
    """End all servers before the interpreter exits, while their threads can still end."""
    _servers.clear()

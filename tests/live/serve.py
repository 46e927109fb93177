"""llama.cpp's own HTTP server, from the xllamacpp wheel: ``python serve.py MODEL``. Says where it listens."""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from typing import Any

xllamacpp: Any = import_module("xllamacpp")
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.model_alias = {"recites"}
params.port = 0
params.n_ctx, params.n_parallel = 131072, 2  # each slot has half
params.n_batch = params.n_ubatch = 256
params.use_jinja = True
params.endpoint_slots = True
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.cache_ram_mib = 0
server = xllamacpp.Server(params)
print("listening", server.listening_address, flush=True)
threading.Event().wait()

"""``python -m lab.agents.scripted SERVER OUT``: the scripted upstream, on a free port that it prints.

The one command that it asks for also writes a line to a file, so that a run is counted by its effect and not by the
words of the agent.
"""

from __future__ import annotations

import sys
from http.server import ThreadingHTTPServer
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

__all__ = ["FINAL", "RAN", "WRITTEN"]

RAN = "ran.txt"
"""The file to which the command writes, in the project's folder."""
WRITTEN = (RAN, "danger.txt")
"""That file, and the file to which the first line of an unfinished script writes."""
FINAL = "All done: captured-ok."
"""The text that ends a finished task."""
SCRIPT = 'const r = await tools.exec_command({cmd: "echo captured-ok | tee -a ran.txt"}); text(JSON.stringify(r));'


def main(server: str, out: str) -> None:
    spec = spec_from_file_location("capture_server", server)
    assert spec is not None
    assert spec.loader is not None
    module: Any = module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.FINAL == FINAL
    module.MARK = f"{module.MARK} | tee -a {RAN}"
    module.JS = SCRIPT
    module.H.out = out
    Path(out).mkdir(parents=True, exist_ok=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), module.H) as httpd:
        print(f"http://127.0.0.1:{httpd.server_address[1]}", flush=True)
        httpd.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Record the cassettes of ``tests/client`` anew: ``PYTHONPATH=tests .venv/bin/python -m live.record [name …]``."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from client.recorded import SCENES, play, tape
from interlingua import ErrorClass
from interlingua.client.embedded import LoopbackServer, Script, Step
from live.llama import running


@contextmanager
def server_for(name: str) -> Iterator[str]:
    """Who answers in a scene."""
    if name.startswith("llamacpp"):
        with tempfile.TemporaryDirectory() as place, running(Path(place)) as url:
            yield url
    else:
        refusal = Step(act="fail", error=ErrorClass.rate_limit, retry_after=3)
        with LoopbackServer.in_thread(Script(Step(act="auto"), Step(act="auto"), Step(act="think"), refusal)) as server:
            yield server.url


def main(names: list[str]) -> None:
    for name in names or SCENES:
        with server_for(name) as url, tape(name, "all", url) as cassette:
            for result in play(SCENES[name], cassette, url):
                print(f"{name}: {type(result).__name__}")


if __name__ == "__main__":
    main(sys.argv[1:])

"""``python -m lab.agents``: do the runs of the plan that have no result yet, and append each result to a file.

``SHARD=i/n`` takes every n-th run. Words choose runs whose name has all of them (``claude chat cut``). ``--again``
repeats runs that have a result, ``--seconds N`` gives each more time than the usual 90 seconds, for a machine that is
busy with other things. ``--page FILE`` writes the tables of the results into a page. See also ``make agents``.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from .faults import Cell, plan
from .install import install, version_of
from .page import rewrite
from .results import Result, append, read
from .rows import AGENTS
from .run import USUAL, run
from .servers import upstreams
from .verdict import verdict

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "tools"
ABSENT = 2


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.agents", description=__doc__)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--place", type=Path, default=Path("build/agents"))
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--seconds", type=float, default=USUAL)
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    place: Path = options.place.resolve()
    results = place / "results.jsonl"
    if options.page is not None:
        options.page.write_text(rewrite(options.page, read(results)))
        return 0
    if not (SHARED / "capture_server.py").exists():
        print(f"the scripted upstream is not there: {SHARED}", file=sys.stderr)
        return ABSENT
    programs = install(place / "programs")
    done = frozenset[Cell]() if options.again else frozenset(result.cell for result in read(results))
    cells = [cell for cell in chosen(options.words) if cell not in done and AGENTS[cell.agent].client in programs]
    failed = run_all(cells, programs, place, options.seconds)
    print(f"{len(cells) - failed} of {len(cells)} runs passed; {results}")
    return bool(failed)


def chosen(words: list[str]) -> list[Cell]:
    """The runs of this shard that have all the words in their name."""
    index, _, count = os.environ.get("SHARD", "1/1").partition("/")
    cells = [cell for number, cell in enumerate(plan()) if number % int(count) == int(index) - 1]
    return [cell for cell in cells if all(word in cell.label.split("--") or word in cell.label for word in words)]


def run_all(cells: list[Cell], programs: dict[str, Path], place: Path, limit: float) -> int:
    """Do the runs one after the other, and return how many failed."""
    llama = programs.get("llama.cpp") if any(cell.upstream == "llama.cpp" for cell in cells) else None
    failed, node = 0, programs.get("node")
    versions = {name: version_of(programs[name], node) for name in {AGENTS[cell.agent].client for cell in cells}}
    (place / "runs").mkdir(exist_ok=True)
    with upstreams(SHARED, place, llama) as served:
        for cell in cells:
            client = AGENTS[cell.agent].client
            if cell.upstream == "llama.cpp" and llama is None:
                continue
            path = [programs[client].parent, *([node.parent] if node else [])]
            seen = run(cell, programs[client], path, served, place / "runs" / cell.label, limit)
            passed, what = verdict(cell, seen)
            failed += not passed
            append(place / "results.jsonl", Result(cell, passed, what, versions[client], seen))
            print(f"{'pass' if passed else 'FAIL'}  {cell.label}: {what} ({seen.seconds} s)", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())

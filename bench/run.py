"""``make bench``: the budgets, each as a ratio measured in this run.

``run.py [PAGE] [PART ...] [--no-peers]``; the parts: imports, commands, requests, values, chunks, clients,
sessions, memory, gateway.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from clients import Clients
from commands import start_up
from gateway_peers import GatewayPeers
from gateways import Gateways
from measure import Row
from memory import cancelled, lengths
from page import note_of, write
from sessions import growth, turns
from translation import chunks, imports, media, streams, translation
from values import construction

Part = Callable[[], Iterator[Row]]


def parts(peers: Path | None) -> dict[str, tuple[Part, ...]]:
    """The parts that can be measured, by name. ``peers`` is the folder with the heavy peers; None leaves them out."""
    clients, gateways, others = Clients(peers), Gateways(), GatewayPeers(peers)
    return {
        "imports": (imports,),
        "commands": (start_up,),
        "requests": (translation, media),
        "values": (construction,),
        "chunks": (chunks, streams),
        "clients": (clients.calls, clients.events),
        "sessions": (turns, growth),
        "memory": (lengths, cancelled),
        "gateway": (gateways.requests, others.requests, gateways.events, gateways.operation),
    }


def title(part: Part) -> str:
    """The title of a part: the first line of its docstring."""
    return (part.__doc__ or "").splitlines()[0].rstrip(".")


def measure(part: Part) -> list[Row]:
    """Measure a part, print its rows as they are ready, and return them."""
    print(f"\n{title(part)}", flush=True)
    rows: list[Row] = []
    for row in part():
        rows.append(row)
        ratio = f"{row.ratio:5.2f}x" if math.isfinite(row.ratio) else "     –"
        budget = f" of {row.budget:g}x" if math.isfinite(row.budget) else ""
        print(f"  {row.name:<52} {ratio}{budget}  {note_of(row)}", flush=True)
    return rows


def options() -> argparse.Namespace:
    """The parsed arguments."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kept = Path(sys.prefix, "peers")
    found.add_argument("--no-peers", action="store_true", help="without the clients that are heavy to install")
    found.add_argument("--peers-in", type=Path, default=kept, metavar="FOLDER", help=f"where they are; {kept}")
    found.add_argument("page", nargs="?", type=Path, help="the page to write, e.g. docs/performance.md")
    found.add_argument("parts", nargs="*", help="only these parts")
    return found.parse_args()


def main() -> None:
    """Measure the chosen parts, print the results and write the page."""
    chosen = options()
    known = parts(None if chosen.no_peers else chosen.peers_in)
    if chosen.page is not None and str(chosen.page) in known:
        chosen.page, chosen.parts = None, [str(chosen.page), *chosen.parts]
    unknown = sorted({*chosen.parts} - {*known})
    if unknown:
        raise SystemExit(f"no part is called {', '.join(unknown)}; there are {', '.join(known)}")
    found: dict[str, list[Row]] = {}
    for name, functions in known.items():
        for part in functions:
            found[title(part)] = measure(part) if not chosen.parts or name in chosen.parts else []
    rows = [row for measured in found.values() for row in measured]
    print(f"\n{sum(row.over for row in rows)} over budget, {sum(math.isnan(row.ratio) for row in rows)} not measured")
    if chosen.page is not None:
        write(chosen.page, found)


if __name__ == "__main__":
    main()

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
from page import told, write
from sessions import growth, turns
from translation import chunks, imports, media, streams, translation
from values import construction

Part = Callable[[], Iterator[Row]]


def parts(peers: Path | None) -> dict[str, tuple[Part, ...]]:
    """What can be measured, by name. ``peers`` is the folder with the heavy peers, if they are wanted."""
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
    """A part is called as its docstring says."""
    return (part.__doc__ or "").splitlines()[0].rstrip(".")


def measure(part: Part) -> list[Row]:
    """The rows of a part, said as they come."""
    print(f"\n{title(part)}", flush=True)
    rows: list[Row] = []
    for row in part():
        rows.append(row)
        ratio = f"{row.ratio:5.2f}x" if math.isfinite(row.ratio) else "     –"
        budget = f" of {row.budget:g}x" if math.isfinite(row.budget) else ""
        print(f"  {row.name:<52} {ratio}{budget}  {told(row)}", flush=True)
    return rows


def options() -> argparse.Namespace:
    """What was asked for."""
    found = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kept = Path(sys.prefix, "peers")
    found.add_argument("--no-peers", action="store_true", help="without the clients that are heavy to install")
    found.add_argument("--peers-in", type=Path, default=kept, metavar="FOLDER", help=f"where they are; {kept}")
    found.add_argument("page", nargs="?", type=Path, help="the page to write, e.g. docs/performance.md")
    found.add_argument("parts", nargs="*", help="only these parts")
    return found.parse_args()


def main() -> None:
    """Measure, say and write."""
    asked = options()
    known = parts(None if asked.no_peers else asked.peers_in)
    if asked.page is not None and str(asked.page) in known:
        asked.page, asked.parts = None, [str(asked.page), *asked.parts]
    unknown = sorted({*asked.parts} - {*known})
    if unknown:
        raise SystemExit(f"no part is called {', '.join(unknown)}; there are {', '.join(known)}")
    found: dict[str, list[Row]] = {}
    for name, several in known.items():
        for part in several:
            found[title(part)] = measure(part) if not asked.parts or name in asked.parts else []
    rows = [row for several in found.values() for row in several]
    print(f"\n{sum(row.over for row in rows)} over budget, {sum(math.isnan(row.ratio) for row in rows)} not measured")
    if asked.page is not None:
        write(asked.page, found)


if __name__ == "__main__":
    main()

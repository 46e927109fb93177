"""The command line."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

from lab.translators import sample
from lab.translators.judge import Counts, judge
from lab.translators.page import write_page
from lab.translators.peers import PEERS, Install, Pair, Peer, ask
from lab.translators.sample import Task

Results = dict[tuple[str, str, Pair], Counts]


def measure(peer: Peer, command: list[str], tasks: list[Task], results: Results, shown: Counter[str]) -> str:
    """Have a peer translate every task that it documents, judge the results, and return the version of the peer."""
    wanted = [(task, target) for task in tasks for source, target in peer.pairs[task.verb] if source == task.source]
    answers = ask(command, wanted)
    version = str(next(answers)["version"])
    for (task, target), done in zip(wanted, answers, strict=True):
        place = f"{task.verb} {task.source} -> {target}"
        if "error" in done:
            shown[f"{place}: {done['error'][:160]}"] += 1

        def lost(where: str, text: str, place: str = place) -> None:
            shown[f"{place} lost {where}"] += 1

        results[peer.name, task.verb, (task.source, target)] += judge(task, target, done, lost)
    return version


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m lab.translators", description=__doc__)
    options.add_argument("corpus", type=Path)
    options.add_argument("page", type=Path, nargs="?")
    options.add_argument("--size", type=int, default=sample.SIZE, help="how many recordings")
    options.add_argument("--seed", type=int, default=sample.SEED)
    options.add_argument("--only", help="one translator")
    options.add_argument("--verb", help="only requests, answers or streams: request, answer, stream")
    options.add_argument("--peers", type=Path, default=Path(sys.prefix, "compare", "translators"))
    options.add_argument("--show", type=int, default=0, help="print so many kinds of faults of each")
    asked = options.parse_args()
    records = sample.choose(asked.corpus, asked.size, asked.seed)
    tasks = sample.tasks(records, asked.seed)
    tasks = [task for task in tasks if asked.verb in (None, task.verb)]
    install = Install(asked.peers)
    results: Results = defaultdict(Counter)
    versions: dict[str, str] = {}
    absent: dict[str, str] = {}
    for peer in PEERS:
        if asked.only not in (None, peer.name):
            continue
        begun, shown = time.monotonic(), Counter[str]()
        command = install.command(peer)
        try:
            if command is None:
                raise RuntimeError("it could not be installed")
            versions[peer.name] = measure(peer, command, tasks, results, shown)
        except RuntimeError as error:
            absent[peer.name] = str(error)
            print(f"{peer.name}: {error}", file=sys.stderr)
            continue
        print(f"{versions[peer.name]}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
        for fault, times in shown.most_common(asked.show):
            print(f"{times:6} {fault}")
    made = Counter(task.verb for task in tasks)
    about = (
        f"{min(asked.size, len(records)):,} recordings, chosen by seed {asked.seed}: {made['request']:,} requests, "
        f"{made['answer']:,} whole answers, {made['stream']:,} streams (each whole, and cut at {sample.CUTS} places). "
        f"Versions: {'; '.join(versions.values())}."
    )
    write_page(asked.page, results, versions, about, absent)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Fuzzing by hand: ``make fuzz ARGS="--minutes 10 --seed 7"``. Prints progress and, at the end, what was found."""

from __future__ import annotations

import argparse
import logging
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

import msgspec

from lab.fidelity.records import Record, corpus_files, file_protocol, read_lines, read_record
from lab.fuzzing.trials import Fault, try_record


def records_of(corpus: Path) -> list[Record]:
    """Every recording that a dialect covers."""
    found = (
        read_record(msgspec.json.decode(line), file_protocol(path))
        for path in corpus_files(corpus)
        for line in read_lines(path)
    )
    return [record for record in found if record is not None]


def main() -> int:
    """Try randomly changed recordings until the time is over; return 1 if any fault was found."""
    parser = argparse.ArgumentParser(prog="make fuzz", description=__doc__)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="one dialect")
    options = parser.parse_args()
    logging.getLogger("interlingua").setLevel(logging.CRITICAL)  # losses are of no interest here
    records = [record for record in records_of(options.corpus) if options.only in ("", record.dialect)]
    random, began, tried, faults = Random(options.seed), time.monotonic(), 0, Counter[tuple[str, str]]()
    slowest, examples = (0.0, ""), dict[tuple[str, str], Fault]()
    while time.monotonic() < began + options.minutes * 60:
        record, start = random.choice(records), time.monotonic()
        for fault in try_record(record, random):
            faults[fault.trial, fault.place] += 1
            examples.setdefault((fault.trial, fault.place), fault)
        tried += 1
        slowest = max(slowest, (time.monotonic() - start, record.id))
        if tried % 2000 == 0:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
            print(f"{tried} records, {faults.total()} faults in {len(faults)} places, peak {peak} MiB", flush=True)
    for key, count in faults.most_common():
        fault = examples[key]
        print(f"{count:6}  {fault.trial:8} {fault.place}  {fault.error}  ({fault.record})")
    print(f"{tried} records tried, slowest {slowest[0]:.2f} s ({slowest[1]}); {len(faults)} places raise bare errors")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())

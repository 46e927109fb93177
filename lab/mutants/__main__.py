"""The command: ``python -m lab.mutants --seed 11 src/interlingua/framing=20 'src/interlingua/schema,src/x.py=30'``."""

from __future__ import annotations

import argparse
from pathlib import Path

from .record import Record
from .run import Group, Run, draw, failing_unchanged, summary


def read_group(text: str) -> Group:
    """``PATH[,PATH...]=NUMBER``, where a path is a file, a folder or a pattern."""
    paths, _, number = text.rpartition("=")
    found = {file for path in paths.split(",") for match in Path().glob(path) for file in python_files(match)}
    if not found or not number.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} names no Python file, or no number of mutants")
    return Group(paths, tuple(sorted(found)), int(number))


def python_files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        "python -m lab.mutants",
        description="Change the source at one place, run the tests that cover it, count what they find. "
        "Run it in the checkout to be measured. The first run records which test runs which line.",
    )
    parser.add_argument("groups", nargs="+", type=read_group, metavar="PATH[,PATH...]=NUMBER")
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--tests", nargs="+", default=["tests"], help="the tests to choose from")
    parser.add_argument("--record", type=Path, default=Path("build/mutants"), help="folder of the record")
    parser.add_argument("--output", type=Path, default=Path("build/mutants.json"), help="results; continued if there")
    parser.add_argument("--limit", type=int, default=20, help="seconds of the CPU for one try")
    parser.add_argument("--tries", type=int, default=1, help="how often a mutant is tried, each time with other tests")
    parser.add_argument("--workers", type=int, default=2)
    return parser.parse_args()


def main() -> None:
    arguments = read_arguments()
    files = sorted({file for group in arguments.groups for file in group.files})
    record = Record(arguments.record)
    record.make(files, arguments.tests, arguments.workers)
    mutants = [mutant for group in arguments.groups for mutant in draw(group, arguments.seed)]
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    results = Run(arguments.output, record, files, arguments.limit).measure(mutants, arguments.workers, arguments.tries)
    print("\n".join(summary(results)))
    for test in failing_unchanged(results, 30 * arguments.limit):
        print("fails without a mutant too:", test)


if __name__ == "__main__":
    main()

"""``python -m lab.faults [page]``: play the matrix and print it, or update the tables of the page."""

from __future__ import annotations

import sys
from pathlib import Path

from .observe import MEDIA, differences
from .page import rewrite, table
from .rows import ROWS


def main(arguments: list[str]) -> int:
    if arguments:
        path = Path(arguments[0])
        path.write_text(rewrite(path))
        return 0
    agreed: dict[str, tuple[int, int]] = {}
    wrong: list[str] = []
    for row in ROWS.values():
        results = [differences(row, medium) for medium in MEDIA]
        found = [line for lines, _ in results for line in lines]
        calls = sum(count for _, count in results)
        agreed[row.name] = (calls - len(found), calls)
        wrong += found
    print("\n".join([*table(agreed), *wrong]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

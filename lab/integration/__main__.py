"""``python -m lab.integration [page]``: play the matrix and print it, or update the tables of the page."""

from __future__ import annotations

import sys
from pathlib import Path

from .page import rewrite, table
from .rows import ROWS
from .stage import play_all


def main(arguments: list[str]) -> int:
    if arguments:
        path = Path(arguments[0])
        path.write_text(rewrite(path), encoding="utf-8")
        return 0
    seen, wrong = play_all(ROWS)
    print("\n".join([*table(seen), *wrong]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The fault matrix: everything that can go wrong with a call, the required outcome, and a runner that checks it.

``python -m lab.faults`` plays every fault in every dialect, in all four ways to make a call, in memory
and over real sockets on loopback, prints the table and each outcome that differs from it.
"""

from .observe import CELLS, MEDIA, Seen, agrees, differences, expected, in_memory, make_call, observe
from .page import page, rewrite, table
from .rows import CHAPTERS, ROWS, Row
from .ways import PROVIDERS, WAYS

__all__ = [
    "CELLS",
    "CHAPTERS",
    "MEDIA",
    "PROVIDERS",
    "ROWS",
    "Row",
    "Seen",
    "WAYS",
    "agrees",
    "differences",
    "expected",
    "in_memory",
    "make_call",
    "observe",
    "page",
    "rewrite",
    "table",
]

"""The integration matrix: the same conversations in every dialect, over HTTP on loopback, with the same outcome.

Both ends are our own codec, so it cannot judge itself: every body is checked against the vendor's types and ordering
rules, and every answer is read by the vendor's client. Needs the official SDKs (``interlingua[dev]``).
"""

from .page import page, promised, rewrite, table
from .reading import Readers
from .rows import ROWS, Row, Turn
from .stage import CELLS, Seen, play, play_all
from .transcript import transcript
from .ways import WAYS, Scene

__all__ = [
    "CELLS",
    "ROWS",
    "Readers",
    "Row",
    "Scene",
    "Seen",
    "Turn",
    "WAYS",
    "page",
    "play",
    "play_all",
    "promised",
    "rewrite",
    "table",
    "transcript",
]

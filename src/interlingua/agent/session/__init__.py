"""A conversation that an application holds: history, tools, any model, saved and loaded, moved between two turns."""

from typing import TYPE_CHECKING

from .async_session import Session, SessionStream
from .report import Report
from .stores import JsonStore, Store
from .sync_session import SyncSession, SyncSessionStream

if TYPE_CHECKING:
    from .sqlite import SqliteStore as SqliteStore

__all__ = [
    "JsonStore",
    "Report",
    "Session",
    "SessionStream",
    "SqliteStore",
    "Store",
    "SyncSession",
    "SyncSessionStream",
]


def __getattr__(name: str) -> object:
    if name == "SqliteStore":  # some builds of Python have no sqlite3
        from .sqlite import SqliteStore  # noqa: PLC0415

        return SqliteStore
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

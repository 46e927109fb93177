"""A conversation that an application holds: history, tools, any model, saved and loaded, moved between two turns."""

from .awaiting import Session, SessionStream
from .blocking import SyncSession, SyncSessionStream
from .reporting import Report
from .stores import JsonStore, SqliteStore, Store

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

"""Functions of plain values for the messages before and after a call: ids, cache marks, shortening."""

from .caching import CachePolicy, mark_cache
from .ids import CallIds, new_message_id, new_tool_id
from .shortening import Shortened, shorten

__all__ = ["CachePolicy", "CallIds", "Shortened", "mark_cache", "new_message_id", "new_tool_id", "shorten"]

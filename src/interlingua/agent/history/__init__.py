"""What a conversation needs before and after each call, as functions of plain values: ids, caches, room."""

from .caching import CachePolicy, mark_cache
from .ids import CallIds, new_message_id, new_tool_id
from .shortening import Adapted, shorten

__all__ = ["CachePolicy", "CallIds", "Adapted", "mark_cache", "new_message_id", "new_tool_id", "shorten"]

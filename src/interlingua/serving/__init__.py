"""For servers that answer in a dialect: its endpoints, and the parts of an answer that are not the conversation.

No I/O: the time and ids are arguments. The gateway and ``relay`` are built on it.
"""

from .answers import AnswerWriter, asks_for_usage
from .counting import COUNTERS, Counter, counted_request, write_count
from .doors import DOORS, PREFIXES, Door, Entrance, find_entrance, is_name
from .facts import KEY_HEADERS, SERVED, Served, find_key
from .listing import LISTS, Listed, write_model, write_models
from .refusals import refuse_state, with_known_words

__all__ = [
    "AnswerWriter",
    "COUNTERS",
    "Counter",
    "DOORS",
    "Door",
    "Entrance",
    "KEY_HEADERS",
    "LISTS",
    "Listed",
    "PREFIXES",
    "SERVED",
    "Served",
    "asks_for_usage",
    "counted_request",
    "find_entrance",
    "find_key",
    "is_name",
    "refuse_state",
    "with_known_words",
    "write_count",
    "write_model",
    "write_models",
]

"""One call without I/O: an HTTP request out; status, headers and bytes in; events, a Response or an error out.

No await, no clock, no random numbers: the same bytes always give the same result. Attempts and latency are counted by
the client.
"""

from .exchange import Exchange
from .readers import AnswerReader

__all__ = ["AnswerReader", "Exchange"]

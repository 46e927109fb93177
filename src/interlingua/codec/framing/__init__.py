"""Bytes to frames and back, without I/O: SSE, NDJSON, a streamed JSON array, AWS event stream.

The content of frames is not read: no JSON is parsed. Every decoder keeps the contract in ``decoder.py``.
"""

from .array import ArrayDecoder, encode_array_close, encode_array_element, encode_array_open
from .decoder import DEFAULT_LIMIT, FrameDecoder
from .eventstream import Byte, EventStreamDecoder, Frame, HeaderValue, Long, Short, Timestamp, encode_frame
from .ndjson import NdjsonDecoder, encode_ndjson
from .sse import SseDecoder, SseEvent, encode_sse
from .sse_or_array import SseOrArrayDecoder

__all__ = [
    "ArrayDecoder",
    "Byte",
    "DEFAULT_LIMIT",
    "EventStreamDecoder",
    "Frame",
    "FrameDecoder",
    "HeaderValue",
    "Long",
    "NdjsonDecoder",
    "Short",
    "SseDecoder",
    "SseEvent",
    "SseOrArrayDecoder",
    "Timestamp",
    "encode_array_close",
    "encode_array_element",
    "encode_array_open",
    "encode_frame",
    "encode_ndjson",
    "encode_sse",
]

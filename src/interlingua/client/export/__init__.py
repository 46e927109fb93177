"""What the bus tells, handed on: to ``logging``, and to OpenTelemetry (extra ``otel``).

Both hear the bus and nothing else, so neither can slow a stream, break a call, or see what was said in it.
"""

from .logs import log_calls
from .otel import trace_calls

__all__ = ["log_calls", "trace_calls"]

"""The events of the bus, exported to ``logging`` and to OpenTelemetry (extra ``otel``).

Both only subscribe to the bus, so they cannot break a call. They do not get any content, unless tracing asks for it.
"""

from .logs import log_calls
from .otel import trace_calls

__all__ = ["log_calls", "trace_calls"]

"""The events of the bus, exported to ``logging`` and to OpenTelemetry (extra ``otel``).

Both only subscribe to the bus, so they cannot break a call, and they do not see the content of messages.
"""

from .logs import log_calls
from .otel import trace_calls

__all__ = ["log_calls", "trace_calls"]

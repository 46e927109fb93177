"""The network: one narrow interface, and no JSON, no retries, no meaning. Libraries are loaded when first used."""

from .base import Abort, AsyncReply, AsyncTransport, Reply, Transport

__all__ = ["Abort", "AsyncReply", "AsyncTransport", "Reply", "Transport"]

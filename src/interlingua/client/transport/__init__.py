"""The network: one narrow interface that only sends and receives bytes. Libraries are loaded on use."""

from .base import Abort, AsyncReply, AsyncTransport, Reply, Transport

__all__ = ["Abort", "AsyncReply", "AsyncTransport", "Reply", "Transport"]

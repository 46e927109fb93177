"""Streams: events read and written, their grammar, and the fold between a stream and a whole answer."""

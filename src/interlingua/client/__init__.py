"""Calling one provider: a call without I/O, the clients that make it, and the network."""

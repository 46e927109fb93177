"""A deterministic scripted model that needs no key and no network, spoken to through a real dialect.

It reads a request with the dialect's server verbs, decides by a script, and answers with the same dialect: in memory
(``handler``) or as a real HTTP server on loopback (``LoopbackServer``). Faults are data. It is no oracle for a dialect.
"""

from .model import Fault, Script, Step
from .server import LoopbackServer, deaf_url
from .speaking import handler

__all__ = ["Fault", "LoopbackServer", "Script", "Step", "deaf_url", "handler"]

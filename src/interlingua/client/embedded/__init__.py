"""A deterministic scripted model that needs no key and no network, spoken to through a real dialect.

It reads a request with the dialect's server verbs, decides by a script, and answers with the same dialect: in memory
(``handler``) or as a real HTTP server on loopback (``LoopbackServer``). Faults are data. It is no oracle for a dialect.
"""

from .model import Fault, Line, Script, Step, call
from .server import LoopbackServer, deaf_url
from .speaking import Choice, as_script, handler

__all__ = ["Choice", "Fault", "Line", "LoopbackServer", "Script", "Step", "as_script", "call", "deaf_url", "handler"]

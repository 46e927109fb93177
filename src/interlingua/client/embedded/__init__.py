"""A deterministic scripted model that needs no key and no network, called through a real dialect.

It decodes a request with the dialect, answers as its script says, and encodes the answer with the same dialect: in
memory (``handler``) or as a real HTTP server on loopback (``LoopbackServer``). A script can also make an answer fail.
It does not prove that a dialect is right, because both ends use the same code.
"""

from .model import Fault, Line, Script, Step, call
from .responder import Choice, as_script, handler
from .server import LoopbackServer, deaf_url

__all__ = ["Choice", "Fault", "Line", "LoopbackServer", "Script", "Step", "as_script", "call", "deaf_url", "handler"]

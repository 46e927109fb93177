"""The documented name of ``interlingua.client.bus``."""

from .client.bus import *  # noqa: F403
from .client.bus import __all__ as __all__  # noqa: PLC0414

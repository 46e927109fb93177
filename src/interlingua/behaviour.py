"""The documented name of ``interlingua.client.behaviour``."""

from .client.behaviour import *  # noqa: F403
from .client.behaviour import __all__ as __all__  # noqa: PLC0414

"""The documented name of ``interlingua.client.embedded``."""

from .client.embedded import *  # noqa: F403
from .client.embedded import __all__ as __all__  # noqa: PLC0414

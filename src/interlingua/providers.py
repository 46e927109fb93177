"""The documented name of ``interlingua.models.providers``."""

from .models.providers import *  # noqa: F403
from .models.providers import __all__ as __all__  # noqa: PLC0414

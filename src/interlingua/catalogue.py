"""The documented name of ``interlingua.models.catalogue`` and ``interlingua.client.models_file``."""

from .client import models_file
from .client.models_file import *  # noqa: F403
from .models import catalogue
from .models.catalogue import *  # noqa: F403

__all__: list[str] = []
__all__ += catalogue.__all__
__all__ += models_file.__all__

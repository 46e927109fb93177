"""What the commands that call models share."""

from __future__ import annotations

import logging

from ..client.manager import ProviderManager

__all__ = ["manager_of"]


def manager_of(config: str | None) -> ProviderManager:
    """The manager of ``models.yaml``. What the library would log, the commands say themselves."""
    logger = logging.getLogger("interlingua")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return ProviderManager(config)

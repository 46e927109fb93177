"""What the commands that call models share."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from ..client.manager import ProviderManager

if TYPE_CHECKING:
    from ..agent.session import Report
    from ..types.response import Response

__all__ = ["manager_of", "tell_report"]


def manager_of(config: str | None) -> ProviderManager:
    """The manager of ``models.yaml``. What the library would log, the commands say themselves."""
    logger = logging.getLogger("interlingua")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return ProviderManager(config)


def tell_report(report: Report, response: Response) -> None:
    """On stderr: what was lost of the request or the answer, and warnings. What was only added is not told."""
    for loss in dict.fromkeys((*report.losses, *response.losses)):
        if loss.weight != "form" and loss.kind != "added":
            sys.stderr.write(f"{loss.kind} ({loss.weight}) {loss.path}: {loss.reason}\n")
    for warning in report.warnings:
        sys.stderr.write(f"note: {warning}\n")

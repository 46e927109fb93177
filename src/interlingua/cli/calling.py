"""Shared by the commands that call models: the manager, the cassette, and the report of losses and warnings."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..client.manager import ProviderManager
from ..models.providers import PROVIDERS

if TYPE_CHECKING:
    from ..agent.session import Report
    from ..testing.cassettes import Cassette
    from ..types.response import Response

__all__ = ["manager_of", "recording", "print_report", "printed_warnings"]


def manager_of(config: str | None) -> ProviderManager:
    """The manager for a ``models.yaml``. The library's log is silenced, because the commands report losses."""
    logger = logging.getLogger("interlingua")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    with printed_warnings():
        return _manager(config)


@contextmanager
def printed_warnings() -> Generator[None, None, None]:
    """Write warnings that are raised in the block, such as that a file contains a key, as lines on stderr."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", UserWarning)
        yield
    for one in found:
        sys.stderr.write(f"note: {one.message}\n")


def _manager(config: str | None) -> ProviderManager:
    if _tape is None:
        return ProviderManager(config)
    keys = {key: os.environ.get(key) or "replayed" for row in PROVIDERS.values() for key in row.auth.keys}
    environment = None if _tape.records else {**os.environ, **keys}
    return ProviderManager(
        config, environment=environment, transport=_tape.async_transport(), sync_transport=_tape.transport()
    )


_tape: Cassette | None = None


@contextmanager
def recording(tape: Cassette) -> Generator[None, None, None]:
    """Send all calls in the block through the cassette."""
    global _tape  # noqa: PLW0603
    before, _tape = _tape, tape
    try:
        yield
    finally:
        _tape = before


def print_report(report: Report, response: Response) -> None:
    """Write losses of the request and the answer, and warnings, on stderr. What was only added is left out."""
    for loss in dict.fromkeys((*report.losses, *response.losses)):
        if loss.weight != "form" and loss.kind != "added":
            sys.stderr.write(f"{loss.kind} ({loss.weight}) {loss.path}: {loss.reason}\n")
    for warning in report.warnings:
        sys.stderr.write(f"note: {warning}\n")

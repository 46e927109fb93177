"""What people have to say about the numbers: the named normalisations, and why a remaining case remains.

A normalisation maps one JSON shape at one kind of path to another, never removes a value that is not null, and says why
the provider cannot tell the difference. Three names at most, over all dialects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from interlingua.testing.fidelity.tally import Failure
from interlingua.types.base import Json

__all__ = ["NORMALISATIONS", "REASONS", "Normalisation", "Reason", "reason_for"]


class Normalisation(NamedTuple):
    """``apply(dialect, wire)`` gives the recorded body as we would write it."""

    name: str
    why: str
    apply: Callable[[str, Json], Json]


NORMALISATIONS: tuple[Normalisation, ...] = ()


class Reason(NamedTuple):
    """Explains failures. An empty field fits all; ``record`` is the beginning of an id, ``kind`` a part of a kind."""

    why: str
    where: str = ""
    measure: str = ""
    kind: str = ""
    record: str = ""

    def fits(self, failure: Failure) -> bool:
        """Whether this is why."""
        return (
            self.where in ("", failure.where)
            and self.measure in ("", failure.measure)
            and self.kind in failure.kind
            and failure.record.startswith(self.record)
        )


REASONS: tuple[Reason, ...] = ()


def reason_for(failure: Failure) -> str | None:
    """The first reason that fits."""
    return next((reason.why for reason in REASONS if reason.fits(failure)), None)

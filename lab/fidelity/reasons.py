"""Explanations written by people: the named normalisations, and the reasons for the remaining failures.

A normalisation maps one JSON shape at one kind of path to another, never removes a value that is not null, and says why
the provider cannot tell the difference. There are at most three, over all dialects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from interlingua.types.base import Json
from lab.fidelity.tally import Failure

__all__ = ["NORMALISATIONS", "REASONS", "Normalisation", "Reason", "reason_for"]


class Normalisation(NamedTuple):
    """``apply(dialect, wire)`` gives the recorded body as we would write it."""

    name: str
    why: str
    apply: Callable[[str, Json], Json]


NORMALISATIONS: tuple[Normalisation, ...] = ()


class Reason(NamedTuple):
    """A reason for failures. An empty field matches all; ``where`` and ``record`` match beginnings, ``kind`` a part."""

    why: str
    where: str = ""
    measure: str = ""
    kind: str = ""
    record: str = ""

    def fits(self, failure: Failure) -> bool:
        """Whether this is the reason for a failure."""
        return (
            failure.where.startswith(self.where)
            and self.measure in ("", failure.measure)
            and self.kind in failure.kind
            and failure.record.startswith(self.record)
        )


KEPT = "it continues a conversation that the provider keeps: the calls that it answers are not in the request"
STORED = "what it asks is stored with the provider (a prompt's id): the request does not say it"

REASONS: tuple[Reason, ...] = (
    Reason(KEPT, where="openai-responses -> ", kind="[results-called]"),
    Reason(KEPT, where="openai-responses -> ", measure="translated", kind="ToolStateError"),
    Reason(STORED, where="openai-responses -> ", measure="valid", kind=": empty [some"),
    Reason(STORED, where="openai-responses -> ", measure="valid", kind="model: missing"),
    Reason(
        "refused by rule: a result needs the name of its call, and the history holds no such call",
        measure="translated",
        kind="ToolStateError",
    ),
    Reason(
        "its deltas and its own output_item.done say different texts: what was told in deltas stands",
        where="openai-responses",
        measure="law 3: fold is the recorded whole",
        record="vercel-ai/openai/responses/openai-shell-container.1.stream",
    ),
    Reason(
        "a second answer begins within a tool call of the first: that call is left out of a whole answer, and a stream"
        " ends there in an error, because whoever reads it would run the call as far as it came",
        where="anthropic-messages",
        record="vercel-ai/anthropic/spliced-message-start.stream",
    ),
    Reason("the recorded request has the same fault", measure="valid (recorded body is not)"),
)


def reason_for(failure: Failure) -> str | None:
    """The first reason that fits."""
    return next((reason.why for reason in REASONS if reason.fits(failure)), None)

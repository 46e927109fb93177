"""What a model takes, held against a request before a byte is sent.

Content that the model cannot read (a picture, a tool) is refused with a sentence that says so: an answer that ignores
half of the question is worse than none. A parameter that the model does not take is dropped with a Loss, or refused,
as the caller wishes. Facts come from the catalogue; what nobody knows is sent as written.
"""

from __future__ import annotations

from typing import Literal

from ...errors import InvalidRequestError
from ...models.catalogue.facts import Facts
from ...types.capabilities import AdapterCapabilities
from ...types.loss import Loss
from ...types.request import Request
from .answering import match_results, results_match, unanswered
from .content import problems, unfinished
from .fitter import Fitter
from .marks import unmarked
from .parameters import by_tool, forced, limited, one_call, rejected
from .reader import Reader
from .thinking import fit_thinking

__all__ = ["Fitter", "Unsupported", "fit_request", "match_results", "problems", "results_match", "unanswered"]

Unsupported = Literal["drop", "refuse"]

STEPS = (forced, fit_thinking, rejected, limited, one_call, unmarked)


def fit_request(
    request: Request, facts: Facts, able: AdapterCapabilities, unsupported: Unsupported = "drop"
) -> tuple[Request, tuple[Loss, ...]]:
    """The request as the model takes it, and what was changed. Raises ``InvalidRequestError`` if it cannot be."""
    wrong = [*problems(request, able)]
    if facts.prefill is False:
        wrong += unfinished(request)
    if wrong:
        raise InvalidRequestError("; ".join(wrong))
    reader = Reader(facts, able, request)
    fitted = request
    for step in STEPS:
        fitted = step(fitted, reader)
    if unsupported == "refuse" and (refused := _refused(request, reader)):
        raise InvalidRequestError("; ".join(refused))
    return fitted, tuple(reader.losses)


def _refused(request: Request, reader: Reader) -> list[str]:
    """What the request would lose; what was only added is no loss of the caller's."""
    told = [f"{loss.path}: {loss.reason}" for loss in reader.losses if loss.kind != "added"]
    if by_tool(request, reader):  # the dialect's detour, and not ours
        told.append(f"output_schema: {reader.who} has no structured output")
    return told

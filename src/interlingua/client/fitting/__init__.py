"""A request changed so that the model accepts it, before anything is sent.

Content that the model cannot read (an image, a tool) is refused with an error, since an answer that ignores half of the
question is worse than none; unless the caller chooses that it is left out or described. A parameter that the model does
not take is dropped with a Loss, or refused, as the caller chooses. What is known of models comes from the catalogue; to
an unknown model everything is sent as written.
"""

from __future__ import annotations

from typing import Literal

from ...errors import InvalidRequestError
from ...models.catalogue.facts import Facts
from ...types.capabilities import AdapterCapabilities
from ...types.loss import Loss
from ...types.request import Request
from .cache_marks import drop_cache_marks
from .content import prefill_problems, unreadable_parts
from .fast_check import Fitter
from .left_out import leave_out
from .parameters import disable_thinking_if_forced, drop_parallel, drop_rejected, limit_output, needs_forced_tool
from .target_model import TargetModel
from .thinking import fit_thinking
from .tool_results import match_results, results_match, unanswered_calls
from .tool_roots import roots_are_plain, with_plain_roots

__all__ = [
    "LEAVING_OUT",
    "Fitter",
    "TargetModel",
    "Unsupported",
    "fit_request",
    "leave_out",
    "match_results",
    "unreadable_parts",
    "results_match",
    "roots_are_plain",
    "unanswered_calls",
    "with_plain_roots",
]

Unsupported = Literal["drop", "describe", "refuse"]
"""What to do with parameters and content that the model does not take: drop both; drop parameters and put a note in the
place of content; or refuse the request. By default (None) parameters are dropped, and content is a reason to refuse.
Whatever is dropped or replaced is a Loss."""

LEAVING_OUT = ("drop", "describe")
"""The choices with which content is never a reason to refuse."""

STEPS = (disable_thinking_if_forced, fit_thinking, drop_rejected, limit_output, drop_parallel, drop_cache_marks)


def fit_request(
    request: Request, facts: Facts, able: AdapterCapabilities, unsupported: Unsupported | None = None
) -> tuple[Request, tuple[Loss, ...]]:
    """A request that the model accepts, and the losses. Raises ``InvalidRequestError`` if there is none."""
    model = TargetModel(facts, able, request)
    wrong = [*unreadable_parts(request, able)]
    if wrong and unsupported in LEAVING_OUT:
        request = leave_out(request, model, describe=unsupported == "describe")
        wrong = [*unreadable_parts(request, able)]
    if facts.prefill is False:
        wrong += prefill_problems(request)
    if wrong:
        raise InvalidRequestError("; ".join(wrong))
    fitted = request
    for step in STEPS:
        fitted = step(fitted, model)
    if unsupported == "refuse" and (refused := _refused(request, model)):
        raise InvalidRequestError("; ".join(refused))
    return fitted, tuple(model.losses)


def _refused(request: Request, model: TargetModel) -> list[str]:
    """The reasons to refuse a request: its losses, but for what was only added to it."""
    reasons = [f"{loss.path}: {loss.reason}" for loss in model.losses if loss.kind != "added"]
    if needs_forced_tool(request, model):  # the dialect would use a forced tool instead
        reasons.append(f"output_schema: {model.name} has no structured output")
    return reasons

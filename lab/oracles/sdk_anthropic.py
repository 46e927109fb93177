"""Anthropic's request types: those that are generally available or, if a body does not fit them, those in beta."""

from __future__ import annotations

from functools import cache
from typing import Any

from anthropic.types.beta.message_create_params import MessageCreateParams as BetaParams
from anthropic.types.message_create_params import MessageCreateParams

from lab.oracles.hints import Compiler
from lab.oracles.leaves import INTEGER, NUMBER, Check
from lab.oracles.typed import Choice, Record, run

HEADERS = ("betas", "user_profile_id", "workspace_id")
"""Parameters of the SDK's method that are sent as headers: in a body they are unknown keys."""

SAMPLING: dict[str, Check] = {"temperature": NUMBER, "top_p": NUMBER, "top_k": INTEGER}
"""Parameters that the types of SDK 2.x no longer have, but that are legal on the wire for older models."""


@cache
def request() -> Check:
    return as_body(Compiler().compile(MessageCreateParams))


@cache
def beta_request() -> Check:
    return as_body(Compiler().compile(BetaParams))


def as_body(params: Check) -> Check:
    """The checker of the method's parameters, changed to that of a request body."""
    for record in params.branches if isinstance(params, Choice) else ():
        if isinstance(record, Record):
            record.fields.update(SAMPLING)
            for name in HEADERS:
                record.fields.pop(name, None)
    return params


def validate(body: Any) -> list[str]:
    """No faults if either set of types accepts the body, else those of the set that finds fewer."""
    found = run(request(), body)
    return min(run(beta_request(), body), found, key=len) if found else found

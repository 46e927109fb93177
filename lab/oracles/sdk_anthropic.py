"""Anthropic's request types: what is generally available or, where that does not fit, what is in beta."""

from __future__ import annotations

from functools import cache
from typing import Any

from anthropic.types.beta.message_create_params import MessageCreateParams as BetaParams
from anthropic.types.message_create_params import MessageCreateParams

from lab.oracles.hints import Compiler
from lab.oracles.leaves import INTEGER, NUMBER, Check
from lab.oracles.typed import Choice, Record, run

HEADERS = ("betas", "user_profile_id", "workspace_id")
"""Parameters of the SDK's method that travel as headers: in a body they are unknown keys."""

SAMPLING: dict[str, Check] = {"temperature": NUMBER, "top_p": NUMBER, "top_k": INTEGER}
"""Gone from the types of SDK 2.x, but legal on the wire for the models that still take them."""


@cache
def request() -> Check:
    return as_body(Compiler().compile(MessageCreateParams))


@cache
def beta_request() -> Check:
    return as_body(Compiler().compile(BetaParams))


def as_body(params: Check) -> Check:
    """The parameters of the method, as they are laid out on the wire."""
    for record in params.branches if isinstance(params, Choice) else ():
        if isinstance(record, Record):
            record.fields.update(SAMPLING)
            for name in HEADERS:
                record.fields.pop(name, None)
    return params


def validate(body: Any) -> list[str]:
    """Nothing if either surface accepts the body, else the complaints of the one that has fewer, or of the wider."""
    found = run(request(), body)
    return min(run(beta_request(), body), found, key=len) if found else found

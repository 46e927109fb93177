"""OpenAI's request types, for both of its protocols."""

from __future__ import annotations

from functools import cache
from typing import Any

from openai.types.chat.completion_create_params import CompletionCreateParams
from openai.types.responses.response_create_params import ResponseCreateParams

from interlingua.testing.oracles.hints import Compiler
from interlingua.testing.oracles.leaves import Check
from interlingua.testing.oracles.typed import run


@cache
def chat_request() -> Check:
    return Compiler().compile(CompletionCreateParams)


@cache
def responses_request() -> Check:
    return Compiler().compile(ResponseCreateParams)


def validate_chat(body: Any) -> list[str]:
    return run(chat_request(), body)


def validate_responses(body: Any) -> list[str]:
    return run(responses_request(), body)

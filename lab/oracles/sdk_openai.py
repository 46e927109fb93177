"""OpenAI's request types, for both of its protocols."""

from __future__ import annotations

from functools import cache
from typing import Any

from openai.types.chat.completion_create_params import CompletionCreateParams
from openai.types.responses.response_create_params import ResponseCreateParams
from openai.types.responses.response_reasoning_item_param import ResponseReasoningItemParam

from lab.oracles.hints import Compiler
from lab.oracles.leaves import Check
from lab.oracles.typed import Choice, Record, record, run


@cache
def chat_request() -> Check:
    return Compiler().compile(CompletionCreateParams)


@cache
def responses_request() -> Check:
    thought = Compiler().compile(ResponseReasoningItemParam)
    return Compiler({ResponseReasoningItemParam: Choice((thought, nameless(thought)))}).compile(ResponseCreateParams)


def nameless(thought: Check) -> Check:
    """A checker for reasoning without an id but with encrypted content: recorded servers accept it, unlike the type.

    The encrypted content names its item, and the server refuses any other id, so the id may have to be left out.
    """
    assert isinstance(thought, Record)
    required = [key for key in thought.required if key != "id"]
    return record(thought.name, thought.fields, [*required, "encrypted_content"])


def validate_chat(body: Any) -> list[str]:
    return run(chat_request(), body)


def validate_responses(body: Any) -> list[str]:
    return run(responses_request(), body)

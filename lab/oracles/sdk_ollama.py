"""Ollama's request types: those of the Python SDK, and fields that the server reads but this SDK does not have yet."""

from __future__ import annotations

from functools import cache
from typing import Any

from ollama import _types as types

from lab.oracles.hints import Compiler
from lab.oracles.leaves import BOOLEAN, INTEGER, NULL, NUMBER, OBJECT, STRING, Base64, Check
from lab.oracles.typed import Choice, ListOf, Record, run

SERVER: dict[type, dict[str, Check]] = {
    types.ChatRequest: {"truncate": BOOLEAN, "shift": BOOLEAN, "_debug_render_only": BOOLEAN},
    types.Message: {"tool_call_id": STRING},
    types.Message.ToolCall: {"id": STRING},
    types.Message.ToolCall.Function: {"index": INTEGER},
    types.Options: {"min_p": NUMBER, "draft_num_predict": INTEGER},
}
"""``api/types.go`` of the server, at the commit that the protocol sheet was written from."""


@cache
def request() -> Check:
    compiler = Compiler({types.Tool.Function.Parameters: OBJECT, types.Image: Base64()})
    chat = compiler.compile(types.ChatRequest)
    for model, fields in SERVER.items():
        found = compiler.compile(model)
        if isinstance(found, Record):
            found.fields.update(fields)
    if isinstance(chat, Record):  # the SDK takes any mapping here; the server reads these fields of it
        chat.fields["messages"] = Choice((ListOf(compiler.compile(types.Message)), NULL))
        chat.fields["options"] = Choice((compiler.compile(types.Options), NULL))
    return chat


def validate(body: Any) -> list[str]:
    return run(request(), body)

"""What a Messages request must have; complaints are said as ``path: sentence``."""

from __future__ import annotations

from collections.abc import Iterator

from ...codec.json import is_dict, is_list
from ...codec.validate import (
    ARRAY,
    BOOLEAN,
    INTEGER,
    NUMBER,
    OBJECT,
    OBJECTS,
    TEXT,
    Calls,
    Complaint,
    Field,
    dots,
    first_complaint,
    refused,
    unpaired,
)
from ...errors import InvalidRequestError
from ...types.base import Json
from .facts import NAME, Wire

BLOCK = "messages.*.content.*"
# fmt: off
FIELDS = (
    Field("model",                              (TEXT,)),  # a part of the URL in some clouds
    Field("max_tokens",                         (INTEGER,), needed=True),
    Field("messages",                           (OBJECTS,), needed=True, filled=True),
    Field("messages.*",                         (OBJECT,), needed=True),
    Field("messages.*.role",                    (TEXT,), needed=True, words=("user", "assistant", "system")),
    Field("messages.*.content",                 (TEXT, OBJECTS), needed=True),
    Field(BLOCK,                                (OBJECT,), needed=True),
    Field(f"{BLOCK}.type",                      (TEXT,), needed=True),
    Field(f"{BLOCK}type=text.text",             (TEXT,), needed=True),
    Field(f"{BLOCK}type=image.source",          (OBJECT,), needed=True),
    Field(f"{BLOCK}type=document.source",       (OBJECT,), needed=True),
    Field(f"{BLOCK}type=thinking.thinking",     (TEXT,), needed=True),
    Field(f"{BLOCK}type=tool_use.id",           (TEXT,), needed=True),
    Field(f"{BLOCK}type=tool_use.name",         (TEXT,), needed=True),
    Field(f"{BLOCK}type=tool_use.input",        (OBJECT,), needed=True),
    Field(f"{BLOCK}type=tool_result.tool_use_id", (TEXT,), needed=True),
    Field(f"{BLOCK}type=tool_result.content",   (TEXT, OBJECTS)),
    Field(f"{BLOCK}type=tool_result.is_error",  (BOOLEAN,)),
    Field("system",                             (TEXT, OBJECTS)),
    Field("system.*",                           (OBJECT,), needed=True),
    Field("stream",                             (BOOLEAN,)),
    Field("temperature",                        (NUMBER,)),
    Field("top_p",                              (NUMBER,)),
    Field("top_k",                              (INTEGER,)),
    Field("stop_sequences",                     (ARRAY,)),
    Field("stop_sequences.*",                   (TEXT,), needed=True),
    Field("metadata",                           (OBJECT,)),
    Field("thinking",                           (OBJECT,)),
    Field("tool_choice",                        (OBJECT,)),
    Field("tools",                              (OBJECTS,)),
    Field("tools.*",                            (OBJECT,), needed=True),
    Field("tools.*.name",                       (TEXT,)),
    Field("tools.*.input_schema",               (OBJECT,)),
)
# fmt: on
ORDER = {
    "no tool call found": "`tool_result` for the id {!r}, but no `tool_use` before it has that id",
    "no tool result found": "`tool_use` with the id {!r}, but no `tool_result` for it in the next message",
}


def validate_request(body: Json) -> None:
    """Raise what the vendor would answer to a body that it cannot take."""
    wrong = first_complaint(body, FIELDS, _order)
    if wrong is not None:
        raise _refusal(wrong)


def _refusal(wrong: Complaint) -> InvalidRequestError:
    said = {
        "missing": f"required, and expected to be {wrong.expected}",
        "type": f"expected {wrong.expected}, got {wrong.got}",
        "value": f"expected one of {wrong.expected}, got {wrong.got}",
        "empty": f"expected {wrong.expected}",
        "order": ORDER.get(wrong.expected, "").format(wrong.got),
    }[wrong.fault]
    message = f"{dots(wrong.path) or 'body'}: {said}"
    error = {"type": "invalid_request_error", "message": message}
    return refused(NAME, message, {"type": "error", "error": error}, "invalid_request_error")


def _order(body: Wire) -> Iterator[Complaint]:
    if not is_dict(body.get("thread")):  # else the server holds the earlier turns
        yield from unpaired(map(_turn, range(len(body["messages"])), body["messages"]))


def _turn(index: int, message: Wire) -> Calls:
    found: dict[str, dict[str, tuple[str | int, ...]]] = {"tool_use": {}, "tool_result": {}}
    content = message["content"]
    for place, block in enumerate(content if is_list(content) else ()):
        if block["type"] in found:
            key = "id" if block["type"] == "tool_use" else "tool_use_id"
            found[block["type"]][block[key]] = ("messages", index, "content", place, key)
    return Calls(found["tool_use"], found["tool_result"])

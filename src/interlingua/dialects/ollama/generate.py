"""``/api/generate``, the older endpoint of the same server: one prompt instead of a history, one flat answer.

It is read as the chat that it stands for (``context``, the tokens of all that went before, is an opaque block of the
model's turn) and written back as it came, while the request still is one prompt. Mark on a request or response:
``endpoint``.
"""

from __future__ import annotations

from ...codec.json import is_array
from ...codec.tables import Ledger, is_blank, marks
from ...types.blocks import OpaqueBlock
from ...types.request import Request
from ...types.response import Response
from ...types.words import Role
from .blocks import NAME, Wire

PATH = "/api/generate"
ENDPOINT = "generate"
ONLY_HERE = ("prompt", "suffix", "system", "template", "raw", "context", "images")


def is_request(body: Wire) -> bool:
    return type(body.get("prompt")) is str and "messages" not in body


def is_answer(body: Wire) -> bool:
    return type(body.get("response")) is str and "message" not in body


def read_context(rest: Wire) -> tuple[OpaqueBlock, ...]:
    """Pop the tokens of all that went before, which only this server understands."""
    if not is_array(rest.get("context")) or not rest["context"]:
        return ()
    return (OpaqueBlock(dialect=NAME, raw={"context": rest.pop("context")}),)


def read_turns(rest: Wire) -> list[Wire]:
    """Pop a prompt, as the turns of a chat."""
    turns: list[Wire] = []
    if type(rest.get("system")) is str and rest["system"]:
        turns.append({"role": "system", "content": rest.pop("system")})
    user: Wire = {"role": "user", "content": rest.pop("prompt")}
    if "images" in rest:
        user["images"] = rest.pop("images")
    return [*turns, user]


def still_fits(request: Request) -> bool:
    """Whether what came as a prompt still is one."""
    if marks(NAME, request).get("endpoint") != ENDPOINT or len(request.system) > 1 or request.tools:
        return False
    if not 1 <= len(request.messages) <= 2 or request.messages[-1].role != Role.user:
        return False
    return all(type(block) is OpaqueBlock for message in request.messages[:-1] for block in message.content)


def say_turns(turns: list[Wire], body: Wire) -> None:
    """The turns of a chat as a prompt."""
    for turn in turns:
        role = turn.pop("role", "user")
        content = turn.pop("content", "")
        if role == "user":
            body["prompt"] = content
        elif role == "system":
            body["system"] = content
        body.update(turn)


def leave_out(body: Wire, ledger: Ledger) -> None:
    """What came as a prompt and has become a conversation loses what only a prompt can have."""
    for key in ONLY_HERE:
        if key in body and not is_blank(body.pop(key)):
            ledger.lose(
                "dropped",
                f"`{key}` is a field of {PATH}, and the request goes to /api/chat",
                "extras",
                NAME,
                key,
                weight="state" if key == "context" else "content",
            )


def as_chat(body: Wire) -> Wire:
    """An answer, or a line of one, as the chat endpoint would give it."""
    wire = {key: value for key, value in body.items() if key not in ("response", "thinking", "tool_calls")}
    message: Wire = {"role": "assistant", "content": body["response"]}
    message |= {key: body[key] for key in ("thinking", "tool_calls") if key in body}
    return {**wire, "message": message}


def as_generate(wire: Wire) -> Wire:
    """An answer of the chat endpoint, or a line of one, as this endpoint gives it."""
    flat = {key: value for key, value in wire.items() if key != "message"}
    message: Wire = {key: value for key, value in wire.get("message", {}).items() if key != "role"}
    return {**flat, "response": message.pop("content", ""), **message}


def is_wanted(response: Response | None, request: Request | None) -> bool:
    """Whether an answer is to be given here: it came from here, or the request did."""
    return any(value is not None and marks(NAME, value).get("endpoint") == ENDPOINT for value in (response, request))

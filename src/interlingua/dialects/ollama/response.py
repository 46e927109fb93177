"""Reads and writes answers of Ollama. The stream decoder reads its last line with the same functions.

Marks: ``message`` (the marks of the message), ``no message`` (there was none), ``done_reason`` (a word where we would
write another), ``usage`` (counts that we would write otherwise; see ``codec.rows.usage``), ``endpoint`` (``generate``:
the answer to a prompt).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ...codec.bodies.answers import checked_answer
from ...codec.history.incomplete import has_whole_calls
from ...codec.json import Wire, is_object
from ...codec.ledger import Ledger
from ...codec.marks import extras_and_forms, marks
from ...codec.paths import merge
from ...codec.rows.endings import StopWord
from ...codec.schema.plans import restorer
from ...types.base import Json
from ...types.blocks import Block, ToolUseBlock
from ...types.loss import Encoded
from ...types.request import Request
from ...types.response import Response
from ...types.words import Role, StopReason
from .errors import ERRORS
from .facts import NAME
from .read_turns import read_blocks
from .request import read_context
from .rows import ANSWER, ANSWERS, STOP, USAGE, Turn
from .write_turns import write_slots

# aliases: attribute access on an Enum costs 40 ns
ASSISTANT, END, CALLED = Role.assistant, StopReason.end_turn, StopReason.tool_use
NEAREST_STOP = {StopReason.context_overflow: "length"}
COUNTS = tuple(USAGE.keys.values())
ANSWER_KEYS = ("message", "response", "done", "choices")  # recorded answers have ``choices``, of its other protocol


def make_id(place: int) -> str:
    """An id for a call that has none, from its place among the blocks."""
    return f"call_{place}"


# ------------------------------------------------------------------------------------------------------------- reading


def read_response(
    body: Json, headers: Mapping[str, str] | None, request: Request | None, provider: str | None
) -> Response:
    if is_object(body) and body.get("error"):
        return Response(stop_reason=StopReason.error, error=ERRORS.decode(None, headers, body, provider))
    body = checked_answer(body, NAME, *ANSWER_KEYS)
    prompted = is_prompt_answer(body)
    fields, rest, marks = ANSWER.take(as_chat_answer(body) if prompted else body)
    if prompted:
        marks["endpoint"] = "generate"
    blocks = [*read_message(rest, marks), *read_context(rest)]
    calls = ToolUseBlock in map(type, blocks)
    if calls and (restore := restorer(request, texts=False)) is not None:
        blocks = [restore(block) if type(block) is ToolUseBlock else block for block in blocks]
    read_end(fields, rest, marks, calls=calls)
    return Response(tuple(blocks), **fields, **extras_and_forms(NAME, rest, marks))


def is_prompt_answer(body: Wire) -> bool:
    """Whether an answer, or a line of a stream, is the answer to a prompt."""
    return type(body.get("response")) is str and "message" not in body


def as_chat_answer(body: Wire) -> Wire:
    """The answer to a prompt, or a line of a stream, as the chat endpoint would send it."""
    wire = {key: value for key, value in body.items() if key not in ("response", "thinking", "tool_calls")}
    message: Wire = {"role": "assistant", "content": body["response"]}
    message |= {key: body[key] for key in ("thinking", "tool_calls") if key in body}
    return {**wire, "message": message}


def read_message(rest: Wire, marks: Wire) -> list[Block]:
    """Take the message and return its blocks; its other keys stay residue below ``message``."""
    if type(rest.get("message")) is not dict:
        marks["no message"] = True
        return []
    turn: Turn = ANSWERS.read(rest.pop("message"))
    if turn.extras:
        rest["message"] = turn.extras[NAME]
    if turn.forms:
        marks["message"] = turn.forms[NAME]
    return read_blocks(turn, make_id, answer=True)


def read_end(fields: dict[str, Any], rest: Wire, marks: Wire, *, calls: bool) -> None:
    """Read why the answer ended, and its usage."""
    ENDINGS[calls].read(fields, rest, marks)
    counts = {key: rest[key] for key in COUNTS if key in rest}
    if not [count for count in counts.values() if type(count) is int and count >= 0]:
        return  # the server leaves out counts of zero; if both are missing, nothing is known
    fields["usage"], left, unusual = USAGE.read(counts)
    for key in counts.keys() - left.keys():
        del rest[key]
    if unusual is not None:
        marks["usage"] = unusual


def _ending(*, calls: bool) -> StopWord:
    """How the stop reason is read and written. A usual end means ``tool_use`` in an answer with calls."""

    def read(word: Json) -> StopReason:
        found = STOP.reads.get(word, END) if type(word) is str else END
        return CALLED if calls and found is END else found

    def write(reason: StopReason) -> str:
        return STOP.writes.get(reason) or NEAREST_STOP.get(reason, "stop")

    return StopWord(NAME, "done_reason", read, write)


ENDINGS = {calls: _ending(calls=calls) for calls in (False, True)}
"""By whether the answer has calls."""


# ------------------------------------------------------------------------------------------------------------- writing


def write_response(response: Response, request: Request | None) -> Encoded:
    ledger, mark = Ledger(), marks(NAME, response)
    placed = [(("content", index), block) for index, block in enumerate(response.content)]
    slots = write_slots(placed, ledger, answer=True, context=True)
    wire: Wire = {"context": slots.pop("context")} if "context" in slots else {}
    if response.content or "no message" not in mark:
        wire["message"] = ANSWERS.write(_turn(response, slots, mark), Ledger())
    write_end(response, wire, mark, ledger)
    if is_for_prompt(response, request):
        wire = as_prompt_answer(wire)
    return Encoded(wire, None, {}, tuple(ledger.losses))


def _turn(response: Response, slots: dict[str, Any], mark: Wire) -> Turn:
    residue = response.extras[NAME].get("message") if NAME in response.extras else None
    if not is_object(residue) and "message" not in mark:
        return Turn(ASSISTANT, **slots)
    extras = {NAME: residue} if is_object(residue) else {}
    return Turn(ASSISTANT, **slots, extras=extras, forms={NAME: mark.get("message", {})})


def write_end(response: Response, wire: Wire, mark: Wire, ledger: Ledger) -> None:
    """Write everything but the message, which is in ``wire`` already."""
    wire |= ANSWER.put(response, ledger)
    calls = ToolUseBlock in map(type, response.content) and has_whole_calls(response, NAME)
    wire |= ENDINGS[calls].write(response, mark, ledger)
    wire |= write_usage(response, mark, ledger)
    if response.extras:
        merge(wire, response.extras.get(NAME, {}))
        ledger.lose_foreign_extras(response, NAME)
    ANSWER.row.put_constants(wire, mark)


def write_usage(response: Response, mark: Wire, ledger: Ledger) -> Wire:
    usage = response.usage
    if usage is None:
        return {}
    if usage.total_input_tokens != usage.input_tokens:
        for bucket in ("input_tokens", "cached_input_tokens", "cache_creation_input_tokens"):
            ledger.lose("approximated", f"{NAME} has one count for the whole prompt", "usage", bucket)
        usage = replace(usage, input_tokens=usage.total_input_tokens)
    for word in ("reasoning_tokens", "estimated"):
        if getattr(usage, word):
            ledger.lose("dropped", f"usage of {NAME} has no {word}", "usage", word)
    return USAGE.write(usage, mark.get("usage"))


def as_prompt_answer(wire: Wire) -> Wire:
    """An answer of the chat endpoint, or a line of a stream, as the answer to a prompt."""
    flat = {key: value for key, value in wire.items() if key != "message"}
    message: Wire = {key: value for key, value in wire.get("message", {}).items() if key != "role"}
    return {**flat, "response": message.pop("content", ""), **message}


def is_for_prompt(response: Response | None, request: Request | None) -> bool:
    """Whether an answer is written as one to a prompt: it was read so, or its request was a prompt."""
    for value in (response, request):
        if value is not None and value.forms and marks(NAME, value).get("endpoint") == "generate":
            return True
    return False

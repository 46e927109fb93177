"""Reads and writes answers of OpenAI Chat. The stream decoder builds such an object and reads it with these functions.

The first choice is the answer; further choices are residue in their place. Marks: ``choices`` (there were none: the
value as ``[value]``, or ``[]``), ``turn`` (the marks of the message), ``message`` (the value in its place), ``index``
(the first choice had none), ``finish_reason`` (a word where we would write another), ``usage`` (see
``codec.rows.usage``), ``no usage`` (the value in its place).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ...codec.bodies.answers import checked_answer
from ...codec.history.incomplete import declare_last_call, mark_cut_call
from ...codec.json import Wire, is_array, is_object
from ...codec.ledger import Ledger, is_blank
from ...codec.marks import extras_and_forms, marks, with_marks
from ...codec.paths import merge, put_back
from ...codec.rows.endings import StopWord
from ...codec.rows.plain_text import is_one_text
from ...codec.tools.offered_tools import calls_as_declared
from ...types.base import Json
from ...types.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.loss import Encoded
from ...types.messages import Message
from ...types.request import Request
from ...types.response import Response
from ...types.words import StopReason
from .assistant import read_blocks, read_turn, regroup, usual_turn
from .errors import ERRORS
from .facts import NAME, OPENAI
from .rows import ANSWER, ANSWER_TURNS, STOP, USAGE, Turn

NEAREST = {
    StopReason.stop_sequence: "stop",
    StopReason.pause_turn: "stop",
    StopReason.cancelled: "stop",
    StopReason.context_overflow: "length",
}
"""The nearest words for stop reasons that the protocol does not have."""
END, CALLED, REFUSED = StopReason.end_turn, StopReason.tool_use, StopReason.refusal  # aliases: Enum access costs 40 ns


# ------------------------------------------------------------------------------------------------------------- reading


def read_response(
    body: Json, headers: Mapping[str, str] | None, request: Request | None, provider: str | None
) -> Response:
    if not is_object(body) or body.get("error") is None:
        return read_answer(body, request)
    if body["error"] and not body.get("choices"):
        return Response(stop_reason=StopReason.error, error=ERRORS.decode(None, headers, body, provider))
    response = read_answer(body, request)
    if isinstance(body["error"], dict):
        error = ERRORS.decode(None, headers, body, provider)
        cut = tuple([replace(block, incomplete=True) for block in response.content])
        return replace(response, content=cut, stop_reason=StopReason.error, error=error)
    return response


def read_answer(wire: Json, request: Request | None) -> Response:
    """Read an answer without looking for errors."""
    fields, rest, marks = ANSWER.take(checked_answer(wire, NAME, "choices"))
    choices: list[Json] | None = rest.get("choices")
    if type(choices) is list and choices and is_object(choices[0]):
        read_choice(choices, fields, rest, marks)
    else:
        marks["choices"] = [rest.pop("choices")] if choices == [] else []
    if request is not None and fields.get("content"):
        fields["content"] = calls_as_declared(fields["content"], request, texts=True)
    if is_object(usage := rest.get("usage")):
        fields["usage"], left, numbers = USAGE.read(usage)
        if numbers is not None:
            marks["usage"] = numbers
        put_back(rest, "usage", left)
    elif "usage" in rest:
        marks["no usage"] = [rest.pop("usage")]
    return mark_cut_call(Response(**fields, **extras_and_forms(NAME, rest, marks)))


def read_choice(choices: list[Json], fields: dict[str, Any], rest: Wire, marks: Wire) -> None:
    """Read the first choice. Its unknown fields, and the other choices, stay residue."""
    first = choices[0].copy()
    turn = Turn()
    if is_object(wire := first.get("message")):
        del first["message"]
        turn = read_turn(ANSWER_TURNS, wire)
        if type(wire.get("content")) is list and turn.content and "content" not in turn.forms.get(NAME, ()):
            turn = with_marks(NAME, turn, content="list")
        fields["content"] = read_blocks(turn)
        if turn.forms:
            marks["turn"] = turn.forms[NAME]
        if turn.extras:
            first["message"] = turn.extras[NAME]
    else:
        marks["message"] = [first.pop("message")] if "message" in first else []
    if "index" not in first:
        marks["index"] = "absent"
    elif first["index"] == 0 and type(first["index"]) is int:
        del first["index"]
    ending_of(fields.get("content", ())).read(fields, first, marks)
    if first or len(choices) > 1:
        rest["choices"] = [first, *choices[1:]]
    else:
        del rest["choices"]


def _ending(*, calls: bool, refused: bool) -> StopWord:
    """How the stop reason is read and written. A call or a refusal decides if the word is a usual end or unknown."""
    default = CALLED if calls else REFUSED if refused else END

    def read(word: Json) -> StopReason:
        found: StopReason | None = STOP.reads.get(word) if isinstance(word, str) else None
        return default if found is None or found is END else found

    def write(reason: StopReason) -> str:
        if reason is REFUSED and refused:
            return "stop"
        return NEAREST.get(reason) or STOP.writes.get(reason, "stop")

    return StopWord(NAME, "finish_reason", read, write)


ENDINGS = {(c, r): _ending(calls=c, refused=r) for c in (False, True) for r in (False, True)}


def ending_of(content: Sequence[Block]) -> StopWord:
    """How the stop reason of an answer with this content is read and written."""
    kinds = [type(block) for block in content]
    return ENDINGS[ToolUseBlock in kinds, RefusalBlock in kinds]


def as_turn(response: Response, message: Message) -> Message:
    """The turn of an answer with the residue of its wire message, such as signed reasoning details, to be sent back."""
    residue = {key: value for key, value in _first_message(response).items() if not is_blank(value)}
    mark = marks(NAME, response).get("turn", {})
    turn: Wire = {key: value for key, value in mark.items() if key == "content"}
    spelling = {name: found for name, found in mark.get("spelling", {}).items() if name == "thinking" or found == [""]}
    if spelling:
        turn["spelling"] = spelling
    if any(type(block) is ThinkingBlock for block in response.content):
        turn["verbatim"] = ["thinking"]
    return replace(message, **extras_and_forms(NAME, residue, turn))


EMPTY_CONTENT = (TextBlock(""),)


def _first_message(response: Response) -> Wire:
    """The residue of the message of the first choice; empty if there is none."""
    choices = response.extras.get(NAME, {}).get("choices")
    first: Json = choices[0] if is_array(choices) and choices else None
    message: Json = first.get("message") if is_object(first) else None
    return message if is_object(message) else {}


# ------------------------------------------------------------------------------------------------------------- writing


def write_response(response: Response, request: Request | None) -> Encoded:
    ledger, mark = Ledger(), marks(NAME, response)
    if response.error is not None and not response.content:
        return Encoded(ERRORS.body(response.error), None, {}, ())
    wire = ANSWER.put(response, ledger)
    if "choices" not in mark or response.content:
        wire["choices"] = [write_choice(response, mark, ledger)]
    elif mark["choices"]:
        wire["choices"] = mark["choices"][0]
    wire |= write_usage(response, mark)
    if response.extras:
        merge(wire, response.extras.get(NAME, {}))
        ledger.lose_foreign_extras(response, NAME)
    ANSWER.row.put_constants(wire, mark)
    if response.error is not None:
        merge(wire, ERRORS.body(response.error))
    return Encoded(wire, None, {}, tuple(ledger.losses))


def write_choice(response: Response, mark: Mapping[str, Json], ledger: Ledger) -> Wire:
    choice: Wire = {"index": 0}
    residue = response.extras.get(NAME, {}).get("choices", ({},))[0]
    if "index" in mark or "index" in residue:
        del choice["index"]
    if response.content or "message" not in mark:
        choice["message"] = write_turn(response, mark.get("turn", {}), ledger)
    elif mark["message"]:
        choice["message"] = mark["message"][0]
    return choice | ending_of(response.content).write(response, mark, ledger)


def write_turn(response: Response, mark: Mapping[str, Json], ledger: Ledger) -> Wire:
    residue = {key: value for key, value in _first_message(response).items() if key == "role"}
    usual = usual_turn(response.content) if not residue else None
    if usual is not None and (not usual.content or is_one_text(usual.content)):
        written: Wire | None = ANSWER_TURNS.write_usual(replace(usual, forms={NAME: mark}) if mark else usual)
        if written is not None:
            declare_last_call(response, len(response.content) - 1 if usual.tool_calls else None, ledger)
            return written
    turn, places = regroup(enumerate(response.content), mark, OPENAI, ledger, answer=True)
    if turn.content == EMPTY_CONTENT and mark.get("content") != "list":
        turn, mark = replace(turn, content=()), {**mark, "spelling": {**mark.get("spelling", {}), "content": [""]}}
    count = len(ledger.losses)
    turn = replace(turn, **extras_and_forms(NAME, residue, dict(mark)))
    wire: Wire = ANSWER_TURNS.write(turn, ledger)
    ledger.relocate(count, places)
    declare_last_call(response, last_call(response), ledger)
    return wire


def last_call(response: Response) -> int | None:
    """The place of the last call, None without calls. On the wire, calls stand behind everything else."""
    return max((index for index, block in enumerate(response.content) if type(block) is ToolUseBlock), default=None)


def write_usage(response: Response, mark: Mapping[str, Json]) -> Wire:
    """An object with the key ``usage``, or an empty one if the answer has no usage."""
    if response.usage is not None:
        return {"usage": USAGE.write(response.usage, mark.get("usage"))}
    return {"usage": mark["no usage"][0]} if "no usage" in mark else {}

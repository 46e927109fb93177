"""The answer of OpenAI Chat. The stream decoder puts the same object together and reads it here.

The first choice is the answer; further ones are residue, in their own place. Marks: ``turn`` (those of the assistant's
turn), ``usage`` (those of the usage object, or what stood there instead), ``finish_reason`` (a word we would not
write).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from ...codec.answers import answer_of, reads_answers
from ...codec.ids import ANY, IdMap
from ...codec.incomplete import declare_last_call, mark_cut_call
from ...codec.json import is_array, is_dict, is_object
from ...codec.schemas import restorer
from ...codec.tables import Ledger, Words, is_blank, kept, marks, merge, own, read_constants, say_constants, sift
from ...types.base import Json
from ...types.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.loss import Encoded
from ...types.messages import Message
from ...types.request import Request
from ...types.response import Response
from ...types.words import StopReason
from .answers import read_answer
from .assistant import THINKING_KEYS, read_turn, say_turn
from .errors import decode_error, encode_error_body
from .parts import NAME, Wire
from .quirks import OPENAI
from .usage import read_usage, say_usage

CONSTANTS: Wire = {"object": "chat.completion", "created": 0}
CHOICE: Wire = {"index": 0}
STOP: Words[StopReason] = Words(
    [
        ("stop", StopReason.end_turn),
        ("length", StopReason.max_tokens),
        ("tool_calls", StopReason.tool_use),
        ("content_filter", StopReason.refusal),
        ("function_call", StopReason.tool_use),
        ("eos", StopReason.end_turn),
        ("model_length", StopReason.context_overflow),
        ("error", StopReason.error),
        ("insufficient_system_resource", StopReason.error),
    ]
)
APPROXIMATE = {
    StopReason.stop_sequence: "stop",
    StopReason.pause_turn: "stop",
    StopReason.cancelled: "stop",
    StopReason.context_overflow: "length",
}


END, CALLED, REFUSED = StopReason.end_turn, StopReason.tool_use, StopReason.refusal  # slow to reach


def stands_for(word: Json, *, calls: bool, refused: bool) -> StopReason:
    """What a finish reason means beside the answer's content: presence of calls decides."""
    found = STOP.read.get(word) if isinstance(word, str) else None
    if found is None or found is END:
        return CALLED if calls else REFUSED if refused else END
    return found


@reads_answers(NAME)
def decode_response(
    body: Json, headers: Mapping[str, str] | None, request: Request | None, provider: str | None
) -> Response:
    if not is_object(body) or body.get("error") is None:
        return read_response(body, request)
    if body["error"] and not body.get("choices"):
        return Response(stop_reason=StopReason.error, error=decode_error(None, headers, body, provider))
    response = read_response(body, request)
    if isinstance(body["error"], dict):
        error = decode_error(None, headers, body, provider)
        cut = tuple([replace(block, incomplete=True) for block in response.content])
        return replace(response, content=cut, stop_reason=StopReason.error, error=error)
    return response


def read_response(wire: Json, request: Request | None) -> Response:
    usual = read_answer(wire, request) if is_object(wire) else None
    if usual is None:
        usual = read_tables(dict(answer_of(wire, NAME, "choices")), request)
    return mark_cut_call(usual)


def read_tables(rest: Wire, request: Request | None) -> Response:
    """Any answer. ``rest`` is a private copy."""
    forms: Wire = {}
    blanks: Wire = {}
    fields: dict[str, Any] = {}
    read_constants(rest, forms, CONSTANTS)
    for key in ("id", "model"):
        value = rest.pop(key, "absent")
        if isinstance(value, str) and value and value != "absent":
            fields[key] = value
        elif value != "":
            forms[key] = value
    read_choices(rest, fields, forms, blanks)
    restore = restorer(request, texts=True) if request is not None else None
    if restore is not None and "content" in fields:
        fields["content"] = tuple(restore(b) if type(b) is ToolUseBlock else b for b in fields["content"])
    if isinstance(rest.get("usage"), dict):
        marked: Wire = {}
        empty: Wire = {}
        fields["usage"], left = read_usage(rest.pop("usage"), marked, empty)
        _keep(rest, "usage", left)
        _keep(forms, "usage", marked)
        _keep(blanks, "usage", empty)
    elif "usage" in rest:
        forms["usage"] = rest.pop("usage")
    if rest:
        sift(rest, blanks)
    return Response(**fields, **kept(NAME, rest, forms, blanks))


def _keep(where: Wire, key: str, value: Wire) -> None:
    if value:
        where[key] = value


def read_choices(rest: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire) -> None:
    choices: list[Wire] | None = rest.get("choices")
    if type(choices) is not list or not choices or type(choices[0]) is not dict:
        if choices == []:
            del rest["choices"]
        forms["choices"] = "absent" if "choices" not in rest and choices is None else "odd"
        return
    del rest["choices"]
    first = dict(choices[0])
    marked: Wire = {}
    empty: Wire = {}
    read_constants(first, marked, CHOICE)
    if isinstance(first.get("message"), dict):
        read_message(first, fields, marked, empty)
    else:
        marked["message"] = first.pop("message", "absent")
    word = first.pop("finish_reason", "absent")
    content: tuple[Block, ...] = fields.get("content", ())
    kinds = [type(block) for block in content]
    calls, refused = ToolUseBlock in kinds, RefusalBlock in kinds
    reason = fields["stop_reason"] = stands_for(word, calls=calls, refused=refused)
    if isinstance(word, str) and word != "absent":
        fields["raw_stop_reason"] = word
    if word != write_stop(reason, refused=refused):
        forms["finish_reason"] = word
    hollow: Wire = {}
    if first:
        sift(first, hollow)
    if first or len(choices) > 1:
        rest["choices"] = [first, *choices[1:]]
    _keep(forms, "turn", marked)
    if empty or hollow.get("message"):
        hollow["message"] = {**hollow.get("message", {}), **empty}
    if hollow:
        blanks["choices"] = [hollow]


def read_message(first: Wire, fields: dict[str, Any], marked: Wire, empty: Wire) -> None:
    message = first.pop("message")
    text = message.get("content")
    if len(message) == 2 and type(text) is str and text and message.get("role") == "assistant":
        fields["content"] = (TextBlock(text),)  # nearly all answers
        return
    inner = dict(message)
    role = inner.pop("role", "absent")
    if role != "assistant":
        marked["role"] = role
    turn = read_turn(inner)
    fields["content"] = turn.blocks
    marked |= turn.forms
    if marked.get("content", "") is None:
        del marked["content"]  # null is what we write where there is no text
    if marked.get("thinking") == [THINKING_KEYS[0]]:
        del marked["thinking"]
    marked.pop("annotations", None)  # an answer cites there
    empty |= turn.blanks
    if turn.rest:
        first["message"] = turn.rest


def as_turn(response: Response, message: Message) -> Message:
    """The turn with what stood on its own wire object: signed reasoning details and the like go back with it."""
    message_rest = _first_message(response.extras.get(NAME, {}))
    residue = {key: value for key, value in message_rest.items() if not is_blank(value)}
    mark = marks(NAME, response)
    turn = {key: value for key, value in mark.get("turn", {}).items() if key in ("thinking", "content")}
    if any(type(block) is ThinkingBlock for block in response.content):
        turn.setdefault("thinking", [THINKING_KEYS[0]])
    found = _first_message(mark.get("blank", {}))
    empty = {key: value for key, value in found.items() if key in ("content", *THINKING_KEYS) and value == ""}
    return replace(message, **kept(NAME, residue, turn, empty))


def _first_message(wire: Wire) -> Wire:
    """What is left of the message of the first choice, if there is such a thing."""
    choices = wire.get("choices")
    first: Json = choices[0] if is_array(choices) and choices else None
    message: Json = first.get("message") if is_object(first) else None
    return message if is_object(message) else {}


def write_stop(reason: StopReason, *, refused: bool) -> str:
    if reason is REFUSED and refused:
        return "stop"
    return APPROXIMATE.get(reason) or STOP.write.get(reason, "stop")


def encode_response(response: Response, request: Request | None) -> Encoded:
    ledger, mark = Ledger(), marks(NAME, response)
    if response.error is not None and not response.content:
        return Encoded(encode_error_body(response.error), None, {}, ())
    wire: Wire = {}
    for key in ("id", "model"):
        value = getattr(response, key)
        if value is not None or key not in mark:
            wire[key] = value or ""
        elif mark[key] != "absent":
            wire[key] = mark[key]
    if "choices" not in mark or response.content:
        wire["choices"] = [say_choice(response, mark, ledger)]
    elif mark["choices"] == "odd" and "choices" not in response.extras.get(NAME, {}):
        wire["choices"] = []
    usage = say_whole_usage(response, mark)
    if usage != "absent":
        wire["usage"] = usage
    own(NAME, wire, response)
    say_constants(wire, mark, CONSTANTS)
    if response.error is not None:
        merge(wire, encode_error_body(response.error))
    ledger.foreign(response, NAME)
    return Encoded(wire, None, {}, tuple(ledger.losses))


def say_choice(response: Response, mark: Wire, ledger: Ledger) -> Wire:
    turn = mark.get("turn", {})
    choice: Wire = {}
    if "message" in turn and not response.content:
        choice |= {} if turn["message"] == "absent" else {"message": turn["message"]}
    else:
        choice["message"] = say_message(response, turn, mark, ledger)
    choice |= say_stop(response, mark, ledger)
    residue = response.extras.get(NAME, {}).get("choices")
    merge(choice, {key: value for key, value in residue[0].items() if key in CHOICE} if residue else {})
    say_constants(choice, turn, CHOICE)
    return choice


def say_message(response: Response, turn: Wire, mark: Wire, ledger: Ledger) -> Wire:
    message: Wire = {"role": turn.get("role", "assistant")}
    if message["role"] == "absent":
        del message["role"]
    empty = mark.get("blank", {}).get("choices", [{}])[0].get("message", {})
    blocks = list(enumerate(response.content))
    say_turn(message, blocks, {**turn, "blank": empty}, OPENAI, IdMap(ANY), ledger, answer=True)
    declare_last_call(response, last_call(response), ledger)
    return message


def last_call(response: Response) -> int | None:
    """The place of the last call: calls stand behind everything else."""
    return max((index for index, block in enumerate(response.content) if type(block) is ToolUseBlock), default=None)


def say_stop(response: Response, mark: Wire, ledger: Ledger) -> Wire:
    """The provider's own word while it still stands for the stop reason, else ours for it."""
    refused = any(isinstance(block, RefusalBlock) for block in response.content)
    calls = bool(response.tool_uses)
    if "finish_reason" in mark:
        word = mark["finish_reason"]
        if stands_for(word, calls=calls, refused=refused) is response.stop_reason:
            return {} if word == "absent" else {"finish_reason": word}
    word = write_stop(StopReason(response.stop_reason), refused=refused)
    if stands_for(word, calls=calls, refused=refused) is not response.stop_reason:
        ledger.lose("approximated", f"{NAME} has no stop reason {response.stop_reason}", "stop_reason")
    return {"finish_reason": word}


def say_whole_usage(response: Response, mark: Wire) -> Json:
    if response.usage is None:
        found = mark.get("usage", "absent")
        return "absent" if isinstance(found, dict) else found
    forms = mark.get("usage", {})
    return say_usage(response.usage, forms if is_dict(forms) else {})

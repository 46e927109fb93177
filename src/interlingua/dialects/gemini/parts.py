"""The parts of Gemini: left column ours, right column theirs.

A part is told by its key, with three exceptions: media, which their type tells; thoughts, which are texts with a flag;
and a part that is nothing but a signature. Those are given a tag in parentheses before the table reads them.

Marks: ``snake`` (key_case.py), ``id`` (the id that we gave a call: the wire had none, and gets none), ``args`` and
``text`` (absent), ``signature`` (the documented placeholder stood in its place), ``as_sent`` (the signature, which is
not base64).
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...codec.stream import dump
from ...codec.tables import BlockTable, Ledger, Row, kept, marks
from ...types.base import Json
from ...types.blocks import (
    Block,
    JsonBlock,
    OpaqueBlock,
    RefusalBlock,
    ServerToolResultBlock,
    ServerToolUseBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from .key_case import Wire, camel, is_object, respell
from .media import KEYS, NAME, ROWS, tag_of
from .results import read_result, say_result
from .usual import PLACEHOLDERS, SIGNATURE, is_base64, read_block as read_usual

CODE = "code_execution"


class Calls:
    """Calls that wait for their results: a result finds its own by id, then by name, then by order."""

    __slots__ = ("code", "waiting")

    def __init__(self) -> None:
        self.waiting: list[tuple[str, str]] = []
        self.code: str | None = None  # the last code that was run

    def made(self, block: ToolUseBlock) -> None:
        self.waiting.append((block.id, block.name))

    def answered(self, id: str, name: str | None) -> str | None:
        """The id of the call that a result answers; None where nothing was called."""
        found = next((call for call in self.waiting if call[0] == id), None) if id else self._unnamed(name)
        if found is not None:
            self.waiting.remove(found)
        return id or (found[0] if found is not None else None)

    def _unnamed(self, name: str | None) -> tuple[str, str] | None:
        return next((call for call in self.waiting if call[1] == name), next(iter(self.waiting), None))


def read_part(part: Json, prefix: str, place: int, calls: Calls) -> Block:
    """One part as a block; ``prefix`` and ``place`` are its id where the wire has none."""
    if not is_object(part):
        return OpaqueBlock(dialect=NAME, raw=part)
    usual = read_usual(part, prefix, place)
    if usual is not None:
        if type(usual) is ToolUseBlock:
            calls.made(usual)
        elif type(usual) is ToolResultBlock:
            calls.answered(usual.tool_use_id, usual.name)
        return usual
    derived = f"{prefix}{place}"
    rest, forms, blanks = tidy(part)
    block = BLOCKS.decode(rest)
    if type(block) is OpaqueBlock:
        return OpaqueBlock(dialect=NAME, raw=part)
    ids = identify(block, derived, calls, forms)
    if not forms and not blanks:
        return block if not ids else replace(block, **ids)
    mark = marks(NAME, block)
    if blanks:
        forms["blank"] = {**blanks, **mark.get("blank", {})}
    return replace(block, **ids, forms={NAME: {**mark, **forms}})


def tidy(part: Wire) -> tuple[Wire, Wire, Wire]:
    """A private copy, tagged, and the marks and blanks that any part may leave."""
    found: list[str] = []
    forms, blanks = Wire(), Wire()
    rest = camel(part, found)
    if found:
        forms["snake"] = found
    if None in part.values():
        blanks = {key: value for key, value in rest.items() if value is None}
        rest = {key: value for key, value in rest.items() if value is not None}
    if rest.get("thought") is False:
        blanks["thought"] = rest.pop("thought")
    signature = rest.get(SIGNATURE)
    if signature == "":
        blanks[SIGNATURE] = rest.pop(SIGNATURE)
    elif signature in PLACEHOLDERS:
        forms["signature"] = rest.pop(SIGNATURE)
    elif type(signature) is str and not is_base64(signature):
        forms["as_sent"] = signature
    return tagged(rest), forms, blanks


def tagged(rest: Wire) -> Wire:
    data = DATA & rest.keys()
    if rest.get("thought") is True and data <= {"text"}:
        return {"(thought)": None, **rest}
    if not data and SIGNATURE in rest:
        return {"(signature)": None, **rest}
    if not data.isdisjoint(KEYS):
        return {tag_of(rest): None, **rest}
    return rest


def identify(block: Block, derived: str, calls: Calls, forms: Wire) -> dict[str, Any]:
    """The id that a block lacks, and who answers whom."""
    match block:
        case ToolUseBlock() | ServerToolUseBlock():
            ids: dict[str, Any] = {} if block.id else {"id": derived}
            if isinstance(block, ToolUseBlock):
                calls.made(replace(block, **ids) if ids else block)
            elif block.name == CODE:
                calls.code = block.id or derived
        case ToolResultBlock():
            found = calls.answered(block.tool_use_id, block.name) or derived
            ids = {} if block.tool_use_id else {"tool_use_id": found}
        case ServerToolResultBlock() if not block.tool_use_id:
            ids = {"tool_use_id": calls.code or derived}
        case _:
            return {}
    if ids:
        forms["id"] = next(iter(ids.values()))
    return ids


def is_signable(block: Block) -> bool:
    """Whether the signature of a block can be said. Readers refuse a whole answer for one that is not base64."""
    if block.signature is None or is_base64(block.signature):
        return True
    return bool(marks(NAME, block).get("as_sent") == block.signature)


def without_odd_signature(block: Block, ledger: Ledger) -> Block:
    """The block as it can be said: without a signature that is not base64."""
    if is_signable(block):
        return block
    ledger.lose("dropped", f"a signature of {NAME} is base64, and this one is not; it was left out", "signature")
    return replace(block, signature=None)


def spelled(block: Block, wire: Wire) -> Wire:
    """What the marks of any part say, after everything else was said."""
    mark = marks(NAME, block)
    if "signature" in mark and SIGNATURE not in wire:
        wire[SIGNATURE] = mark["signature"]
    return respell(wire, mark["snake"]) if "snake" in mark else wire


def say_text(block: TextBlock, ledger: Ledger) -> Wire:
    if not block.text and marks(NAME, block).get("text") == "absent":
        return {}
    return {"text": block.text}


def read_text(rest: Wire) -> dict[str, Any] | None:
    return {"text": rest.pop("text")} if type(rest["text"]) is str else None


def read_signature(rest: Wire) -> dict[str, Any]:
    del rest["(signature)"]
    return {"text": "", "forms": {NAME: {"text": "absent"}}}


def say_thinking(block: ThinkingBlock, ledger: Ledger) -> Wire:
    if not block.text and marks(NAME, block).get("text") == "absent":
        return {"thought": True}
    return {"text": block.text, "thought": True}


def read_thinking(rest: Wire) -> dict[str, Any] | None:
    del rest["(thought)"], rest["thought"]
    if "text" not in rest:
        return {"forms": {NAME: {"text": "absent"}}}
    return read_text(rest)


def wire_id(block: ToolUseBlock) -> str | None:
    """The id that the provider knows a call by; None for one that came without."""
    return None if "id" in marks(NAME, block) else block.native_ids.get(NAME, block.id)


def say_call(block: ToolUseBlock, ledger: Ledger) -> Wire:
    mark, args = marks(NAME, block), block.input
    if block.kind == "text":
        ledger.lose("approximated", f"{NAME} has no free-text calls; sent as one string `input`", "input_text")
        ledger.lose("added", f"{NAME} has no free-text calls; sent as one string `input`", "input")
        ledger.lose("approximated", f"{NAME} has no free-text calls; sent as one string `input`", "kind")
        args = {"input": block.input_text or ""}
    elif block.input_text is not None:
        ledger.lose_form("dropped", f"{NAME} takes parsed arguments, not the text", "input_text")
    wire: Wire = {"name": block.name}
    if (issued := wire_id(block)) is not None:
        wire["id"] = issued
    elif mark["id"] != block.native_ids.get(NAME, block.id):
        ledger.lose_form("dropped", f"{NAME} gave this call no id, so none is sent", "id")
    if args or not ("args" in mark or "args" in mark.get("blank", {}).get("functionCall", ())):
        wire["args"] = args
    return {"functionCall": wire}


def read_call(rest: Wire) -> dict[str, Any] | None:
    wire: Wire = rest.pop("functionCall")
    if type(wire["name"]) is not str or not wire["name"]:
        return None
    forms, blanks = Wire(), Wire()
    fields: dict[str, Any] = {"name": wire.pop("name"), "id": _id(wire, blanks)}
    args = wire.pop("args", forms)
    if args is forms:
        forms["args"] = "absent"
    elif args is None:
        blanks["args"] = None
    elif not is_object(args):
        return None
    else:
        fields["input"] = args
    if wire:
        rest["functionCall"] = wire
    return {**fields, **kept(NAME, {}, forms, {"functionCall": blanks} if blanks else {})}


def _id(wire: Wire, blanks: Wire) -> str:
    """The id of a call, empty where there is none."""
    if not wire.get("id"):
        if "id" in wire:
            blanks["id"] = wire.pop("id")
        return ""
    if type(wire["id"]) is not str:
        raise ValueError("an id is a text")
    return str(wire.pop("id"))


def say_server_call(block: ServerToolUseBlock, ledger: Ledger) -> Wire | None:
    if block.dialect not in ("", NAME):
        ledger.lose("dropped", f"the call of a hosted tool of {block.dialect} that is not translated to {NAME}")
        return None
    wire = _issued(block, block.id, "id", ledger)
    if _is_code(block, block.input, "code", ledger):
        return {"executableCode": {**wire, **block.input}}
    wire["toolType"] = block.name
    if block.input:
        wire["args"] = block.input
    return {"toolCall": wire}


def _issued(block: Block, id: str, field: str, ledger: Ledger) -> Wire:
    mark = marks(NAME, block)
    if "id" not in mark:
        return {"id": id}
    if mark["id"] != id:
        ledger.lose_form("dropped", f"{NAME} gave no id, so none is sent", field)
    return {}


def _is_code(block: ServerToolUseBlock | ServerToolResultBlock, value: Json, word: str, ledger: Ledger) -> bool:
    """Code that was run has parts of its own, told by what they hold; these have no name."""
    if block.name != CODE and is_object(value) and word in value:
        ledger.lose_form("dropped", f"code that {NAME} ran is named {CODE}", "name")
        return True
    return block.name == CODE


def read_code(rest: Wire) -> dict[str, Any]:
    wire, blanks = rest.pop("executableCode"), Wire()
    fields = {"id": _id(wire, blanks), "name": CODE, "dialect": NAME, "input": wire}
    return {**fields, **kept(NAME, {}, {}, {"executableCode": blanks} if blanks else {})}


def read_tool_call(rest: Wire) -> dict[str, Any]:
    wire, blanks = rest.pop("toolCall"), Wire()
    fields = {"id": _id(wire, blanks), "name": wire.pop("toolType"), "dialect": NAME}
    args = wire.pop("args", None) if is_object(wire.get("args", {})) else None
    if args:
        fields["input"] = args
    elif args is not None:
        blanks["args"] = args
    if wire:
        rest["toolCall"] = wire
    return {**fields, **kept(NAME, {}, {}, {"toolCall": blanks} if blanks else {})}


def say_server_result(block: ServerToolResultBlock, ledger: Ledger) -> Wire | None:
    if block.dialect not in ("", NAME):
        ledger.lose("dropped", f"the result of a hosted tool of {block.dialect} that is not translated to {NAME}")
        return None
    if block.is_error is not None:
        ledger.lose_form("dropped", f"{NAME} has no error flag; the result itself says it", "is_error")
    wire = _issued(block, block.tool_use_id, "tool_use_id", ledger)
    if _is_code(block, block.content, "outcome", ledger):
        return {"codeExecutionResult": {**wire, **(block.content if is_object(block.content) else {})}}
    wire["toolType"] = block.name
    if block.content is not None:
        wire["response"] = block.content
    return {"toolResponse": wire}


def read_code_result(rest: Wire) -> dict[str, Any]:
    wire, blanks = rest.pop("codeExecutionResult"), Wire()
    fields = {"tool_use_id": _id(wire, blanks), "name": CODE, "dialect": NAME, "content": wire}
    return {**fields, **kept(NAME, {}, {}, {"codeExecutionResult": blanks} if blanks else {})}


def read_tool_response(rest: Wire) -> dict[str, Any]:
    wire, blanks = rest.pop("toolResponse"), Wire()
    fields = {"tool_use_id": _id(wire, blanks), "name": wire.pop("toolType"), "dialect": NAME}
    if "response" in wire and wire["response"] is not None:
        fields["content"] = wire.pop("response")
    if wire:
        rest["toolResponse"] = wire
    return {**fields, **kept(NAME, {}, {}, {"toolResponse": blanks} if blanks else {})}


def say_json(block: JsonBlock, ledger: Ledger) -> Wire:
    ledger.lose_form("approximated", f"{NAME} has no JSON here; sent as JSON text")
    return {"text": dump(block.value).decode()}


def say_refusal(block: RefusalBlock, ledger: Ledger) -> Wire:
    ledger.lose("approximated", f"{NAME} has no refusals; sent as text")
    return {"text": block.text}


def never(rest: Wire) -> None:
    """The row is for saying only; the wire has no such tag."""


BLOCKS = BlockTable(
    NAME,
    # canonical               wire tag               say it             read it
    Row(TextBlock,             "text",                say_text,          read_text),
    Row(TextBlock,             "(signature)",         say_text,          read_signature),
    Row(ThinkingBlock,         "(thought)",           say_thinking,      read_thinking),
    *ROWS,
    Row(ToolUseBlock,          "functionCall",        say_call,          read_call),
    Row(ToolResultBlock,       "functionResponse",    say_result,        read_result),
    Row(ServerToolUseBlock,    "executableCode",      say_server_call,   read_code),
    Row(ServerToolUseBlock,    "toolCall",            say_server_call,   read_tool_call),
    Row(ServerToolResultBlock, "codeExecutionResult", say_server_result, read_code_result),
    Row(ServerToolResultBlock, "toolResponse",        say_server_result, read_tool_response),
    Row(JsonBlock,             "(json)",              say_json,          never),
    Row(RefusalBlock,          "(refusal)",           say_refusal,       never),
    tagged="key",
    signature=SIGNATURE,
)  # fmt: skip
DATA = frozenset(
    (*KEYS, *("text", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall"))
) | {"toolResponse"}

"""The request of OpenAI Responses: parameters, thinking, structured output, identity.

Marks on a request: ``input`` (a string, or absent), ``user_id`` (it stood in ``metadata``), ``schema`` (``verbatim``:
not as we would write it), ``strict`` and ``name`` of the output format where they are not what we would write,
``metadata`` (``verbatim``: more or other than the provider takes).
"""

from __future__ import annotations

from typing import Any

from ...codec.history import PLACEHOLDER, is_plain, leading_system
from ...codec.output import SCHEMA_NAME, read_name, say_name
from ...codec.schemas import is_strict_form, say_strict
from ...codec.stream import dump
from ...codec.tables import Field, FieldTable, Ledger, kept, marks, own, take
from ...errors import ParseError
from ...types.base import Json
from ...types.blocks import Block, OpaqueBlock, TextBlock
from ...types.capabilities import Target
from ...types.loss import Encoded
from ...types.messages import Message
from ...types.request import Request, Thinking
from ...types.tools import Tool
from ...types.words import Role
from .history import Reader, is_added, plain_text, read_system
from .names import Scribe
from .tools import encode_tools, read_choice, read_tools, say_choice
from .wire import NAME, Wire, is_array, is_object
from .writer import Writer

PATH = "/v1/responses"
PARAMS = FieldTable(
    NAME,
    Field("model", "model", (str,)),
    Field("max_output_tokens", "max_output_tokens", (int,)),
    Field("temperature", "temperature", (int, float)),
    Field("top_p", "top_p", (int, float)),
    Field("stream", "stream", (bool,)),
    Field("top_k", None),
    Field("stop_sequences", None),
    Field("seed", None),
    Field("betas", None),
)
TIERS = ("auto", "default", "flex", "scale", "priority", "fast", "ultrafast")
EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")
SHOWN, SUMMARIES = "summarized", ("auto", "concise", "detailed")
MOST_METADATA, LONGEST_KEY, LONGEST_VALUE = 16, 64, 512
STATE = ("previous_response_id", "conversation", "prompt")


def decode_request(body: Json, model: str | None, stream: bool | None, provider: str | None) -> Request:
    if not is_object(body):
        raise ParseError(f"a request body is a JSON object, got {type(body).__name__}")
    rest = dict(body)
    forms: Wire = {}
    blanks: Wire = {}
    fields: dict[str, Any] = {}
    PARAMS.decode(rest, fields, blanks)
    for key, value in (("model", model), ("stream", stream)):
        if value is not None and key not in fields:
            fields[key] = value
            forms[key] = "url"
    read_conversation(rest, fields, forms, blanks, provider)
    read_choice(rest, fields, blanks)
    read_identity(rest, fields, forms, blanks)
    read_thinking(rest, fields, blanks)
    read_format(rest, fields, forms, blanks)
    if rest.get("service_tier") in TIERS:
        fields["service_tier"] = rest.pop("service_tier")
    return Request(**fields, **kept(NAME, rest, forms, blanks))


def read_conversation(rest: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire, provider: str | None) -> None:
    """Tools, the system prompt and the history: some tools stand in the history, some history in front."""
    taken: set[str] = set()
    tools: list[Tool] = []
    if is_array(wire := take(rest, "tools", blanks)):
        tools = read_tools(wire, taken)
    elif wire is not None:
        rest["tools"] = wire
    reader = Reader(provider, taken)
    given = rest.get("input", "absent")
    if is_array(given):
        reader.read(rest.pop("input"))
        fields["messages"] = reader.messages()
        if not given:
            forms["input"] = "empty"
    elif "input" not in rest:
        forms["input"] = "absent"
    elif type(given) is str:
        forms["input"] = "string"
        fields["messages"] = (Message(Role.user, (TextBlock(rest.pop("input")),)),)
    instructions = take(rest, "instructions", blanks)
    if instructions is not None and type(instructions) is not str:
        rest["instructions"], instructions = instructions, None
    fields["system"] = read_system(instructions, reader.system)
    if tools or reader.tools:
        fields["tools"] = (*tools, *reader.tools)


def read_identity(rest: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire) -> None:
    metadata = take(rest, "metadata", blanks)
    if is_object(metadata):
        fields["metadata"] = dict(metadata)
        if "user_id" in metadata:
            forms["user_id"] = "metadata"
        if say_metadata(metadata, Ledger()) != metadata:
            forms["metadata"] = "verbatim"
    elif metadata is not None:
        rest["metadata"] = metadata
    if isinstance(rest.get("safety_identifier"), str) and "user_id" not in forms:
        fields["metadata"] = {**fields.get("metadata", {}), "user_id": rest.pop("safety_identifier")}


def read_thinking(rest: Wire, fields: dict[str, Any], blanks: Wire) -> None:
    wire = take(rest, "reasoning", blanks)
    if not is_object(wire):
        if wire is not None:
            rest["reasoning"] = wire
        return
    inner = dict(wire)
    empty: Wire = {}
    found: dict[str, Any] = {}
    effort, summary = take(inner, "effort", empty), take(inner, "summary", empty)
    if effort == "none":
        found["mode"] = "disabled"
    elif effort in EFFORTS:
        found["effort"] = effort
    elif effort is not None:
        inner["effort"] = effort
    forms: Wire = {}
    if summary in SUMMARIES:
        found["display"] = SHOWN
        if summary != SUMMARIES[0]:
            forms["summary"] = summary
    elif summary is not None:
        inner["summary"] = summary
    fields["thinking"] = Thinking(**found, **kept(NAME, inner, forms, empty))


def read_format(rest: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire) -> None:
    """The schema is ours; its name and description, and the verbosity beside it, are only this protocol's."""
    text = rest.get("text")
    wire = text.get("format") if is_object(text) else None
    if not is_object(wire) or wire.get("type") != "json_schema" or not is_object(wire.get("schema")):
        return
    inner = {key: value for key, value in wire.items() if key not in ("type", "schema")}
    fields["output_schema"] = wire["schema"]
    if inner.get("strict") is True:
        del inner["strict"]
        if not is_strict_form(wire["schema"], NAME):
            forms["schema"] = "verbatim"
    else:
        forms["strict"] = inner.pop("strict", "absent")
    if inner.get("name") == SCHEMA_NAME:
        del inner["name"]
    elif "name" not in inner:
        forms["name"] = "absent"
    read_name(inner, fields)
    outer = {key: value for key, value in rest.pop("text").items() if key != "format"}
    if left := {**outer, **({"format": inner} if inner else {})}:
        rest["text"] = left


# ---------------------------------------------------------------------------------------------------------- writing


def encode_request(request: Request, target: Target | None) -> Encoded:
    scribe, mark = Scribe(request.tools, target), marks(NAME, request)
    body: Wire = {}
    if request.model is None and target is not None and target.model is not None:
        body["model"] = target.model
    PARAMS.encode(request, body, scribe)
    for key in ("model", "stream") if mark else ():
        if mark.get(key) == "url":
            body.pop(key, None)
    say_conversation(request, body, mark, scribe)
    if request.tool_choice is not None:
        offered = "tools" in body or any(_number(tool) is not None for tool in request.tools)
        body |= say_choice(request.tool_choice, request.tools, scribe, offered=offered)
    if request.metadata:
        say_identity(request, body, mark, scribe)
    if request.thinking is not None:
        say_thinking(request.thinking, body, scribe)
    name = say_name(request, scribe)
    if request.output_schema is not None:
        body["text"] = {"format": say_format(request.output_schema, mark, scribe) | name}
    if request.service_tier in TIERS:
        body["service_tier"] = request.service_tier
    elif request.service_tier is not None:
        scribe.lose("dropped", f"{NAME} has no service tier {request.service_tier}", "service_tier")
    if request.extras or request.forms:
        own(NAME, body, request)
        scribe.foreign(request, NAME)
    if request.output_schema is not None and mark.get("name") != "absent":
        body["text"]["format"].setdefault("name", SCHEMA_NAME)
    return Encoded(body, PATH, {}, tuple(scribe.losses))


def say_conversation(request: Request, body: Wire, mark: Wire, scribe: Scribe) -> None:
    here, added = _placed_tools(request)
    if tools := encode_tools(here, scribe):
        body["tools"] = tools
    writer = Writer(scribe, [encode_tools(group, scribe) for group in added])
    first = request.messages[0] if request.messages else None
    if first is not None and first.role == Role.system and marks(NAME, first):
        system: list[tuple[tuple[str | int, ...], Block]] = [(("system", i), b) for i, b in enumerate(request.system)]
        skip = 0
    else:
        system, skip = leading_system(request, scribe)
    instructions = plain_text(system[0][1]) if len(system) == 1 else None
    if system and instructions is None:
        instructions = writer.system(system)
    if instructions is not None:
        body["instructions"] = instructions
    writer.messages(request.messages, skip)
    say_input(request, writer.items, body, mark, scribe)


def say_input(request: Request, items: list[Wire], body: Wire, mark: Wire, ledger: Ledger) -> None:
    only = request.messages[0] if len(request.messages) == 1 else None
    if mark.get("input") == "string" and only is not None and len(items) == 1 and len(only.content) == 1:
        block = only.content[0]
        if only.role == Role.user and isinstance(block, TextBlock) and is_plain(block):
            body["input"] = block.text
            return
    if items:
        body["input"] = items
    elif mark.get("input") == "empty":
        body["input"] = []
    elif mark.get("input") != "absent" and not any(key in request.extras.get(NAME, {}) for key in (*STATE, "input")):
        body["input"] = [{"role": "user", "content": [{"type": "input_text", "text": PLACEHOLDER}]}]
        ledger.lose("added", f"{NAME} requires a message; a placeholder was added", "messages")


Placed = list[tuple[int, Tool]]


def _placed_tools(request: Request) -> tuple[Placed, list[Placed]]:
    """The tools of the request itself, and those of each item that added some. Without its item, a tool stays here."""
    numbered = list(enumerate(request.tools))
    for tool in request.tools:
        if tool.forms and _number(tool) is not None:
            break
    else:
        return numbered, []
    blocks = [*request.system, *(block for message in request.messages for block in message.content)]
    items = sum(isinstance(b, OpaqueBlock) and b.dialect == NAME and is_added(b.raw) for b in blocks)
    added: list[Placed] = [[(i, t) for i, t in numbered if _number(t) == item] for item in range(items)]
    apart = {index for group in added for index, _ in group}
    return [(i, t) for i, t in numbered if i not in apart], added


def _number(tool: Tool) -> int | None:
    """The number of the item that added a tool."""
    return marks(NAME, tool).get("added") if tool.forms else None


def say_identity(request: Request, body: Wire, mark: Wire, ledger: Ledger) -> None:
    metadata = dict(request.metadata)
    if isinstance(metadata.get("user_id"), str) and mark.get("user_id") != "metadata":
        body["safety_identifier"] = metadata.pop("user_id")
    if mark.get("metadata") != "verbatim":
        metadata = say_metadata(metadata, ledger)
    if metadata:
        body["metadata"] = metadata


def say_metadata(metadata: dict[str, Json], ledger: Ledger) -> dict[str, Json]:
    said: dict[str, Json] = {}
    for key, value in metadata.items():
        text = value if isinstance(value, str) else dump(value).decode()
        if len(said) == MOST_METADATA or len(key) > LONGEST_KEY or len(text) > LONGEST_VALUE:
            ledger.lose("dropped", f"{NAME} takes at most {MOST_METADATA} short texts as metadata", "metadata", key)
            continue
        if text is not value:
            ledger.lose_form("approximated", f"{NAME} takes metadata as text; sent as JSON text", "metadata", key)
        said[key] = text
    return said


def say_thinking(thinking: Thinking, body: Wire, ledger: Ledger) -> None:
    ledger.where = ("thinking",)
    wire: Wire = {}
    if thinking.mode == "disabled":
        wire["effort"] = "none"
        if thinking.effort is not None:
            ledger.lose_form("dropped", "thinking is disabled, so no effort was sent", "effort")
    else:
        if thinking.mode is not None:
            ledger.lose("dropped", f"{NAME} has no thinking mode {thinking.mode}", "mode")
        if thinking.effort is not None:
            say_effort(thinking.effort, wire, ledger)
    if thinking.display == SHOWN:
        wire["summary"] = marks(NAME, thinking).get("summary", SUMMARIES[0])
    elif thinking.display is not None:
        ledger.lose("dropped", f"{NAME} has no way to say that thinking is {thinking.display}", "display")
    if thinking.budget is not None:
        ledger.lose("dropped", f"{NAME} has no token budget for reasoning", "budget")
    own(NAME, wire, thinking)
    if wire:
        body["reasoning"] = wire
    ledger.foreign(thinking, NAME)
    ledger.where = ()


def say_effort(effort: str, wire: Wire, ledger: Ledger) -> None:
    """No effort is how the protocol says that thinking is off, and it is read as that."""
    if effort == "none":
        ledger.lose_form("approximated", f"effort none is said as thinking disabled in {NAME}", "effort")
        ledger.lose_form("added", f"effort none is said as thinking disabled in {NAME}", "mode")
    elif effort not in EFFORTS:
        ledger.lose("dropped", f"{NAME} has the efforts none, {', '.join(EFFORTS)} only", "effort")
        return
    wire["effort"] = effort


def say_format(schema: dict[str, Json], mark: Wire, ledger: Ledger) -> Wire:
    wire: Wire = {"type": "json_schema"}
    if "strict" in mark:
        wire |= {"schema": schema} if mark["strict"] == "absent" else {"schema": schema, "strict": mark["strict"]}
    elif mark.get("schema") == "verbatim":
        wire |= {"schema": schema, "strict": True}
    else:
        changes = Ledger()
        said, able = say_strict(schema, NAME, changes, "output_schema")
        if able:  # what cannot be strict is said as it is
            ledger.losses += changes.losses
        wire |= {"schema": said, "strict": able}
    return wire

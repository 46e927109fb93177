"""The request of OpenAI Responses without its turns: parameters, tools and the system prompt.

Marks on a request: ``input`` (a ``string``, ``empty`` or ``absent``), ``model`` and ``stream`` (they stood in the URL),
``user_id`` (it stood in ``metadata``), ``strict`` and ``name`` of the output format (if we would write them otherwise:
a list of what stood there, if anything), ``verbatim`` (fields that the provider would refuse, though they were read
here). On a choice: ``alone`` (there are no tools).

The tools of a namespace and of ``additional_tools`` become ordinary tools, so that other protocols can offer them, too.
Where they stood is remembered: ``extras[…]["namespace"]`` is the namespace without its tools, the mark ``added`` is the
number of the item. A namespace that repeats a name is carried whole, since a call by name alone would be ambiguous.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from ...codec.history.rules import PLACEHOLDER, leading_system
from ...codec.json import Wire, is_array, is_object
from ...codec.ledger import Ledger
from ...codec.marks import extras_and_forms, marks, with_marks
from ...codec.parameters import put_model, take_from_url
from ...codec.paths import merge, put_back
from ...codec.rows.kinds import OMIT
from ...codec.rows.plain_text import is_plain_text
from ...codec.streams.stream import dump
from ...codec.tools.output import SCHEMA_NAME
from ...types.base import Json
from ...types.blocks import Block, OpaqueBlock, TextBlock
from ...types.capabilities import Target
from ...types.loss import Encoded, Loss
from ...types.messages import Message
from ...types.request import Request
from ...types.tools import Tool, ToolChoice, ToolDefinition
from ...types.words import Role
from .. import openai
from .facts import LONGEST_KEY, LONGEST_VALUE, MOST_METADATA, NAME, PATH, STORED, is_added
from .history import Reader, plain_text, read_system
from .rows import CHOICES, PARAMS, THINKING, TOOLS
from .rules import Scribe
from .turns import Writer

LOGPROBS = "message.output_text.logprobs"
NOT_STRICT = f"`strict: false` was added, because {NAME} assumes `true`"

# ------------------------------------------------------------------------------------------------------------- reading


def read_request(body: Wire, model: str | None, stream: bool | None, provider: str | None) -> Request:
    fields, rest, mark = PARAMS.take(body)
    take_from_url(fields, mark, model, stream)
    read_conversation(rest, fields, mark, provider)
    if (choice := CHOICES.take(rest, tools := fields.get("tools", ()))) is not None:
        alone = choice.mode is not None and not tools
        fields["tool_choice"] = with_marks(NAME, choice, alone=True) if alone else choice
    if is_array(rest.get("include")) and rest["include"][-1:] == [LOGPROBS]:
        read_logprobs(rest, fields)
    if "metadata" in rest or "safety_identifier" in rest:
        read_identity(rest, fields, mark)
    if "reasoning" in rest and is_object(rest["reasoning"]) and rest["reasoning"]:
        fields["thinking"] = THINKING.read(rest.pop("reasoning"))
    if "text" in rest and is_object(rest["text"]):
        read_format(rest, fields, mark)
    return Request(**fields, **extras_and_forms(NAME, rest, mark))


def read_conversation(rest: Wire, fields: dict[str, Any], mark: Wire, provider: str | None) -> None:
    """Read tools, the system prompt and the history together: items of the history may hold tools or system text."""
    taken: set[str] = set()
    tools: list[Tool] = []
    if is_array(rest.get("tools")) and rest["tools"]:
        tools = read_tools(rest.pop("tools"), taken)
    reader = Reader(provider)
    given: Json = rest.get("input")
    if given == []:
        del rest["input"]
        mark["input"] = "empty"
    elif is_array(given) and any(map(is_object, given)):  # a list of anything else stays residue
        reader.read(rest.pop("input"))
        fields["messages"] = reader.messages()
    elif type(given) is str:
        mark["input"] = "string"
        fields["messages"] = (Message(Role.user, (TextBlock(rest.pop("input")),)),)
    elif "input" not in rest:
        mark["input"] = "absent"
    for number, added in enumerate(reader.added):
        tools += [with_marks(NAME, tool, added=number) for tool in read_tools(added, taken)]
    instructions = rest.get("instructions")
    text = rest.pop("instructions") if type(instructions) is str and instructions else None
    if text is not None or reader.system:
        fields["system"] = read_system(text, reader.system)
    if tools:
        fields["tools"] = tuple(tools)


def read_tools(wire: Iterable[Json], taken: set[str]) -> list[Tool]:
    """The tools of a list, those inside namespaces, too. ``taken`` are the names so far; new ones are added to it."""
    tools: list[Tool] = []
    for tool in wire:
        read: Any = TOOLS.read(tool)
        if type(read) is ToolDefinition:
            taken.add(read.name)
        elif is_object(tool) and tool.get("type") == "namespace" and (members := _read_namespace(tool, taken)):
            taken.update([member.name for member in members])
            tools += members
            continue
        tools.append(read)
    return tools


def _read_namespace(wire: Wire, taken: set[str]) -> list[ToolDefinition] | None:
    members = wire.get("tools")
    if not is_array(members) or not members or not all(is_object(member) for member in members):
        return None
    tools = [tool for tool in map(TOOLS.read, members) if type(tool) is ToolDefinition]
    names = {tool.name for tool in tools}
    if len(names) < len(members) or taken & names:
        return None
    space = {key: value for key, value in wire.items() if key not in ("type", "tools")}
    return [replace(t, extras={NAME: {**t.extras.get(NAME, {}), "namespace": space}}) for t in tools]


def read_identity(rest: Wire, fields: dict[str, Any], mark: Wire) -> None:
    metadata = rest.get("metadata")
    openai.read_identity(rest, fields, mark)
    if is_object(metadata) and write_metadata(metadata, Ledger()) != metadata:
        mark.setdefault("verbatim", []).append("metadata")


def read_logprobs(rest: Wire, fields: dict[str, Any]) -> None:
    """Read ``logprobs``: the last entry of ``include`` asks for it."""
    fields["logprobs"] = True
    *others, _ = rest.pop("include")
    if others:
        rest["include"] = others


def read_format(rest: Wire, fields: dict[str, Any], mark: Wire) -> None:
    """Read the output format. We have fields for its schema, name and description; the rest is residue."""
    left, found = openai.read_format(rest["text"].get("format"), fields, NAME)
    if left is not None:
        mark |= found
        outer = {key: value for key, value in rest["text"].items() if key != "format"}
        put_back(rest, "text", {**outer, **({"format": left} if left else {})})


# ------------------------------------------------------------------------------------------------------------- writing


def write_request(request: Request, target: Target | None) -> Encoded:
    scribe, mark = Scribe(target), marks(NAME, request)
    body = PARAMS.put(request, scribe)
    put_model(request, body, target, mark)
    write_conversation(request, body, mark, scribe)
    if request.tool_choice is not None:
        offered = "tools" in body or any(added_by(tool) is not None for tool in request.tools)
        body |= write_choice(request.tool_choice, request.tools, scribe, offered=offered)
    if request.metadata:
        write_identity(request, body, mark, scribe)
    if request.thinking is not None:
        scribe.where = ("thinking",)
        if thinking := THINKING.write(request.thinking, scribe):
            body["reasoning"] = thinking
        scribe.where = ()
    if form := openai.write_format(request, mark, scribe, NAME):
        body.setdefault("text", {})["format"] = form
    if request.extras:
        merge(body, request.extras.get(NAME, {}))
        scribe.lose_foreign_extras(request, NAME)
    if request.logprobs is not None:
        write_logprobs(request.logprobs, body, scribe)
    if request.output_schema is not None and "name" not in mark:
        body["text"]["format"].setdefault("name", SCHEMA_NAME)
    return Encoded(body, PATH, {}, tuple(scribe.losses))


def write_conversation(request: Request, body: Wire, mark: Wire, scribe: Scribe) -> None:
    writer = Writer(scribe)
    if request.tools:
        here, added = tools_by_item(request)
        if tools := write_tools(here, scribe):
            body["tools"] = tools
        writer.added = [write_tools(group, scribe) for group in added]
    first = request.messages[0] if request.messages else None
    system: list[tuple[tuple[str | int, ...], Block]]
    if first is not None and first.role == Role.system and (marks(NAME, first) or NAME in first.extras):
        system, skip = [(("system", index), block) for index, block in enumerate(request.system)], 0
    else:
        system, skip = leading_system(request, scribe)
    instructions = plain_text(system[0][1]) if len(system) == 1 else None
    if system and instructions is None:
        instructions = writer.write_system(system)
    if instructions is not None:
        body["instructions"] = instructions
    writer.write_messages(request.messages, skip)
    write_input(request, writer.items, body, mark, scribe)


def write_input(request: Request, items: list[Wire], body: Wire, mark: Wire, ledger: Ledger) -> None:
    only = request.messages[0] if len(request.messages) == 1 else None
    if mark.get("input") == "string" and only is not None and len(items) == 1 and len(only.content) == 1:
        block = only.content[0]
        if only.role == Role.user and is_plain_text(block):
            body["input"] = block.text
            return
    if items:
        body["input"] = items
    elif mark.get("input") == "empty":
        body["input"] = []
    elif mark.get("input") != "absent" and not any(key in request.extras.get(NAME, {}) for key in (*STORED, "input")):
        body["input"] = [{"role": "user", "content": [{"type": "input_text", "text": PLACEHOLDER}]}]
        ledger.lose("added", f"{NAME} requires a message; a placeholder was added", "messages")


def write_identity(request: Request, body: Wire, mark: Wire, ledger: Ledger) -> None:
    metadata = openai.write_identity(request.metadata, body, mark)
    if "metadata" not in mark.get("verbatim", ()):
        metadata = write_metadata(metadata, ledger)
    if metadata:
        body["metadata"] = metadata


def write_metadata(metadata: dict[str, Json], ledger: Ledger) -> dict[str, Json]:
    written: dict[str, Json] = {}
    for key, value in metadata.items():
        text = value if isinstance(value, str) else dump(value).decode()
        if len(written) == MOST_METADATA or len(key) > LONGEST_KEY or len(text) > LONGEST_VALUE:
            ledger.lose("dropped", f"{NAME} takes at most {MOST_METADATA} short texts as metadata", "metadata", key)
            continue
        if text is not value:
            ledger.lose_form("approximated", f"{NAME} takes metadata as text; sent as JSON text", "metadata", key)
        written[key] = text
    return written


def write_logprobs(logprobs: bool, body: Wire, ledger: Ledger) -> None:
    """Write ``logprobs`` as an entry of ``include``."""
    if not logprobs:
        ledger.lose_form("dropped", "false means the same as leaving it out", "logprobs")
    elif is_array(body.setdefault("include", [])):
        body["include"] = [*body["include"], LOGPROBS]
    else:
        ledger.lose("dropped", "`include` is no list, so nothing could be added to it", "logprobs")


# -------------------------------------------------------------------------------------------------- tools and choice


@lru_cache(maxsize=1024)
def _not_strict(index: int) -> Loss:
    return Loss(f"tools/{index}/strict", "added", NOT_STRICT, weight="form")


def write_tools(tools: Iterable[tuple[int, Tool]], scribe: Scribe) -> list[Wire]:
    """Write tools, given with their indexes. Neighbours of one namespace are written into one."""
    writers = TOOLS.writers
    written: list[Wire] = []
    open_space: Wire | None = None
    for index, tool in tools:
        wire: Wire | None = writers[type(tool)](tool)
        if wire is None:
            scribe.where = ("tools", index)
            wire = TOOLS.interpret_write(tool, scribe)
        if wire is None:
            continue
        if type(tool) is ToolDefinition and tool.strict is None and wire.get("strict") is False:
            scribe.losses.append(_not_strict(index))
        space = tool.extras.get(NAME, {}).get("namespace") if tool.extras else None
        if space is None:
            written.append(wire)
        else:
            del wire["namespace"]
            if open_space == space:
                written[-1]["tools"].append(wire)
            else:
                written.append({"type": "namespace", **space, "tools": [wire]})
        open_space = space
    scribe.where = ()
    return written


Placed = Iterable[tuple[int, Tool]]


def tools_by_item(request: Request) -> tuple[Placed, list[Placed]]:
    """The tools of the request itself, and those of each item that adds tools.

    A tool whose item was removed from the history is a tool of the request.
    """
    numbers = [added_by(tool) if tool.forms else None for tool in request.tools]
    if numbers.count(None) == len(numbers):
        return enumerate(request.tools), []
    blocks = [*request.system, *(block for message in request.messages for block in message.content)]
    items = sum(isinstance(b, OpaqueBlock) and b.dialect == NAME and is_added(b.raw) for b in blocks)
    placed = list(zip(enumerate(request.tools), numbers, strict=True))
    here = [tool for tool, number in placed if number is None or number >= items]
    return here, [[tool for tool, number in placed if number == item] for item in range(items)]


def added_by(tool: Tool) -> int | None:
    """The number of the item that added a tool."""
    return marks(NAME, tool).get("added")


def write_choice(choice: ToolChoice, tools: Sequence[Tool], scribe: Scribe, *, offered: bool = True) -> Wire:
    """The keys of a request that express a tool choice. ``offered``: whether the request has tools."""
    scribe.where = ("tool_choice",)
    wire: Wire = {}
    if choice.mode is None or offered or "alone" in marks(NAME, choice):
        mode = CHOICES.write(choice, tools, scribe)
        wire |= {"tool_choice": mode} if mode is not OMIT else {}
    else:
        for field in ("mode", "name", "allowed"):
            if getattr(choice, field):
                scribe.lose("dropped", f"{NAME} takes a tool choice only beside tools", field)
    if choice.parallel is not None:
        wire["parallel_tool_calls"] = choice.parallel
    scribe.lose_foreign_extras(choice, NAME)
    scribe.where = ()
    return wire


def namespaces(request: Request | None) -> dict[str, str]:
    """The namespace of each tool that is in one, by name of the tool. A call of the tool must name it."""
    found: dict[str, str] = {}
    for tool in request.tools if request is not None else ():
        space = tool.extras.get(NAME, {}).get("namespace")
        if isinstance(tool, ToolDefinition) and is_object(space) and isinstance(space.get("name"), str):
            found[tool.name] = space["name"]
    return found

"""The request of Gemini without its turns: parameters, system text and tools. The model and streaming are in its path.

Marks on a request: ``contents`` (one object, or none), ``tools`` (one object), ``model`` (the body named it too),
``system_role`` and ``system_parts``, ``verbatim`` (fields that the protocol would refuse, though they were read here).

We write all declarations into one tool object, and every hosted tool into an object of its own. Marks on a tool that
was read from another arrangement: ``place`` (the index of its tool object), ``object`` (what else that object held),
``key`` (the spelling of ``functionDeclarations``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from ...codec.history.rules import PLACEHOLDER, leading_system
from ...codec.json import Wire, is_array, is_object
from ...codec.ledger import Ledger
from ...codec.marks import extras_and_forms, marks
from ...codec.paths import merge, put_back
from ...codec.rows.kinds import REFUSED
from ...codec.rules import mark_unasked_logprobs
from ...codec.schema.plans import Plans
from ...codec.tools.output import wants_json
from ...types.base import Json
from ...types.capabilities import Target
from ...types.loss import Encoded
from ...types.messages import Message
from ...types.request import Request
from ...types.tools import ServerTool, Tool, ToolChoice, ToolDefinition
from ...types.words import Role
from .facts import COLLECTION, JSON_TYPE, KEYS, NAME, VERSION, original_value
from .kinds import judge
from .rows import CHOICE, DECLARATIONS, OFFERED, PARAMS
from .turns import Placed, read_contents, read_system, signs_calls, with_parts, write_contents, write_system

SYSTEM = Role.system  # attribute access on an Enum costs 40 ns
_has_marks = attrgetter("forms")
DECLARED, SCHEMA = ("functionDeclarations", "function_declarations"), "parametersJsonSchema"
PLANS = Plans(judge, NAME)

# ------------------------------------------------------------------------------------------------------------- reading


def read_request(body: Wire, model: str | None, stream: bool | None, provider: str | None) -> Request:
    fields, rest, mark = take_params(body)
    mark_unasked_logprobs(fields, mark)
    fields["model"], fields["stream"] = model, stream
    if "model" in rest:
        read_model(rest, fields, mark)
    read_history(rest, fields, mark, provider)
    if is_object(config := rest.get("generationConfig")) and config.get("responseMimeType") == JSON_TYPE:
        read_json_output(config, rest, fields)
    if is_object(config := rest.get("toolConfig")):
        config = dict(config)
        if (choice := read_choice(config)) is not None:
            fields["tool_choice"] = choice
            put_back(rest, "toolConfig", config)
            if ToolDefinition not in map(type, fields.get("tools", ())):
                mark.setdefault("verbatim", []).append("tool_choice alone")
    return Request(**fields, **extras_and_forms(NAME, rest, mark))


def take_params(body: Wire) -> tuple[dict[str, Any], Wire, Wire]:
    """The parameters, the rest of the body, and marks."""
    taken = PARAMS.take(body)
    left = (taken[1], taken[1].get("generationConfig"), taken[1].get("toolConfig"))
    if any(is_object(held) and KEYS.is_suspect(held) for held in left):
        usual, places = KEYS.usual(body)
        fields, rest, mark = PARAMS.take(usual)
        return fields, rest, {"keys": places, **mark}
    return taken


def read_json_output(config: Wire, rest: Wire, fields: dict[str, Any]) -> None:
    """Read ``json_output``: JSON without a schema. A schema that could not be read is residue with its media type."""
    if config.keys().isdisjoint(("responseJsonSchema", "responseSchema")):
        fields["json_output"] = True
        put_back(rest, "generationConfig", {key: value for key, value in config.items() if key != "responseMimeType"})


def read_model(rest: Wire, fields: dict[str, Any], mark: Wire) -> None:
    """Read the model from the body, where some clients repeat it."""
    word = rest["model"]
    if type(word) is str and word:
        name = word.removeprefix("models/")
        if fields["model"] is None:
            fields["model"] = name
        if fields["model"] == name:
            mark["model"] = rest.pop("model")


def read_history(rest: Wire, fields: dict[str, Any], mark: Wire, provider: str | None) -> None:
    """Read turns, system text and tools; what has another shape stays residue."""
    contents = rest.get("contents")
    if is_object(contents):
        mark["contents"], contents = "object", [contents]
    if is_array(contents) and contents:
        del rest["contents"]
        fields["messages"] = read_contents(contents, provider)
    elif not contents:
        mark["contents"] = [rest.pop("contents")] if "contents" in rest else []
    if is_object(system := rest.get("systemInstruction")):
        left = dict(system)
        fields["system"] = read_system(left, mark)
        put_back(rest, "systemInstruction", left)
    tools = rest.get("tools")
    if is_object(tools) and tools:
        mark["tools"], tools = "object", [tools]
    if is_array(tools) and tools:
        del rest["tools"]
        fields["tools"] = read_tools(tools)


# ------------------------------------------------------------------------------------------------------------- writing


def write_request(request: Request, target: Target | None) -> Encoded:
    ledger, mark = Ledger(), marks(NAME, request)
    model = request.model or (target.model if target is not None else None)
    body = PARAMS.put(request, ledger)
    write_history(request, body, target, mark, ledger)
    if wants_json(request, ledger):
        body.setdefault("generationConfig", {})["responseMimeType"] = JSON_TYPE
    if request.tool_choice is not None:
        alone = "tool_choice alone" in mark.get("verbatim", ())
        choice = write_choice(request.tool_choice, ledger, None if alone else request.tools)
        if choice is not None:
            body["toolConfig"] = {"functionCallingConfig": choice}
    if "model" in mark and model is not None:
        body["model"] = f"models/{model}" if mark["model"].startswith("models/") else model
    if request.extras:
        merge(body, request.extras.get(NAME, {}))
        ledger.lose_foreign_extras(request, NAME)
    if "keys" in mark:
        body = KEYS.restore(body, mark["keys"])
    return Encoded(body, path_of(model, request.stream), {}, tuple(ledger.losses))


@lru_cache(maxsize=256)
def path_of(model: str | None, stream: bool | None) -> str | None:
    if model is None:
        return None
    place = model if COLLECTION.match(model) else f"models/{quote(model, safe='')}"
    return f"/{VERSION}/{place}:{'streamGenerateContent?alt=sse' if stream else 'generateContent'}"


def write_history(request: Request, body: Wire, target: Target | None, mark: Wire, ledger: Ledger) -> None:
    system: list[Placed]
    system, taken = leading_system(request, ledger)
    for message in request.messages[taken:]:
        if message.role is SYSTEM:
            system += move_system(request.messages, taken, ledger)
            break
    instruction: Wire = {"role": mark["system_role"]} if "system_role" in mark else {}
    instruction |= with_parts(write_system(system, ledger), mark.get("system_parts"))
    if instruction or "system_parts" in mark:
        body["systemInstruction"] = instruction
    signing = target is not None and signs_calls(target.model or request.model)
    contents = write_contents(request.messages, target, ledger, signing=signing)
    came = original_value(mark, "contents")
    if contents:
        body["contents"] = contents[0] if mark.get("contents") == "object" and len(contents) == 1 else contents
    elif came is not None and not request.messages:
        body |= {"contents": came[0]} if came else {}
    elif request.messages or "contents" not in request.extras.get(NAME, ()):
        ledger.lose("added", f"{NAME} requires a message; a placeholder was added", "messages")
        body["contents"] = [{"role": "user", "parts": [{"text": PLACEHOLDER}]}]
    tools = write_tools(request.tools, ledger)
    if tools:
        body["tools"] = tools[0] if mark.get("tools") == "object" and len(tools) == 1 else tools


def move_system(messages: Sequence[Message], taken: int, ledger: Ledger) -> list[Placed]:
    """The blocks of the system messages that stand behind other messages."""
    moved: list[Placed] = []
    for index, message in enumerate(messages):
        if message.role is SYSTEM and index >= taken:
            ledger.lose("moved", f"{NAME} has no system messages; moved to the system prompt", "messages", index)
            moved += [(("messages", index, "content", place), block) for place, block in enumerate(message.content)]
    return moved


# -------------------------------------------------------------------------------------------------------- reading tools


def read_tools(wire: list[Json]) -> tuple[Tool, ...]:
    layout = [read_tool_object(tool) for tool in wire]
    declaring = [group for group in layout if any(map(_declares, group))]
    uniform = all(len(group) == 1 or set(map(type, group)) == {ToolDefinition} for group in layout)
    if uniform and len(declaring) <= 1:
        return tuple([tool for group in layout for tool in group])
    return tuple([_marked(tool, place=place) for place, group in enumerate(layout) for tool in group])


def _declares(tool: Tool) -> bool:
    """Whether a tool is a function declaration, even one that could not be read and is carried whole."""
    return isinstance(tool, ToolDefinition) or (is_object(tool.raw) and not tool.raw.keys().isdisjoint(DECLARED))


def _marked(tool: Tool, **more: Json) -> Tool:
    return replace(tool, forms={NAME: {**marks(NAME, tool), **more}})


def read_tool_object(wire: Json) -> list[Tool]:
    """The tools of one tool object; one that cannot be read is carried whole."""
    if not is_object(wire):
        return [ServerTool(NAME, wire)]
    tools: list[Tool] = []
    nulls: Wire = {}
    for key, value in wire.items():
        if key in DECLARED and is_array(value) and value:
            tools += read_declarations(value, key)
        elif value is None:
            nulls[key] = None
        else:
            tools.append(ServerTool(NAME, {key: value}))
    if not tools:
        return [ServerTool(NAME, wire)]
    if nulls:
        tools[0] = _marked(tools[0], object=nulls)
    return tools


def read_declarations(wire: list[Json], key: str) -> list[Tool]:
    """Read function declarations. Whether any schema needs a change is checked once for all of them."""
    tools: list[Any] = list(map(OFFERED.read, wire))
    if key == DECLARED[0] and all(map(_is_plain, tools)) and not PLANS.of(tools):
        return tools
    read = zip(map(DECLARATIONS.read, wire), wire, strict=True)
    found: list[Tool] = [ServerTool(NAME, {key: [one]}) if tool is REFUSED else tool for tool, one in read]
    return found if key == DECLARED[0] else [_marked(t, key=key) if type(t) is ToolDefinition else t for t in found]


def _is_plain(tool: Any) -> bool:
    """Whether a tool was read completely, without marks or residue."""
    return tool is not REFUSED and not (tool.forms or tool.extras)


def read_choice(config: Wire) -> ToolChoice | None:
    """Take ``functionCallingConfig`` out of a tool configuration; None if it is missing or has an unknown shape."""
    choice: Any = CHOICE.read(config["functionCallingConfig"]) if "functionCallingConfig" in config else REFUSED
    if choice is REFUSED:
        return None
    del config["functionCallingConfig"]
    found: ToolChoice = choice
    return found


# -------------------------------------------------------------------------------------------------------- writing tools


def write_tools(tools: Sequence[Tool], ledger: Ledger) -> list[Wire]:
    """The tool objects. The changes to the schemas of all functions are looked up together."""
    writers = OFFERED.writers
    plain: list[Wire | None] = [writers[type(tool)](tool) for tool in tools]
    for index, plan in PLANS.of(tools).items():
        wire = plain[index]
        if wire is not None:
            wire[SCHEMA] = plan.make(wire[SCHEMA])
            ledger.losses += plan.losses
    if not all(plain) or any(map(_has_marks, tools)):
        return place_tools(tools, plain, ledger)
    return [{DECLARED[0]: plain}] if plain else []


def place_tools(tools: Sequence[Tool], plain: Sequence[Wire | None], ledger: Ledger) -> list[Wire]:
    """The tool objects, each tool in the object where it was read. ``plain`` has the tools that are written already."""
    objects: dict[Json, Wire] = {}  # by the mark ``place``, or by a key of our own
    for index, tool in enumerate(tools):
        mark = marks(NAME, tool)
        ledger.where = ("tools", index)
        if isinstance(tool, ToolDefinition):
            home = objects.setdefault(_object_key(objects, mark), {})
            if _is_moved(tools, index, mark):
                ledger.lose_form("moved", f"{NAME} has all function declarations in one tool object")
            wire = plain[index] or DECLARATIONS.write(tool, ledger)
            home.setdefault(mark.get("key", DECLARED[0]), []).append(wire)
        elif tool.dialect != NAME:
            ledger.lose("dropped", f"a hosted tool of {tool.dialect} that is not translated to {NAME}")
            continue
        elif not is_object(tool.raw):
            objects[mark.get("place", ("own", index))] = tool.raw
            continue
        else:
            home = objects.setdefault(mark.get("place", ("own", index)), {})
            for key, value in tool.raw.items():
                # a new list, because the declarations that follow are appended to it
                home[key] = [*home.get(key, ()), *value] if key in DECLARED and is_array(value) else value
        home |= mark.get("object", {})
    ledger.where = ()
    return list(objects.values())


def _object_key(objects: dict[Json, Wire], mark: Wire) -> Json:
    """The key, in ``objects``, of the tool object for a declaration."""
    if "place" in mark:
        return mark["place"]
    if "declarations" in objects:
        return "declarations"
    declaring = (at for at, tool in objects.items() if is_object(tool) and not tool.keys().isdisjoint(DECLARED))
    return next(declaring, "declarations")


def _is_moved(tools: Sequence[Tool], index: int, mark: Wire) -> bool:
    """Whether a declaration moves to the front: it follows a hosted tool that itself follows another declaration."""
    if index == 0 or type(tools[index - 1]) is ToolDefinition or "place" in mark:
        return False
    before = tools[:index]
    own = any(isinstance(tool, ServerTool) and tool.dialect == NAME for tool in before)
    return own and any(isinstance(tool, ToolDefinition) for tool in before)


def write_choice(choice: ToolChoice, ledger: Ledger, tools: Sequence[Tool] | None = None) -> Wire | None:
    """``functionCallingConfig``, or None if there is none to write. ``tools`` are those of the request, if known."""
    ledger.where = ("tool_choice",)
    wire: Wire | None = None
    if tools is not None and not any(isinstance(tool, ToolDefinition) for tool in tools):
        _lose_choice(choice, ledger)
        ledger.lose("dropped", f"{NAME} takes a tool choice only beside tools")
    elif choice.mode is None and not choice.allowed:
        _lose_choice(choice, ledger)
    elif (among := _among_declared(choice, tools or (), ledger)) is not None:
        wire = CHOICE.write(among, ledger)
    ledger.where = ()
    return wire


def _lose_choice(choice: ToolChoice, ledger: Ledger) -> None:
    """Declare the losses of a choice that is not written, apart from its mode and names."""
    CHOICE.fit(CHOICE.rows[0], choice, ledger)
    ledger.lose_foreign_extras(choice, NAME)


def _among_declared(choice: ToolChoice, tools: Sequence[Tool], ledger: Ledger) -> ToolChoice | None:
    """The choice without the names of other providers' hosted tools; None if no name is left."""
    raws: list[Json] = [tool.raw for tool in tools if isinstance(tool, ServerTool) and tool.dialect != NAME]
    others = {raw[key] for raw in raws if is_object(raw) for key in ("name", "type") if type(raw.get(key)) is str}
    names = [choice.name] if choice.mode == "specific" else [] if choice.mode == "none" else list(choice.allowed)
    known = [name for name in names if name is not None and name not in others]
    if len(known) == len(names):
        return choice
    why = f"{NAME} chooses among declared functions"
    ledger.lose("dropped", why, "name" if choice.mode == "specific" else "allowed")
    if not known:
        _lose_choice(choice, ledger)
        ledger.lose("dropped", why)
        return None
    return replace(choice, allowed=tuple(known))


def write_choice_alone(choice: ToolChoice, ledger: Ledger) -> Wire | None:
    wire = write_choice(choice, ledger)
    return None if wire is None else {"functionCallingConfig": wire}

"""Requests of Bedrock Converse: everything but the turns. The model and the wish to stream are in the URL.

Marks: ``messages`` (there were none, or an empty list), ``tools`` (none, although the history has calls), ``schema``
(the text of the output schema as it was spelled), ``format`` (the schema stood among Claude's own fields), ``top_k``
(where it stood), ``verbatim`` (values that the service would refuse, but that were read from this protocol).

Settings that depend on the model stand in ``additionalModelRequestFields`` and ``outputConfig.effort``. If the target's
model is known, its family decides where. Otherwise they are written where they were read (marks ``mode`` and ``effort``
on the thinking, ``top_k`` on the request), by default where Claude has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from msgspec.structs import replace

from ...codec.history.rules import PLACEHOLDER, has_calls
from ...codec.json import Wire, is_array, is_object
from ...codec.ledger import Ledger
from ...codec.marks import extras_and_forms, marks
from ...codec.paths import find, merge, put_back, remove
from ...codec.rows.kinds import REFUSED
from ...codec.rows.table import Table
from ...codec.streams.stream import dump
from ...codec.tools.arguments import parse_object
from ...codec.tools.output import read_name, write_schema_name
from ...types.base import Json
from ...types.capabilities import Target
from ...types.loss import Encoded
from ...types.request import Request, Thinking
from ...types.tools import ServerTool, Tool, ToolChoice, ToolDefinition
from .. import claude
from .cache_points import points_as_marks, write_with_point
from .facts import NAME
from .rows import CHOICE, CLAUDE_THINKING, NOVA_THINKING, PARAMS, TOOLS
from .rules import RequestLedger
from .turns import read_messages, read_system, write_messages, write_system

NATIVE = ("additionalModelRequestFields", "outputConfig")
FORMAT, TOP_K = ("textFormat", "structure", "jsonSchema"), ("inferenceConfig", "topK")


class Family(NamedTuple):
    """The places where a family of models takes the thinking mode, the effort and ``top_k``; None if it has no mode."""

    mode: str | None
    effort: str
    top_k: str


CLAUDE = Family("thinking", "outputConfig", "top_k")
FAMILIES = (  # part of the model's id
    ("amazon.nova", Family("reasoningConfig", "reasoningConfig", "inferenceConfig")),
    ("openai.", Family(None, "reasoning_effort", "top_k")),
    ("qwen.", Family(None, "reasoning_config", "top_k")),
)
THINKING_TABLES: dict[str, Table] = {  # by the place of the mode: the table of the object there
    "thinking": CLAUDE_THINKING,
    "reasoning_config": CLAUDE_THINKING,
    "reasoningConfig": NOVA_THINKING,
}
THREE_LEVELS = ("low", "medium", "high")
EFFORTS = {  # by the place of the effort: the words that it takes
    "outputConfig": (*THREE_LEVELS, "xhigh", "max"),
    "reasoningConfig": THREE_LEVELS,
    "reasoning_effort": THREE_LEVELS,
    "reasoning_config": THREE_LEVELS,
}
HIGHEST = ("xhigh", "max")


def family_of(target: Target | None) -> Family | None:
    """The family of the target's model; None if it is not known."""
    if target is None or target.model is None:
        return None
    model = target.model
    return next((family for part, family in FAMILIES if part in model), CLAUDE if "anthropic." in model else None)


# ------------------------------------------------------------------------------------------------------------- reading


def read_request(body: Wire, model: str | None, stream: bool | None, provider: str | None) -> Request:
    fields, rest, mark = PARAMS.take(body)
    fields["model"], fields["stream"] = model, stream
    read_history(rest, fields, mark, provider)
    read_tools(rest, fields, mark)
    native, output = [dict(found) if is_object(found := rest.get(key)) else {} for key in NATIVE]
    if native or output:
        read_model_fields(native, output, fields, mark)
        read_format(output, fields, mark)
        read_claude_format(native, fields, mark)
        for key, left in zip(NATIVE, (native, output), strict=True):
            if is_object(rest.get(key)) and rest[key]:
                put_back(rest, key, left)
    return Request(**fields, **extras_and_forms(NAME, rest, mark))


def read_history(rest: Wire, fields: dict[str, Any], mark: Wire, provider: str | None) -> None:
    """Read messages and system text; other shapes stay residue."""
    messages = rest.get("messages")
    if is_array(messages) and messages:
        fields["messages"] = read_messages(rest.pop("messages"), provider)
    elif messages is None or messages == []:
        mark["messages"] = [rest.pop("messages")] if "messages" in rest else []
    if is_array(system := rest.get("system")) and system:
        fields["system"] = read_system(rest.pop("system"))


def read_tools(rest: Wire, fields: dict[str, Any], mark: Wire) -> None:
    config = dict(found) if is_object(found := rest.get("toolConfig")) else {}
    if is_array(tools := config.get("tools")) and tools:
        fields["tools"] = tuple(points_as_marks(list(map(TOOLS.read, config.pop("tools"))), TOOLS))
    if "toolChoice" in config and (choice := CHOICE.read(config["toolChoice"])) is not REFUSED:
        fields["tool_choice"] = choice
        del config["toolChoice"]
        if "tools" not in fields:
            mark["verbatim"] = [*mark.get("verbatim", ()), "tool_choice"]
    if is_object(found) and found:
        put_back(rest, "toolConfig", config)
    if "tools" not in fields and has_calls(fields.get("messages", ())):
        mark["tools"] = []


def read_format(output: Wire, fields: dict[str, Any], mark: Wire) -> None:
    """``textFormat.structure.jsonSchema.schema`` is JSON text."""
    text, form = find(output, (*FORMAT, "schema")), output.get("textFormat")
    schema = parse_object(text) if type(text) is str else None
    if schema is None or not is_object(form) or form.get("type") != "json_schema":
        return
    fields["output_schema"] = schema
    if dump(schema).decode() != text:
        mark["schema"] = text
    claude.mark_schema(schema, NAME, mark)
    for path in (("textFormat", "type"), (*FORMAT, "schema")):
        remove(output, path)
    if is_object(inner := find(output, FORMAT)):  # a copy by now
        read_name(inner, fields)
        if not inner:
            remove(output, FORMAT)


def read_claude_format(native: Wire, fields: dict[str, Any], mark: Wire) -> None:
    """Read a schema from Claude's own field ``output_config.format``, as in Messages; the AI SDK writes it there."""
    config = dict(found) if is_object(found := native.get("output_config")) else {}
    if claude.read_format(config, "format", fields, mark, NAME):
        mark["format"] = "output_config"
        put_back(native, "output_config", config)


def read_model_fields(native: Wire, output: Wire, fields: dict[str, Any], mark: Wire) -> None:
    """Move the fields that we know out of the two objects, which must be copies."""
    thinking = read_thinking(native, output)
    if thinking is not None:
        fields["thinking"] = thinking
    if type(native.get("top_k")) is int:
        fields["top_k"] = native.pop("top_k")
    elif type(top_k := find(native, TOP_K)) is int:
        mark["top_k"], fields["top_k"] = "inferenceConfig", top_k
        remove(native, TOP_K)
    betas = native.get("anthropic_beta")
    if is_array(betas) and betas and all(type(beta) is str for beta in betas):
        fields["betas"] = tuple(native.pop("anthropic_beta"))


def read_thinking(native: Wire, output: Wire) -> Thinking | None:
    """Take the thinking out of the places of all families; None if there is none."""
    thinking = Thinking()
    places: Wire = {}
    for place, table in THINKING_TABLES.items():
        found: Any = table.read(native[place]) if place in native else REFUSED
        if found is not REFUSED:
            thinking = found
            del native[place]
            if place != CLAUDE.mode:
                places["mode"] = place
            break
    if thinking.effort is not None:
        places["effort"] = "reasoningConfig"
    else:
        thinking = _read_effort(thinking, native, output, places)
    if places:
        thinking = replace(thinking, forms={NAME: {**marks(NAME, thinking), **places}})
    return None if thinking == Thinking() else thinking


def _read_effort(thinking: Thinking, native: Wire, output: Wire, places: Wire) -> Thinking:
    effort = output.get("effort")
    if type(effort) is str and effort in EFFORTS["outputConfig"]:
        return replace(thinking, effort=output.pop("effort"))
    for place in ("reasoning_effort", "reasoning_config"):
        if type(native.get(place)) is str and native[place] in EFFORTS[place]:
            places["effort"] = place
            return replace(thinking, effort=native.pop(place))
    return thinking


# ------------------------------------------------------------------------------------------------------------- writing


def write_request(request: Request, target: Target | None) -> Encoded:
    ledger, mark = RequestLedger(), marks(NAME, request)
    body = PARAMS.put(request, ledger)
    write_history(request, body, target, mark, ledger)
    native: Wire = {}
    output: Wire = {}
    write_model_fields(request, native, output, family_of(target), ledger)
    name = write_schema_name(request, ledger)
    if request.output_schema is not None:
        schema = claude.write_schema(request.output_schema, NAME, mark, ledger)
        if mark.get("format") == "output_config" and not name and family_of(target) in (None, CLAUDE):
            native["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        else:
            output["textFormat"] = write_format(schema, name, mark)
    written = {"toolConfig": write_tool_config(request, mark, ledger)}
    written |= {"additionalModelRequestFields": native, "outputConfig": output}
    body |= {key: value for key, value in written.items() if value}
    if request.extras:
        merge(body, request.extras.get(NAME, {}))
        ledger.lose_foreign_extras(request, NAME)
    model = request.model or (target.model if target is not None else None)
    verb = "converse-stream" if request.stream else "converse"
    path = None if model is None else f"/model/{quote(model, safe='')}/{verb}"
    return Encoded(body, path, {}, tuple(ledger.losses))


def write_history(request: Request, body: Wire, target: Target | None, mark: Wire, ledger: Ledger) -> None:
    placed, skip = claude.leading_system(request, NAME, ledger)
    system = write_system(placed, ledger)
    if system:
        body["system"] = system
    turns = write_messages(claude.adopt_siblings(request.messages, NAME, target, request.model), target, ledger, skip)
    if turns:
        body["messages"] = turns
    elif request.messages or ("messages" not in mark and "messages" not in request.extras.get(NAME, {})):
        body["messages"] = [{"role": "user", "content": [{"text": PLACEHOLDER}]}]
        ledger.lose("added", f"{NAME} requires a message; a placeholder was added", "messages")
    elif mark.get("messages"):
        body["messages"] = mark["messages"][0]


def write_format(schema: dict[str, Json], name: Wire, mark: Wire) -> Wire:
    text = mark.get("schema")
    if text is None or parse_object(text) != schema:
        text = dump(schema).decode()
    return {"type": "json_schema", "structure": {"jsonSchema": {"schema": text, **name}}}


def write_tool_config(request: Request, mark: Wire, ledger: RequestLedger) -> Wire:
    """The value of ``toolConfig``, which may be empty. The protocol has no choice ``none``: the tools are left out
    instead, unless the history has calls, which need definitions."""
    history, choice = has_calls(request.messages), request.tool_choice
    if choice is not None and choice.mode == "none" and not history:
        reason = f"{NAME} has no tool choice none; no tools were sent"
        ledger.lose_form("approximated", reason, "tool_choice")
        for index, _ in enumerate(request.tools):
            ledger.lose_form("dropped", reason, "tools", index)
        return {}
    tools = write_tools(request.tools, ledger)
    if not tools:
        stubs = claude.stub_tools(request, NAME, ledger)
        tools = write_tools(stubs, RequestLedger())
    config: Wire = {"tools": tools} if tools else {}
    if choice is not None and (tools or "tool_choice" in mark.get("verbatim", ())):
        some_lost = any(isinstance(tool, ServerTool) and tool.dialect != NAME for tool in request.tools)
        if written := write_choice(choice, ledger, offered=_names(tools) if some_lost else None):
            config["toolChoice"] = written
    elif choice is not None:
        ledger.lose("dropped", f"{NAME} takes a tool choice only beside tools", "tool_choice")
    return config


def _names(tools: list[Json]) -> list[Json]:
    specs = (wire.get("toolSpec") or wire.get("systemTool") for wire in tools if is_object(wire))
    return [spec.get("name") for spec in specs if is_object(spec)]


def write_tools(tools: Sequence[Tool], ledger: Ledger) -> list[Json]:
    written: list[Json] = [
        TOOLS.write_usual(tool) if type(tool) is ToolDefinition and tool.cache is None else None for tool in tools
    ]
    if all(written):
        return written
    written = []
    for index, tool in enumerate(tools):
        ledger.where = ("tools", index)
        written += write_with_point(tool, TOOLS, ledger)
    ledger.where = ()
    return written


def write_choice(choice: ToolChoice, ledger: Ledger, offered: Sequence[Json] | None = None) -> Wire:
    """The tool choice, empty if it cannot be written. ``offered``: the names of the tools sent, if some were lost."""
    ledger.where = ("tool_choice",)
    wire: Wire = CHOICE.write(choice, ledger)
    if offered is not None and "tool" in wire and wire["tool"].get("name") not in offered:
        ledger.lose("dropped", "the chosen tool is not among the tools that are sent")
        wire = {}
    ledger.where = ()
    return wire


def write_model_fields(request: Request, native: Wire, output: Wire, family: Family | None, ledger: Ledger) -> None:
    if request.thinking is not None:
        ledger.where = ("thinking",)
        write_thinking(request.thinking, native, output, family, ledger)
        ledger.where = ()
    if request.top_k is not None:
        place = family.top_k if family is not None else marks(NAME, request).get("top_k", CLAUDE.top_k)
        if place == "inferenceConfig":
            native["inferenceConfig"] = {"topK": request.top_k}
        else:
            native["top_k"] = request.top_k
    if request.betas and family in (None, CLAUDE):
        native["anthropic_beta"] = list(request.betas)
    elif request.betas:
        ledger.lose("dropped", "this model has no betas", "betas")


def write_thinking(thinking: Thinking, native: Wire, output: Wire, family: Family | None, ledger: Ledger) -> None:
    mark = marks(NAME, thinking)
    mode_at = family.mode if family is not None else mark.get("mode", CLAUDE.mode)
    effort_at = family.effort if family is not None else mark.get("effort", CLAUDE.effort)
    thinking = _with_mode(thinking, mode_at, effort_at, ledger)
    effort = _fit_effort(thinking, effort_at, ledger)
    if mode_at is not None and thinking.mode is not None:
        native[mode_at] = THINKING_TABLES[mode_at].write(replace(thinking, effort=effort), ledger)
    else:
        for field in ("mode", "budget", "display"):
            if getattr(thinking, field) is not None:
                ledger.lose("dropped", "this model has no such setting", field)
        ledger.lose_foreign_extras(thinking, NAME)
    if effort is not None and effort_at == "outputConfig":
        output["effort"] = effort
    elif effort is not None and effort_at != mode_at:
        native[effort_at] = effort


def _with_mode(thinking: Thinking, mode_at: str | None, effort_at: str, ledger: Ledger) -> Thinking:
    """The thinking; if it has no mode, with the mode that its other fields imply."""
    if thinking.mode is not None or mode_at is None:
        return thinking
    if thinking.effort == "none":
        ledger.lose_form("added", f"effort none is sent as thinking disabled in {NAME}", "mode")
        return replace(thinking, mode="disabled")
    adaptive = THINKING_TABLES[mode_at] is CLAUDE_THINKING
    if thinking.budget is not None or (mode_at == effort_at and thinking.effort is not None):
        adaptive = False
    elif thinking.display is None:
        return thinking
    ledger.lose_form("added", f"thinking in {NAME} needs a mode; one was added", "mode")
    return replace(thinking, mode="adaptive" if adaptive else "enabled")


def _fit_effort(thinking: Thinking, effort_at: str, ledger: Ledger) -> str | None:
    effort = thinking.effort
    if effort is None or effort in EFFORTS[effort_at]:
        return effort
    if effort == "none" and thinking.mode == "disabled":
        ledger.lose_form("approximated", f"effort none is sent as thinking disabled in {NAME}", "effort")
        return None
    reason = f"this model has the efforts {', '.join(EFFORTS[effort_at])}; the nearest was sent"
    ledger.lose("approximated", reason, "effort")
    return "high" if effort in HIGHEST else "low"

"""The request of Anthropic Messages: parameters, tools, choice, thinking, structured output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...codec.history import PLACEHOLDER, leading_system, stub_tools
from ...codec.issuer import kindred
from ...codec.json import is_array, is_dict, is_object
from ...codec.schemas import is_strict_form, say_strict
from ...codec.tables import Field, FieldTable, Ledger, Words, is_plain_tool, keep, kept, marks, own, take, take_text
from ...errors import ParseError
from ...types.base import Json
from ...types.blocks import Block, ToolResultBlock, ToolUseBlock
from ...types.capabilities import Target
from ...types.loss import Encoded
from ...types.request import Request
from ...types.tools import ServerTool, Tool, ToolChoice, ToolDefinition
from .blocks import BLOCKS, CACHE, NAME, Wire
from .messages import decode_messages, decode_system, encode_messages, encode_system
from .thinking import read_thinking, say_thinking

PATH = "/v1/messages"
VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = 8192

PARAMS = FieldTable(
    NAME,
    Field("model", "model", (str,)),
    Field("max_output_tokens", "max_tokens", (int,)),
    Field("temperature", "temperature", (int, float)),
    Field("top_p", "top_p", (int, float)),
    Field("top_k", "top_k", (int,)),
    Field("stop_sequences", "stop_sequences", (list,)),
    Field("stream", "stream", (bool,)),
    Field("seed", None),
    Field("output_name", None, weight="form"),
)
CHOICES = Words([("auto", "auto"), ("any", "any"), ("tool", "specific"), ("none", "none")])
TIERS = Words([("auto", "auto"), ("standard_only", "default")])
FREE_TEXT_SCHEMA: Wire = {"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]}


def decode_request(
    body: Json, headers: Mapping[str, str] | None, model: str | None, stream: bool | None, provider: str | None
) -> Request:
    if not is_object(body):
        raise ParseError(f"a request body is a JSON object, got {type(body).__name__}")
    rest, forms, blanks = dict(body), Wire(), Wire()
    fields: dict[str, Any] = {}
    PARAMS.decode(rest, fields, blanks)
    read_outside(fields, forms, headers, model, stream)
    if type(rest.get("messages")) is list:
        fields["messages"] = decode_messages(rest.pop("messages"), provider)
    else:
        forms["messages"] = "absent"
    system = take(rest, "system", blanks)
    fields["system"] = decode_system(system, forms)
    if system is not None and type(system) is not str and not is_array(system):
        rest["system"] = system  # of no shape we know
    if is_array(tools := take(rest, "tools", blanks)):
        fields["tools"] = tuple(map(read_tool, tools))
    elif tools is not None:
        rest["tools"] = tools
    read_settings(rest, fields, forms, blanks)
    if "max_output_tokens" not in fields:
        forms["max_tokens"] = "absent"
    if fields.get("temperature", 0) > 1:
        forms["temperature"] = "verbatim"
    if _forced_while_thinking(body):
        forms["tool_choice"] = "verbatim"
    if fields.get("messages") == () and fields["system"]:
        forms["messages"] = "empty"
    if "tools" not in fields and _speaks_of_tools(fields.get("messages", ())):
        forms["tools"] = "absent"
    return Request(**fields, **kept(NAME, rest, forms, blanks))


def read_outside(
    fields: dict[str, Any], forms: Wire, headers: Mapping[str, str] | None, model: str | None, stream: bool | None
) -> None:
    """What clouds put into the URL, and betas into a header."""
    if model is not None and "model" not in fields:
        fields["model"] = model
        forms["model"] = "url"
    if stream is not None and "stream" not in fields:
        fields["stream"] = stream
        forms["stream"] = "url"
    for key, value in (headers or {}).items():
        if key.lower() == "anthropic-beta" and value:
            fields["betas"] = tuple(beta.strip() for beta in value.split(",") if beta.strip())


def read_settings(rest: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire) -> None:
    if isinstance(rest.get("tool_choice"), dict) and str(rest["tool_choice"].get("type")) in CHOICES.read:
        fields["tool_choice"] = read_choice(rest.pop("tool_choice"), alone="tools" not in fields)
    if isinstance(tier := rest.get("service_tier"), str) and tier in TIERS.read:
        fields["service_tier"] = TIERS.read[rest.pop("service_tier")]
    if isinstance(rest.get("metadata"), dict):
        read_metadata(rest, fields, blanks)
    config = dict(rest["output_config"]) if isinstance(rest.get("output_config"), dict) else None
    read_thinking(rest, fields, config)
    read_format(rest, fields, forms, config)
    if config is not None:
        _leave(rest, "output_config", config, blanks)


def _leave(rest: Wire, key: str, left: Wire, blanks: Wire) -> None:
    """Put back what a nested object still holds; one that is now empty was said, or was blank to begin with."""
    was_empty = not rest.pop(key)
    if left:
        rest[key] = left
    elif was_empty:
        blanks[key] = {}


def read_metadata(rest: Wire, fields: dict[str, Any], blanks: Wire) -> None:
    metadata = dict(rest["metadata"])
    if isinstance(metadata.get("user_id"), str):
        fields["metadata"] = {"user_id": metadata.pop("user_id")}
    _leave(rest, "metadata", metadata, blanks)


def read_format(rest: Wire, fields: dict[str, Any], forms: Wire, config: Wire | None) -> None:
    """Structured output: ``output_config.format``, or ``output_format`` at the top as older clients send it."""
    for where, key in ((config, "format"), (rest, "output_format")):
        wire = where.get(key) if where is not None else None
        if where is not None and is_dict(wire) and wire.get("type") == "json_schema":
            inner = {k: v for k, v in wire.items() if k not in ("type", "schema")}
            if "output_schema" in fields or not isinstance(wire.get("schema"), dict):
                continue
            fields["output_schema"] = wire["schema"]
            if not is_strict_form(wire["schema"], NAME):
                forms["schema"] = "verbatim"
            if key == "output_format":
                forms["output_format"] = "top"
            del where[key]
            if inner:
                where[key] = inner


def read_tool(wire: Wire) -> Tool:
    """One tool. What is no object is carried whole, like any that we do not know."""
    custom = type(wire) is dict and wire.get("type", "custom") == "custom"
    if not custom or type(wire.get("input_schema")) is not dict or type(wire.get("name")) is not str:
        return ServerTool(NAME, wire)
    rest = dict(wire)
    forms: Wire = {}
    blanks: Wire = {}
    name, schema = rest.pop("name"), rest.pop("input_schema")
    if "type" in rest:
        forms["type"] = rest.pop("type")
    description, strict = (
        take_text(rest, "description", blanks),
        take(rest, "strict", blanks) if "strict" in rest else None,
    )
    if strict is not None and type(strict) is not bool:
        rest["strict"], strict = strict, None
    if schema.get("type") != "object" or (strict and not is_strict_form(schema, NAME)):
        forms["schema"] = "verbatim"
    mark = CACHE.read(rest[CACHE.key]) if CACHE.key in rest else None
    if mark is not None:
        del rest[CACHE.key]
    extras, marked = keep(NAME, rest, forms, blanks)
    return ToolDefinition(name, description, schema, None, strict, mark, extras=extras, forms=marked)


def read_choice(wire: Wire, *, alone: bool = False) -> ToolChoice:
    rest, forms = dict(wire), Wire()
    fields: dict[str, Any] = {"mode": CHOICES.read[rest.pop("type")]}
    if alone:
        forms["alone"] = True
    if isinstance(rest.get("name"), str):
        fields["name"] = rest.pop("name")
    if type(rest.get("disable_parallel_tool_use")) is bool:
        fields["parallel"] = not rest.pop("disable_parallel_tool_use")
    return ToolChoice(**fields, **kept(NAME, rest, forms, {}))


def encode_request(request: Request, target: Target | None) -> Encoded:
    ledger, mark = Ledger(), marks(NAME, request)
    body: Wire = {}
    if request.model is None and target is not None and target.model is not None:
        body["model"] = target.model
    PARAMS.encode(request, body, ledger)
    for outside in ("model", "stream") if mark else ():
        if mark.get(outside) == "url":
            body.pop(outside, None)
    if body.get("temperature", 0) > 1 and mark.get("temperature") != "verbatim":
        body["temperature"] = 1
        ledger.lose("approximated", f"{NAME} takes a temperature of at most 1", "temperature")
    say_max_tokens(request, body, target, mark, ledger)
    say_history(request, body, target, mark, ledger)
    say_settings(request, body, mark, ledger)
    if _forced_while_thinking(body) and mark.get("tool_choice") != "verbatim":
        body["tool_choice"] = loosen_choice(body["tool_choice"], ledger)
    if request.extras or request.forms:
        own(NAME, body, request)
        ledger.foreign(request, NAME)
    headers = {"anthropic-version": VERSION}
    if request.betas:
        headers["anthropic-beta"] = ",".join(request.betas)
    return Encoded(body, PATH, headers, tuple(ledger.losses))


def say_max_tokens(request: Request, body: Wire, target: Target | None, mark: Wire, ledger: Ledger) -> None:
    if request.max_output_tokens is None and mark.get("max_tokens") != "absent":
        limit = target.capabilities.max_output_tokens if target is not None and target.capabilities else None
        body["max_tokens"] = limit or DEFAULT_MAX_TOKENS
        ledger.lose("added", f"{NAME} requires `max_tokens`; it was added", "max_output_tokens")


def say_history(request: Request, body: Wire, target: Target | None, mark: Wire, ledger: Ledger) -> None:
    skip = 0
    system: list[tuple[tuple[str | int, ...], Block]]
    if request.messages and "first" in marks(NAME, request.messages[0]):
        system = [(("system", i), b) for i, b in enumerate(request.system)]
    else:
        system, skip = leading_system(request, ledger)
    if system and (said := encode_system(system, ledger, mark.get("system"))):
        body["system"] = said
    if request.messages or mark.get("messages") != "absent":
        body["messages"] = encode_messages(kindred(request.messages, NAME, target, request.model), target, ledger, skip)
    if body.get("messages") == [] and system and mark.get("messages") != "empty":
        body["messages"] = [{"role": "user", "content": [{"type": "text", "text": PLACEHOLDER}]}]
        ledger.lose("added", f"{NAME} requires a message; a placeholder was added", "messages")
    tools = encode_tools(request.tools, ledger)
    if not request.tools and mark.get("tools") != "absent" and _speaks_of_tools(request.messages):
        tools = encode_tools(stub_tools(request.messages), Ledger())
        ledger.lose("added", f"{NAME} requires definitions of tools called before; stubs were added", "tools")
    if tools:
        body["tools"] = tools
    if request.tool_choice is not None:
        choice = say_choice(request.tool_choice, ledger, offered=bool(tools))
        if choice is not None:
            body["tool_choice"] = choice


def _speaks_of_tools(messages: Sequence[Any]) -> bool:
    return any(type(b) is ToolUseBlock or type(b) is ToolResultBlock for m in messages for b in m.content)


def say_settings(request: Request, body: Wire, mark: Wire, ledger: Ledger) -> None:
    if request.service_tier is not None:
        if request.service_tier in TIERS.write:
            body["service_tier"] = TIERS.write[request.service_tier]
        else:
            ledger.lose("dropped", f"{NAME} has no service tier {request.service_tier}", "service_tier")
    if request.metadata:
        say_metadata(request.metadata, body, ledger)
    config: Wire = {}
    if request.thinking is not None:
        say_thinking(request.thinking, body, config, ledger)
    if request.output_schema is not None:
        say_format(request.output_schema, body, config, mark, ledger)
    if config:
        body["output_config"] = config


def say_metadata(metadata: dict[str, Json], body: Wire, ledger: Ledger) -> None:
    for key, value in metadata.items():
        if key == "user_id" and isinstance(value, str):
            body["metadata"] = {"user_id": value}
        else:
            ledger.lose("dropped", f"metadata of {NAME} has `user_id` only", "metadata", key)


def say_format(schema: dict[str, Json], body: Wire, config: Wire, mark: Wire, ledger: Ledger) -> None:
    if mark.get("schema") != "verbatim":
        schema, _ = say_strict(schema, NAME, ledger, "output_schema")
    wire = {"type": "json_schema", "schema": schema}
    if mark.get("output_format") == "top":
        body["output_format"] = wire
    else:
        config["format"] = wire


def encode_tools(tools: Sequence[Tool], ledger: Ledger) -> list[Wire]:
    said: list[Wire] = []
    for index, tool in enumerate(tools):
        if type(tool) is ToolDefinition and tool.description is not None and is_plain_tool(tool):
            schema = tool.input_schema
            if schema.get("type") == "object":
                said.append({"name": tool.name, "description": tool.description, "input_schema": schema})
                continue
        ledger.where = ("tools", index)
        if isinstance(tool, ToolDefinition):
            said.append(say_tool(tool, ledger))
        elif tool.dialect == NAME:
            said.append(tool.raw)
        else:
            ledger.lose("dropped", f"a hosted tool of {tool.dialect} that is not translated to {NAME}")
    ledger.where = ()
    return said


def say_tool(tool: ToolDefinition, ledger: Ledger) -> Wire:
    mark = marks(NAME, tool)
    wire: Wire = {"type": mark["type"]} if "type" in mark else {}
    wire["name"] = tool.name
    if tool.description is not None:
        wire["description"] = tool.description
    strict = tool.strict
    if mark.get("schema") == "verbatim":
        wire["input_schema"] = tool.input_schema
    else:
        wire["input_schema"], strict = say_schema(tool, ledger)
    if strict is not None:
        wire["strict"] = strict
    if tool.cache is not None:
        BLOCKS.say_cache(tool.cache, wire, ledger)
    if tool.extras:
        ledger.foreign(tool, NAME)
    return own(NAME, wire, tool) if tool.extras or tool.forms else wire


def say_schema(tool: ToolDefinition, ledger: Ledger) -> tuple[Wire, bool | None]:
    if tool.kind == "text":
        ledger.lose("approximated", f"{NAME} has no free-text tools; sent as a function with one string", "kind")
        ledger.lose("added", f"{NAME} has no free-text tools; sent as a function with one string", "input_schema")
        return FREE_TEXT_SCHEMA, tool.strict
    schema, strict = tool.input_schema, tool.strict
    if strict:
        schema, able = say_strict(schema, NAME, ledger, "input_schema")
        strict = True if able else None
    if schema.get("type") != "object":
        ledger.lose_form("added", f"{NAME} requires `type: object`; it was added", "input_schema", "type")
        schema = {"type": "object", **{key: value for key, value in schema.items() if key != "type"}}
    return schema, strict


def say_choice(choice: ToolChoice, ledger: Ledger, *, offered: bool = True) -> Wire | None:
    ledger.where = ("tool_choice",)
    wire: Wire | None = None
    if not offered and "alone" not in marks(NAME, choice):
        ledger.lose("dropped", f"{NAME} takes a tool choice only beside tools")
    else:
        wire = own(NAME, _choice(choice, ledger), choice)
        ledger.foreign(choice, NAME)
    ledger.where = ()
    return wire


def _choice(choice: ToolChoice, ledger: Ledger) -> Wire:
    mode = choice.mode or "auto"
    if choice.mode is None:
        ledger.lose_form("added", f"a tool choice of {NAME} needs a mode; auto was added", "mode")
    wire: Wire = {"type": CHOICES.write[mode]}
    if choice.name is not None:
        wire["name"] = choice.name
    if choice.allowed:
        ledger.lose("dropped", f"{NAME} has no list of allowed tools", "allowed")
    if choice.parallel is not None:
        if mode == "none":
            ledger.lose_form("dropped", "no tool may be called, also not in parallel", "parallel")
        else:
            wire["disable_parallel_tool_use"] = not choice.parallel
    return wire


def _forced_while_thinking(body: Wire) -> bool:
    thinking, choice = body.get("thinking"), body.get("tool_choice")
    if not (is_dict(thinking) and is_dict(choice)):
        return False
    return thinking.get("type") == "enabled" and choice.get("type") in ("any", "tool")


def loosen_choice(choice: Wire, ledger: Ledger) -> Wire:
    """The protocol refuses a forced call beside a budget of thoughts."""
    why = f"{NAME} cannot force a call while thinking is enabled; sent as auto"
    ledger.lose("approximated", why, "tool_choice", "mode")
    if "name" in choice:
        ledger.lose("dropped", why, "tool_choice", "name")
    return {key: value for key, value in choice.items() if key != "name"} | {"type": "auto"}

"""The request of OpenAI Chat: parameters under their several names, thinking, structured output.

Marks on a request: the key a parameter stood under where it is not OpenAI's own (``max_tokens_key``, ``seed_key``,
``top_k``), ``stop`` (a string), ``stream_options`` (none, though it streams), ``thinking`` (asked for by an object of
that name), ``functions`` (tools of older clients), ``schema`` and ``strict`` (a response format we would write
otherwise), ``user_id`` (it stood in ``metadata``). A server that was named by provider or target is written to in its
own way; without one, every mark is honoured.
"""

from __future__ import annotations

from typing import Any

from ...codec.history import leading_system
from ...codec.json import is_array, is_dict, is_list, is_object
from ...codec.output import SCHEMA_NAME, read_name, say_name
from ...codec.schemas import is_strict_form, say_strict
from ...codec.tables import Field, FieldTable, Ledger, kept, marks, own, take
from ...errors import ParseError
from ...types.base import Json
from ...types.capabilities import Target
from ...types.loss import Encoded
from ...types.request import Request, Thinking
from ...types.tools import ToolChoice, ToolDefinition
from ...types.words import Role
from .messages import decode_messages, encode_messages, encode_system
from .parts import NAME, Wire
from .quirks import OPENAI, QUIRKS, Quirks
from .tools import encode_tools, read_choice, read_function, read_tool, say_choice, say_function

PATH = "/v1/chat/completions"
SYSTEM = Role.system  # an enum's members are slow to reach
PARAMS = FieldTable(
    NAME,
    Field("model", "model", (str,)),
    Field("temperature", "temperature", (int, float)),
    Field("top_p", "top_p", (int, float)),
    Field("service_tier", "service_tier", (str,)),
    Field("stream", "stream", (bool,)),
)
TIERS = ("auto", "default", "flex", "scale", "priority", "fast")
EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")
MODES = ("enabled", "disabled", "adaptive")
MAX_TOKENS_KEYS = ("max_completion_tokens", "max_tokens")
SEED_KEYS = ("seed", "random_seed")


def decode_request(body: Json, model: str | None, stream: bool | None, provider: str | None) -> Request:
    if not is_object(body):
        raise ParseError(f"a request body is a JSON object, got {type(body).__name__}")
    rest, forms, blanks = dict(body), Wire(), Wire()
    fields: dict[str, Any] = {}
    PARAMS.decode(rest, fields, blanks)
    for key, value in (("model", model), ("stream", stream)):
        if value is not None and key not in fields:
            fields[key] = value
            forms[key] = "url"
    if type(rest.get("messages")) is list:
        fields["system"], fields["messages"] = decode_messages(rest.pop("messages"), provider)
    else:
        forms["messages"] = "absent"
    read_tools(rest, fields, forms, blanks)
    read_choice(rest, fields, blanks)
    if "tool_choice" in fields and not fields.get("tools"):
        forms["alone"] = True
    read_numbers(rest, fields, forms, blanks)
    read_stop(rest, fields, forms, blanks)
    read_identity(rest, fields, forms, blanks)
    read_thinking(rest, fields, forms, blanks)
    read_format(rest, fields, forms)
    read_stream_options(rest, fields, forms)
    return Request(**fields, **kept(NAME, rest, forms, blanks))


def read_tools(rest: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire) -> None:
    tools = take(rest, "tools", blanks)
    if is_array(tools):
        fields["tools"] = tuple(map(read_tool, tools))
    elif tools is not None:
        rest["tools"] = tools
    legacy = rest.get("functions")
    if "tools" not in fields and type(legacy) is list and legacy:
        fields["tools"] = tuple(map(_read_legacy, rest.pop("functions")))
        forms["functions"] = True


def _read_legacy(wire: Wire) -> ToolDefinition:
    inner, forms = dict(wire), Wire()
    fields, blanks = read_function(inner, forms)
    return ToolDefinition(**fields, **kept(NAME, inner, forms, blanks))


def read_numbers(rest: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire) -> None:
    for canonical, keys in (("max_output_tokens", MAX_TOKENS_KEYS), ("seed", SEED_KEYS), ("top_k", ("", "top_k"))):
        for key in keys:
            if key in rest and rest[key] is None:
                blanks[key] = rest.pop(key)
            elif type(rest.get(key)) is int and canonical not in fields:
                fields[canonical] = rest.pop(key)
                if key != keys[0]:
                    forms[f"{canonical}_key"] = key


def read_stop(rest: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire) -> None:
    stop = take(rest, "stop", blanks)
    if isinstance(stop, str):
        fields["stop_sequences"] = (stop,)
        forms["stop"] = "string"
    elif is_list(stop) and all(isinstance(word, str) for word in stop):
        fields["stop_sequences"] = tuple(stop)
    elif stop is not None:
        rest["stop"] = stop


def read_identity(rest: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire) -> None:
    metadata = take(rest, "metadata", blanks)
    if is_dict(metadata):
        fields["metadata"] = dict(metadata)
        if "user_id" in metadata:
            forms["user_id"] = "metadata"
    elif metadata is not None:
        rest["metadata"] = metadata
    if isinstance(rest.get("safety_identifier"), str) and "user_id" not in forms:
        fields["metadata"] = {**fields.get("metadata", {}), "user_id": rest.pop("safety_identifier")}


def read_thinking(rest: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire) -> None:
    found: dict[str, Any] = {}
    effort = rest.get("reasoning_effort")
    if effort in EFFORTS:
        found["effort"] = rest.pop("reasoning_effort")
    elif effort == "none":
        found["mode"] = "disabled"
        del rest["reasoning_effort"]
    elif "reasoning_effort" in rest and effort is None:
        blanks["reasoning_effort"] = rest.pop("reasoning_effort")
    for key, names in (("thinking", ("mode", "budget_tokens")), ("reasoning", ("effort", "max_tokens"))):
        if isinstance(rest.get(key), dict) and "thinking" not in forms:
            _read_thinking_object(rest, key, names[1], found, forms)
    if found:
        fields["thinking"] = Thinking(**found)


def _read_thinking_object(rest: Wire, key: str, budget: str, found: dict[str, Any], forms: Wire) -> None:
    """``thinking: {type, budget_tokens}`` or ``reasoning: {effort, max_tokens}``."""
    inner, read = dict(rest[key]), dict[str, Any]()
    if key == "thinking" and inner.get("type") in MODES and "mode" not in found:
        read["mode"] = inner.pop("type")
    if key == "reasoning" and inner.get("effort") in EFFORTS and "effort" not in found:
        read["effort"] = inner.pop("effort")
    if type(inner.get(budget)) is int:
        read["budget"] = inner.pop(budget)
    if read:
        found |= read
        forms["thinking"] = key
        del rest[key]
        if inner:
            rest[key] = inner


def read_format(rest: Wire, fields: dict[str, Any], forms: Wire) -> None:
    """The schema is ours; its name and description are only this protocol's."""
    wire = rest.get("response_format")
    if not is_dict(wire) or wire.get("type") != "json_schema" or not isinstance(wire.get("json_schema"), dict):
        return
    inner = dict(wire["json_schema"])
    if not isinstance(inner.get("schema"), dict):
        return
    fields["output_schema"] = inner.pop("schema")
    if inner.get("strict") is True:
        del inner["strict"]
        if not is_strict_form(fields["output_schema"], NAME):
            forms["schema"] = "verbatim"
    else:
        forms["strict"] = inner.pop("strict", "absent")
    if inner.get("name") == SCHEMA_NAME:
        del inner["name"]
    elif "name" not in inner:
        forms["name"] = "absent"
    read_name(inner, fields)
    outer = {key: value for key, value in wire.items() if key not in ("type", "json_schema")}
    left = {**outer, **({"json_schema": inner} if inner else {})}
    del rest["response_format"]
    if left:
        rest["response_format"] = left


def read_stream_options(rest: Wire, fields: dict[str, Any], forms: Wire) -> None:
    """We always ask for usage; a stream that did not is marked."""
    if fields.get("stream") is not True:
        return
    options = rest.get("stream_options")
    if is_dict(options) and options.get("include_usage") is True:
        left = {key: value for key, value in options.items() if key != "include_usage"}
        del rest["stream_options"]
        if left:
            rest["stream_options"] = left
    else:
        forms["stream_options"] = "absent"


def quirks_of(provider: str | None, target: Target | None) -> tuple[Quirks, bool]:
    """The quirks to write by, and whether they are a named server's, which win over marks."""
    if target is not None and isinstance(target.quirks, Quirks):
        return target.quirks, True
    name = target.provider if target is not None and target.provider is not None else provider
    return (QUIRKS[name], True) if name in QUIRKS else (OPENAI, False)


def encode_request(request: Request, target: Target | None, provider: str | None) -> Encoded:
    ledger, mark = Ledger(), marks(NAME, request)
    body: Wire = {}
    quirks, bound = quirks_of(provider, target)
    if request.model is None and target is not None and target.model is not None:
        body["model"] = target.model
    PARAMS.encode(request, body, ledger)
    for key in ("model", "stream") if mark else ():
        if mark.get(key) == "url":
            body.pop(key, None)
    say_history(request, body, target, quirks, ledger)
    say_tools(request, body, mark, quirks, ledger)
    if request.tool_choice is not None:
        body |= say_chosen(request, request.tool_choice, "tools" in body or "functions" in body, quirks, bound, ledger)
    say_numbers(request, body, mark, quirks, bound, ledger)
    if request.stop_sequences:
        one = mark.get("stop") == "string" and len(request.stop_sequences) == 1
        body["stop"] = request.stop_sequences[0] if one else list(request.stop_sequences)
    say_identity(request, body, mark, ledger)
    if request.thinking is not None:
        say_thinking(request.thinking, body, mark, quirks, bound, ledger)
    name = say_name(request, ledger)
    if request.output_schema is not None:
        say_format(request.output_schema, body, mark, ledger)
        body["response_format"]["json_schema"] |= name
    if request.stream and (quirks.stream_usage if bound else mark.get("stream_options") != "absent"):
        body["stream_options"] = {"include_usage": True}
    if request.betas:
        ledger.lose("dropped", f"{NAME} has no betas", "betas")
    if request.extras or request.forms:
        own(NAME, body, request)
        ledger.foreign(request, NAME)
    if request.output_schema is not None and mark.get("name") != "absent":
        body["response_format"]["json_schema"].setdefault("name", SCHEMA_NAME)
    return Encoded(body, PATH, {}, tuple(ledger.losses))


def say_history(request: Request, body: Wire, target: Target | None, quirks: Quirks, ledger: Ledger) -> None:
    if not request.messages and not request.system and marks(NAME, request).get("messages") == "absent":
        return
    first = request.messages[0] if request.messages else None
    if first is not None and first.role is SYSTEM and not marks(NAME, first):
        leading_system(request, ledger)
    turns = encode_system(request.system, quirks, ledger)
    body["messages"] = turns + encode_messages(request.messages, target, quirks, ledger)


def say_tools(request: Request, body: Wire, mark: Wire, quirks: Quirks, ledger: Ledger) -> None:
    if not request.tools:
        return
    if "functions" in mark and all(isinstance(tool, ToolDefinition) for tool in request.tools):
        body["functions"] = [own(NAME, say_function(t, quirks, ledger), t) for t in request.tools]  # type: ignore[arg-type]
        return
    tools = encode_tools(request.tools, quirks, ledger)
    if tools:
        body["tools"] = tools


def say_chosen(
    request: Request, choice: ToolChoice, offered: bool, quirks: Quirks, bound: bool, ledger: Ledger
) -> Wire:
    if offered or "alone" in marks(NAME, request):
        return say_choice(choice, request.tools, quirks, bound, ledger)
    ledger.lose("dropped", f"{NAME} takes a tool choice only beside tools", "tool_choice")
    return {}


def say_numbers(request: Request, body: Wire, mark: Wire, quirks: Quirks, bound: bool, ledger: Ledger) -> None:
    for canonical, default in (("max_output_tokens", quirks.max_tokens_key), ("seed", quirks.seed_key)):
        value = getattr(request, canonical)
        if value is not None:
            body[default if bound else mark.get(f"{canonical}_key", default)] = value
    if request.top_k is not None:
        if quirks.top_k or (not bound and "top_k_key" in mark):
            body["top_k"] = request.top_k
        else:
            ledger.lose("dropped", f"{NAME} has `top_k` on some servers only", "top_k")
    tier = request.service_tier
    if tier is not None and tier not in TIERS and NAME not in request.extras and not mark:
        del body["service_tier"]
        ledger.lose("dropped", f"{NAME} has no service tier {tier}", "service_tier")


def say_identity(request: Request, body: Wire, mark: Wire, ledger: Ledger) -> None:
    if not request.metadata:
        return
    metadata = dict(request.metadata)
    if "user_id" in metadata and mark.get("user_id") != "metadata":
        body["safety_identifier"] = metadata.pop("user_id")
    if metadata:
        body["metadata"] = metadata


def say_thinking(thinking: Thinking, body: Wire, mark: Wire, quirks: Quirks, bound: bool, ledger: Ledger) -> None:
    ledger.where = ("thinking",)
    form = quirks.thinking_param if bound else mark.get("thinking", quirks.thinking_param)
    effort, inner = thinking.effort, Wire()
    said_mode = False
    if form == "thinking" and thinking.mode in MODES:
        inner["type"] = thinking.mode
        said_mode = True
    elif thinking.mode == "disabled":
        if effort is not None:
            ledger.lose_form("dropped", "thinking is disabled, so no effort was sent", "effort")
        effort, said_mode = "none", True
    elif effort == "none":
        ledger.lose_form("approximated", f"effort none is said as thinking disabled in {NAME}", "effort")
        ledger.lose_form("added", f"effort none is said as thinking disabled in {NAME}", "mode")
    if thinking.budget is not None:
        _say_budget(thinking.budget, form, inner, ledger)
    if effort is not None:
        _say_effort(effort, form, body, inner, ledger)
    if thinking.mode is not None and not said_mode:
        ledger.lose("dropped", f"{NAME} has no thinking mode {thinking.mode}", "mode")
    if thinking.display is not None:
        ledger.lose("dropped", f"{NAME} has no setting to show or hide thinking", "display")
    if inner:
        body[form] = inner
    ledger.foreign(thinking, NAME)
    ledger.where = ()


def _say_budget(budget: int, form: str, inner: Wire, ledger: Ledger) -> None:
    if form == "reasoning_effort":
        ledger.lose("dropped", f"{NAME} has no token budget for reasoning", "budget")
    else:
        inner["budget_tokens" if form == "thinking" else "max_tokens"] = budget


def _say_effort(effort: str, form: str, body: Wire, inner: Wire, ledger: Ledger) -> None:
    if effort not in (*EFFORTS, "none"):
        ledger.lose("dropped", f"{NAME} has the efforts none, {', '.join(EFFORTS)} only", "effort")
    elif form == "reasoning":
        inner["effort"] = effort
    else:
        body["reasoning_effort"] = effort


def say_format(schema: dict[str, Json], body: Wire, mark: Wire, ledger: Ledger) -> None:
    inner: Wire = {}
    if "strict" in mark:
        inner |= {} if mark["strict"] == "absent" else {"strict": mark["strict"]}
    elif mark.get("schema") == "verbatim":
        inner["strict"] = True
    else:
        schema, able = say_strict(schema, NAME, ledger, "output_schema")
        inner |= {"strict": True} if able else {}
    body["response_format"] = {"type": "json_schema", "json_schema": {**inner, "schema": schema}}

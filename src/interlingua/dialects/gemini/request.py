"""The request of Gemini: parameters, thinking, structured output. The model and streaming are in its path.

Marks: ``snake`` (key_case.py), ``model`` (the body named it too), ``contents`` and ``tools`` (one object, or absent),
``system_role`` and ``system_parts``, ``topK`` (a float), ``stops`` and ``labels`` (more, or others, than are allowed),
``mime`` (absent beside a schema), ``schema`` (schemas.py); on thinking: ``level`` (its spelling), ``both`` (a budget
and a level).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any
from urllib.parse import quote

from ...codec.history import PLACEHOLDER, leading_system
from ...codec.tables import Field, FieldTable, Ledger, Words, kept, marks, own
from ...errors import ParseError
from ...types.base import Json
from ...types.capabilities import Target
from ...types.loss import Encoded
from ...types.request import Request, Thinking
from ...types.tools import ToolDefinition
from ...types.words import Role
from .contents import decode_contents, decode_system
from .key_case import Wire, camel, is_array, is_object, respell
from .media import NAME
from .schemas import OUTPUT, read_schema, say_schema
from .tools import encode_tools, read_choice, read_tools, say_choice
from .turns import Placed, encode_contents, encode_system, signs_calls

VERSION = "v1beta"
PARAMS = FieldTable(
    NAME,
    Field("max_output_tokens", "maxOutputTokens", (int,)),
    Field("temperature", "temperature", (int, float)),
    Field("top_p", "topP", (int, float)),
    Field("top_k", "topK", (int,)),
    Field("stop_sequences", "stopSequences", (list,)),
    Field("seed", "seed", (int,)),
)
NO_WORD = FieldTable(NAME, Field("betas", None), Field("verbosity", None), Field("output_name", None, weight="form"))
TIERS = Words([("standard", "default"), ("flex", "flex"), ("priority", "priority"), ("unspecified", "auto")])
LEVELS = ("minimal", "low", "medium", "high")
DISPLAYS = {True: "summarized", False: "omitted"}
JSON_TYPE = "application/json"
MAX_STOPS = 5
COLLECTION = re.compile(r"(models|tunedModels|publishers|projects)/")
LABEL = re.compile(r"[a-z][a-z0-9_-]{0,62}")
LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")


# ------------------------------------------------------------------------------------------------------------ reading


def decode_request(body: Json, model: str | None, stream: bool | None, provider: str | None) -> Request:
    if not is_object(body):
        raise ParseError(f"a request body is a JSON object, got {type(body).__name__}")
    found: list[str] = []
    forms: Wire = {}
    blanks: Wire = {}
    rest = camel({key: value for key, value in body.items() if key not in ("contents", "tools")}, found)
    if found:
        forms["snake"] = found
    fields: dict[str, Any] = {"model": model, "stream": stream}
    read_model(rest, fields, forms)
    read_history(body, rest, fields, forms, blanks, provider)
    config = rest.get("generationConfig")
    if config == {}:
        blanks["generationConfig"] = rest.pop("generationConfig")
    elif is_object(config):
        read_config(config, fields, forms, blanks)
        if not config:
            del rest["generationConfig"]
    read_settings(rest, fields, forms, blanks)
    for key in ("generationConfig", "toolConfig", "systemInstruction"):
        if key in rest and rest[key] is None:
            blanks[key] = rest.pop(key)
    return Request(**fields, **kept(NAME, rest, forms, blanks))


def read_model(rest: Wire, fields: dict[str, Any], forms: Wire) -> None:
    """Some clients name the model in the body, too."""
    word = rest.get("model")
    if type(word) is str and word:
        name = word.removeprefix("models/")
        if fields["model"] is None:
            fields["model"] = name
        if fields["model"] == name:
            forms["model"] = rest.pop("model")


def read_history(
    body: Wire, rest: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire, provider: str | None
) -> None:
    contents = body.get("contents")
    if is_object(contents):
        forms["contents"], contents = "object", [contents]
    if is_array(contents) and contents:
        fields["messages"] = decode_contents(contents, provider)
    else:
        forms["contents"] = "absent"
        if "contents" in body:
            (rest if contents else blanks)["contents"] = contents
    system = rest.get("systemInstruction")
    if is_object(system):
        fields["system"] = decode_system(system, forms)
        if not system:
            del rest["systemInstruction"]
    tools = body.get("tools")
    if is_object(tools) and tools:
        forms["tools"], tools = "object", [tools]
    if is_array(tools) and tools:
        fields["tools"] = read_tools(tools)
    elif "tools" in body:
        blanks["tools"] = tools


def read_config(config: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire) -> None:
    """Pops what it knows of ``generationConfig``."""
    empty: Wire = {}
    if type(config.get("topK")) is float and config["topK"].is_integer():
        forms["topK"] = "float"
        config["topK"] = int(config["topK"])
    PARAMS.decode(config, fields, empty)
    if len(fields.get("stop_sequences", ())) > MAX_STOPS:
        forms["stops"] = "verbatim"
    thinking = config.get("thinkingConfig")
    if is_object(thinking) and thinking:
        fields["thinking"] = read_thinking(thinking)
        del config["thinkingConfig"]
    schema = read_schema(config, OUTPUT, forms, empty)
    if schema is not None:
        fields["output_schema"] = schema
        if config.get("responseMimeType") == JSON_TYPE:
            del config["responseMimeType"]
        elif "responseMimeType" not in config:
            forms["mime"] = "absent"
    if empty:
        blanks["generationConfig"] = empty


def read_thinking(wire: Wire) -> Thinking:
    forms, blanks = Wire(), Wire()
    fields: dict[str, Any] = {}
    shown = wire.get("includeThoughts")
    if type(shown) is bool:
        fields["display"] = DISPLAYS[wire.pop("includeThoughts")]
    level = wire.get("thinkingLevel")
    if type(level) is str and level.lower() in LEVELS:
        fields["effort"] = wire.pop("thinkingLevel").lower()
        if level != level.upper():
            forms["level"] = level
    budget = wire.get("thinkingBudget")
    if type(budget) is int and budget >= -1:
        del wire["thinkingBudget"]
        fields |= {0: {"mode": "disabled"}, -1: {"mode": "adaptive"}}.get(budget, {"mode": "enabled", "budget": budget})
        if "effort" in fields:
            forms["both"] = True
    blanks |= {key: value for key, value in wire.items() if value is None}
    rest = {key: value for key, value in wire.items() if value is not None}
    return Thinking(**fields, **kept(NAME, rest, forms, blanks))


def read_settings(rest: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire) -> None:
    config = rest.get("toolConfig")
    calling = config.get("functionCallingConfig") if is_object(config) else None
    if is_object(config) and is_object(calling):
        alone = not any(isinstance(tool, ToolDefinition) for tool in fields.get("tools", ()))
        choice = read_choice(calling, alone=alone)
        if choice is not None:
            fields["tool_choice"] = choice
            del config["functionCallingConfig"]
            if not config:
                del rest["toolConfig"]
    elif config == {}:
        blanks["toolConfig"] = rest.pop("toolConfig")
    tier = rest.get("serviceTier")
    if type(tier) is str and tier in TIERS.read:
        fields["service_tier"] = TIERS.read[rest.pop("serviceTier")]
    labels = rest.get("labels")
    if is_object(labels):
        fields["metadata"] = rest.pop("labels")
        if not labels:
            blanks["labels"] = labels
        elif not all(is_label(key, value) for key, value in labels.items()):
            forms["labels"] = "verbatim"


def is_label(key: str, value: Json) -> bool:
    return bool(LABEL.fullmatch(key) and type(value) is str and LABEL_VALUE.fullmatch(value))


# ------------------------------------------------------------------------------------------------------------ writing


def encode_request(request: Request, target: Target | None) -> Encoded:
    body: Wire = {}
    ledger, mark = Ledger(), marks(NAME, request)
    model = request.model or (target.model if target is not None else None)
    say_history(request, body, target, mark, ledger)
    config = say_config(request, mark, ledger)
    if config:
        body["generationConfig"] = config
    say_settings(request, body, mark, ledger)
    if "model" in mark and model is not None:
        body["model"] = f"models/{model}" if mark["model"].startswith("models/") else model
    if request.extras or request.forms:
        own(NAME, body, request)
        ledger.foreign(request, NAME)
    if "snake" in mark:
        body = respell(body, mark["snake"])
    return Encoded(body, path_of(model, request.stream), {}, tuple(ledger.losses))


@lru_cache(maxsize=256)
def path_of(model: str | None, stream: bool | None) -> str | None:
    if model is None:
        return None
    place = model if COLLECTION.match(model) else f"models/{quote(model, safe='')}"
    return f"/{VERSION}/{place}:{'streamGenerateContent?alt=sse' if stream else 'generateContent'}"


SYSTEM = Role.system


def say_history(request: Request, body: Wire, target: Target | None, mark: Wire, ledger: Ledger) -> None:
    system: list[Placed]
    system, taken = leading_system(request, ledger)
    for index, message in enumerate(request.messages):
        if message.role is SYSTEM and index >= taken:
            ledger.lose("moved", f"{NAME} has no system messages; moved to the system prompt", "messages", index)
            system += [(("messages", index, "content", i), block) for i, block in enumerate(message.content)]
    say_system(encode_system(system, ledger), body, mark)
    signing = target is not None and signs_calls(target.model or request.model)
    contents = encode_contents(request.messages, target, ledger, signing=signing)
    if request.messages or mark.get("contents") != "absent":
        body["contents"] = contents[0] if mark.get("contents") == "object" and len(contents) == 1 else contents
    if not contents and "contents" in body:
        ledger.lose("added", f"{NAME} requires a message; a placeholder was added", "messages")
        body["contents"] = [{"role": "user", "parts": [{"text": PLACEHOLDER}]}]
    tools = encode_tools(request.tools, ledger)
    if tools:
        body["tools"] = tools[0] if mark.get("tools") == "object" and len(tools) == 1 else tools


def say_system(parts: list[Wire], body: Wire, mark: Wire) -> None:
    wire: Wire = {"role": mark["system_role"]} if "system_role" in mark else {}
    if parts:
        wire["parts"] = parts[0] if len(parts) == 1 and mark.get("system_parts") == "object" else parts
    if wire or "system_parts" in mark:
        body["systemInstruction"] = wire


def say_config(request: Request, mark: Wire, ledger: Ledger) -> Wire:
    config: Wire = {}
    PARAMS.encode(request, config, ledger)
    if mark.get("topK") == "float" and "topK" in config:
        config["topK"] = float(config["topK"])
    for index in range(MAX_STOPS, len(request.stop_sequences) if mark.get("stops") != "verbatim" else 0):
        ledger.lose("dropped", f"{NAME} takes at most {MAX_STOPS} stop sequences", "stop_sequences", index)
        config["stopSequences"] = list(request.stop_sequences[:MAX_STOPS])
    if request.output_schema is not None:
        residue = request.extras.get(NAME, {}).get("generationConfig", {})
        if mark.get("mime") != "absent" and "responseMimeType" not in residue:
            config["responseMimeType"] = JSON_TYPE
        key, schema = say_schema(request.output_schema, OUTPUT, mark, ledger, "output_schema")
        config[key] = schema
    if request.thinking is not None:
        thinking = say_thinking(request.thinking, ledger)
        if thinking:
            config["thinkingConfig"] = thinking
    return config


def say_thinking(thinking: Thinking, ledger: Ledger) -> Wire:
    ledger.where = ("thinking",)
    mark, wire = marks(NAME, thinking), Wire()
    if thinking.display is not None:
        wire["includeThoughts"] = thinking.display != DISPLAYS[False]
        if thinking.display not in DISPLAYS.values():
            ledger.lose("approximated", f"{NAME} shows thoughts or not; sent as shown", "display")
    budget = say_budget(thinking, ledger)
    level = say_level(thinking, mark, ledger)
    if budget is not None and level is not None and "both" not in mark:
        ledger.lose("dropped", f"{NAME} takes a thinking budget or a level, not both", "effort")
        level = None
    if budget is not None:
        wire["thinkingBudget"] = budget
    if level is not None:
        wire["thinkingLevel"] = level
    own(NAME, wire, thinking)
    ledger.foreign(thinking, NAME)
    ledger.where = ()
    return wire


def say_budget(thinking: Thinking, ledger: Ledger) -> int | None:
    """0 is off, -1 is up to the model."""
    if thinking.budget is not None and thinking.mode != "disabled":
        if thinking.mode is None:
            ledger.lose_form("added", f"a budget in {NAME} means that thinking is enabled", "mode")
        elif thinking.mode != "enabled":
            ledger.lose_form("approximated", f"a budget in {NAME} means that thinking is enabled", "mode")
        return thinking.budget
    if thinking.mode == "disabled" or (thinking.mode is None and thinking.effort == "none"):
        if thinking.budget is not None:
            ledger.lose_form("dropped", "thinking is disabled, so no budget was sent", "budget")
        if thinking.mode is None:
            ledger.lose_form("added", f"effort none is said as thinking disabled in {NAME}", "mode")
        return 0
    if thinking.mode is None:
        return None
    if thinking.effort is not None and "both" not in marks(NAME, thinking):
        ledger.lose_form("dropped", f"a level in {NAME} means that thinking is enabled", "mode")
        return None
    if thinking.mode != "adaptive":
        ledger.lose("approximated", f"enabled thinking without a budget is sent to {NAME} as up to the model", "mode")
    return -1


def say_level(thinking: Thinking, mark: Wire, ledger: Ledger) -> str | None:
    effort = thinking.effort
    if effort is None:
        return None
    if effort == "none":
        ledger.lose_form("approximated", f"effort none is said as thinking disabled in {NAME}", "effort")
        return None
    if effort not in LEVELS:
        ledger.lose("approximated", f"{NAME} has the levels {', '.join(LEVELS)}; the nearest was sent", "effort")
        effort = LEVELS[-1]
    word = mark.get("level")
    return word if isinstance(word, str) and word.lower() == effort else effort.upper()


def say_settings(request: Request, body: Wire, mark: Wire, ledger: Ledger) -> None:
    if request.tool_choice is not None:
        choice = say_choice(request.tool_choice, ledger, request.tools)
        if choice is not None:
            body["toolConfig"] = {"functionCallingConfig": choice}
    if request.service_tier is not None:
        if request.service_tier in TIERS.write:
            body["serviceTier"] = TIERS.write[request.service_tier]
        else:
            ledger.lose("dropped", f"{NAME} has no service tier {request.service_tier}", "service_tier")
    if request.metadata:
        labels = {k: v for k, v in request.metadata.items() if is_label(k, v) or mark.get("labels") == "verbatim"}
        if labels:
            body["labels"] = labels
        for key in request.metadata:
            if key not in labels:
                ledger.lose("dropped", f"labels of {NAME} are short words in lower case", "metadata", key)
    NO_WORD.encode(request, body, ledger)

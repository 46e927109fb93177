"""The request of Bedrock Converse: parameters, structured output, tags. The model and the stream are in the URL.

Marks: ``messages`` and ``tools`` (``absent``), ``unfit`` (parameters outside the service's ranges), ``schema``
(``verbatim``), ``schema_text`` (the schema as it was spelled), ``metadata`` (``verbatim``), ``top_k``.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from ...codec.arguments import parse_object
from ...codec.history import PLACEHOLDER, leading_system
from ...codec.issuer import kindred
from ...codec.output import read_name, say_name
from ...codec.schemas import is_strict_form, say_strict
from ...codec.stream import dump
from ...codec.tables import Field, FieldTable, Ledger, kept, marks, own, take
from ...errors import ParseError
from ...types.base import Json
from ...types.capabilities import Target
from ...types.loss import Encoded
from ...types.request import Request
from .messages import decode_messages, decode_system, encode_messages, encode_system
from .names import NAME, Scribe
from .native import read_native, say_native, way_of
from .tools import read_tools, say_tools, speaks_of_tools
from .wire import Wire, is_array, is_object, leave, opened

INFERENCE = FieldTable(
    NAME,
    Field("max_output_tokens", "maxTokens", (int,)),
    Field("temperature", "temperature", (int, float)),
    Field("top_p", "topP", (int, float)),
    Field("stop_sequences", "stopSequences", (list,)),
    Field("seed", None),
)
TIERS = ("priority", "default", "flex", "reserved")
TAG = re.compile(r"[a-zA-Z0-9\s:_@$#=/+,\-.]{0,256}")
MOST_TAGS = 16


def decode_request(body: Json, model: str | None, stream: bool | None, provider: str | None) -> Request:
    if not is_object(body):
        raise ParseError(f"a request body is a JSON object, got {type(body).__name__}")
    rest, forms, blanks = dict(body), Wire(), Wire()
    fields: dict[str, Any] = {"model": model, "stream": stream}
    read_history(rest, fields, forms, blanks, provider)
    read_inference(rest, fields, forms, blanks)
    read_tools(rest, fields, forms, blanks)
    if "tools" not in fields and speaks_of_tools(fields.get("messages", ())):
        forms["tools"] = "absent"
    read_model_fields(rest, fields, forms, blanks)
    read_tags(rest, fields, forms, blanks)
    return Request(**fields, **kept(NAME, rest, forms, blanks))


def read_history(rest: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire, provider: str | None) -> None:
    if "messages" not in rest:
        forms["messages"] = "absent"
    elif is_array(rest["messages"]) or rest["messages"] is None:
        messages = take(rest, "messages", blanks)
        fields["messages"] = decode_messages(messages or (), provider)
    if is_array(rest.get("system")):
        fields["system"] = decode_system(take(rest, "system", blanks) or ())


def read_inference(rest: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire) -> None:
    if not is_object(rest.get("inferenceConfig")):
        return
    config, empty = opened(rest, "inferenceConfig"), Wire()
    was_empty = not config
    INFERENCE.decode(config, fields, empty)
    unfit = [name for name in (*RANGES, "stop_sequences") if name in fields and not _fits(name, fields[name])]
    if unfit:
        forms["unfit"] = unfit
    leave(rest, "inferenceConfig", config)
    if empty or was_empty:
        blanks["inferenceConfig"] = empty


# canonical: least, most
RANGES: dict[str, tuple[int, int | None]] = {"max_output_tokens": (1, None), "temperature": (0, 1), "top_p": (0, 1)}


def _fits(name: str, value: Any) -> bool:
    if name not in RANGES:
        return all(type(word) is str and word for word in value)
    least, most = RANGES[name]
    return bool(value >= least and (most is None or value <= most))


def read_model_fields(rest: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire) -> None:
    objects: list[Wire] = []
    for key in ("additionalModelRequestFields", "outputConfig"):
        if rest.get(key) == {}:
            blanks[key] = {}
        objects.append(opened(rest, key) if is_object(rest.get(key)) else {})
    native, config = objects
    read_native(native, config, fields, forms)
    read_format(config, fields, forms)
    leave(rest, "additionalModelRequestFields", native)
    leave(rest, "outputConfig", config)


def read_format(config: Wire, fields: dict[str, Any], forms: Wire) -> None:
    """``textFormat.structure.jsonSchema.schema`` is JSON text; its name and description stay residue."""
    try:
        wire = opened(dict(config), "textFormat")
        structure = opened(wire, "structure")
        inner = opened(structure, "jsonSchema")
        text, word = inner.pop("schema"), wire.pop("type")
    except (KeyError, TypeError):
        return
    schema = parse_object(text) if type(text) is str else None
    if schema is None or word != "json_schema":
        return
    fields["output_schema"] = schema
    if dump(schema).decode() != text:
        forms["schema_text"] = text
    if not is_strict_form(schema, NAME):
        forms["schema"] = "verbatim"
    read_name(inner, fields)
    del config["textFormat"]
    leave(structure, "jsonSchema", inner)
    leave(wire, "structure", structure)
    leave(config, "textFormat", wire)


def read_tags(rest: Wire, fields: dict[str, Any], forms: Wire, blanks: Wire) -> None:
    tags = rest.get("requestMetadata")
    if is_object(tags) and all(type(value) is str for value in tags.values()):
        fields["metadata"] = take(rest, "requestMetadata", blanks) or {}
        if len(tags) > MOST_TAGS or not all(map(_is_tag, tags.items())):
            forms["metadata"] = "verbatim"
    tier = rest.get("serviceTier")
    if is_object(tier) and tier.get("type") in TIERS:
        tier = opened(rest, "serviceTier")
        fields["service_tier"] = tier.pop("type")
        leave(rest, "serviceTier", tier)


def _is_tag(pair: tuple[str, Json]) -> bool:
    key, value = pair
    return bool(key) and type(value) is str and all(TAG.fullmatch(text) for text in (key, value))


def encode_request(request: Request, target: Target | None) -> Encoded:
    ledger, body, mark = Scribe(request.tools), Wire(), marks(NAME, request)
    say_history(request, body, target, mark, ledger)
    config = say_inference(request, mark, ledger)
    tools = say_tools(request, mark, ledger)
    native, output = Wire(), Wire()
    say_native(request, native, output, way_of(target), ledger)
    name = say_name(request, ledger)
    if request.output_schema is not None:
        output["textFormat"] = said = say_format(request.output_schema, mark, ledger)
        said["structure"]["jsonSchema"] |= name
    said = {"inferenceConfig": config, "toolConfig": tools}
    said |= {"additionalModelRequestFields": native, "outputConfig": output}
    body |= {key: value for key, value in said.items() if value}
    say_tags(request, body, mark, ledger)
    own(NAME, body, request)
    ledger.foreign(request, NAME)
    model = request.model or (target.model if target is not None else None)
    verb = "converse-stream" if request.stream else "converse"
    path = None if model is None else f"/model/{quote(model, safe='')}/{verb}"
    return Encoded(body, path, {}, tuple(ledger.losses))


def say_history(request: Request, body: Wire, target: Target | None, mark: Wire, ledger: Scribe) -> None:
    skip = 0
    if request.messages and "first" in marks(NAME, request.messages[0]):
        said = encode_system([(("system", i), b) for i, b in enumerate(request.system)], ledger)
    else:
        system, skip = leading_system(request, ledger)
        said = encode_system(system, ledger)
    if said:
        body["system"] = said
    turns = encode_messages(kindred(request.messages, NAME, target, request.model), target, ledger, skip)
    if turns:
        body["messages"] = turns
    elif request.messages or not _without_messages(request, mark):
        body["messages"] = [{"role": "user", "content": [{"text": PLACEHOLDER}]}]
        ledger.lose("added", f"{NAME} requires a message; a placeholder was added", "messages")


def _without_messages(request: Request, mark: Wire) -> bool:
    """The body came without messages, as it may where a stored prompt has them."""
    return any("messages" in told for told in (mark, mark.get("blank", ()), request.extras.get(NAME, ())))


def say_inference(request: Request, mark: Wire, ledger: Ledger) -> Wire:
    config: Wire = {}
    INFERENCE.encode(request, config, ledger)
    for field in INFERENCE.fields:
        if field.wire in config and field.canonical not in mark.get("unfit", ()):
            config[field.wire] = _fit(field.canonical, config[field.wire], ledger)
    return {key: value for key, value in config.items() if value != []}


def _fit(name: str, value: Json, ledger: Ledger) -> Json:
    if is_array(value):
        words = [word for word in value if word]
        if len(words) != len(value):
            ledger.lose_form("approximated", f"{NAME} accepts no empty stop sequence", name)
        return words
    least, most = RANGES[name]
    fitted = max(least, value) if most is None else max(least, min(most, value))
    if fitted != value:
        ledger.lose("approximated", f"the nearest value that {NAME} takes is {fitted}", name)
    return fitted


def say_format(schema: dict[str, Json], mark: Wire, ledger: Ledger) -> Wire:
    if mark.get("schema") != "verbatim":
        schema, _ = say_strict(schema, NAME, ledger, "output_schema")
    text = mark.get("schema_text")
    if text is None or parse_object(text) != schema:
        text = dump(schema).decode()
    return {"type": "json_schema", "structure": {"jsonSchema": {"schema": text}}}


def say_tags(request: Request, body: Wire, mark: Wire, ledger: Ledger) -> None:
    if request.service_tier in TIERS:
        body["serviceTier"] = {"type": request.service_tier}
    elif request.service_tier is not None:
        ledger.lose("dropped", f"{NAME} has no service tier {request.service_tier}", "service_tier")
    tags: Wire = {}
    for pair in request.metadata.items():
        if mark.get("metadata") == "verbatim" or (_is_tag(pair) and len(tags) < MOST_TAGS):
            tags[pair[0]] = pair[1]
        else:
            ledger.lose("dropped", f"{NAME} takes at most 16 tags of up to 256 plain characters", "metadata", pair[0])
    if tags:
        body["requestMetadata"] = tags

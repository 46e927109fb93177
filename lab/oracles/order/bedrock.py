"""Bedrock Converse: sheet §4, §5 and §9."""

from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise
from typing import Any

from lab.oracles.order.rules import Body, Problems, Rule, at, count, mapping, not_both, objects, offered, unique, word
from lab.oracles.order.turns import Block, blocks, messages, pairing, turns

DOCUMENT_NAME = re.compile(r"(?:[a-zA-Z0-9_\-()\[\]]|\s(?!\s))+")
MAX_IMAGES, MAX_DOCUMENTS, MAX_CACHE_POINTS = 20, 5, 4
OF_USER = ("image", "document", "video", "audio", "toolResult", "searchResult")
OF_ASSISTANT = ("toolUse", "reasoningContent", "citationsContent")


def read(role: str, block: Block) -> tuple[str | None, str | None]:
    """The ids of a block's call and result, without hosted tools, which are answered in the assistant's turn."""
    use, result = mapping(block.get("toolUse")), mapping(block.get("toolResult"))
    call = word(use.get("toolUseId")) if use and use.get("type") != "server_tool_use" else None
    return call, word(result.get("toolUseId")) if result and role == "user" else None


def some_message(body: Body) -> Problems:
    if not count(body.get("messages")) and "promptVariables" not in body:
        yield "messages: empty"


def alternating(body: Body) -> Problems:
    for (_, one), (index, other) in pairwise(messages(body)):
        if one.get("role") == other.get("role"):
            yield f"messages[{index}]: {other.get('role')!r} twice in a row"


def tools_defined(body: Body) -> Problems:
    if not at(body, "toolConfig.tools") and any(turn.calls or turn.results for turn in turns(body, read)):
        yield "toolConfig: missing, but the history holds tool blocks"


def text_present(body: Body) -> Problems:
    """The sheet says that blank text is rejected; the corpus shows that only empty text is."""
    yield from (f"{path}.text: empty" for path, _, block in blocks(body) if block.get("text") == "")
    yield from (
        f"system[{index}].text: empty" for index, block in objects(body.get("system")) if block.get("text") == ""
    )


def content_present(body: Body) -> Problems:
    yield from (
        f"messages[{index}].content: empty" for index, message in messages(body) if message.get("content") == []
    )


def block_roles(body: Body) -> Problems:
    """Blocks of hosted tools (those with a type) are exempt: their calls and results are both the assistant's."""
    for path, role, block in blocks(body):
        for key in OF_ASSISTANT if role == "user" else OF_USER:
            if key in block and "type" not in mapping(block[key]):
                yield f"{path}: {key} does not belong to {role!r}"


def text_beside_documents(body: Body) -> Problems:
    for index, message in messages(body):
        keys = {key for _, block in objects(message.get("content")) for key in block}
        if "document" in keys and "text" not in keys:
            yield f"messages[{index}]: a document needs a text block beside it"


def document_names(body: Body) -> Problems:
    for path, _, block in blocks(body):
        name = mapping(block.get("document")).get("name")
        if isinstance(name, str) and not DOCUMENT_NAME.fullmatch(name):
            yield f"{path}.document.name: {name!r} has characters that are not allowed"


def few_media(body: Body) -> Problems:
    held = Counter(key for _, _, block in blocks(body) for key in block)
    held["cachePoint"] += sum(
        "cachePoint" in block for key in ("system", "toolConfig.tools") for _, block in objects(at(body, key))
    )
    for key, most in (("image", MAX_IMAGES), ("document", MAX_DOCUMENTS), ("cachePoint", MAX_CACHE_POINTS)):
        if held[key] > most:
            yield f"{key}: {held[key]}, at most {most}"


def cache_after_content(body: Body) -> Problems:
    lists = [(f"messages[{index}].content", message.get("content")) for index, message in messages(body)]
    lists += [("system", body.get("system")), ("toolConfig.tools", at(body, "toolConfig.tools"))]
    for path, content in lists:
        if isinstance(content, list) and content and "cachePoint" in mapping(content[0]):
            yield f"{path}[0]: a cachePoint with nothing before it"


def tool_names(body: Body) -> list[tuple[str, Any]]:
    tools = objects(at(body, "toolConfig.tools"))
    specs = ((index, kind, tool[kind]) for index, tool in tools for kind in ("toolSpec", "systemTool") if kind in tool)
    return [(f"toolConfig.tools[{index}].{kind}.name", mapping(spec).get("name")) for index, kind, spec in specs]


def choice_offered(body: Body) -> Problems:
    return offered(("toolConfig.toolChoice.tool.name", at(body, "toolConfig.toolChoice.tool.name")), tool_names(body))


def inputs_are_objects(body: Body) -> Problems:
    for path, _, block in blocks(body):
        if "toolUse" in block and not isinstance(mapping(block["toolUse"]).get("input"), dict):
            yield f"{path}.toolUse.input: not an object"


def schema_is_text(body: Body) -> Problems:
    path = "outputConfig.textFormat.structure.jsonSchema.schema"
    schema = at(body, path)
    try:
        if isinstance(schema, str) and not isinstance(json.loads(schema), dict):
            yield f"{path}: the JSON text of something other than an object"
    except ValueError:
        yield f"{path}: not JSON text"


PROMPT_FIELDS = ("system", "inferenceConfig", "toolConfig", "additionalModelRequestFields")

RULES = (
    Rule("some-message", some_message, "[K]"),
    *pairing(read),
    Rule("alternating", alternating, "§9.1 [K]", disputed=True),
    Rule("tools-defined", tools_defined, "§9.3 [K]"),
    Rule("text-present", text_present, "§9.6"),
    Rule("content-present", content_present, "[K]"),
    Rule("block-roles", block_roles, "§4"),
    Rule("text-beside-documents", text_beside_documents, "§4"),
    Rule("document-names", document_names, "§4; the corpus adds the underscore"),
    Rule("few-media", few_media, "§4, §9.5 [K]"),
    Rule("cache-after-content", cache_after_content, "§9.5"),
    Rule("unique-tools", lambda body: unique(tool_names(body)), "[K]"),
    Rule("choice-offered", choice_offered, "[K]"),
    Rule("inputs-are-objects", inputs_are_objects, "[K]"),
    Rule("schema-is-text", schema_is_text, "§5"),
    Rule("prompt-alone", not_both(*(("promptVariables", field) for field in PROMPT_FIELDS)), "§9.9"),
)

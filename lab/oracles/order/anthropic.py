"""Anthropic Messages: sheet §12, with §4, §5, §7, §8 and the refusals in the corpus."""

from __future__ import annotations

import re
from typing import Any

from lab.oracles.order.rules import (
    Body,
    Problems,
    Rule,
    count,
    mapping,
    needs,
    not_both,
    objects,
    offered,
    present,
    unique,
    well_named,
    within,
    word,
)
from lab.oracles.order.turns import Block, blocks, messages, pairing, turns

NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
ID = re.compile(r"[a-zA-Z0-9_-]+")
OF_USER = ("tool_result", "image", "document", "search_result", "container_upload")
OF_ASSISTANT = ("tool_use", "thinking", "redacted_thinking", "server_tool_use")
MAX_BREAKPOINTS = 4
MIN_BUDGET = 1024


def read(role: str, block: Block) -> tuple[str | None, str | None]:
    kind = block.get("type")
    call = word(block.get("id")) if kind == "tool_use" else None
    return call, word(block.get("tool_use_id")) if kind == "tool_result" else None


def continues_thread(body: Body) -> bool:
    """Whether the server holds the earlier turns (beta threads)."""
    return mapping(body.get("thread")).get("type") == "continue"


def some_message(body: Body) -> Problems:
    if not count(body.get("messages")) and not continues_thread(body):
        yield "messages: empty"


def id_alphabet(body: Body) -> Problems:
    keys = {"tool_use": "id", "tool_result": "tool_use_id", "server_tool_use": "id"}
    found = ((path, key, block) for path, _, block in blocks(body) if (key := keys.get(word(block.get("type")))))
    return well_named(((f"{path}.{key}", block.get(key)) for path, key, block in found), ID)


def content_present(body: Body) -> Problems:
    every = list(messages(body))
    for index, message in every:
        final = (index, message) == every[-1] and message.get("role") == "assistant"
        if message.get("content") in ("", []) and not final and not present(message.get("output_config")):
            yield f"messages[{index}].content: empty"


def text_present(body: Body) -> Problems:
    texts = [(path, block) for path, _, block in blocks(body)]
    texts += [(f"system[{place}]", block) for place, block in objects(body.get("system"))]
    texts += [
        (f"{path}.content[{place}]", inner)
        for path, _, block in blocks(body)
        if block.get("type") == "tool_result"
        for place, inner in objects(block.get("content"))
    ]
    yield from (
        f"{path}.text: empty" for path, block in texts if block.get("type") == "text" and block.get("text") == ""
    )


def block_roles(body: Body) -> Problems:
    for path, role, block in blocks(body):
        kind = block.get("type")
        if (role == "assistant" and kind in OF_USER) or (role == "user" and kind in OF_ASSISTANT):
            yield f"{path}: {kind!r} does not belong to {role!r}"


def signed(body: Body) -> Problems:
    for path, _, block in blocks(body):
        if block.get("type") == "thinking" and block.get("signature") == "":
            yield f"{path}.signature: empty"


def prefill_trimmed(body: Body) -> Problems:
    for index, message in list(messages(body))[-1:]:
        last = [block for _, block in objects(message.get("content"))][-1:]
        text = last[0].get("text") if last else message.get("content")
        if message.get("role") == "assistant" and isinstance(text, str) and text != text.rstrip():
            yield f"messages[{index}]: the final assistant text ends in whitespace"


def tool_names(body: Body) -> list[tuple[str, Any]]:
    return [(f"tools[{index}].name", tool.get("name")) for index, tool in objects(body.get("tools"))]


def names_fit(body: Body) -> Problems:
    used = [(f"{path}.name", block.get("name")) for path, _, block in blocks(body) if block.get("type") == "tool_use"]
    return well_named([*tool_names(body), *used], NAME)


def object_schemas(body: Body) -> Problems:
    for index, tool in objects(body.get("tools")):
        if "input_schema" in tool and mapping(tool["input_schema"]).get("type") != "object":
            yield f"tools[{index}].input_schema.type: not 'object'"


def choice_offered(body: Body) -> Problems:
    return offered(("tool_choice.name", mapping(body.get("tool_choice")).get("name")), tool_names(body))


def tools_defined(body: Body) -> Problems:
    if not present(body.get("tools")) and any(turn.calls or turn.results for turn in turns(body, read)):
        yield "tools: missing, but the history holds tool blocks"


def budget(body: Body) -> Problems:
    thinking = mapping(body.get("thinking"))
    tokens, limit = thinking.get("budget_tokens"), body.get("max_tokens")
    if isinstance(tokens, int) and isinstance(limit, int) and not MIN_BUDGET <= tokens < limit:
        yield f"thinking.budget_tokens: {tokens} is not within {MIN_BUDGET}..max_tokens"


def forced_while_thinking(body: Body) -> Problems:
    choice = mapping(body.get("tool_choice")).get("type")
    if mapping(body.get("thinking")).get("type") == "enabled" and choice in ("any", "tool"):
        yield f"tool_choice: {choice!r} is not allowed with thinking"


def few_breakpoints(body: Body) -> Problems:
    marked = [block for _, _, block in blocks(body)]
    marked += [block for _, block in objects(body.get("system"))] + [tool for _, tool in objects(body.get("tools"))]
    marks = sum(present(each.get("cache_control")) for each in marked)
    if marks > MAX_BREAKPOINTS:
        yield f"cache_control: {marks} breakpoints, at most {MAX_BREAKPOINTS}"


def one_domain_list(body: Body) -> Problems:
    for index, tool in objects(body.get("tools")):
        if present(tool.get("allowed_domains")) and present(tool.get("blocked_domains")):
            yield f"tools[{index}]: allowed_domains and blocked_domains exclude each other"


def limit_given(body: Body) -> Problems:
    if not isinstance(body.get("max_tokens"), int):
        yield "max_tokens: missing"


RULES = (
    Rule("some-message", some_message, "[K]"),
    *pairing(read, unseen=continues_thread),
    Rule("id-alphabet", id_alphabet, "pitfalls 19"),
    Rule("content-present", content_present, "refused in the corpus"),
    Rule("text-present", text_present, "§12"),
    Rule("block-roles", block_roles, "[K]"),
    Rule("signed", signed, "§3"),
    Rule("prefill-trimmed", prefill_trimmed, "§12 [K]"),
    Rule("names-fit", names_fit, "differences §5 [K]"),
    Rule("unique-tools", lambda body: unique(tool_names(body)), "§11, tool_name_conflict"),
    Rule("object-schemas", object_schemas, "refused in the corpus"),
    Rule("choice-needs-tools", needs(("tool_choice", "tools")), "[K]"),
    Rule("choice-offered", choice_offered, "[K]"),
    Rule("tools-defined", tools_defined, "design §6 [K]", disputed=True),
    Rule("budget", budget, "§5"),
    Rule("forced-while-thinking", forced_while_thinking, "§4 [K]"),
    Rule("few-breakpoints", few_breakpoints, "§7 [K]"),
    Rule("one-domain-list", one_domain_list, "§4"),
    Rule("limit-given", limit_given, "§2"),
    Rule("ranges", within(("temperature", 0, 1), ("top_p", 0, 1)), "refused in the corpus"),
    Rule("exclusive", not_both(("compaction", "context_management"), ("fallbacks", "fallback_credit_token")), "§12"),
)

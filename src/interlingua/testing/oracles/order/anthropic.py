"""Anthropic Messages: sheet §12, with §4, §5, §7, §8 and the refusals in the corpus."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from interlingua.testing.oracles.order.rules import (
    Body,
    Problems,
    Rule,
    Turn,
    answered,
    called,
    count,
    led_by_results,
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

NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
ID = re.compile(r"[a-zA-Z0-9_-]+")
OF_USER = ("tool_result", "image", "document", "search_result", "container_upload")
OF_ASSISTANT = ("tool_use", "thinking", "redacted_thinking", "server_tool_use")
MAX_BREAKPOINTS = 4
MIN_BUDGET = 1024


def messages(body: Body) -> Iterator[tuple[int, dict[str, Any]]]:
    return objects(body.get("messages"))


def blocks(body: Body) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Path, role and block of every block of every message."""
    for index, message in messages(body):
        for place, block in objects(message.get("content")):
            yield f"messages[{index}].content[{place}]", message.get("role", ""), block


def turns(body: Body) -> list[Turn]:
    """The server joins neighbours of one role; a system message in between does not part them."""
    spoken = [(index, message) for index, message in messages(body) if message.get("role") != "system"]
    return [turn(role, list(group)) for role, group in groupby(spoken, key=lambda pair: pair[1].get("role", ""))]


def turn(role: str, group: list[tuple[int, dict[str, Any]]]) -> Turn:
    calls: list[tuple[str, str]] = []
    results: list[tuple[str, str]] = []
    kinds: list[bool] = []
    for index, message in group:
        if isinstance(message.get("content"), str):
            kinds.append(False)
        for place, block in objects(message.get("content")):
            path, kind = f"messages[{index}].content[{place}]", block.get("type")
            kinds.append(kind == "tool_result")
            if kind == "tool_use":
                calls.append((path, str(block.get("id"))))
            elif kind == "tool_result":
                results.append((path, str(block.get("tool_use_id"))))
    first = kinds == sorted(kinds, reverse=True)
    return Turn(f"messages[{group[0][0]}]", role, calls, results, first)


def continues_thread(body: Body) -> bool:
    """The server holds the earlier turns (beta threads)."""
    return mapping(body.get("thread")).get("type") == "continue"


def some_message(body: Body) -> Problems:
    if not count(body.get("messages")) and not continues_thread(body):
        yield "messages: empty"


def user_first(body: Body) -> Problems:
    for turn in turns(body)[:1]:
        if turn.role != "user":
            yield f"{turn.path}: the first turn is {turn.role!r}, not 'user'"


def calls_answered(body: Body) -> Problems:
    return answered(turns(body))


def results_called(body: Body) -> Problems:
    return called(turns(body), continued=continues_thread(body))


def results_first(body: Body) -> Problems:
    return led_by_results(turns(body))


def unique_ids(body: Body) -> Problems:
    """Within a turn; the corpus shows that a later turn may use an id again."""
    for turn in turns(body):
        yield from unique(turn.calls)


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
    if not present(body.get("tools")) and any(turn.calls or turn.results for turn in turns(body)):
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
    Rule("some-message", some_message),
    Rule("user-first", user_first, disputed=True),
    Rule("calls-answered", calls_answered),
    Rule("results-called", results_called),
    Rule("results-first", results_first),
    Rule("unique-ids", unique_ids),
    Rule("id-alphabet", id_alphabet),
    Rule("content-present", content_present),
    Rule("text-present", text_present),
    Rule("block-roles", block_roles),
    Rule("signed", signed),
    Rule("prefill-trimmed", prefill_trimmed),
    Rule("names-fit", names_fit),
    Rule("unique-tools", lambda body: unique(tool_names(body))),
    Rule("object-schemas", object_schemas),
    Rule("choice-needs-tools", needs(("tool_choice", "tools"))),
    Rule("choice-offered", choice_offered),
    Rule("tools-defined", tools_defined, disputed=True),
    Rule("budget", budget),
    Rule("forced-while-thinking", forced_while_thinking),
    Rule("few-breakpoints", few_breakpoints),
    Rule("one-domain-list", one_domain_list),
    Rule("limit-given", limit_given),
    Rule("ranges", within(("temperature", 0, 1), ("top_p", 0, 1))),
    Rule("exclusive", not_both(("compaction", "context_management"), ("fallbacks", "fallback_credit_token"))),
)

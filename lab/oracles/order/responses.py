"""OpenAI Responses: sheet §9 and §10, with the limits of §2 and the refusals in the corpus."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from lab.oracles.order.rules import (
    Body,
    Problems,
    Rule,
    at,
    mapping,
    metadata_limits,
    not_both,
    objects,
    offered,
    present,
    streams,
    unique,
    well_named,
    within,
    word,
)

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
OUTPUTS = {
    "function_call_output": "function_call",
    "custom_tool_call_output": "custom_tool_call",
    "computer_call_output": "computer_call",
    "shell_call_output": "shell_call",
    "apply_patch_call_output": "apply_patch_call",
}
CALLS = {call: output for output, call in OUTPUTS.items()}
NEVER_AFTER_REASONING = {
    "",
    *OUTPUTS,
    "item_reference",
    "configuration_update",
    "compaction_trigger",
    "mcp_approval_response",
}
NOT_THE_MODEL = ("user", "system", "developer")
ID_PREFIX = {"function_call": "fc", "reasoning": "rs", "message": "msg", "custom_tool_call": "ctc"}


def items(body: Body) -> Iterator[tuple[int, dict[str, Any]]]:
    return objects(body.get("input"))


def kind(item: dict[str, Any]) -> str:
    """The type of an item; messages and item references may leave it out."""
    if "type" in item:
        return word(item["type"])
    return "message" if "role" in item else "item_reference" if "id" in item else ""


def stateful(body: Body) -> bool:
    """Whether the server holds earlier items: their calls and results are not in the body."""
    referenced = any(kind(item) == "item_reference" for _, item in items(body))
    return referenced or any(present(body.get(key)) for key in ("previous_response_id", "conversation"))


def something_said(body: Body) -> Problems:
    if not present(body.get("input")) and not stateful(body) and not present(body.get("prompt")):
        yield "input: empty"


def calls_answered(body: Body) -> Problems:
    answered = {(kind(item), word(item.get("call_id"))) for _, item in items(body)}
    for index, item in items(body):
        output = CALLS.get(kind(item))
        if output and (output, word(item.get("call_id"))) not in answered:
            yield f"input[{index}]: {kind(item)} {item.get('call_id')!r} has no {output}"


def results_called(body: Body) -> Problems:
    if stateful(body):
        return
    called: set[tuple[str, str]] = set()
    for index, item in items(body):
        named = kind(item)
        if named in CALLS:
            called.add((named, word(item.get("call_id"))))
        elif named in OUTPUTS and (OUTPUTS[named], word(item.get("call_id"))) not in called:
            yield f"input[{index}]: {named} of {item.get('call_id')!r}, which nothing before it called"


def unique_ids(body: Body) -> Problems:
    for table in (CALLS, OUTPUTS):
        yield from unique(
            (f"input[{index}].call_id", item.get("call_id")) for index, item in items(body) if kind(item) in table
        )


def reasoning_followed(body: Body) -> Problems:
    """Reasoning is followed by what it produced: an assistant message, a call, another reasoning item."""
    for (index, item), (_, following) in pairwise([*items(body), (0, {})]):
        if kind(item) == "reasoning" and (
            kind(following) in NEVER_AFTER_REASONING or following.get("role") in NOT_THE_MODEL
        ):
            yield f"input[{index}]: reasoning without the item that it produced right after it"


def trigger_last(body: Body) -> Problems:
    every = list(items(body))
    yield from (
        f"input[{index}]: compaction_trigger is not last"
        for index, item in every[:-1]
        if kind(item) == "compaction_trigger"
    )


def parts_of_role(body: Body) -> Problems:
    """Messages of the assistant have parts ``output_…``, all others ``input_…``."""
    for index, item in items(body):
        if kind(item) == "message":
            wrong = "input_" if item.get("role") == "assistant" else "output_"
            for place, part in objects(item.get("content")):
                if str(part.get("type")).startswith(wrong):
                    yield f"input[{index}].content[{place}]: {part['type']!r} in a message of {item.get('role')!r}"


def id_prefixes(body: Body) -> Problems:
    for index, item in items(body):
        prefix = ID_PREFIX.get(kind(item))
        if prefix and isinstance(item.get("id"), str) and not item["id"].startswith(prefix):
            yield f"input[{index}].id: {item['id']!r} does not begin with {prefix!r}"


def approvals_asked(body: Body) -> Problems:
    asked = {word(item.get("id")) for _, item in items(body) if kind(item) == "mcp_approval_request"}
    for index, item in items(body):
        answer = word(item.get("approval_request_id"))
        if kind(item) == "mcp_approval_response" and answer not in asked and not stateful(body):
            yield f"input[{index}]: answers no mcp_approval_request"


def tool_names(body: Body) -> list[tuple[str, Any]]:
    every = objects(body.get("tools"))
    return [
        (f"tools[{index}].name", tool.get("name"))
        for index, tool in every
        if tool.get("type") in ("function", "custom")
    ]


def names_fit(body: Body) -> Problems:
    used = [(f"input[{index}].name", item.get("name")) for index, item in items(body) if kind(item) in CALLS]
    return well_named([*tool_names(body), *used, ("text.format.name", at(body, "text.format.name"))], NAME)


def choice_needs_tools(body: Body) -> Problems:
    added = any(kind(item) == "additional_tools" for _, item in items(body))
    if present(body.get("tool_choice")) and not present(body.get("tools")) and not added and not stateful(body):
        yield "tool_choice: needs tools"


def choice_offered(body: Body) -> Problems:
    choice = mapping(body.get("tool_choice"))
    if choice.get("type") in ("function", "custom"):
        yield from offered(("tool_choice.name", choice.get("name")), tool_names(body))


def media(body: Body) -> Problems:
    for index, item in items(body):
        for key in ("content", "output"):
            for place, part in objects(item.get(key)):
                yield from source(f"input[{index}].{key}[{place}]", part)


def source(path: str, part: dict[str, Any]) -> Problems:
    if part.get("type") == "input_image":
        url = part.get("image_url")
        if url is None and not part.get("file_id"):
            yield f"{path}: neither image_url nor file_id"
        elif isinstance(url, str) and not url.startswith(("http://", "https://", "data:image/")):
            yield f"{path}.image_url: neither http(s) nor a data URL of an image"
    elif part.get("type") == "input_file" and not any(part.get(key) for key in ("file_id", "file_url", "file_data")):
        yield f"{path}: none of file_id, file_url, file_data"


RULES = (
    Rule("something-said", something_said, "[K]"),
    Rule("calls-answered", calls_answered, "§9"),
    Rule("results-called", results_called, "§9"),
    Rule("unique-ids", unique_ids, "[K]"),
    Rule("reasoning-followed", reasoning_followed, "§9 [D]"),
    Rule("trigger-last", trigger_last, "§3"),
    Rule("parts-of-role", parts_of_role, "§10"),
    Rule("id-prefixes", id_prefixes, "§9 [K]"),
    Rule("approvals-asked", approvals_asked, "§9"),
    Rule("names-fit", names_fit, "differences §5"),
    Rule("choice-offered", choice_offered, "[K]"),
    Rule("choice-needs-tools", choice_needs_tools, "[K]"),
    Rule("unique-tools", lambda body: unique(tool_names(body)), "[K]"),
    Rule("streams", streams, "[K]"),
    Rule("media", media, "§3"),
    Rule("metadata-limits", metadata_limits, "openai-chat §2"),
    Rule("exclusive", not_both(("previous_response_id", "conversation")), "§2"),
    Rule(
        "ranges", within(("temperature", 0, 2), ("top_p", 0, 1), ("top_logprobs", 0, 20)), "§2, refused in the corpus"
    ),
)

"""OpenAI Chat Completions: sheet §10, with the limits of §2 and §4 and the refusals in the corpus."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from lab.oracles.order.rules import (
    Body,
    Problems,
    Rule,
    at,
    count,
    mapping,
    metadata_limits,
    needs,
    not_both,
    not_empty,
    objects,
    offered,
    present,
    streams,
    unique,
    well_named,
    within,
)

NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
INSTEAD_OF_CONTENT = ("tool_calls", "function_call", "audio", "refusal")
MAX_ID = 40
MAX_STOPS = 4
RANGES = (
    ("temperature", 0, 2),
    ("top_p", 0, 1),
    ("frequency_penalty", -2, 2),
    ("presence_penalty", -2, 2),
    ("top_logprobs", 0, 20),
)


def messages(body: Body) -> Iterator[tuple[int, dict[str, Any]]]:
    return objects(body.get("messages"))


def calls(message: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    return objects(message.get("tool_calls")) if message.get("role") == "assistant" else iter(())


def call_ids(index: int, message: dict[str, Any]) -> list[tuple[str, str]]:
    return [(f"messages[{index}].tool_calls[{place}]", str(call.get("id"))) for place, call in calls(message)]


def some_message(body: Body) -> Problems:
    if not count(body.get("messages")):
        yield "messages: empty"


def calls_answered(body: Body) -> Problems:
    """Every call has a result before the next message of another role, and before the end."""
    open_calls: dict[str, str] = {}
    for index, message in messages(body):
        if message.get("role") == "tool":
            open_calls.pop(str(message.get("tool_call_id")), None)
            continue
        yield from unanswered(open_calls)
        open_calls = {call: path for path, call in call_ids(index, message)}
    yield from unanswered(open_calls)


def unanswered(open_calls: dict[str, str]) -> Problems:
    yield from (f"{path}: call {call!r} has no tool message right after it" for call, path in open_calls.items())


def results_called(body: Body) -> Problems:
    """Each tool message answers a call, not yet answered, of the assistant message before its run of tool messages."""
    known: set[str] = set()
    for index, message in messages(body):
        if message.get("role") != "tool":
            known = {call for _, call in call_ids(index, message)}
        elif (call := str(message.get("tool_call_id"))) in known:
            known.discard(call)
        else:
            yield f"messages[{index}]: result of {call!r}, which no open call has"


def function_called(body: Body) -> Problems:
    """The deprecated form: a function message follows the assistant's function_call."""
    previous: dict[str, Any] = {}
    for index, message in messages(body):
        if message.get("role") == "function" and mapping(previous.get("function_call")).get("name") != message.get(
            "name"
        ):
            yield f"messages[{index}]: function result without its function_call right before"
        previous = message


def content_present(body: Body) -> Problems:
    for index, message in messages(body):
        if message.get("role") != "assistant":
            continue
        if message.get("content") is None and not any(present(message.get(key)) for key in INSTEAD_OF_CONTENT):
            yield f"messages[{index}].content: null without tool_calls, function_call or audio"
        if message.get("tool_calls") == []:
            yield f"messages[{index}].tool_calls: empty array"


def parts_present(body: Body) -> Problems:
    for index, message in messages(body):
        if message.get("content") == []:
            yield f"messages[{index}].content: empty array"


def short_ids(body: Body) -> Problems:
    for index, message in messages(body):
        yield from (
            f"{path}.id: over {MAX_ID} characters" for path, call in call_ids(index, message) if len(call) > MAX_ID
        )


def unique_ids(body: Body) -> Problems:
    for index, message in messages(body):
        yield from unique(call_ids(index, message))


def tool_names(body: Body) -> list[tuple[str, Any]]:
    tools = [
        (f"tools[{index}].{kind}.name", kind, tool)
        for index, tool in objects(body.get("tools"))
        for kind in ("function", "custom")
    ]
    return [(path, tool[kind].get("name")) for path, kind, tool in tools if isinstance(tool.get(kind), dict)]


def names_fit(body: Body) -> Problems:
    used = [
        (f"messages[{index}].tool_calls[{place}].function.name", mapping(call.get("function")).get("name"))
        for index, message in messages(body)
        for place, call in calls(message)
    ]
    schema = ("response_format.json_schema.name", at(body, "response_format.json_schema.name"))
    return well_named([*tool_names(body), *used, schema], NAME)


def choice_offered(body: Body) -> Problems:
    choice = mapping(body.get("tool_choice"))
    for kind in ("function", "custom"):
        yield from offered((f"tool_choice.{kind}.name", mapping(choice.get(kind)).get("name")), tool_names(body))


def few_stops(body: Body) -> Problems:
    if isinstance(body.get("stop"), list) and len(body["stop"]) > MAX_STOPS:
        yield f"stop: {len(body['stop'])} sequences, at most {MAX_STOPS}"


def media(body: Body) -> Problems:
    for index, message in messages(body):
        for place, part in objects(message.get("content")):
            path, url = f"messages[{index}].content[{place}]", at(part, "image_url.url")
            if isinstance(url, str) and not url.startswith(("http://", "https://", "data:image/")):
                yield f"{path}.image_url.url: neither http(s) nor a data URL of an image"
            file = mapping(part.get("file"))
            if file and not file.get("file_id") and not (file.get("file_data") and file.get("filename")):
                yield f"{path}.file: neither file_id nor file_data with filename"


RULES = (
    Rule("some-message", some_message, "refused in the corpus"),
    Rule("calls-answered", calls_answered, "§10 [K]"),
    Rule("results-called", results_called, "§10"),
    Rule("function-called", function_called, "[K]"),
    Rule("content-present", content_present, "§10"),
    Rule("parts-present", parts_present, "[K]"),
    Rule("short-ids", short_ids, "§10 [K]"),
    Rule("unique-ids", unique_ids, "[K]"),
    Rule("names-fit", names_fit, "§4, §5"),
    Rule("unique-tools", lambda body: unique(tool_names(body)), "[K]"),
    Rule("tools-present", not_empty("tools"), "[K]"),
    Rule("choice-needs-tools", needs(("tool_choice", "tools"), ("parallel_tool_calls", "tools")), "[K]"),
    Rule("choice-offered", choice_offered, "[K]"),
    Rule("streams", streams, "[K]"),
    Rule("few-stops", few_stops, "§2"),
    Rule("media", media, "§3"),
    Rule("metadata-limits", metadata_limits, "§2"),
    Rule("one-limit", not_both(("max_tokens", "max_completion_tokens")), "[K]"),
    Rule("ranges", within(*RANGES), "§2, refused in the corpus"),
    Rule("logprobs-asked", needs(("top_logprobs", "logprobs")), "[K]"),
)

"""Ollama /api/chat: sheet §2, §3, §6 and §11. The server refuses little; a body that it misreads is a problem, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lab.oracles.order.rules import Body, Problems, Rule, mapping, needs, objects, within

ROLES = {"system", "user", "assistant", "tool"}
LEVELS = {True, False, None, "low", "medium", "high", "max"}


def messages(body: Body) -> Iterator[tuple[int, dict[str, Any]]]:
    return objects(body.get("messages"))


def known_roles(body: Body) -> Problems:
    for index, message in messages(body):
        if str(message.get("role")).lower() not in ROLES:
            yield f"messages[{index}].role: {message.get('role')!r} is unknown to the server"


def levels(body: Body) -> Problems:
    think = body.get("think")
    if isinstance(think, (str, bool)) and think not in LEVELS:
        yield f"think: {think!r} is no level"


def calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    return [call for _, call in objects(message.get("tool_calls"))]


def attributable(body: Body) -> Problems:
    """Each result names its tool or its call: without ids, the server's templates can only use name and order."""
    for index, message in messages(body):
        if message.get("role") == "tool" and not message.get("tool_name") and not message.get("tool_call_id"):
            yield f"messages[{index}]: neither tool_name nor tool_call_id"


def results_called(body: Body) -> Problems:
    """A run of tool messages answers the calls of the assistant message before it, each once."""
    open_calls: list[dict[str, Any]] = []
    for index, message in messages(body):
        if message.get("role") != "tool":
            open_calls = calls(message)
            continue
        match = next((call for call in open_calls if answers(message, call)), None)
        if match is None:
            yield f"messages[{index}]: result without an open call"
        else:
            open_calls = [call for call in open_calls if call is not match]


def answers(message: dict[str, Any], call: dict[str, Any]) -> bool:
    """Whether a message answers a call: by id if both have one, else by name, else by order."""
    if message.get("tool_call_id") and call.get("id"):
        return bool(message["tool_call_id"] == call["id"])
    return message.get("tool_name") in (None, "", mapping(call.get("function")).get("name"))


def calls_answered(body: Body) -> Problems:
    """There are as many results as calls before a message of another role."""
    due, path = 0, ""
    for index, message in [*messages(body), (0, {})]:
        if message.get("role") == "tool":
            due -= 1
            continue
        if due > 0:
            yield f"{path}: {due} calls are not answered by tool messages right after it"
        due, path = len(calls(message)), f"messages[{index}].tool_calls"


def of_assistant(body: Body) -> Problems:
    for index, message in messages(body):
        if message.get("role") != "assistant" and (message.get("tool_calls") or message.get("thinking")):
            yield f"messages[{index}]: tool_calls and thinking belong to the assistant"


RULES = (
    Rule("known-roles", known_roles, "§3, §11.9"),
    Rule("levels", levels, "§6"),
    Rule("attributable", attributable, "§11.4", disputed=True),
    Rule("results-called", results_called, "§11.4"),
    Rule("calls-answered", calls_answered, "[K]"),
    Rule("of-assistant", of_assistant, "§3"),
    Rule("ranges", within(("top_logprobs", 0, 20)), "§2"),
    Rule("logprobs-asked", needs(("top_logprobs", "logprobs")), "[K]"),
)

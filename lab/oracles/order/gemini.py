"""Gemini generateContent: sheet §12, with §2, §3, §5 and the refusals in the corpus. Keys: both spellings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import Any

from lab.oracles.order.rules import (
    Body,
    Problems,
    Rule,
    array,
    count,
    mapping,
    objects,
    present,
    unique,
    well_named,
    word,
)

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")
ROLES = ("user", "model", "function", None, "")
DATA = (
    *("text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult"),
    *("toolCall", "toolResponse"),
)
MAX_STOPS = 5
Parts = list[tuple[str, dict[str, Any]]]


def get(value: Any, key: str) -> Any:
    """A field in camelCase or, as the server also takes it, in snake_case."""
    fields = mapping(value)
    return fields[key] if key in fields else fields.get(snake(key))


@cache
def snake(key: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", key)


def contents(body: Body) -> Iterator[tuple[int, dict[str, Any]]]:
    return objects(body.get("contents"))


def role(content: dict[str, Any]) -> str:
    """The role of a content, by default ``user``; ``function`` is an old name for it."""
    return "model" if content.get("role") == "model" else "user"


def parts(path: str, content: dict[str, Any]) -> Parts:
    return [(f"{path}.parts[{place}]", part) for place, part in objects(content.get("parts"))]


def all_parts(body: Body) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for index, content in contents(body):
        yield from ((path, role(content), part) for path, part in parts(f"contents[{index}]", content))


def holding(key: str, found: Parts) -> Parts:
    return [(f"{path}.{key}", get(part, key)) for path, part in found if isinstance(get(part, key), dict)]


def turns(body: Body) -> list[tuple[str, Parts]]:
    """The role and the parts of each turn: neighbouring contents of one role are one turn."""
    found: list[tuple[str, Parts]] = []
    for index, content in contents(body):
        if not found or found[-1][0] != role(content):
            found.append((role(content), []))
        found[-1][1].extend(parts(f"contents[{index}]", content))
    return found


def some_content(body: Body) -> Problems:
    if not count(body.get("contents")):
        yield "contents: empty"


def known_roles(body: Body) -> Problems:
    for index, content in contents(body):
        if content.get("role") not in ROLES:
            yield f"contents[{index}].role: {content['role']!r} is neither 'user' nor 'model'"


def user_first(body: Body) -> Problems:
    for index, content in list(contents(body))[:1]:
        if role(content) != "user":
            yield f"contents[{index}]: the first turn is the model's"


def alternating(body: Body) -> Problems:
    for (_, one), (index, other) in pairwise(contents(body)):
        if role(one) == role(other):
            yield f"contents[{index}]: {role(other)!r} twice in a row"


def parts_present(body: Body) -> Problems:
    for index, content in contents(body):
        if not count(content.get("parts")):
            yield f"contents[{index}].parts: empty"


def text_present(body: Body) -> Problems:
    for path, _, part in all_parts(body):
        if part.get("text") == "" and not get(part, "thoughtSignature") and not part.get("thought"):
            yield f"{path}.text: empty"


def one_datum(body: Body) -> Problems:
    for path, _, part in all_parts(body):
        held = [key for key in DATA if get(part, key) is not None]
        if len(held) > 1:
            yield f"{path}: {' and '.join(held)} in one part"
        elif not held and not get(part, "thoughtSignature"):
            yield f"{path}: no data"


def answered(body: Body) -> Problems:
    """There are as many responses in the next turn as there are calls."""
    every = [*turns(body), ("user", Parts())]
    for (speaker, spoken), (_, following) in pairwise(every):
        calls, responses = holding("functionCall", spoken), holding("functionResponse", following)
        if speaker == "model" and len(calls) != len(responses) and calls:
            yield f"{calls[0][0]}: {len(calls)} calls, but {len(responses)} responses in the next turn"


def called(body: Body) -> Problems:
    """Each response matches a call of the turn before: by id if both have one, else by name."""
    for (_, before), (speaker, spoken) in pairwise([("model", Parts()), *turns(body)]):
        open_calls = [call for _, call in holding("functionCall", before)]
        for path, response in holding("functionResponse", spoken) if speaker == "user" else ():
            match = next((call for call in open_calls if matches(call, response)), None)
            if match is None:
                yield f"{path}: response of {response.get('name')!r}, which the turn before did not call"
            else:
                open_calls.remove(match)


def matches(call: dict[str, Any], response: dict[str, Any]) -> bool:
    if call.get("id") and response.get("id"):
        return bool(call["id"] == response["id"])
    return bool(call.get("name") == response.get("name"))


def names_echoed(body: Body) -> Problems:
    """Each response has the name of its call. If an id is repeated, the latest call counts."""
    names: dict[str, object] = {}
    for path, _, part in all_parts(body):
        call = mapping(get(part, "functionCall"))
        if call_id := word(call.get("id")):
            names[call_id] = call.get("name")
        response = mapping(get(part, "functionResponse"))
        if response and not response.get("name"):
            yield f"{path}.functionResponse.name: missing"
        elif response and names.get(word(response.get("id")), response["name"]) != response["name"]:
            yield f"{path}.functionResponse.name: {response['name']!r} is not the name that was called"


def ids_echoed(body: Body) -> Problems:
    for (_, before), (_, spoken) in pairwise(turns(body)):
        ids = [call.get("id") for _, call in holding("functionCall", before)]
        for path, response in holding("functionResponse", spoken):
            if ids and all(ids) and not response.get("id"):
                yield f"{path}.id: missing, the call had one"


def part_roles(body: Body) -> Problems:
    for path, speaker, part in all_parts(body):
        for key, owner in (("functionCall", "model"), ("functionResponse", "user")):
            if get(part, key) is not None and speaker != owner:
                yield f"{path}.{key}: does not belong to {speaker!r}"


def system_text(body: Body) -> Problems:
    for path, part in parts("systemInstruction", mapping(get(body, "systemInstruction"))):
        if any(get(part, key) is not None for key in DATA[1:]):
            yield f"{path}: not text"


def declarations(body: Body) -> list[tuple[str, dict[str, Any]]]:
    key = "functionDeclarations"
    return [
        (f"tools[{index}].{key}[{place}]", declared)
        for index, tool in objects(body.get("tools"))
        for place, declared in objects(get(tool, key))
    ]


def tool_names(body: Body) -> list[tuple[str, Any]]:
    return [(f"{path}.name", declared.get("name")) for path, declared in declarations(body)]


def names_fit(body: Body) -> Problems:
    return well_named(tool_names(body), NAME)


def one_schema(body: Body) -> Problems:
    pairs = [(path, declared, ("parameters", "parametersJsonSchema")) for path, declared in declarations(body)]
    pairs += [(path, declared, ("response", "responseJsonSchema")) for path, declared in declarations(body)]
    config = mapping(get(body, "generationConfig"))
    pairs += [("generationConfig", config, ("responseSchema", "responseJsonSchema"))]
    pairs += [
        ("generationConfig.thinkingConfig", mapping(get(config, "thinkingConfig")), ("thinkingBudget", "thinkingLevel"))
    ]
    for path, value, (one, other) in pairs:
        if get(value, one) is not None and get(value, other) is not None:
            yield f"{path}: {one} and {other} exclude each other"


def allowed_names(body: Body) -> Problems:
    calling = mapping(get(get(body, "toolConfig"), "functionCallingConfig"))
    names, path = array(get(calling, "allowedFunctionNames")), "toolConfig.functionCallingConfig.allowedFunctionNames"
    if present(names) and str(calling.get("mode")).upper() not in ("ANY", "VALIDATED"):
        yield f"{path}: only with mode ANY or VALIDATED"
    known = [name for _, name in tool_names(body)]
    yield from (f"{path}: {name!r} is not declared" for name in names if name not in known)


def cached_alone(body: Body) -> Problems:
    if present(get(body, "cachedContent")):
        for key in ("tools", "systemInstruction", "toolConfig"):
            if present(get(body, key)):
                yield f"{key}: not together with cachedContent"


def limits(body: Body) -> Problems:
    config = mapping(get(body, "generationConfig"))
    warmth = config.get("temperature")
    if isinstance(warmth, (int, float)) and not 0 <= warmth <= 2:
        yield f"generationConfig.temperature: {warmth} is not within 0..2"
    if count(get(config, "stopSequences")) > MAX_STOPS:
        yield f"generationConfig.stopSequences: at most {MAX_STOPS}"


RULES = (
    Rule("some-content", some_content, "§2"),
    Rule("known-roles", known_roles, "§3, refused in the corpus"),
    Rule("user-first", user_first, "§12 [K]"),
    Rule("alternating", alternating, "§12 [K]", disputed=True),
    Rule("parts-present", parts_present, "§12 [K]"),
    Rule("text-present", text_present, "§12 [K]", disputed=True),
    Rule("one-datum", one_datum, "§3"),
    Rule("calls-answered", answered, "§12 [K]"),
    Rule("responses-called", called, "§12 [K]"),
    Rule("names-echoed", names_echoed, "§12"),
    Rule("ids-echoed", ids_echoed, "§12 [K]"),
    Rule("part-roles", part_roles, "§3"),
    Rule("system-text", system_text, "§12"),
    Rule("names-fit", names_fit, "§5"),
    Rule("unique-tools", lambda body: unique(tool_names(body)), "[K]"),
    Rule("one-schema", one_schema, "§2, §5"),
    Rule("allowed-names", allowed_names, "§5"),
    Rule("cached-alone", cached_alone, "§2 [K]"),
    Rule("limits", limits, "refused in the corpus, §2 [K]"),
)

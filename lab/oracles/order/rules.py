"""Rules as data, the reading of untrusted JSON that they share, and the rules that several dialects have in common."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from lab.oracles.leaves import is_array, is_object

Body: TypeAlias = Mapping[str, Any]
Problems: TypeAlias = Iterator[str]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule. ``source``: a paragraph of the sheet, a recorded refusal, or ``[K]`` if nobody verified the rule.

    ``disputed``: it is unverified, and the provider accepted traffic that breaks it.
    """

    name: str
    find: Callable[[Body], Iterable[str]]
    source: str
    disputed: bool = False


def apply(rules: Iterable[Rule], body: Body) -> list[str]:
    return [
        f"{'warning: ' if rule.disputed else ''}{problem} [{rule.name}]"
        for rule in rules
        for problem in rule.find(body)
    ]


# Reading. Rules ignore values of the wrong type, because the type check reports them.


def objects(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of an array with their indexes."""
    for index, element in enumerate(array(value)):
        if is_object(element):
            yield index, element


def array(value: Any) -> list[Any]:
    return value if is_array(value) else []


def mapping(value: Any) -> dict[str, Any]:
    return value if is_object(value) else {}


def count(value: Any) -> int:
    return len(value) if is_array(value) or is_object(value) or isinstance(value, str) else 0


def word(value: Any) -> str:
    """A tag or an id; empty if the value is no string."""
    return value if isinstance(value, str) else ""


def present(value: Any) -> bool:
    """Whether a value is neither absent nor null nor empty."""
    return value is not None and value != [] and value != {} and value != ""


# Rules in common.


def within(*limits: tuple[str, float, float]) -> Callable[[Body], Problems]:
    """A rule: numbers under dotted paths are within closed ranges."""

    def find(body: Body) -> Problems:
        for path, low, high in limits:
            value = at(body, path)
            if isinstance(value, (int, float)) and not isinstance(value, bool) and not low <= value <= high:
                yield f"{path}: {value} is not within {low}..{high}"

    return find


def at(body: Body, path: str) -> Any:
    """The value under a dotted path; ``None`` if there is none."""
    value: Any = body
    for step in path.split("."):
        value = mapping(value).get(step)
    return value


def not_both(*pairs: tuple[str, str]) -> Callable[[Body], Problems]:
    """A rule: fields (dotted paths) exclude each other."""

    def find(body: Body) -> Problems:
        for one, other in pairs:
            if present(at(body, one)) and present(at(body, other)):
                yield f"{one}: not together with {other}"

    return find


def needs(*pairs: tuple[str, str]) -> Callable[[Body], Problems]:
    """A rule: each first field (dotted path) needs the second one."""

    def find(body: Body) -> Problems:
        for one, other in pairs:
            if present(at(body, one)) and not present(at(body, other)):
                yield f"{one}: needs {other}"

    return find


def not_empty(*keys: str) -> Callable[[Body], Problems]:
    """A rule: arrays may be absent, but not empty."""

    def find(body: Body) -> Problems:
        for key in keys:
            if at(body, key) == []:
                yield f"{key}: empty array"

    return find


def metadata_limits(body: Body) -> Problems:
    """OpenAI's limits for metadata: 16 pairs, keys of 64 characters, values of 512."""
    pairs = mapping(body.get("metadata"))
    if len(pairs) > 16:
        yield f"metadata: {len(pairs)} pairs, at most 16"
    for key, value in pairs.items():
        if len(key) > 64 or count(value) > 512:
            yield f"metadata.{key}: key over 64 or value over 512 characters"


def streams(body: Body) -> Problems:
    """OpenAI accepts ``stream_options`` only with ``stream: true``."""
    if present(body.get("stream_options")) and body.get("stream") is not True:
        yield "stream_options: needs stream"


def well_named(names: Iterable[tuple[str, Any]], pattern: re.Pattern[str]) -> Problems:
    """The whole name of every (path, name) matches the pattern."""
    for path, name in names:
        if isinstance(name, str) and not pattern.fullmatch(name):
            yield f"{path}: {name!r} does not match {pattern.pattern}"


def unique(names: Iterable[tuple[str, Any]]) -> Problems:
    """No name occurs twice among the (path, name) pairs."""
    seen: set[str] = set()
    for path, name in names:
        if isinstance(name, str) and name in seen:
            yield f"{path}: {name!r} a second time"
        elif isinstance(name, str):
            seen.add(name)


def offered(chosen: tuple[str, Any], names: Iterable[tuple[str, Any]]) -> Problems:
    """The chosen (path, name) is among the names of the tools."""
    path, name = chosen
    if isinstance(name, str) and name not in [known for _, known in names]:
        yield f"{path}: {name!r} is not among the tools"

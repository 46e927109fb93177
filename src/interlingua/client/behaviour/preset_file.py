"""A user's preset in YAML: its fields, and how they are checked. Mistakes are reported with their lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, TypeGuard

import msgspec
from msgspec import Meta, Struct

from ...models.catalogue.families import FAMILIES
from ...models.providers import PROVIDERS
from ..models_file.models_yaml import RetryEntry
from ..models_file.watching import read_text
from ..models_file.yaml_lines import ConfigError, Lines, Path as Place, Problem, read_yaml
from .presets import PRESETS
from .values import Behaviour, Preset, family_word

__all__ = ["BehaviourEntry", "PresetFile", "behaviour_from", "load_preset", "preset_schema"]


class BehaviourEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One row. What is left out is off, or as in the preset that this one extends."""

    addendum: Annotated[str, Meta(description="Follows the system prompt.")] | None = None
    strict: Annotated[bool, Meta(description="Strict mode for tools that do not say.")] | None = None
    parallel: Annotated[bool, Meta(description="Whether several calls in one turn are welcome.")] | None = None
    max_tools: Annotated[int, Meta(ge=1, description="The least relevant tools beyond it are left out.")] | None = None
    force_first_tool: Annotated[bool, Meta(description="The first answer must be a call.")] = False
    retry: RetryEntry | None = None
    max_retries: Annotated[int, Meta(ge=0)] | None = None


class PresetFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    name: str | None = None
    extends: Annotated[str, Meta(description="A built-in preset that this one is laid over.")] | None = None
    core_tools: Annotated[tuple[str, ...], Meta(description="Names of tools that are never left out.")] | None = None
    default: Annotated[BehaviourEntry, Meta(description="For models without a row.")] | None = None
    families: Annotated[
        dict[str, BehaviourEntry], Meta(description="claude, openai, gemini, …, or a provider's name.")
    ] = {}


def preset_schema() -> dict[str, Any]:
    """JSON Schema of the file, for editors; committed beside this module as ``behaviour.schema.json``."""
    schema = msgspec.json.schema(PresetFile)
    schema["$defs"]["PresetFile"]["properties"]["extends"]["examples"] = sorted(PRESETS)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Interlingua preset", **schema}


def load_preset(source: str | Path) -> Preset:
    """The preset in a YAML text or file, or ``ConfigError`` with everything that is wrong.

    A string of one line that ends in ``.yaml`` or ``.yml`` is a path; any other is the text itself.
    """
    path = _as_path(source)
    if path is None:
        return _parse(str(source), "preset", "preset")
    return _parse(read_text(path), str(path), path.stem)


def behaviour_from(fields: Mapping[str, Any], source: str = "behaviour") -> Behaviour:
    """A single behaviour from plain fields, checked like a row of a file."""
    problems = list(_field_problems(dict(fields), BehaviourEntry, (), {}))
    if problems:
        raise ConfigError(source, problems)
    return _merged(Behaviour(), dict(fields))


def _as_path(source: str | Path) -> Path | None:
    if isinstance(source, Path):
        return source
    return Path(source) if "\n" not in source and source.endswith((".yaml", ".yml")) else None


def _parse(text: str, source: str, default_name: str) -> Preset:
    read, lines = read_yaml(text, source)
    value: Any = {} if read is None else read
    problems = list(_problems(value, lines))
    if problems:
        raise ConfigError(source, problems)
    return _preset(value, default_name)


# ------------------------------------------------------------------------------------------------------------- checks


def _problems(value: Any, lines: Lines) -> Iterator[Problem]:
    if not _is_mapping(value):
        yield Problem(1, "the file must be a mapping with `families`, `default`, …")
        return
    rows = _rows(value)
    head = {key: inner for key, inner in value.items() if key not in ROWS or not (inner is None or _is_mapping(inner))}
    yield from _field_problems(head, PresetFile, (), lines)
    for word, row in rows.items():
        yield from _field_problems(row, BehaviourEntry, ("families", word), lines)
    yield from _field_problems(value.get("default") or {}, BehaviourEntry, ("default",), lines)
    yield from _word_problems(rows, lines)
    base = value.get("extends")
    if isinstance(base, str) and base not in PRESETS:
        yield Problem(lines[("extends",)], f"no preset is called {base!r}; known: {', '.join(sorted(PRESETS))}")


ROWS = ("families", "default")


def _rows(value: dict[str, Any]) -> dict[str, Any]:
    rows = value.get("families")
    return {word: {} if row is None else row for word, row in rows.items()} if _is_mapping(rows) else {}


def _word_problems(words: Iterable[str], lines: Lines) -> Iterator[Problem]:
    """An unknown name may be a provider that the caller registers; one that is similar to a known name is a mistake."""
    known = {*PROVIDERS, *(family_word(row.home) for row in FAMILIES if row.home)}
    taken: dict[str, str] = {}
    for word in words:
        near = [] if word in known else get_close_matches(word, sorted(known), n=1, cutoff=0.75)
        if near:
            yield Problem(lines[("families", word)], f"families: {word!r} is not known; did you mean `{near[0]}`?")
        if family_word(word) in taken:
            yield Problem(
                lines[("families", word)], f"families: {word!r} and {taken[family_word(word)]!r} are the same"
            )
        taken.setdefault(family_word(word), word)


def _field_problems(value: Any, kind: type[Struct], at: Place, lines: Lines) -> Iterator[Problem]:
    """The errors that msgspec finds in a value, in plain words."""
    try:
        msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError as error:
        reason, _, where = str(error).partition(" - at `")
        path = (*at, *(key or int(index) for key, index in re.findall(r"\.(\w+)|\[(\d+)\]", where)))
        if unknown := re.fullmatch(r"Object contains unknown field `(.*)`", reason):
            path = (*path, unknown[1])
            known = (RetryEntry if "retry" in path[:-1] else kind).__struct_fields__
            near = get_close_matches(unknown[1], known, n=1)
            reason = f"unknown key; did you mean `{near[0]}`?" if near else f"unknown key; known: {', '.join(known)}"
        line = next((lines[path[:end]] for end in range(len(path), -1, -1) if path[:end] in lines), 0)
        yield Problem(line, f"{'.'.join(map(str, path)) or 'preset'}: {reason[0].lower()}{reason[1:]}")


def _is_mapping(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


# --------------------------------------------------------------------------------------------------------- the preset


def _preset(value: dict[str, Any], default_name: str) -> Preset:
    file = msgspec.convert({**value, "families": {}, "default": None}, PresetFile)
    base = PRESETS[file.extends] if file.extends else Preset(name="")
    rows = dict(base.rows)
    for word, row in _rows(value).items():
        rows[family_word(word)] = _merged(rows.get(family_word(word), Behaviour()), row)
    return Preset(
        name=file.name or default_name,
        rows=rows,
        default=_merged(base.default, value.get("default") or {}),
        core_tools=base.core_tools if file.core_tools is None else file.core_tools,
    )


def _merged(base: Behaviour, entry: dict[str, Any]) -> Behaviour:
    """``base`` with the keys of ``entry``. A ``null`` in ``entry`` switches a setting off."""
    fields: dict[str, Any] = {**msgspec.to_builtins(base), **entry}
    if entry.get("retry"):
        under: dict[str, Any] = {} if base.retry is None else msgspec.to_builtins(base.retry)
        fields["retry"] = {**under, **{key: value for key, value in entry["retry"].items() if value is not None}}
    return msgspec.convert(fields, Behaviour)

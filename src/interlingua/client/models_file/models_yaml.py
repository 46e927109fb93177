"""``models.yaml``: its fields, and how they are checked. Routing rules are not in this file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from difflib import get_close_matches
from enum import Enum
from inspect import cleandoc
from typing import Annotated, Any, Literal, TypeGuard

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import fields, force_setattr

from ...models.catalogue.facts import Facts
from ...models.catalogue.prices import Price
from ...models.catalogue.tiers import TIER_NAMES
from ...models.providers import PROVIDERS
from ...types.words import ErrorClass
from ..config import scheme_problem
from ..secrets import Secret
from .yaml_lines import ConfigError, Lines, Path, Problem, read_yaml

__all__ = [
    "AdapterEntry",
    "Defaults",
    "ModelEntry",
    "ModelsFile",
    "RetryEntry",
    "ThinkingEntry",
    "models_schema",
    "parse_models",
]

Seconds = Annotated[float, Meta(gt=0)]

LONGEST_MIXED = 30
"""Characters. A variable name that is longer than this and not in capitals is taken for a key."""


class RetryEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """The n-th retry waits ``uniform(0.5, 1) * base * 2**n`` seconds, at most ``cap``."""

    base: Seconds | None = None
    cap: Seconds | None = None
    classes: tuple[ErrorClass, ...] | None = None


class ThinkingEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """How much to reason."""

    mode: Literal["adaptive", "enabled", "disabled", "between_tools"] | None = None
    effort: str | None = None
    budget: Annotated[int, Meta(ge=0)] | None = None
    display: str | None = None


class Defaults(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Fields of a request that are used where the request itself says nothing. What is not here is not sent."""

    max_output_tokens: Annotated[int, Meta(gt=0)] | None = None
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: tuple[str, ...] | None = None
    seed: int | None = None
    thinking: ThinkingEntry | None = None
    service_tier: str | None = None
    verbosity: str | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None
    prompt_cache_key: str | None = None
    store: bool | None = None
    user: str | None = None
    betas: tuple[str, ...] | None = None
    metadata: dict[str, Any] | None = None


class AdapterEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One way to reach a provider. Everything may be left out: the provider's usual settings hold."""

    type: Annotated[str, Meta(description="A provider's name; the adapter's own name if left out.")] | None = None
    api_key_env: Annotated[str, Meta(description="The environment variable that holds the key.")] | None = None
    api_key: Annotated[str, Meta(description="The key itself. Prefer api_key_env: files get copied.")] | None = None
    base_url: str | None = None
    proxy: (
        Annotated[str, Meta(description="The URL of a proxy; empty: none, whatever the environment says.")] | None
    ) = None
    ca_bundle: Annotated[str, Meta(description="A file or folder of certificates to trust.")] | None = None
    client_cert: Annotated[str, Meta(description="A file with a client certificate, and its key perhaps.")] | None = (
        None
    )
    client_key: Annotated[str, Meta(description="A file with the key of client_cert.")] | None = None
    timeout_seconds: Seconds | None = None
    connect_timeout_seconds: Seconds | None = None
    max_retries: Annotated[int, Meta(ge=0)] | None = None
    retry: RetryEntry | None = None
    default_model: str | None = None
    model_map: Annotated[dict[str, str], Meta(description="A name that callers use: the provider's name.")] = {}
    defaults: Defaults = Defaults()
    extra_headers: dict[str, str] = {}
    options: Annotated[dict[str, Any], Meta(description="What only this adapter reads: region, betas, body, …")] = {}

    def __post_init__(self) -> None:
        if self.api_key is not None:
            force_setattr(self, "api_key", Secret(self.api_key))

    def __repr__(self) -> str:
        """The names of the fields that are set, without values: headers, options and URLs may contain a key."""
        names = [field.name for field in fields(self) if getattr(self, field.name) != field.default]
        return f"AdapterEntry(<{', '.join(names)}>)"


class ModelEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """One model under the name that callers use."""

    adapter: Annotated[str, Meta(description="Which adapter serves it; needless if there is only one.")] | None = None
    wire_name: Annotated[str, Meta(description="What the provider calls it; our name if left out.")] | None = None
    tier: Annotated[str, Meta(description="deep (opus), balanced (sonnet) or fast (haiku).")] | None = None
    can_delegate: Annotated[bool, Meta(description="Whether sessions that are tools are offered to it.")] = True
    aliases: tuple[str, ...] = ()
    overrides: Annotated[Facts, Meta(description="Facts that the catalogue has wrong.")] = Facts()
    price: Annotated[Price, Meta(description="US dollars per million tokens.")] | None = None
    defaults: Defaults = Defaults()
    behaviour: Annotated[str | dict[str, Any], Meta(description="A preset's name, or its fields.")] | None = None


class ModelsFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole file."""

    adapters: dict[str, AdapterEntry] = {}
    models: dict[str, ModelEntry] = {}


ENTRIES: tuple[tuple[str, type[Struct]], ...] = (("adapters", AdapterEntry), ("models", ModelEntry))


def models_schema() -> dict[str, Any]:
    """JSON Schema of the file, for editors; committed beside this module as ``models.schema.json``."""
    schema = msgspec.json.schema(ModelsFile)
    for part in schema["$defs"].values():  # newer Pythons do not keep the indent of docstrings
        part["description"] = cleandoc(part["description"])
    schema["$defs"]["AdapterEntry"]["properties"]["type"]["examples"] = sorted(PROVIDERS)
    schema["$defs"]["ModelEntry"]["properties"]["tier"]["examples"] = sorted(TIER_NAMES)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Interlingua models.yaml", **schema}


def parse_models(text: str, source: str = "models.yaml") -> tuple[ModelsFile, Lines]:
    """The file's content and its lines, or ``ConfigError`` with everything that is wrong."""
    value, lines = read_yaml(text, source)
    problems: list[Problem] = []
    made = _sections({} if value is None else value, lines, problems)
    reported = {problem.line for problem in problems}
    problems.extend(problem for problem in _contradictions(made, lines) if problem.line not in reported)
    if problems:
        raise ConfigError(source, problems)
    return made, lines


def _sections(value: Any, lines: Lines, problems: list[Problem]) -> ModelsFile:
    if not _is_mapping(value):
        problems.append(Problem(1, "the file must be a mapping with `adapters` and `models`"))
        return ModelsFile()
    known = [name for name, _ in ENTRIES]
    problems.extend(Problem(lines[(key,)], _unknown(key, known)) for key in value if key not in known)
    parts: dict[str, Any] = {name: _section(name, kind, value.get(name), lines, problems) for name, kind in ENTRIES}
    return ModelsFile(**parts)


def _section(name: str, kind: type[Struct], value: Any, lines: Lines, problems: list[Problem]) -> dict[str, Any]:
    if value is None:
        return {}
    if not _is_mapping(value):
        problems.append(Problem(lines[(name,)], f"`{name}` must be a mapping: a name, then its settings"))
        return {}
    made: dict[str, Any] = {}
    for key, entry in value.items():
        found = _entry({} if entry is None else deepcopy(entry), (name, key), kind, lines, problems)
        if found is not None:
            made[key] = found
    return made


def _entry(value: Any, at: Path, kind: type[Struct], lines: Lines, problems: list[Problem]) -> Any:
    """One entry. Each mistake is reported and removed, so that the rest is checked too."""
    while True:
        try:
            return msgspec.convert(value, kind, str_keys=True)
        except msgspec.ValidationError as error:
            problem, path = _explained(str(error), at, kind, lines)
            problems.append(problem)
            if not _remove(value, path[len(at) :]):
                return None


def _remove(value: Any, path: Path) -> bool:
    """Remove the value at a path; whether there was one."""
    for step in path[:-1]:
        value = value[step] if _is_mapping(value) and step in value else None
    if not path or not _is_mapping(value) or path[-1] not in value:
        return False
    del value[path[-1]]
    return True


def _is_mapping(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


# ------------------------------------------------------------------------------------- msgspec's errors, explained


def _explained(message: str, at: Path, kind: type[Struct], lines: Lines) -> tuple[Problem, Path]:
    """Our problem for an error message of msgspec, and the path of the value."""
    reason, _, where = message.partition(" - at `")
    path = (*at, *_steps(where.rstrip("`")))
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", reason)
    if unknown:
        path = (*path, unknown[1])
        problem = _unknown(unknown[1], _fields(kind, path[2:-1]))
        return Problem(_line(lines, path), f"{_dotted(path[:-1])}: {problem}"), path
    missing = re.fullmatch(r"Object missing required field `(.*)`", reason)
    if missing:
        return Problem(_line(lines, path), f"{_dotted(path)}: `{missing[1]}` is missing; add it"), path
    wrong = re.fullmatch(r"Invalid enum value '(.*)'", reason)
    if wrong:
        problem = _unknown(wrong[1], _words(kind, path[2:]), "word")
        return Problem(_line(lines, path), f"{_dotted(path)}: {problem}"), path
    hint = (
        "; put it in quotes"
        if reason.startswith("Expected `str") and not reason.endswith(("object`", "array`"))
        else ""
    )
    return Problem(_line(lines, path), f"{_dotted(path)}: {reason[0].lower()}{reason[1:]}{hint}"), path


def _steps(where: str) -> Iterator[str | int]:
    for key, index in re.findall(r"\.(\w+)|\[(\d+)\]", where.split("[...]", 1)[0]):
        yield key or int(index)


def _line(lines: Lines, path: Path) -> int:
    """The line of a path, or of the nearest path around it that has one."""
    return next((lines[path[:end]] for end in range(len(path), -1, -1) if path[:end] in lines), 0)


def _dotted(path: Path) -> str:
    return ".".join(str(step) for step in path)


def _fields(kind: Any, path: Path) -> list[str]:
    """The keys that are known at a path inside an entry."""
    inner = [t for t in _types_at(kind, path) if isinstance(t, type) and issubclass(t, Struct)]
    return list(inner[0].__struct_fields__) if inner else []


def _words(kind: Any, path: Path) -> list[str]:
    """The words that are known at a path inside an entry."""
    found = _types_at(kind, path)
    enums = [t for t in found if isinstance(t, type) and issubclass(t, Enum)]
    return [t for t in found if isinstance(t, str)] + [str(word.value) for enum in enums for word in enum]


def _types_at(kind: Any, path: Path) -> list[Any]:
    """All types that a value at a path inside an entry may have; for a literal, its words."""
    found: list[Any] = [kind]
    for step in path:
        if isinstance(step, str):
            inner = [t for t in found if isinstance(t, type) and issubclass(t, Struct)]
            hints: dict[str, Any] = {field.name: field.type for struct in inner for field in fields(struct)}
            found = list(_types(hints.get(step)))
    return found


def _types(hint: Any) -> Iterator[Any]:
    yield hint
    for inner in getattr(hint, "__args__", ()):
        yield from _types(inner)


def _unknown(word: str, known: Iterable[str], what: str = "key") -> str:
    names = sorted(known)
    near = get_close_matches(word, names, n=1)
    hint = f"did you mean `{near[0]}`?" if near else f"known: {', '.join(names)}"
    return f"unknown {what} `{word}`; {hint}"


# ----------------------------------------------------------------------------------------------------- contradictions


def _contradictions(made: ModelsFile, lines: Lines) -> Iterator[Problem]:
    yield from _adapter_problems(made, lines)
    yield from _model_problems(made, lines)
    yield from _duplicate_aliases(made, lines)


def _adapter_problems(made: ModelsFile, lines: Lines) -> Iterator[Problem]:
    for name, entry in made.adapters.items():
        kind, at = entry.type or name, ("adapters", name)
        if ":" in name:
            yield Problem(
                _line(lines, at), f"adapters.{name}: a name must not contain a colon; models are written adapter:model"
            )
        if kind not in PROVIDERS:
            near = get_close_matches(kind, PROVIDERS, n=1, cutoff=0.75)
            hint = f"did you mean `{near[0]}`?" if near else f"`type` must be one of: {', '.join(sorted(PROVIDERS))}"
            yield Problem(_line(lines, (*at, "type")), f"adapters.{name}: no provider is called {kind!r}; {hint}")
        if entry.api_key is not None and entry.api_key_env is not None:
            yield Problem(_line(lines, (*at, "api_key")), f"adapters.{name}: give api_key_env or api_key, not both")
        if entry.api_key_env is not None and not _is_variable(entry.api_key_env):
            problem = "`api_key_env` is the name of a variable, not the key"  # the key is not repeated
            yield Problem(_line(lines, (*at, "api_key_env")), f"adapters.{name}: {problem}")
        if entry.base_url is not None and (wrong := scheme_problem(entry.base_url)):
            yield Problem(_line(lines, (*at, "base_url")), f"adapters.{name}: {wrong}")
        for alias, target in entry.model_map.items():
            if entry.model_map.get(target, target) != target:
                problem = f"`{alias}` maps to `{target}`, which is mapped itself; write the final name"
                yield Problem(_line(lines, (*at, "model_map", alias)), f"adapters.{name}.model_map: {problem}")


def _is_variable(name: str) -> bool:
    return re.fullmatch(r"[A-Za-z_]\w*", name) is not None and (len(name) <= LONGEST_MIXED or name.isupper())


def _model_problems(made: ModelsFile, lines: Lines) -> Iterator[Problem]:
    for name, entry in made.models.items():
        at, known = ("models", name), {*made.adapters, *PROVIDERS}
        adapter = entry.adapter or (next(iter(made.adapters)) if len(made.adapters) == 1 else None)
        if adapter is None:
            yield Problem(_line(lines, at), f"models.{name}: which adapter serves it? Add `adapter: …`")
        elif adapter not in known:
            near = get_close_matches(adapter, sorted(known), n=1)
            hint = f"did you mean `{near[0]}`?" if near else "add it under `adapters`"
            yield Problem(_line(lines, (*at, "adapter")), f"models.{name}: no adapter is called {adapter!r}; {hint}")
        if entry.tier is not None and entry.tier not in TIER_NAMES:
            words = ", ".join(TIER_NAMES)
            yield Problem(_line(lines, (*at, "tier")), f"models.{name}: `tier` must be one of: {words}")


def _duplicate_aliases(made: ModelsFile, lines: Lines) -> Iterator[Problem]:
    """Names that mean two models."""
    taken = {name: f"the model {name!r}" for name in made.models}
    for name, entry in made.models.items():
        for index, alias in enumerate(entry.aliases):
            line = _line(lines, ("models", name, "aliases", index))
            if alias in taken:
                yield Problem(line, f"models.{name}: the alias {alias!r} already means {taken[alias]}; choose another")
            taken.setdefault(alias, f"an alias of {name!r}")

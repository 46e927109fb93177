"""The reference: one page for each chapter of public names and for each public module, made from the code."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple, get_args

import interlingua
from interlingua.errors import RETRYABLE, AdapterError
from interlingua.types.base import Value

from .docstrings import documentation, first_sentence, is_class, own_classes, text_of
from .members import entry, fields, methods

__all__ = ["Chapter", "chapters", "pages", "undocumented"]

# The pages: a name belongs to the first chapter that has the module where the name is defined.
CHAPTERS = {
    # page           title                           where its names are defined, below interlingua
    "conversation": ("Messages and blocks",          "types.messages types.blocks types.base"),
    "request":      ("Requests and tools",           "types.request types.tools types.output types.capabilities"),
    "answer":       ("Answers, usage and losses",    "types.response types.usage types.words types.loss"),
    "events":       ("Events",                       "types.events types.session_events codec.grammar codec.fold"),
    "errors":       ("Errors",                       "errors client.models_file"),
    "translators":  ("Translators",                  "codec dialects relaying"),
    "calls":        ("Clients and calls",            "client"),
    "sessions":     ("Sessions and tools that run",  "agent"),
    "models":       ("Providers, models and prices", "models"),
}  # fmt: skip


class Chapter(NamedTuple):
    """One page: its title, its names, and the module from which they are imported."""

    title: str
    module: str
    names: Mapping[str, Any]


@cache
def modules() -> tuple[str, ...]:
    """The public modules, as the package's docstring lists them."""
    return tuple(dict.fromkeys(re.findall(r"``(interlingua\.[\w.]+)``", interlingua.__doc__ or "")))


@cache
def chapters() -> Mapping[str, Chapter]:
    """Every page of the reference, by its file name."""
    for module in modules():
        importlib.import_module(module)
    found = {page: Chapter(title, "interlingua", {}) for page, (title, _) in CHAPTERS.items()}
    for name in interlingua.__all__:
        value = getattr(interlingua, name)
        names = found[_chapter_of(name, value)].names
        assert isinstance(names, dict)
        names[name] = value
    for module in modules():
        loaded = importlib.import_module(module)
        found[module] = Chapter(module, module, {name: getattr(loaded, name) for name in sorted(loaded.__all__)})
    return found


def _chapter_of(name: str, value: Any) -> str:
    home = getattr(value, "__module__", "")
    home = home if home.startswith("interlingua.") else _home(name, value)
    for page, (_, places) in CHAPTERS.items():
        if any(f"{home}.".startswith(f"interlingua.{place}.") for place in places.split()):
            return page
    raise LookupError(f"no chapter of the reference has the module {home} of {name}: give it one in CHAPTERS")


def _home(name: str, value: Any) -> str:
    """The module below the package that defines a constant or an alias, found by the package that exports it."""
    package = f"interlingua.{vars(interlingua)['_MODULES'][name]}"
    loaded = importlib.import_module(package)
    for inner in vars(loaded).values():
        if inspect.ismodule(inner) and vars(inner).get(name) is value and name in getattr(inner, "__all__", ()):
            return inner.__name__
    return package


def public_classes() -> frozenset[type]:
    return frozenset(value for name in interlingua.__all__ if is_class(value := getattr(interlingua, name)))


def pages() -> Iterator[tuple[str, str]]:
    """Each page of the reference: its file name and its Markdown."""
    yield "index.md", "\n".join(_index())
    for page, chapter in chapters().items():
        yield f"{page}.md", "\n".join(_page(page, chapter))


def _index() -> Iterator[str]:
    yield "# Reference\n"
    yield "Made of the code when this site is built. The names of `interlingua` itself are what most programs need; the"
    yield "modules below them are public too, and everything else may change without notice.\n"
    yield "```{toctree}\n:maxdepth: 1\n"
    yield from chapters()
    yield "```\n\n## Every name of `interlingua`\n\n| | |\n|---|---|"
    for name in interlingua.__all__:
        text = first_sentence(text_of(name, getattr(interlingua, name)))
        yield f"| {{py:obj}}`~interlingua.{name}` | {text.replace('|', chr(92) + '|')} |"


def _page(page: str, chapter: Chapter) -> Iterator[str]:
    own = chapter.module == "interlingua"
    yield f"# {chapter.title if own else f'`{chapter.module}`'}\n"
    if own:
        yield from TABLES.get(page, lambda: iter(()))()
    else:
        yield documentation(importlib.import_module(chapter.module)) + "\n"
    for name, value in chapter.names.items():
        if not own and getattr(interlingua, name, None) is value and name in interlingua.__all__:
            yield f"- {{py:obj}}`interlingua.{name}`\n"
        else:
            yield from entry(name, value, chapter.module, public_classes())


def undocumented() -> Iterator[str]:
    """Every public name, method and property without documentation."""
    for chapter in chapters().values():
        for name, value in chapter.names.items():
            if not text_of(name, value):
                yield f"{chapter.module}.{name}"
            if is_class(value):
                yield from (
                    f"{chapter.module}.{name}.{shown}" for _, shown, text in methods(value, frozenset()) if not text
                )


# ------------------------------------------------------------------------------------- tables made of the types


def _events() -> Iterator[str]:
    yield "Every event, in the order of the types; what a session adds comes after those of a stream.\n"
    yield "| `event.type` | class | fields | |\n|---|---|---|---|"
    for kind in get_args(interlingua.SessionEvent):
        held, told = ", ".join(f"`{name}`" for name, *_ in fields(kind)), first_sentence(documentation(kind))
        yield f"| `{kind.type}` | {{py:obj}}`~interlingua.{kind.__name__}` | {held} | {told} |"
    yield ""


def _errors() -> Iterator[str]:
    yield "`retryable` is what an error says unless the provider says otherwise.\n"
    yield "| exception | `error_class` | `retryable` | |\n|---|---|---|---|"
    for name in interlingua.__all__:
        kind = getattr(interlingua, name)
        if is_class(kind) and issubclass(kind, AdapterError):
            word = kind.default_class
            again = "yes" if word in RETRYABLE else "no"
            yield f"| {{py:obj}}`~interlingua.{name}` | `{word}` | {again} | {first_sentence(documentation(kind))} |"
    yield ""


def _request() -> Iterator[str]:
    yield "The fields of a request. How each protocol says them is in [the phrase book](../dialects.md).\n"
    yield "| field | type | default | |\n|---|---|---|---|"
    inherited = {name for base in own_classes(Value) for name in vars(base).get("__annotations__", {})}
    for name, kind, default, text in fields(interlingua.Request):
        if name not in inherited:
            cells = (f"`{name}`", f"`{kind}`", f"`{default}`", " ".join(text.split()))
            yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    yield ""


TABLES = {"events": _events, "errors": _errors, "request": _request}

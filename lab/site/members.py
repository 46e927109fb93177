"""The reference of one public name, as Markdown with Sphinx's directives: signature, docstring, fields, methods."""

from __future__ import annotations

import enum
import inspect
import types
import typing
from collections.abc import Callable, Iterator
from typing import Any, cast

import msgspec

from interlingua.codec.json import is_dict

from .docstrings import documentation, field_texts, is_class, own_classes, text_of

__all__ = ["entry", "fields", "methods"]

FENCE = "`" * 6
INNER = "`" * 5
LONGEST = 600  # what a table or a union holds, in characters
CLASS_LEVEL = (classmethod, staticmethod)
UNCALLED = (msgspec.Struct, enum.Enum)  # shown without a signature: their fields are listed


def entry(name: str, value: Any, module: str, public: frozenset[type]) -> Iterator[str]:
    """The lines for one name; ``public`` are the classes whose members are documented in their own entries."""
    if is_class(value):
        yield from _class(name, value, module, public)
    elif callable(value) and inspect.isroutine(value):
        yield from _directive("py:function", f"{name}{signature(value)}", module, documentation(value))
    else:
        yield from _directive("py:data", name, module, text_of(name, value), _value(value))


def _class(name: str, kind: type[Any], module: str, public: frozenset[type]) -> Iterator[str]:
    word = "py:exception" if issubclass(kind, BaseException) else "py:class"
    plain = inspect.isabstract(kind) or any(issubclass(kind, base) for base in UNCALLED)
    bases = [base.__name__ for base in kind.__mro__[1:] if base in public]
    yield f"{FENCE}{{{word}}} {name}{'' if plain else signature(kind)}\n:module: {module}\n"
    yield documentation(kind) + "\n"
    if bases:
        yield f"A kind of {{py:obj}}`~interlingua.{bases[0]}`.\n"
    rows = [*fields(kind)]
    if rows:
        yield "| | type | default | |\n|---|---|---|---|"
        yield from (
            f"| `{row}` | {_cell(type_)} | {_cell(default)} | {_plain(text)} |" for row, type_, default, text in rows
        )
        yield ""
    for method, shown, text in methods(kind, public):
        yield from _directive(f"py:{method}", shown, None, text, fence=INNER)
    yield FENCE + "\n"


def _directive(word: str, shown: str, module: str | None, *texts: str, fence: str = FENCE) -> Iterator[str]:
    yield f"{fence}{{{word}}} {shown}"
    if module is not None:
        yield f":module: {module}"
    yield ""
    yield from (text + "\n" for text in texts if text)
    yield fence + "\n"


def fields(kind: type[Any]) -> Iterator[tuple[str, str, str, str]]:
    """For each field its name, its type as the source has it, its default, and its documentation."""
    if issubclass(kind, enum.Enum):
        yield from ((member.name, "", repr(str(member.value)), "") for member in kind)
        return
    texts = field_texts(kind)
    annotations: dict[str, Any] = {}
    for base in reversed(own_classes(kind)):
        annotations |= cast("dict[str, Any]", vars(base).get("__annotations__", {}))
    defaults = _defaults(kind)
    for name, note in annotations.items():
        if not name.startswith("_") and not (name == "type" and "Literal" in str(note)):
            yield name, _annotation(note), defaults.get(name, ""), texts.get(name, "")


def _defaults(kind: type[Any]) -> dict[str, str]:
    if not issubclass(kind, msgspec.Struct):
        return {}
    found: dict[str, str] = {}
    for field in msgspec.structs.fields(kind):
        if field.default is not msgspec.NODEFAULT:
            found[field.name] = _default(field.default)
        elif field.default_factory is not msgspec.NODEFAULT:
            found[field.name] = _default(cast("Callable[[], Any]", field.default_factory)())
        else:
            found[field.name] = "required"
    return found


def methods(kind: type[Any], public: frozenset[type]) -> Iterator[tuple[str, str, str]]:
    """Public methods and properties, without those of public bases: Sphinx's word, signature, docstring."""
    seen: set[str] = set()
    bases = [base for base in own_classes(kind) if base is kind or base not in public]
    for base in bases:
        for name, member in vars(base).items():
            if name.startswith("_") or name in seen or name == "type":  # the tag stands in the table of events
                continue
            seen.add(name)
            if isinstance(member, property):
                yield "property", name, _inherited(kind, name)
            elif isinstance(member, CLASS_LEVEL):
                word = "classmethod" if isinstance(member, classmethod) else "staticmethod"
                yield word, f"{name}{signature(getattr(kind, name))}", _inherited(kind, name)
            elif isinstance(member, types.FunctionType):
                yield "method", f"{name}{signature(member, bound=True)}", _inherited(kind, name)


def _inherited(kind: type[Any], name: str) -> str:
    """The docstring of a method, from the first class that has one."""
    for base in own_classes(kind):
        member = vars(base).get(name)
        text = documentation(getattr(member, "__func__", member)) if member is not None else ""
        if text:
            return text
    return ""


def signature(value: Any, *, bound: bool = False) -> str:
    """The signature of a function, with types as the source has them."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    parameters = [
        one.replace(
            annotation=one.annotation if one.annotation is one.empty else _Word(_annotation(one.annotation)),
            default=one.default if one.default is one.empty else _Word(_default(one.default)),
        )
        for one in found.parameters.values()
    ]
    answer = found.return_annotation
    given = answer if answer is found.empty else _Word(_annotation(answer))
    return str(found.replace(parameters=parameters[1:] if bound else parameters, return_annotation=given))


class _Word:
    """A text whose ``repr`` has no quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _default(value: Any) -> str:
    if inspect.isclass(value):
        return value.__name__
    shown = repr(value)
    return "..." if "<" in shown or len(shown) > 60 else shown


def _annotation(note: Any) -> str:
    text = note if isinstance(note, str) else getattr(note, "__name__", str(note))
    return text.removeprefix("ClassVar[").removesuffix("]") if text.startswith("ClassVar[") else text


def _value(value: Any) -> str:
    """A sentence with the keys of a table or the members of a union."""
    if is_dict(value):
        held, words = "It has", [*value]
    else:
        held, words = "One of", [getattr(one, "__name__", repr(one)) for one in typing.get_args(value)]
    text = ", ".join(f"`{word}`" for word in words)
    return f"{held} {text}." if words and len(text) <= LONGEST else ""


def _cell(text: str) -> str:
    return f"`{text}`".replace("|", "\\|") if text else ""


def _plain(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")

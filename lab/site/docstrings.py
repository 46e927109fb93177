"""Reads the documentation of a name from the source: docstrings, and the texts below fields and constants."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeGuard

__all__ = ["documentation", "field_texts", "first_sentence", "is_class", "own_classes", "text_of"]

PACKAGE = "interlingua"


def own_classes(kind: type) -> list[type]:
    """A class and its bases, without those from other packages."""
    return [base for base in kind.__mro__ if base.__module__.partition(".")[0] == PACKAGE]


def is_class(value: Any) -> TypeGuard[type[Any]]:
    """Whether a value is a class of this package, or derives from one."""
    return inspect.isclass(value) and bool(own_classes(value))


def text_of(name: str, value: Any) -> str:
    """The documentation of a public name: a class, a function or a constant."""
    return documentation(value) if is_class(value) or inspect.isroutine(value) else _constant(name, value)


def documentation(value: Any) -> str:
    """The docstring of a class or a function; a class without one has that of its base."""
    if is_class(value):
        texts = [vars(base).get("__doc__") for base in own_classes(value)]
        return inspect.cleandoc(next((text for text in texts if text), ""))
    return inspect.cleandoc(getattr(value, "__doc__", None) or "")


def first_sentence(text: str) -> str:
    """Up to the first full stop that ends a sentence, or the first empty line."""
    paragraph = " ".join(text.partition("\n\n")[0].split())
    end = next(
        (
            place
            for place, sign in enumerate(paragraph)
            if sign in ".;:" and paragraph[place + 1 : place + 2] in ("", " ")
        ),
        None,
    )
    return paragraph if end is None else paragraph[:end] + "."


def field_texts(kind: type) -> dict[str, str]:
    """The texts below the fields of a class and its bases, by the name of the field."""
    found: dict[str, str] = {}
    for base in reversed(own_classes(kind)):
        file = inspect.getsourcefile(base)
        for node in ast.walk(_tree(file)) if file else ():
            if isinstance(node, ast.ClassDef) and node.name == base.__name__:
                found |= dict(_texts(node.body))
    return found


def _constant(name: str, value: Any) -> str:
    """The text below the assignment of a public constant or alias, wherever in the package it stands."""
    for module in [*sys.modules.values()]:
        file = getattr(module, "__file__", None)
        if module.__name__.partition(".")[0] == PACKAGE and file and vars(module).get(name) is value:
            text = dict(_texts(_tree(file).body)).get(name)
            if text:
                return text
    return ""


@cache
def _tree(file: str) -> ast.Module:
    return ast.parse(Path(file).read_text(encoding="utf-8"))


def _texts(body: Sequence[ast.stmt]) -> Iterator[tuple[str, str]]:
    """The name and text of each assignment that has a string below it."""
    for node, below in pairwise(body):
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            for target in targets:
                if isinstance(target, ast.Name):
                    yield target.id, inspect.cleandoc(below.value.value)

"""Reading docstrings: the description of a function, and that of each parameter.

Three styles are known, also mixed: Google (``Args:``), NumPy (``Parameters`` over dashes), reST (``:param x:``). Only
the descriptions of parameters are taken out; the rest, such as ``Returns``, stays in the text.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

__all__ = ["Docstring", "read_docstring"]

_WORDS = r"(?:(?:Other |Keyword )?(?:Args|Arguments|Parameters|Params)|Attributes)"
_GOOGLE = re.compile(rf"\s*{_WORDS}:\s*")
_GOOGLE_ENTRY = re.compile(r"\s*\*{0,2}(\w+)(?:\s*\(.*?\))?\s*:(?:\s+(.*)|$)")
_NUMPY = re.compile(rf"\s*{_WORDS}\s*")
_NUMPY_ENTRY = re.compile(r"\s*(\*{0,2}\w+(?:\s*,\s*\*{0,2}\w+)*)\s*(?::.*)?")
_RULE = re.compile(r"\s*-{3,}\s*")
_REST = re.compile(
    r"\s*:(?:param|parameter|arg|argument|key|keyword|ivar|var|attr)\s+(?:[^:]*\s)?\*{0,2}(\w+)\s*:\s*(.*)"
)
_REST_TYPE = re.compile(r"\s*:(?:type|vartype)\s+\w+\s*:.*")
_BULLET = re.compile(r"(?:[-*•]|\d+[.)])\s")


class Docstring(NamedTuple):
    """The parts of a docstring."""

    text: str
    """The text without the descriptions of parameters."""
    parameters: dict[str, str]


class _Found(NamedTuple):
    """The lines of each parameter in a section of one style, and the index of the line behind the section."""

    entries: dict[str, list[str]]
    end: int


def read_docstring(doc: str | None) -> Docstring:
    """The text of a docstring, and its description of each parameter."""
    lines = inspect.cleandoc(doc or "").splitlines()
    kept: list[str] = []
    parameters: dict[str, str] = {}
    at = 0
    while at < len(lines):
        found = next((found for style in _STYLES if (found := style(lines, at))), None)
        if found is None:
            kept.append(lines[at])
            at += 1
        else:
            parameters |= {name: _prose(entry) for name, entry in found.entries.items()}
            at = found.end
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in kept)).strip()
    return Docstring(text, {name: words for name, words in parameters.items() if words})


# ------------------------------------------------------------------------------------------------------- the styles


def _google(lines: list[str], at: int) -> _Found | None:
    if not _GOOGLE.fullmatch(lines[at]):
        return None
    end = _end_of_body(lines, at)
    body = lines[at + 1 : end]
    entries: dict[str, list[str]] = {}
    outer = min((_indent(line) for line in body if line.strip()), default=0)
    current: list[str] = []
    for line in body:
        entry = _GOOGLE_ENTRY.fullmatch(line) if _indent(line) == outer else None
        if entry:
            current = entries[entry[1]] = [entry[2] or ""]
        else:
            current.append(line)
    return _Found(entries, end) if entries else None


def _numpy(lines: list[str], at: int) -> _Found | None:
    if not _NUMPY.fullmatch(lines[at]) or not _is_rule(lines, at + 1):
        return None
    entries: dict[str, list[str]] = {}
    names: list[str] = []
    end = at + 2
    for line in lines[end:]:
        outside = line.strip() and _indent(line) <= _indent(lines[at])
        entry = _NUMPY_ENTRY.fullmatch(line) if outside else None
        if outside and (entry is None or _is_rule(lines, end + 1)):
            break  # plain text, or the next section
        if entry:
            names = [name.strip(" *") for name in entry[1].split(",")]
            entries |= {name: [] for name in names}
        else:
            for name in names:
                entries[name].append(line)
        end += 1
    return _Found(entries, end)


def _rest(lines: list[str], at: int) -> _Found | None:
    entry = _REST.fullmatch(lines[at])
    if entry is None:
        return _Found({}, _end_of_body(lines, at)) if _REST_TYPE.fullmatch(lines[at]) else None
    end = _end_of_body(lines, at)
    return _Found({entry[1]: [entry[2], *lines[at + 1 : end]]}, end)


_STYLES: tuple[Callable[[list[str], int], _Found | None], ...] = (_google, _numpy, _rest)


# --------------------------------------------------------------------------------------------------------- the lines


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_rule(lines: list[str], at: int) -> bool:
    return at < len(lines) and bool(_RULE.fullmatch(lines[at]))


def _end_of_body(lines: list[str], at: int) -> int:
    """The index behind the lines that are indented below line ``at``, without blank lines at the end."""
    end = at + 1
    for index in range(at + 1, len(lines)):
        if lines[index].strip():
            if _indent(lines[index]) <= _indent(lines[at]):
                break
            end = index + 1
    return end


def _prose(lines: list[str]) -> str:
    """Wrapped lines joined; paragraphs and bullets keep their breaks."""
    return "".join(_joined([line.strip() for line in lines])).strip()


def _joined(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if not line:
            yield "\n\n"
        elif _BULLET.match(line):
            yield f"\n{line} "
        else:
            yield f"{line} "

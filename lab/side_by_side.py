"""The picture of the README: one conversation in three protocols, with lines between the same parts.

``python -m lab.side_by_side docs/images/side_by_side.svg`` writes it. The JSON in it is the output of the encoders.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from interlingua import Message, Request, TextBlock, ToolResultBlock, ToolUseBlock, dialect
from interlingua.codec.json import is_dict, is_list

TITLES = {
    "anthropic-messages": "Anthropic Messages",
    "openai-responses": "OpenAI Responses",
    "gemini": "Gemini",
}
PARTS = {  # the word by which a part is found on every wire, and its colour on light and on dark background
    "You are terse.": ("#6f42c1", "#b794f6"),
    "Weather in Oslo?": ("#0b6e99", "#63b3ed"),
    "Let me look.": ("#1f7a3d", "#68d391"),
    "Oslo": ("#b35900", "#f6ad55"),
    "3 °C, rain": ("#b3261e", "#fc8181"),
}
WIDTH, LINE, SIZE, PAD, GAP, TOP = 404, 17, 12, 14, 56, 46
LONGEST = 52
KEYS = ("system", "instructions", "systemInstruction", "messages", "input", "contents")


HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
    'role="img" aria-label="One conversation in three protocols">'
)


class Column(NamedTuple):
    """One protocol: its title, its lines, and the line on which each part stands."""

    title: str
    lines: Sequence[str]
    parts: Mapping[str, int]


def conversation() -> Request:
    """A question, a call, and its result."""
    call = ToolUseBlock("call_1", "weather", input={"city": "Oslo"})
    return Request(
        (
            Message("user", "Weather in Oslo?"),
            Message("assistant", (TextBlock("Let me look."), call)),
            Message("tool", (ToolResultBlock("call_1", (TextBlock("3 °C, rain"),), name="weather"),)),
        ),
        model="m",
        system=(TextBlock("You are terse."),),
        max_output_tokens=500,
    )


def column(name: str) -> Column:
    body = dialect(name).encode_request(conversation()).body
    shown = {key: body[key] for key in KEYS if key in body}
    lines = [*printed(shown)]
    return Column(TITLES[name], lines, {part: place for part in PARTS if (place := _line_of(part, lines)) is not None})


def _line_of(part: str, lines: Sequence[str]) -> int | None:
    """The index of the line that has a part. The argument ``Oslo`` of the call is not the ``Oslo`` in the question."""
    found = [place for place, line in enumerate(lines) if part in line and (part != "Oslo" or "Weather" not in line)]
    return found[0] if found else None


def printed(value: Any, indent: str = "", before: str = "", after: str = "") -> Iterator[str]:
    """JSON in few lines: a value that fits on one line is not broken."""
    flat = json.dumps(value, ensure_ascii=False)
    is_object = is_dict(value)
    if len(indent + before + flat + after) <= LONGEST or not (is_object or is_list(value)):
        yield f"{indent}{before}{flat}{after}"
        return
    named = [(f"{json.dumps(key)}: ", inner) for key, inner in value.items()] if is_object else []
    items = named or [("", inner) for inner in value]
    yield f"{indent}{before}{'{' if is_object else '['}"
    for place, (key, inner) in enumerate(items):
        yield from printed(inner, f"{indent}  ", key, "," if place + 1 < len(items) else "")
    yield f"{indent}{'}' if is_object else ']'}{after}"


def picture(columns: Sequence[Column]) -> str:
    height = TOP + max(len(column.lines) for column in columns) * LINE + PAD
    width = len(columns) * WIDTH + (len(columns) - 1) * GAP
    drawn = [
        HEAD.format(width=width, height=height),
        f"<style>{style()}</style>",
    ]
    for place, one in enumerate(columns):
        left = place * (WIDTH + GAP)
        drawn.append(f'<rect class="card" x="{left}" y="0" width="{WIDTH}" height="{height}" rx="8"/>')
        drawn.append(f'<text class="title" x="{left + PAD}" y="26">{escape(one.title)}</text>')
        drawn += [*texts(one, left)]
        if place + 1 < len(columns):
            drawn += [*curves(one, columns[place + 1], left + WIDTH)]
    return "\n".join([*drawn, "</svg>", ""])


def style() -> str:
    font = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
    light = "".join(
        f".p{place}{{fill:{day}}}.c{place}{{stroke:{day}}}" for place, (day, _) in enumerate(PARTS.values())
    )
    dark = "".join(
        f".p{place}{{fill:{dark}}}.c{place}{{stroke:{dark}}}" for place, (_, dark) in enumerate(PARTS.values())
    )
    return (
        f"text{{font:{SIZE}px {font};fill:#57606a;white-space:pre}}"
        ".title{font-weight:600;fill:#1f2328}.card{fill:#f6f8fa;stroke:#d0d7de}"
        f"path{{fill:none;stroke-width:1.5;opacity:.75}}{light}"
        "@media(prefers-color-scheme:dark){text{fill:#8b949e}.title{fill:#e6edf3}"
        f".card{{fill:#161b22;stroke:#30363d}}{dark}}}"
    )


def texts(column: Column, left: int) -> Iterator[str]:
    of = {line: place for place, part in enumerate(PARTS) if (line := column.parts.get(part)) is not None}
    for place, text in enumerate(column.lines):
        kind = f' class="p{of[place]}"' if place in of else ""
        yield f'<text{kind} x="{left + PAD}" y="{_height(place)}" xml:space="preserve">{escape(text)}</text>'


def curves(one: Column, other: Column, left: int) -> Iterator[str]:
    """A line from each part to the same part in the next column."""
    for place, part in enumerate(PARTS):
        if part in one.parts and part in other.parts:
            here, there = _height(one.parts[part]) - 4, _height(other.parts[part]) - 4
            middle = left + GAP / 2
            curve = f"M{left},{here} C{middle},{here} {middle},{there} {left + GAP},{there}"
            yield f'<path class="c{place}" d="{curve}"/>'


def _height(line: int) -> int:
    return TOP + line * LINE


def main() -> None:
    text = picture([column(name) for name in TITLES])
    Path(sys.argv[1]).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

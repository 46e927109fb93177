"""The diagrams of the site, drawn from the code's own tables: ``python -m lab.diagrams docs/images``.

``call.svg``: the modules that a call of a session passes, recorded from a real call. ``grammar.svg``: the states of a
stream and of a block, from ``interlingua.codec.streams.grammar``. ``losses.svg``: what each protocol can express,
according to its encoder.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from interlingua import DIALECTS, Session, dialect
from interlingua.codec.streams.grammar import BLOCK, STREAM

from .phrasebook import BASE, CONCEPTS, Concept

__all__ = ["DIAGRAMS"]

FONT = "font-family:ui-sans-serif,system-ui,-apple-system,'Segoe UI',Helvetica,Arial,sans-serif"
STYLE = (
    f"text{{{FONT};font-size:13px;fill:#1f2328}}.small{{font-size:11.5px;fill:#57606a}}.code{{font-family:ui-monospace,"
    "SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:12px}.strong{font-weight:600}"
    ".middle{text-anchor:middle}.ground{fill:#fff}.card{fill:#f6f8fa;stroke:#d0d7de}.last{fill:#ddf4ff;stroke:#54aeff}"
    "path{fill:none;stroke:#57606a;stroke-width:1.3}.tip{fill:#57606a;stroke:none}"
    ".said{fill:#2da44e}.else{fill:#d4a72c}.lost{fill:#cf222e}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.small{fill:#9198a1}.ground{fill:#0d1117}"
    ".card{fill:#161b22;stroke:#3d444d}.last{fill:#0c2d6b;stroke:#388bfd}path{stroke:#9198a1}.tip{fill:#9198a1}"
    ".said{fill:#3fb950}.else{fill:#d29922}.lost{fill:#f85149}}"
)
LINE = 22


def drawing(width: int, height: int, label: str, parts: Iterator[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    ground = f'<rect class="ground" width="{width}" height="{height}" rx="8"/>'
    return "\n".join((f'{head} role="img" aria-label="{label}"><style>{STYLE}</style>', ground, *parts, "</svg>", ""))


def text(x: float, y: float, words: str, kind: str = "") -> str:
    given = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}"{given}>{escape(words, quote=False)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str = "card") -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6"/>'


def arrow(x: float, y: float, length: float, *, down: bool = False) -> str:
    """A straight arrow to the right or down."""
    if down:
        end = y + length
        return f'<path d="M{x:g},{y:g} V{end - 5:g}"/><path class="tip" d="M{x - 4:g},{end - 6:g} h8 l-4,6 z"/>'
    end = x + length
    return f'<path d="M{x:g},{y:g} H{end - 5:g}"/><path class="tip" d="M{end - 6:g},{y - 4:g} v8 l6,-4 z"/>'


# ------------------------------------------------------------------------------------------------ a call's way

STATIONS = (  # the modules that are shown, in the order in which a call enters them
    "agent.session",
    "agent.routing",
    "client.async_client",
    "client.fitting",
    "client.exchange",
    "client.transport",
    "client.embedded",
    "dialects.{}.request",
    "codec.framing",
    "dialects.{}.stream",
    "codec.streams.grammar",
    "codec.streams.fold",
    "models.pricing",
)


def way(name: str = "anthropic-messages") -> list[str]:
    """The stations of one call, in the order in which it enters them."""
    wanted = [f"interlingua.{one.format(name.replace('-', '_'))}" for one in STATIONS]
    entered: dict[str, None] = {}

    def enter(frame: FrameType, event: str, _: Any) -> None:
        module = f"{frame.f_globals.get('__name__', '')}."
        if (
            event == "call"
            and not _is_below(frame.f_back, "interlingua.client.embedded")
            and not frame.f_code.co_name.startswith(("<", "__"))
        ):
            entered.update(dict.fromkeys(one for one in wanted if module.startswith(f"{one}.")))

    async def call() -> None:
        async with Session(f"embedded:{name}", script=["warm", "Hello."]) as session:
            await session.send("Hi")
            sys.setprofile(enter)
            try:
                async for _ in session.stream("And now?"):
                    pass
            finally:
                sys.setprofile(None)

    asyncio.run(call())
    return [*entered]


def _is_below(frame: FrameType | None, module: str) -> bool:
    """Whether a module is among the callers of a frame: the scripted model runs the same code in the same process."""
    while frame is not None:
        if frame.f_globals.get("__name__", "").startswith(module):
            return True
        frame = frame.f_back
    return False


def call() -> str:
    stations, tall, wide = way(), 52, 720
    return drawing(wide + 24, len(stations) * (tall + 14) + 10, "The way of a call", _stations(stations, tall, wide))


def _stations(stations: list[str], tall: int, wide: int) -> Iterator[str]:
    for place, name in enumerate(stations):
        top = 12 + place * (tall + 14)
        about = (importlib.import_module(name).__doc__ or "").strip().partition("\n\n")[0]
        yield box(12, top, wide, tall)
        yield text(26, top + 21, name.removeprefix("interlingua."), "code strong")
        yield text(26, top + 40, _short(" ".join(about.replace("``", "").split()), 112), "small")
        if place + 1 < len(stations):
            yield arrow(wide / 2 + 12, top + tall, 14, down=True)


def _short(words: str, most: int) -> str:
    sentence = words.partition(". ")[0].rstrip(".")
    return sentence if len(sentence) <= most else sentence[: most - 1].rpartition(" ")[0] + " …"


# ---------------------------------------------------------------------------------------------- a stream's grammar


class Move(NamedTuple):
    """A transition from one state to another, by any of these events."""

    start: str
    end: str
    events: tuple[str, ...]


def moves(table: Mapping[str, Mapping[type, str]]) -> list[Move]:
    found: dict[tuple[str, str], list[str]] = {}
    for start, row in table.items():
        for event, end in row.items():
            found.setdefault((start, end), []).append(event.type)  # type: ignore[attr-defined]  # an event's tag
    return [Move(start, end, tuple(events)) for (start, end), events in found.items()]


def grammar() -> str:
    stream, blocks = moves(STREAM), _block_rows()
    height = 176 + LINE * max(len(move.events) for move in stream if move.start == move.end) + len(blocks) * 66
    return drawing(760, height, "The legal events of a stream and of a block", _grammar(stream, blocks))


def _block_rows() -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """For each kind of block, the events that may come while it is open, and those that close it."""
    found = moves(BLOCK)
    kinds = [kind for kind, row in BLOCK.items() if row]
    stays = {move.start: move.events for move in found if move.start == move.end}
    return [
        (kind, stays.get(kind, ()), next(m.events for m in found if m.start == kind and m.end != kind))
        for kind in kinds
    ]


def _grammar(stream: list[Move], blocks: list[tuple[str, tuple[str, ...], tuple[str, ...]]]) -> Iterator[str]:
    states = [*STREAM]
    left = {state: 24 + place * 264 for place, state in enumerate(states)}
    yield text(24, 30, "The stream", "strong")
    for state in states:
        yield box(left[state], 48, 120, 40, "last" if not STREAM[state] else "card")
        yield text(left[state] + 60, 73, state, "code strong middle")
    top = 0
    for move in stream:
        if move.start == move.end:
            yield text(left[move.start] + 60, 108, "while it is open, in any order:", "small middle")
            for place, event in enumerate(move.events):
                yield text(left[move.start] + 60, 130 + place * LINE, event, "code middle")
            top = 130 + len(move.events) * LINE
        else:
            yield arrow(left[move.start] + 120, 68, left[move.end] - left[move.start] - 120)
            yield text(left[move.start] + 192, 60, ", ".join(move.events), "code middle")
    yield text(24, top + 14, "One block", "strong")
    for place, (kind, inside, closing) in enumerate(blocks):
        y = top + 28 + place * 66
        yield box(24, y, 120, 40)
        yield text(84, y + 25, kind, "code strong middle")
        yield text(162, y + 16, f"any number of: {', '.join(inside)}" if inside else "nothing between", "small")
        yield arrow(144, y + 26, 408)
        yield text(348, y + 42, ", ".join(closing), "code middle")
        yield box(552, y, 120, 40, "last")
        yield text(612, y + 25, "closed", "code strong middle")


# ------------------------------------------------------------------------------------- what moves and what is lost


WORDS = {
    "said": "said as it is",
    "else": "said otherwise, moved, or something is added: a Loss says how",
    "lost": "not said: a Loss says so",
}
WORST = {"dropped": "lost"}


def verdict(name: str, concept: Concept) -> str:
    """The worst loss of a concept in a dialect, as a key of ``WORDS``; losses of form do not count."""
    speaker = dialect(name)
    anyway = speaker.encode_request(BASE).losses
    losses = [
        loss for loss in speaker.encode_request(concept(name)).losses if loss not in anyway and loss.weight != "form"
    ]
    found = {WORST.get(loss.kind, "else") for loss in losses}
    return "lost" if "lost" in found else "else" if found else "said"


def losses() -> str:
    rows = sum(len(concepts) + 1 for concepts in CONCEPTS.values())
    return drawing(760, 108 + rows * LINE + len(WORDS) * LINE, "What each protocol can say", _losses())


def _losses() -> Iterator[str]:
    columns = {name: 268 + place * 80 for place, name in enumerate(DIALECTS)}
    for name, x in columns.items():
        for place, word in enumerate(name.split("-", 1)):
            yield text(x, 30 + place * 16, word, "small middle")
    y = 66
    for chapter, concepts in CONCEPTS.items():
        yield text(20, y, chapter, "strong")
        for title, concept in concepts.items():
            y += LINE
            yield text(32, y, title)
            yield from (_mark(x, y - 4, verdict(name, concept)) for name, x in columns.items())
        y += LINE
    for kind, words in WORDS.items():
        y += LINE
        yield _mark(32, y - 4, kind)
        yield text(48, y, words, "small")


def _mark(x: float, y: float, kind: str) -> str:
    """A circle, half a circle or a bar, so that the three can be told apart without their colours."""
    if kind == "said":
        return f'<circle class="said" cx="{x:g}" cy="{y:g}" r="6"/>'
    if kind == "else":
        return f'<path class="else" style="stroke:none" d="M{x - 6:g},{y:g} a6,6 0 0 1 12,0 z"/>'
    return f'<path class="lost" style="stroke:none" d="M{x - 6:g},{y - 1.5:g} h12 v3 h-12 z"/>'


DIAGRAMS = {"call.svg": call, "grammar.svg": grammar, "losses.svg": losses}


if __name__ == "__main__":
    for name, draw in DIAGRAMS.items():
        (Path(sys.argv[1]) / name).write_text(draw(), encoding="utf-8")

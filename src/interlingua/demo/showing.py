"""The output of the demo: a transcript, and one turn as it goes over the wire in every dialect."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from ..agent.session import Report
from ..dialects import DIALECTS, dialect
from ..types.blocks import Block, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ..types.loss import Loss
from ..types.messages import Message

__all__ = ["transcript", "wire_forms"]

WIDTH = 100
MARKS = {"user": "user  ", "assistant": "model ", "tool": "tool  "}


def transcript(messages: Sequence[Message], report: Report) -> Iterator[str]:
    """The lines for one turn: its messages, then its cost and its losses."""
    for message in messages:
        for block in message.content:
            yield _wrap(f"{MARKS[message.role]}  {_block_text(block)}")
    yield f"        {_cost_line(report)}"
    yield from _losses(report.losses)


def _block_text(block: Block) -> str:
    if isinstance(block, TextBlock):
        return block.text
    if isinstance(block, ThinkingBlock):
        return f"(thinks) {block.text}"
    if isinstance(block, ToolUseBlock):
        return f"→ {block.name}({', '.join(f'{key}={value!r}' for key, value in block.input.items())})"
    if isinstance(block, ToolResultBlock):
        text = " ".join(part.text for part in block.content if isinstance(part, TextBlock)).replace("\n", ", ")
        return f"← {'failed: ' if block.is_error else ''}{text}"
    return f"({block.type})"


def _cost_line(report: Report) -> str:
    usage, calls = report.usage, "1 call" if report.steps == 1 else f"{report.steps} calls"
    cost = "price unknown" if report.cost_usd is None else f"${report.cost_usd:.6f}"
    return f"{calls}, {usage.total_input_tokens} tokens in, {usage.output_tokens} out, {cost}"


def _losses(losses: Iterable[Loss]) -> Iterator[str]:
    """One line for each kind and reason, because losses repeat with every call of a turn and every message."""
    places: dict[tuple[str, str], dict[str, None]] = {}
    for loss in losses:
        places.setdefault((loss.kind, loss.reason), {})[loss.path] = None
    for (kind, reason), found in places.items():
        more = f" (+{len(found) - 1})" if len(found) > 1 else ""
        yield _wrap(f"        {kind} {next(iter(found))}{more}: {reason}")


def _wrap(line: str) -> str:
    return "\n".join(textwrap.wrap(line, WIDTH, subsequent_indent=" " * 10, drop_whitespace=False))


def wire_forms(messages: Sequence[Message]) -> Iterator[str]:
    """Messages as the server of each dialect would get them, and what would be lost."""
    for name in DIALECTS:
        encoded = dialect(name).encode_messages(messages)
        yield f"\n{name}"
        for item in encoded.body:
            yield _wrap(f"  {msgspec.json.encode(item).decode()}")
        yield from _losses(encoded.losses)

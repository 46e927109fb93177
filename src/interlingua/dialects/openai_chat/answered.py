"""The message of an answer as nearly all servers write it: reasoning, text and calls, of each one or none.

Each function does exactly what ``assistant.py`` would do with such a message, or tells that it is none of its own.
"""

from __future__ import annotations

from ...codec.json import is_array
from ...codec.offered_tools import is_plainly_offered
from ...codec.schemas import Restore, restorer
from ...types.base import Json
from ...types.blocks import Block, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.request import Request
from .assistant import THINKING_KEYS
from .calls import read_call
from .parts import Wire
from .quirks import OPENAI
from .usual import read_call as read_usual

FITS = OPENAI.ids.pattern.fullmatch
SILENT: tuple[Wire, ...] = (
    {"refusal": None, "annotations": []},
    {},
    {"refusal": None},
    {"refusal": None, "reasoning": None},
    {"reasoning_content": None},
)
"""What stands in a message beside its role, its text and its calls, and says nothing."""


def read_message(wire: Wire, request: Request | None, forms: Wire, hollow: Wire) -> tuple[Block, ...] | None:
    """Reasoning, text and calls, of each one or none."""
    blocks: list[Block] = []
    rest = wire.copy()
    role, text, calls = rest.pop("role", None), rest.pop("content", 0), rest.pop("tool_calls", None)
    if role != "assistant" or (rest not in SILENT and not read_thought(rest, blocks, forms)):
        return None
    if type(text) is str and text:
        blocks.append(TextBlock(text))
    elif text == "":
        rest["content"] = text
    elif "content" not in wire:
        forms.setdefault("turn", {})["content"] = "absent"
    elif text is not None:
        return None
    if calls and is_array(calls):
        if not read_calls(calls, request, blocks):
            return None
    elif calls is None or calls == []:
        if "tool_calls" in wire:
            rest["tool_calls"] = calls
    else:
        return None
    if rest:
        hollow["message"] = rest
    return tuple(blocks)


def read_thought(rest: Wire, blocks: list[Block], forms: Wire) -> bool:
    """Pops reasoning under one of its names, if there is nothing else."""
    for key in THINKING_KEYS:
        text = rest.get(key)
        if type(text) is str and text:
            blocks.append(ThinkingBlock(rest.pop(key)))
            if key != THINKING_KEYS[0]:
                forms["turn"] = {"thinking": [key]}
            return rest in SILENT
    return False


def read_calls(calls: list[Json], request: Request | None, blocks: list[Block]) -> bool:
    restore: Restore | None = None
    for position, wire in enumerate(calls):
        block = read_usual(wire, FITS) or read_call(wire, len(blocks), position)
        if type(block) is not ToolUseBlock:
            return False
        if request is not None and not is_plainly_offered(block.name, request):
            restore = restore or restorer(request, texts=True)
            block = block if restore is None else restore(block)
        blocks.append(block)
    return True

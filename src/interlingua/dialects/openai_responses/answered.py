"""The items of an answer as nearly all are: one text, one call, or one thought, and complete.

Each function does exactly what ``items.py`` would do with such an item, or gives None. ``place`` is the position in the
answer, from which an id of our own making is told.
"""

from __future__ import annotations

from collections.abc import Callable

from ...codec.arguments import read_arguments
from ...codec.tables import blank
from ...types.base import Json
from ...types.blocks import Block, TextBlock, ThinkingBlock, ToolUseBlock
from .item_fields import DONE
from .wire import NAME, SUMMARY, Wire, is_array, is_object

ABSENT = ("", "absent")


def read_message(item: Wire, place: int) -> Block | None:
    """One text that cites nothing."""
    content: Json = item.get("content")
    part: Json = content[0] if is_array(content) and len(content) == 1 else None
    if not is_object(part) or len(part) != 4 or part.get("type") != "output_text":
        return None
    text = part.get("text")
    if type(text) is not str or part.get("annotations") != [] or part.get("logprobs") != []:
        return None
    if item.get("role") != "assistant" or item.get("status") != DONE or "id" not in item:
        return None
    rest = item.copy()
    del rest["type"], rest["role"], rest["content"], rest["status"]
    if rest["id"] == f"msg_{place}":
        del rest["id"]
    return TextBlock(text, extras={NAME: {"item": rest}}) if rest else TextBlock(text)


def read_call(item: Wire, place: int) -> Block | None:
    """A call of a function."""
    id, name, arguments = item.get("call_id"), item.get("name"), item.get("arguments")
    if type(id) is not str or type(name) is not str or type(arguments) is not str or id in ABSENT:
        return None
    if item.get("status") != DONE or "id" not in item:
        return None
    rest = item.copy()
    del rest["type"], rest["call_id"], rest["name"], rest["arguments"], rest["status"]
    if rest["id"] == f"fc_{place}":
        del rest["id"]
    input, text = read_arguments(arguments)
    return ToolUseBlock(id, name, "json", input, text, extras={NAME: rest} if rest else {})


def read_reasoning(item: Wire, place: int) -> Block | None:
    """A summary of one part or none, and no content."""
    if "id" not in item or "summary" not in item or item["id"] == f"rs_{place}":
        return None
    rest = item.copy()
    text, signature, content = _read_summary(rest.pop("summary")), rest.get("encrypted_content"), rest.get("content")
    if text is None or not blank(content) or not (signature is None or type(signature) is str):
        return None
    del rest["type"]
    blanks = {key: rest.pop(key) for key in ("encrypted_content", "content") if not item.get(key, True)}
    rest.pop("encrypted_content", None)
    forms: Wire = {NAME: {"item": {"blank": blanks}}} if blanks else {}
    return ThinkingBlock(text, signature=signature or None, extras={NAME: {"item": rest}}, forms=forms)


def _read_summary(summary: Json) -> str | None:
    if summary == []:
        return ""
    part: Json = summary[0] if is_array(summary) and len(summary) == 1 else None
    if not is_object(part) or len(part) != 2 or part.get("type") != SUMMARY:
        return None
    text = part.get("text")
    return text if type(text) is str and text else None


ITEMS: dict[Json, Callable[[Wire, int], Block | None]] = {
    "message": read_message,
    "function_call": read_call,
    "reasoning": read_reasoning,
}

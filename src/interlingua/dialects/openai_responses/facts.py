"""Facts of OpenAI Responses that are not rows: its name, limits, words, and which items there are."""

from __future__ import annotations

import re

from ...codec.json import Wire, is_object
from ...codec.marks import marks
from ...codec.tools.hosted_tools import HostedTool
from ...codec.tools.tool_names import NameRule
from ...types.base import Json
from ...types.blocks import Block, DocumentBlock, ImageBlock, JsonBlock, OpaqueBlock, RefusalBlock, TextBlock
from ...types.words import Role

NAME = "openai-responses"
PATH = "/v1/responses"
LONGEST_ID = 64
CALL_ID = re.compile(rf".{{1,{LONGEST_ID}}}", re.DOTALL)
NAMES = NameRule("a-zA-Z0-9_-", 64, results=True)
MOST_METADATA, LONGEST_KEY, LONGEST_VALUE = 16, 64, 512
TTLS = ("30m", "12h")
TIERS = ("auto", "default", "flex", "scale", "priority", "fast", "ultrafast")
SHOWN = "summarized"
"""The value of ``Thinking.display`` for reasoning that is shown: the protocol shows summaries."""
DETAIL = "auto"
STORED = ("previous_response_id", "conversation", "prompt")
"""Parameters that name something the server stored: it may hold the input, or the calls that a result answers."""

# ------------------------------------------------------------------------------------------------------------- items

DONE, CUT, BEGUN, FAILED = "completed", "incomplete", "in_progress", "failed"
BROKEN_OFF = (FAILED, "cancelled")
ROLES = {"user": Role.user, "system": Role.system, "developer": Role.system}
"""The roles of messages that are not the assistant's."""
SUMMARY, REASON = "summary_text", "reasoning_text"
CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""The types of call items, and the key of the arguments that the model wrote."""
RESULTS = {"function_call_output": "json", "custom_tool_call_output": "text"}
"""The types of result items, and the kind of call that each answers."""
ADDED = "additional_tools"
NEUTRAL_ITEMS = frozenset((ADDED, "configuration_update", "compaction_trigger", "mcp_approval_response"))
"""Types of items that belong neither to the user nor to the model."""
WHOLE_ITEMS = (
    *NEUTRAL_ITEMS,
    "compaction",
    "item_reference",
    "mcp_approval_request",
    "mcp_list_tools",
    "message",
    "program",
    "reasoning",
)
"""Types of items that are carried whole when they are read among the user's items."""
PARTS = frozenset((TextBlock, ImageBlock, DocumentBlock, RefusalBlock, JsonBlock))
"""Blocks that stand inside a message."""
PREFIXES = {
    "message": "msg",
    "reasoning": "rs",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "image_generation_call": "ig",
}
"""The beginnings of the ids that we make for the items of an answer."""

# https://platform.openai.com/docs/guides/tools
HOSTED = (
    HostedTool("web_search", {"type": "web_search"}, r"web_search(_preview)?(_\d{4}_\d{2}_\d{2})?",
               {"allowed_domains": "filters.allowed_domains", "user_location": "user_location"}),
    HostedTool("code_execution", {"type": "code_interpreter", "container": {"type": "auto"}}, "code_interpreter"),
)  # fmt: skip


def kind_of(item: Wire) -> str:
    """The type of an item; a message and a reference may leave it out."""
    kind = item.get("type")
    return kind if type(kind) is str and kind else "message" if "role" in item else "item_reference"


def is_assistant_message(item: Wire) -> bool:
    """Whether an item is an assistant message: it has no role, or not one of ``ROLES``."""
    role = item.get("role")
    return (type(role) is not str or role not in ROLES) and kind_of(item) == "message"


def is_added(item: Json) -> bool:
    """Whether an item adds tools. Its tools were moved to ``Request.tools``."""
    return is_object(item) and item.get("type") == ADDED and "tools" not in item


def is_cut(item: Json, answer: Json) -> bool:
    """Whether an item was left unfinished. ``answer`` is the status of its answer, None if it is not known.

    A text that the output limit ended does not count as unfinished, because nobody runs a text. A call may be in
    progress in an answer that is complete, if its caller is a program.
    """
    status = item.get("status") if is_object(item) else None
    if status not in (CUT, BEGUN):
        return False
    if answer in BROKEN_OFF:
        return True
    return kind_of(item) in CALLS and (status == CUT or answer not in (DONE, None))


def is_part(block: Block, *, in_input: bool = False) -> bool:
    """Whether a block is a part of a message; other blocks are items of their own.

    An opaque block that its type does not decide is a part in a user's message (``in_input``), and an item otherwise.
    """
    if type(block) is not OpaqueBlock:
        return type(block) in PARTS
    if block.dialect != NAME or "part" in marks(NAME, block):
        return True
    raw: Json = block.raw
    tag = str(raw.get("type", "item_reference")) if is_object(raw) else ""
    if in_input:
        return tag not in WHOLE_ITEMS and not tag.endswith(("_call", "_output"))
    return tag.startswith(("input_", "output_"))

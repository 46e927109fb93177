"""Rules on a history that are the same for all protocols: whose opaque state may be sent, where tool results stand.

A dialect first asks here what may be sent and in which order; then its rows write the blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from ...types.blocks import Block, RedactedThinkingBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ...types.capabilities import Target
from ...types.messages import Message
from ...types.request import Request
from ...types.tools import ToolDefinition
from ...types.words import Role
from ..ledger import Ledger
from .issuer import issuer_name, same_issuer
from .joining import TextJoin, has_texts_to_join

__all__ = [
    "PLACEHOLDER",
    "call_ids",
    "called_names",
    "has_calls",
    "is_ready",
    "issued",
    "leading_system",
    "mark_orphans",
    "scattered",
    "settled",
    "blocks_to_send",
    "stub_tools",
]

_TOOL, _ASSISTANT = Role.tool, Role.assistant

PLACEHOLDER = "(no content)"
"""Said where a protocol demands something and there is nothing to say. Pinned: prompt caches see it."""


def blocks_to_send(
    message: Message, dialect: str, target: Target | None, ledger: Ledger
) -> Iterator[tuple[int, Block]]:
    """The blocks of a message that may be said to this reader, with their places; opaque state of others is lost."""
    if message.origin is None or same_issuer(message.origin, dialect, target):
        return enumerate(message.content)
    return _of_others(message, ledger)


def _of_others(message: Message, ledger: Ledger) -> Iterator[tuple[int, Block]]:
    where, issuer = ledger.where, issuer_name(message.origin)
    for index, block in enumerate(message.content):
        ledger.where = (*where, "content", index)
        if isinstance(block, ThinkingBlock | RedactedThinkingBlock):
            why = f"reasoning by {issuer} was left out: another issuer does not accept it"
            ledger.lose("dropped", why, weight="state")
        elif block.signature is not None:
            why = f"a signature by {issuer} was left out: another issuer does not accept it"
            ledger.lose("dropped", why, "signature", weight="state")
            yield index, replace(block, signature=None)
        else:
            yield index, block
    ledger.where = where


def is_ready(messages: Sequence[Message], dialect: str, join: TextJoin, fits: Mapping[str, bool]) -> bool:
    """Whether a history can be written as it is, as nearly all can: no block was cut off, no result is in a message of
    the user's, no call has ids of other protocols or a name that this one refuses (``fits``), and no texts of another
    dialect have to be joined."""
    for turn in messages:
        role = turn.role
        if role is _ASSISTANT:
            for block in turn.content:
                if block.incomplete or (type(block) is ToolUseBlock and (block.native_ids or not fits[block.name])):
                    return False
        elif role is not _TOOL:
            for block in turn.content:
                if block.incomplete or type(block) is ToolResultBlock:
                    return False
    return join == "apart" or not has_texts_to_join(messages, dialect)


def issued(messages: Sequence[Message], dialect: str) -> Sequence[Message]:
    """Calls and results under the ids that this protocol's servers gave them, where a conversation has its own."""
    given: dict[str, str] = {}
    found: list[Message] = []
    for message in messages:
        role = message.role
        if role is _ASSISTANT or (given and role is _TOOL):
            message = _as_issued(message, dialect, given)
        found.append(message)
    return found if given else messages


def _as_issued(message: Message, dialect: str, given: dict[str, str]) -> Message:
    content: list[Block] | None = None
    for place, block in enumerate(message.content):
        if type(block) is ToolUseBlock and block.native_ids:
            theirs = block.native_ids.get(dialect, block.id)
            if theirs != block.id:
                given[block.id] = theirs
                content = content or list(message.content)
                content[place] = replace(block, id=theirs)
        elif type(block) is ToolResultBlock and block.tool_use_id in given:
            content = content or list(message.content)
            content[place] = replace(block, tool_use_id=given[block.tool_use_id])
    return message if content is None else replace(message, content=tuple(content))


def settled(messages: Sequence[Message], ledger: Ledger, dialect: str = "") -> Sequence[tuple[int, Message]]:
    """Messages with their places, every tool message right behind the assistant turn that it answers.

    Protocols demand that order; a history that has it is passed through untouched. So are results that ``dialect``
    itself read behind other blocks of one turn (the mark ``joined``).
    """
    numbered = list(enumerate(messages))
    if _in_order(messages, dialect):
        return numbered
    if any(message.role == Role.tool and _has_orphans(message) for message in messages):
        return _with_stubs(numbered, ledger)
    for index, message in numbered[:]:
        if message.role == Role.tool and _misplaced(messages, index):
            home = _home(messages, index)
            if home is not None:
                numbered.remove((index, message))
                numbered.insert(_after_results(numbered, home), (index, message))
                ledger.lose("moved", "tool results follow the message that called; moved", "messages", index)
    return numbered


def mark_orphans(messages: Sequence[Message], dialect: str) -> tuple[Message, ...]:
    """Mark results whose calls the reader of this dialect holds itself: elsewhere a stub must stand for the call."""
    called = set(called_names(messages))
    return tuple(_marked(message, called, dialect) if message.role == Role.tool else message for message in messages)


def _marked(message: Message, called: set[str], dialect: str) -> Message:
    if all(block.tool_use_id in called for block in message.content if isinstance(block, ToolResultBlock)):
        return message
    return replace(message, forms={**message.forms, dialect: {**message.forms.get(dialect, {}), "orphans": True}})


def _has_orphans(message: Message) -> bool:
    return bool(message.forms) and any("orphans" in mark for mark in message.forms.values())


def _with_stubs(numbered: list[tuple[int, Message]], ledger: Ledger) -> list[tuple[int, Message]]:
    """Stubs for calls that another protocol's server holds, right before the results that answer them."""
    found: list[tuple[int, Message]] = []
    called = set(called_names([message for _, message in numbered]))
    for index, message in numbered:
        if message.role == Role.tool and _has_orphans(message):
            results = [b for b in message.content if isinstance(b, ToolResultBlock) and b.tool_use_id not in called]
            stubs = tuple(ToolUseBlock(block.tool_use_id, block.name or "tool") for block in results)
            where = _add_stubs(found, index, stubs)
            ledger.lose("added", "the calls are stored elsewhere; stubs were added", *where, weight="state")
        found.append((index, message))
    return found


def _add_stubs(found: list[tuple[int, Message]], index: int, stubs: tuple[Block, ...]) -> tuple[str | int, ...]:
    """Stubs end the assistant's turn if one is last, as it is where it refers to the calls; else they are a turn."""
    if not found or found[-1][1].role != Role.assistant:
        found.append((index, Message(Role.assistant, stubs)))
        return "messages", index
    before, turn = found[-1]
    found[-1] = (before, replace(turn, content=(*turn.content, *stubs)))
    return "messages", before, "content"


def _in_order(messages: Sequence[Message], dialect: str) -> bool:
    """Every tool message stands behind an assistant turn or another tool message, and answers what was called."""
    before: Role | None = None
    for message in messages:
        role = message.role
        if role is _TOOL:
            if before is not _ASSISTANT and before is not _TOOL and "joined" not in message.forms.get(dialect, ()):
                return False
            if message.forms and _has_orphans(message):
                return False
        before = role
    return True


def scattered(messages: Sequence[Message]) -> dict[tuple[int, int], int]:
    """Results that do not answer the turn right before them: their places, and the turn that each belongs behind."""
    found: dict[tuple[int, int], int] = {}
    calls: dict[str, int] = {}
    latest = -1
    for index, message in enumerate(messages):
        if message.role == Role.assistant:
            latest = index
            for block in message.content:
                if type(block) is ToolUseBlock:
                    calls[block.id] = index
        elif message.role == Role.tool:
            for place, block in enumerate(message.content):
                home = calls.get(block.tool_use_id, latest) if type(block) is ToolResultBlock else latest
                if home != latest:
                    found[index, place] = home
    return found


def _misplaced(messages: Sequence[Message], index: int) -> bool:
    before = index - 1
    while before >= 0 and messages[before].role == Role.tool:
        before -= 1
    home = _home(messages, index)
    return home is not None and before != home


def _home(messages: Sequence[Message], index: int) -> int | None:
    """The nearest earlier assistant turn that made one of the calls this message answers."""
    wanted = {block.tool_use_id for block in messages[index].content if isinstance(block, ToolResultBlock)}
    for before in range(index - 1, -1, -1):
        if messages[before].role == Role.assistant and wanted & {b.id for b in _calls(messages[before])}:
            return before
    return None


def _calls(message: Message) -> list[ToolUseBlock]:
    return [block for block in message.content if isinstance(block, ToolUseBlock)]


def _after_results(numbered: list[tuple[int, Message]], home: int) -> int:
    place = next(position for position, (index, _) in enumerate(numbered) if index == home) + 1
    while place < len(numbered) and numbered[place][1].role == Role.tool:
        place += 1
    return place


def leading_system(request: Request, ledger: Ledger) -> tuple[list[tuple[tuple[str | int, ...], Block]], int]:
    """The system blocks that open a request, with their places, and how many leading messages they took."""
    found: list[tuple[tuple[str | int, ...], Block]] = [(("system", i), b) for i, b in enumerate(request.system)]
    taken = 0
    for message in request.messages:
        if message.role != Role.system:
            break
        ledger.lose_form("moved", "leading system messages join the system prompt", "messages", taken)
        found += [(("messages", taken, "content", i), block) for i, block in enumerate(message.content)]
        taken += 1
    return found, taken


def call_ids(messages: Iterable[Message]) -> Iterator[str]:
    """Every call id that a history speaks of."""
    for message in messages:
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                yield block.id
            elif isinstance(block, ToolResultBlock):
                yield block.tool_use_id


def called_names(messages: Sequence[Message]) -> dict[str, str]:
    """Tool names by call id."""
    return {call.id: call.name for message in messages for call in _calls(message)}


def has_calls(messages: Sequence[Message]) -> bool:
    """Whether a history has calls or results."""
    for message in messages:
        for block in message.content:
            if type(block) is ToolUseBlock or type(block) is ToolResultBlock:
                return True
    return False


def stub_tools(messages: Sequence[Message]) -> list[ToolDefinition]:
    """Definitions for the tools that a history speaks of, for protocols that want them declared."""
    names = list(dict.fromkeys(called_names(messages).values()))
    if not names and any(isinstance(b, ToolResultBlock) for m in messages for b in m.content):
        names = ["tool"]
    return [ToolDefinition(name=name, input_schema={"type": "object"}) for name in names]

"""Rules on a history that are the same for all protocols: whose opaque state may be sent, where tool results stand.

A dialect first determines with these rules what may be sent and in which order; then its rows write the blocks.
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
    "leading_system",
    "mark_orphans",
    "misplaced_results",
    "in_wire_order",
    "blocks_to_send",
    "stub_tools",
    "with_native_ids",
]

_TOOL, _ASSISTANT = Role.tool, Role.assistant

PLACEHOLDER = "(no content)"
"""The text sent where a protocol requires content and there is none. Do not change it: prompt caches depend on it."""


def blocks_to_send(
    message: Message, dialect: str, target: Target | None, ledger: Ledger
) -> Iterator[tuple[int, Block]]:
    """The blocks of a message that may be sent to the target, with their places. Other issuers' state is lost."""
    if message.origin is None or same_issuer(message.origin, dialect, target):
        return enumerate(message.content)
    return _without_state(message, ledger)


def _without_state(message: Message, ledger: Ledger) -> Iterator[tuple[int, Block]]:
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
    """Whether a history can be written as it is, as usual: no block was cut off, no result is in a user message, no
    call has ids of other protocols or a name that this one refuses (``fits``), no texts of other dialects need joining.
    """
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


def with_native_ids(messages: Sequence[Message], dialect: str) -> Sequence[Message]:
    """The history with the ids that this protocol's servers gave to calls, where the conversation uses other ids."""
    given: dict[str, str] = {}
    found: list[Message] = []
    for message in messages:
        role = message.role
        if role is _ASSISTANT or (given and role is _TOOL):
            message = _with_native_ids(message, dialect, given)
        found.append(message)
    return found if given else messages


def _with_native_ids(message: Message, dialect: str, given: dict[str, str]) -> Message:
    content: list[Block] | None = None
    for place, block in enumerate(message.content):
        if type(block) is ToolUseBlock and block.native_ids:
            native_id = block.native_ids.get(dialect, block.id)
            if native_id != block.id:
                given[block.id] = native_id
                content = content or list(message.content)
                content[place] = replace(block, id=native_id)
        elif type(block) is ToolResultBlock and block.tool_use_id in given:
            content = content or list(message.content)
            content[place] = replace(block, tool_use_id=given[block.tool_use_id])
    return message if content is None else replace(message, content=tuple(content))


def in_wire_order(messages: Sequence[Message], ledger: Ledger, dialect: str = "") -> Sequence[tuple[int, Message]]:
    """The messages with their places, every tool message right behind the assistant turn that it answers.

    Protocols require that order; a history that has it is returned unchanged. So are results that ``dialect`` itself
    read behind other blocks of one turn (the mark ``joined``).
    """
    numbered = list(enumerate(messages))
    if _in_order(messages, dialect):
        return numbered
    if any(message.role == Role.tool and _has_orphans(message) for message in messages):
        return _with_stubs(numbered, ledger)
    for index, message in numbered[:]:
        if message.role == Role.tool and _misplaced(messages, index):
            turn = _calling_turn(messages, index)
            if turn is not None:
                numbered.remove((index, message))
                numbered.insert(_after_results(numbered, turn), (index, message))
                ledger.lose("moved", "tool results follow the message that called; moved", "messages", index)
    return numbered


def mark_orphans(messages: Sequence[Message], dialect: str) -> tuple[Message, ...]:
    """Mark results whose calls a server of this dialect stores: other dialects must write a stub for such a call."""
    called = set(called_names(messages))
    return tuple(_marked(message, called, dialect) if message.role == Role.tool else message for message in messages)


def _marked(message: Message, called: set[str], dialect: str) -> Message:
    if all(block.tool_use_id in called for block in message.content if isinstance(block, ToolResultBlock)):
        return message
    return replace(message, forms={**message.forms, dialect: {**message.forms.get(dialect, {}), "orphans": True}})


def _has_orphans(message: Message) -> bool:
    return bool(message.forms) and any("orphans" in mark for mark in message.forms.values())


def _with_stubs(numbered: list[tuple[int, Message]], ledger: Ledger) -> list[tuple[int, Message]]:
    """The messages with stubs for calls that another protocol's server stores, right before their results."""
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
    """Append the stubs to the last message if it is the assistant's, else as a turn of their own; return the path."""
    if not found or found[-1][1].role != Role.assistant:
        found.append((index, Message(Role.assistant, stubs)))
        return "messages", index
    before, turn = found[-1]
    found[-1] = (before, replace(turn, content=(*turn.content, *stubs)))
    return "messages", before, "content"


def _in_order(messages: Sequence[Message], dialect: str) -> bool:
    """Whether every tool message is behind an assistant turn or another tool message, and no result lacks its call."""
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


def misplaced_results(messages: Sequence[Message]) -> dict[tuple[int, int], int]:
    """Results that do not answer the assistant turn before them: maps the place of each to the turn that it answers."""
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
                turn = calls.get(block.tool_use_id, latest) if type(block) is ToolResultBlock else latest
                if turn != latest:
                    found[index, place] = turn
    return found


def _misplaced(messages: Sequence[Message], index: int) -> bool:
    before = index - 1
    while before >= 0 and messages[before].role == Role.tool:
        before -= 1
    turn = _calling_turn(messages, index)
    return turn is not None and before != turn


def _calling_turn(messages: Sequence[Message], index: int) -> int | None:
    """The nearest earlier assistant turn that made one of the calls this message answers."""
    wanted = {block.tool_use_id for block in messages[index].content if isinstance(block, ToolResultBlock)}
    for before in range(index - 1, -1, -1):
        if messages[before].role == Role.assistant and wanted & {b.id for b in _calls(messages[before])}:
            return before
    return None


def _calls(message: Message) -> list[ToolUseBlock]:
    return [block for block in message.content if isinstance(block, ToolUseBlock)]


def _after_results(numbered: list[tuple[int, Message]], turn: int) -> int:
    place = next(position for position, (index, _) in enumerate(numbered) if index == turn) + 1
    while place < len(numbered) and numbered[place][1].role == Role.tool:
        place += 1
    return place


def leading_system(request: Request, ledger: Ledger) -> tuple[list[tuple[tuple[str | int, ...], Block]], int]:
    """The system blocks at the start of a request, with their places, and the number of messages that held them."""
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
    """The call ids of all calls and results in a history."""
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
    """Definitions of the tools that a history calls, for protocols that require them to be declared."""
    names = list(dict.fromkeys(called_names(messages).values()))
    if not names and any(isinstance(b, ToolResultBlock) for m in messages for b in m.content):
        names = ["tool"]
    return [ToolDefinition(name=name, input_schema={"type": "object"}) for name in names]

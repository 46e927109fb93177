"""Turns and system text. Tool results travel in user turns, which are split here into ``tool`` and ``user`` messages.

The protocol wants turns to alternate, so neighbours of one wire role are one turn. Marks on a message: ``apart`` (it
was a turn of its own although the one before has its role), ``joined`` (results behind other blocks of the same turn),
``first`` (it opened the conversation though it is not the user's), ``textless`` (a document without a text beside it),
``role`` (of no protocol, or ``absent``), ``content`` (``absent``). On a block: ``verbatim`` (an empty text, an id or a
name that the service refuses, media in the wrong turn: it was read here, so it is written here).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from ...codec.history import PLACEHOLDER, is_plain, issued, settled, speakable
from ...codec.tables import Ledger, keep, marks, note_role, own, take
from ...errors import ParseError
from ...types.base import Json
from ...types.blocks import (
    AudioBlock,
    Block,
    DocumentBlock,
    ImageBlock,
    JsonBlock,
    OpaqueBlock,
    RefusalBlock,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    VideoBlock,
)
from ...types.capabilities import Target
from ...types.messages import Message, Origin
from ...types.words import Role
from .blocks import BLOCKS, read_content, scatter
from .names import DOCUMENT_NAME, IDS, NAME, TOOL_NAME, Scribe
from .points import mark_between, points_last
from .usual import read_turn as read_usual, say_content as say_usual, say_history
from .wire import Wire, is_array, is_object

ROLES = {"user": Role.user, "assistant": Role.assistant, "system": Role.system}
ASSISTANT, SYSTEM = Role.assistant, Role.system  # looked up once: an enum's members are slow to reach
MEDIA = (ImageBlock, DocumentBlock, VideoBlock, AudioBlock)


def decode_messages(wire: Json, provider: str | None) -> tuple[Message, ...]:
    messages: list[Message] = []
    origin, names = Origin(provider, NAME), set[str]()
    before: Json = None
    for index, turn in enumerate(wire):
        if not is_object(turn):
            raise ParseError(f"messages[{index}] is not an object")
        word = turn.get("role")
        usual = read_usual(turn, origin) if word != before and (index or word == "user") else None
        if usual is None:
            first = len(messages)
            decode_turn(turn, messages, origin, again=index > 0 and word == before)
            mark_odd(messages[first:], names)
        else:
            messages.append(usual)
        before = word
    return tuple(messages)


def decode_turn(turn: Wire, into: list[Message], origin: Origin, *, again: bool) -> None:
    rest, forms, blanks = dict(turn), Wire(), Wire()
    word = rest.pop("role", "absent")
    known = ROLES.get(word) if isinstance(word, str) else None
    role = known or Role.user
    if known is None:
        forms["role"] = word
        note_role(turn.get("role"), ROLES, rest)
    if again:
        forms["apart"] = True
    if "content" not in rest:
        forms["content"] = "absent"
    content = take(rest, "content", blanks)
    blocks = read_content(content) if is_array(content) else []
    mark_between(blocks)
    if content is not None and not is_array(content):
        rest["content"] = content
    runs = split_turn(role, blocks)
    if not into and runs[0][0] not in (Role.user, Role.tool):
        forms["first"] = True
    if _wants_text(content):
        forms["textless"] = True
    extras, marked = keep(NAME, rest, forms, blanks)
    for place, (of, run) in enumerate(runs):
        if place:
            extras, marked = {}, {NAME: {"joined": True}} if of is Role.tool else {}
        by = origin if of is Role.assistant else None
        into.append(Message(of, tuple(run), origin=by, extras=extras, forms=marked))


def split_turn(role: Role, blocks: list[Block]) -> list[tuple[Role, list[Block]]]:
    """The runs of results and of other blocks in a user turn; any other turn is one run."""
    if role is not Role.user:
        return [(role, blocks)]
    runs: list[tuple[Role, list[Block]]] = []
    for block in blocks:
        of = Role.tool if type(block) is ToolResultBlock else Role.user
        if not runs or runs[-1][0] is not of:
            runs.append((of, []))
        runs[-1][1].append(block)
    return runs or [(Role.user, [])]


def _wants_text(content: Json) -> bool:
    keys = {key for wire in content if is_object(wire) for key in wire} if is_array(content) else set[str]()
    return "document" in keys and "text" not in keys


def mark_odd(messages: list[Message], names: set[str]) -> None:
    """Mark what was read here though we would not write it. The blocks are ours alone still.

    ``names`` are those of the documents so far.
    """
    for message in messages:
        for block in message.content:
            inner = block.content if isinstance(block, ToolResultBlock) else ()
            if _odd(block, names) or (message.role in (Role.assistant, Role.system) and isinstance(block, MEDIA)):
                block.forms.setdefault(NAME, {})["verbatim"] = True
            for part in inner:
                if _odd(part, names) or (isinstance(part, JsonBlock) and not is_object(part.value)):
                    part.forms.setdefault(NAME, {})["verbatim"] = True


def _odd(block: Block, names: set[str]) -> bool:
    if "type" in marks(NAME, block):
        return True
    if isinstance(block, TextBlock):
        return not block.text and not block.citations
    if isinstance(block, ToolUseBlock):
        return not (IDS.pattern.fullmatch(block.id) and TOOL_NAME.fullmatch(block.name))
    if isinstance(block, ToolResultBlock):
        return not IDS.pattern.fullmatch(block.tool_use_id)
    if isinstance(block, DocumentBlock) and block.title is not None:
        name = block.title.casefold()
        again = name in names
        names.add(name)
        return again or not DOCUMENT_NAME.fullmatch(block.title)
    return False


def encode_messages(messages: Sequence[Message], target: Target | None, ledger: Scribe, skip: int = 0) -> list[Wire]:
    messages = issued(messages, NAME)
    turns = say_history(messages[skip:] if skip else messages)
    if turns is not None:
        return turns
    turns = list[Wire]()
    unusual: list[tuple[Message, int, Wire]] = []  # turns, with the message that opened each, and its place
    before: Message | None = None
    opener, place, word = Message(Role.user), 0, ""
    history = points_last(ordered(messages, ledger), ledger)
    for position, (index, message) in enumerate(history):
        if index < skip:
            continue
        follower = history[position + 1][1] if position + 1 < len(history) else None
        if not message.content and _gives_way(message, follower):
            ledger.where = ("messages", index)
            ledger.lose_form("dropped", f"{NAME} merges turns of one role, and this one is empty")
            continue
        last, word = word, role_word(message)
        usual = say_usual(message)
        if usual is not None and before is not None and word != last:
            turns.append({"role": word, "content": usual})
            opener, place = message, index
        else:
            ledger.where = ("messages", index)
            content = list(encode_content(message, target, ledger)) if usual is None else usual
            if not content and before is None and _gives_way(message, follower):
                ledger.lose_form("dropped", f"nothing of the message can be said in {NAME}")
                continue
            if add_turn(message, content, before, turns, ledger):
                opener = message
            place = index
            unusual = [row for row in unusual if row[2] is not turns[-1]]
            unusual.append((opener, place, turns[-1]))
            word = turns[-1].get("role", "")
        before = message
    for opener, place, turn in unusual:
        ledger.where = ("messages", place)
        _beside_documents(opener, turn, ledger)
    ledger.where = ()
    return turns


def _gives_way(message: Message, follower: Message | None) -> bool:
    """Whether the next turn can stand for this one, which has nothing to say."""
    return follower is not None and not marks(NAME, message) and role_word(follower) == role_word(message)


def add_turn(message: Message, content: list[Wire], before: Message | None, turns: list[Wire], ledger: Ledger) -> bool:
    """A turn for the message, or its blocks to the turn before. Whether it is a turn of its own."""
    mark = marks(NAME, message)
    word = mark.get("role", role_word(message))
    ledger.foreign(message, NAME)
    if before is not None and turns[-1].get("role", "absent") == word and "apart" not in mark:
        if not content:
            ledger.lose_form("dropped", f"nothing of the message can be said in {NAME}")
        elif before.role == message.role:
            ledger.lose_form("moved", f"{NAME} alternates roles; joined to the message before")
        turns[-1].setdefault("content", []).extend(content)
        return False
    if before is None and message.role not in (Role.user, Role.tool) and "first" not in mark:
        ledger.lose("added", f"{NAME} wants a user message first; a placeholder was added")
        turns.append({"role": "user", "content": [{"text": PLACEHOLDER}]})
    turns.append(encode_turn(message, word, content, ledger))
    return True


def role_word(message: Message) -> str:
    return "assistant" if message.role is ASSISTANT else "system" if message.role is SYSTEM else "user"


def ordered(messages: Sequence[Message], ledger: Ledger) -> Sequence[tuple[int, Message]]:
    """Results right behind the turn that called, unless a turn of this protocol had them elsewhere."""
    if any(message.role is Role.tool and "joined" in marks(NAME, message) for message in messages):
        return list(enumerate(messages))
    return settled(messages, ledger)


def encode_turn(message: Message, word: Json, content: list[Wire], ledger: Ledger) -> Wire:
    wire: Wire = {} if word == "absent" else {"role": word}
    mark = marks(NAME, message)
    if content:
        wire["content"] = content
    elif message.content or not _was_hollow(message, mark):
        wire["content"] = [{"text": PLACEHOLDER}]
        ledger.lose("added", f"{NAME} accepts no empty message; a placeholder was added", "content")
    return own(NAME, wire, message)


def _was_hollow(message: Message, mark: Wire) -> bool:
    """The turn came without content, or with something that is no list of blocks."""
    return any("content" in told for told in (mark, mark.get("blank", ()), message.extras.get(NAME, ())))


def _beside_documents(message: Message, turn: Wire, ledger: Ledger) -> None:
    if _wants_text(turn.get("content")) and "textless" not in marks(NAME, message):
        turn["content"].append({"text": PLACEHOLDER})
        ledger.lose("added", f"{NAME} requires a text beside a document; a placeholder was added", "content")


def encode_content(message: Message, target: Target | None, ledger: Ledger) -> Iterator[Wire]:
    where, role = ledger.where, Role(message.role)
    for index, block in speakable(message, NAME, target, ledger):
        ledger.where = (*where, "content", index)
        wire = encode_block(block, role, ledger)
        if wire is not None:
            yield from scatter(wire)
    ledger.where = where


def encode_block(block: Block, role: Role, ledger: Ledger) -> Wire | None:
    verbatim = "verbatim" in marks(NAME, block)
    if isinstance(block, TextBlock):
        if block.citations and role is not Role.assistant:
            ledger.lose("dropped", f"{NAME} takes citations in assistant messages only", "citations")
            block = replace(block, citations=())
    elif isinstance(block, MEDIA) and role in (Role.assistant, Role.system) and not verbatim:
        ledger.lose("dropped", f"{NAME} takes media in user messages only")
        return None
    wire = BLOCKS.encode(block, ledger)
    if isinstance(block, TextBlock | RefusalBlock) and wire is not None and wire.get("text") == "" and not verbatim:
        ledger.lose_form("dropped", f"{NAME} accepts no empty text")
        return None
    return wire


def decode_system(wire: Json) -> tuple[Block, ...]:
    blocks = read_content(wire)
    for block in blocks:
        if _odd(block, set()):
            block.forms.setdefault(NAME, {})["verbatim"] = True
    return tuple(blocks)


def encode_system(blocks: Sequence[tuple[tuple[str | int, ...], Block]], ledger: Ledger) -> list[Wire]:
    said: list[Wire] = []
    for where, block in blocks:
        if isinstance(block, TextBlock) and block.text and is_plain(block):
            said.append({"text": block.text})
            continue
        ledger.where = where
        guarded = marks(NAME, block).get("tag") == "guardContent"
        if not isinstance(block, TextBlock | OpaqueBlock) and not guarded:
            ledger.lose_from_system(block, NAME)
            continue
        wire = encode_block(block, Role.user if guarded else Role.system, ledger)
        if wire is not None:
            said.extend(scatter(wire))
    ledger.where = ()
    return said

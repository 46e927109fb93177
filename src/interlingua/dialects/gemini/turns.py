"""Turns and system text, as they are written: whose turn it is, what may stand in it, and which result is whose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from ...codec.history import PLACEHOLDER, is_plain, settled, speakable
from ...codec.tables import Ledger, marks, own
from ...errors import ToolStateError
from ...types.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from ...types.capabilities import Target
from ...types.messages import Message
from ...types.words import Role
from .contents import ROLE_WORDS
from .key_case import Wire, is_object
from .media import NAME
from .parts import BLOCKS, spelled, wire_id, without_odd_signature
from .usual import NAMED_BY_CALL, PLACEHOLDERS, SIGNATURE, SIGNED_FIRST, History as Calls, say_parts as say_usual

SYSTEM, ASSISTANT, TOOL = Role.system, Role.assistant, Role.tool
GENERATION = re.compile(r"gemini-(\d+)")
Placed = tuple[tuple[str | int, ...], Block]


def signs_calls(model: str | None) -> bool:
    """Whether a model refuses calls without a signature: Gemini 3 and later do."""
    found = GENERATION.search(model) if model is not None else None
    return found is not None and int(found[1]) >= 3


class History(Calls):
    """The calls so far, and what they tell of their results."""

    __slots__ = ()

    def told(self, block: Block, wire: Wire, ledger: Ledger) -> Wire:
        """Remember a call; give a result what its call tells."""
        if type(block) is ToolUseBlock:
            self.count += 1
            issued = wire_id(block)
            self.unnamed = self.unnamed or issued is None
            self.calls[block.id] = (block.name, self.count, issued)
        elif type(block) is ToolResultBlock:
            self.finish(block, wire["functionResponse"], ledger)
        return wire

    def finish(self, block: ToolResultBlock, response: Wire, ledger: Ledger) -> None:
        """A result needs the name of its call, and its id if that has one."""
        name, _, issued = self.calls.get(block.tool_use_id, (None, 0, block.tool_use_id))
        if issued is None:
            response.pop("id", None)
        elif response.get("id") == block.tool_use_id:
            response["id"] = issued
        if "name" not in response and "name" not in marks(NAME, block):
            if name is None:
                raise ToolStateError(f"no call in the history has the id {block.tool_use_id!r}", retryable=False)
            response["name"] = name
            ledger.lose_form("added", NAMED_BY_CALL, "name")

    def in_call_order(self, message: Message, ledger: Ledger) -> Message:
        """Results that no id tells apart stand in the order of their calls."""
        places = {i: place for i, block in enumerate(message.content) if (place := self._place(block)) is not None}
        order = sorted(places, key=places.__getitem__)
        if order == list(places):
            return message
        ledger.lose_form("moved", f"{NAME} matches results without ids by order; sorted", "content")
        content = list(message.content)
        for place, taken in zip(places, order, strict=True):
            content[place] = message.content[taken]
        return replace(message, content=tuple(content))

    def _place(self, block: Block) -> int | None:
        if type(block) is not ToolResultBlock or "id" in marks(NAME, block):
            return None
        _, place, issued = self.calls.get(block.tool_use_id, (None, 0, ""))
        return place if issued is None else None


def encode_contents(
    messages: Sequence[Message], target: Target | None, ledger: Ledger, *, signing: bool = False
) -> list[Wire]:
    """The turns; system messages are not among them. ``signing``: the reader refuses unsigned calls."""
    history, turns, side = History(signing), Turns(ledger), ""
    said = turns.said
    for index, message in settled(messages, ledger):
        role = message.role
        if role is SYSTEM:
            continue
        speaks = "model" if role is ASSISTANT else "user"
        if speaks != side and not message.forms and not message.extras and (said or role is not ASSISTANT):
            parts = say_usual(message, index, history, target, ledger.losses) if turns.empty is None else None
            if parts:
                turns.before, turns.home, side = message, index, speaks
                said.append({"role": speaks, "parts": parts})
                continue
        ledger.where = ("messages", index)
        if role is TOOL:
            message = history.in_call_order(message, ledger)
        turns.add(message, index, encode_parts(message, target, history, ledger))
        side = "" if turns.before is None else ROLE_WORDS[turns.before.role]
        if message.extras:
            ledger.where = ("messages", index)
            ledger.foreign(message, NAME)
    turns.settle(None)
    ledger.where = ()
    return said


class Turns:
    """Turns while they are laid out: neighbours that speak for one side share one."""

    __slots__ = ("before", "empty", "home", "ledger", "said")

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.said: list[Wire] = []
        self.before: Message | None = None
        self.home = 0  # the place of ``before``
        self.empty: tuple[Message, int] | None = None  # nothing of it is left, and the next may be of its side

    def begin(self, message: Message, index: int, turn: Wire) -> None:
        self.before, self.home = message, index
        self.said.append(turn)

    def add(self, message: Message, index: int, parts: list[list[Wire]]) -> None:
        self.settle(message)
        self.ledger.where = ("messages", index)
        joins = self.before is not None and shares_turn(message, self.before)
        if not parts[0] and not was_empty(message):
            if joins:
                self.ledger.lose_form("dropped", f"nothing of the message can be said in {NAME}")
            else:
                self.empty = message, index
            return
        if joins:
            self.join(message, index, parts[0])
        else:
            self.open(message, index, parts[0])
        self.said.extend({"role": "user", "parts": more} for more in parts[1:])

    def settle(self, following: Message | None) -> None:
        """A turn of which nothing is left goes where its side speaks on; where it does not, it needs a word."""
        if self.empty is None:
            return
        (message, index), self.empty = self.empty, None
        self.ledger.where = ("messages", index)
        if following is not None and shares_turn(following, message):
            self.ledger.lose_form("dropped", f"nothing of the message can be said in {NAME}")
            return
        self.ledger.lose("added", f"{NAME} accepts no empty message; a placeholder was added", "content")
        self.open(message, index, [{"text": PLACEHOLDER}])

    def open(self, message: Message, index: int, parts: list[Wire]) -> None:
        if not self.said and message.role == Role.assistant and "first" not in marks(NAME, message):
            self.ledger.lose("added", f"{NAME} wants a user message first; a placeholder was added")
            self.said.append({"role": "user", "parts": [{"text": PLACEHOLDER}]})
        self.begin(message, index, encode_turn(message, parts))

    def join(self, message: Message, index: int, parts: list[Wire]) -> None:
        """Results and what the user says are told apart again; other neighbours are not."""
        if self.before is not None and message.role == self.before.role:
            self.ledger.lose_form("moved", f"{NAME} alternates roles; joined to the message before")
            self.ledger.where = ("messages", self.home)
            self.ledger.lose_form("added", f"{NAME} alternates roles; joined to the message before", "content")
        turn = self.said[-1]
        known = turn.get("parts", [])
        turn["parts"] = [*([known] if is_object(known) else known), *parts]
        self.before, self.home = message, index


def was_empty(message: Message) -> bool:
    """It was read without parts, so it is written without."""
    mark = marks(NAME, message)
    odd = mark.get("parts") == "absent" or "parts" in mark.get("blank", ()) or "parts" in message.extras.get(NAME, ())
    return not message.content and odd


def shares_turn(message: Message, before: Message) -> bool:
    """Whether two neighbours are one turn; what this protocol says of a turn as a whole keeps it one of its own."""
    same = ROLE_WORDS[message.role] == ROLE_WORDS[before.role]
    return same and "apart" not in marks(NAME, message) and not message.extras.get(NAME)


def encode_turn(message: Message, parts: list[Wire]) -> Wire:
    mark = marks(NAME, message)
    wire: Wire = {"role": mark.get("role", ROLE_WORDS[message.role])}
    if wire["role"] == "absent":
        del wire["role"]
    if parts:
        wire["parts"] = parts[0] if len(parts) == 1 and mark.get("parts") == "object" else parts
    return own(NAME, wire, message)


def encode_parts(message: Message, target: Target | None, history: History, ledger: Ledger) -> list[list[Wire]]:
    """The parts of a message: one list, or one for each turn that its results came in."""
    where, said = ledger.where, [list[Wire]()]
    unsigned = history.signing and message.role == Role.assistant
    for index, block in speakable(message, NAME, target, ledger):
        ledger.where = (*where, "content", index)
        wire = encode_block(block, history, ledger)
        if wire is None:
            continue
        if unsigned and type(block) is ToolUseBlock:
            unsigned = False  # of calls made together only the first is signed
            if SIGNATURE not in wire and "signature" not in marks(NAME, block):
                wire[SIGNATURE] = PLACEHOLDERS[0]
                ledger.lose("added", SIGNED_FIRST, "signature")
        if block.forms:
            wire = spelled(block, wire)
            if said[-1] and "turn" in marks(NAME, block):
                said.append([])
        said[-1].append(wire)
    ledger.where = where
    return said


def encode_block(block: Block, history: History, ledger: Ledger) -> Wire | None:
    block = without_odd_signature(block, ledger)
    if type(block) is TextBlock:
        if not block.text and block.signature is None and "verbatim" not in marks(NAME, block):
            ledger.lose_form("dropped", f"{NAME} accepts no empty text")
            return None
        if block.citations:
            ledger.lose("dropped", f"{NAME} takes no citations in a request", "citations")
    wire = BLOCKS.encode(block, ledger)
    return wire if wire is None else history.told(block, wire, ledger)


def encode_system(blocks: Iterable[Placed], ledger: Ledger) -> list[Wire]:
    """The parts of the system instruction."""
    said: list[Wire] = []
    history = History()
    for where, block in blocks:
        if is_plain(block) and type(block) is TextBlock and block.text:
            said.append({"text": block.text})
            continue
        ledger.where = where
        if type(block) is not TextBlock and "verbatim" not in marks(NAME, block):
            ledger.lose_from_system(block, NAME)
            continue
        wire = encode_block(block, history, ledger)
        if wire is not None:
            said.append(spelled(block, wire) if block.forms else wire)
    ledger.where = ()
    return said

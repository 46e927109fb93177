"""Neighbouring texts of one turn that another protocol wrote, joined where readers show only the last text.

Some protocols split one text into several blocks, where readers of another protocol show only the last block, or the
last item, as the answer. So the texts of a turn become one block (``one``), or parts of one item (``parts``), with
nothing between them. Texts that the protocol itself wrote are never joined. Parts keep their bounds; blocks that were
joined into one are declared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, cast

from msgspec.structs import replace

from ...types.blocks import Block, Citation, TextBlock
from ...types.events import BlockComplete, BlockStart, Event, MessageComplete, TextDelta, ToolUseEnd, ToolUseStart
from ...types.loss import Loss
from ...types.messages import Message, Origin
from ...types.request import Request
from ...types.response import Response
from ...types.words import Role
from ..ledger import Ledger
from ..marks import marks
from .incomplete import Adapted

__all__ = ["Joining", "TextJoin", "answer_join", "has_neighbours", "has_texts_to_join", "is_foreign", "joined_history"]

TextJoin = Literal["apart", "parts", "one"]
"""How neighbouring texts of another protocol's turn are written: unchanged, as parts of one item, or as one block."""


def answer_join(join: TextJoin, request: Request | None) -> TextJoin:
    """How neighbouring texts of an answer are written: one block if JSON was requested, as readers parse each part."""
    wants_json = request is not None and (request.output_schema is not None or request.json_output)
    return "one" if join == "parts" and wants_json else join


_ASSISTANT = Role.assistant
Placed = list[tuple[int, Block]]


def is_foreign(origin: Origin | None, dialect: str) -> bool:
    """Whether a turn is known to have been written by another dialect."""
    return origin is not None and origin.dialect != dialect


def has_texts_to_join(messages: Sequence[Message], dialect: str) -> bool:
    """Whether a turn that another dialect wrote has neighbouring texts."""
    for turn in messages:
        origin = turn.origin
        foreign = origin is not None and origin.dialect != dialect and turn.role is _ASSISTANT
        if foreign and has_neighbours(turn.content):
            return True
    return False


def has_neighbours(content: Sequence[Block]) -> bool:
    """Whether a text block follows a text block."""
    before = None
    for block in content:
        kind = type(block)
        if kind is before is TextBlock:
            return True
        before = kind
    return False


def joined_history(messages: Sequence[Message], dialect: str, join: TextJoin) -> Adapted[tuple[Message, ...]] | None:
    """The history with the texts of foreign turns joined. None if no turn has neighbouring texts, as usual."""
    return _joined_history(messages, dialect, join) if has_texts_to_join(messages, dialect) else None


def _joined_history(messages: Sequence[Message], dialect: str, join: TextJoin) -> Adapted[tuple[Message, ...]]:
    ledger, places = Ledger(), dict[str, str]()
    turns: list[Message] = []
    for index, turn in enumerate(messages):
        if turn.role is _ASSISTANT and is_foreign(turn.origin, dialect):
            ledger.where = ("messages", index, "content")
            placed = _joined(turn.content, dialect, join, ledger)
            here = f"messages/{index}/content"
            places |= {f"{here}/{at}": f"{here}/{place}" for at, (place, _) in enumerate(placed)}
            turn = replace(turn, content=tuple([block for _, block in placed]))
        turns.append(turn)
    return Adapted(tuple(turns), places, ledger.losses)


def _joined(content: Sequence[Block], dialect: str, join: TextJoin, ledger: Ledger) -> Placed:
    """The blocks with their original places; joined texts have the place of the first."""
    done: Placed = []
    for place, block in enumerate(content):
        last = done[-1][1] if done else None
        if type(last) is not TextBlock or type(block) is not TextBlock or not _joins(last, block, dialect, join):
            done.append((place, block))
        elif join == "parts":
            done.append((place, _as_part(block, dialect)))
        else:
            first = done[-1][0]
            ledger.lose_form("moved", ONE, first)
            ledger.lose_form("moved", ONE, place)
            ledger.lose_foreign_extras(block, dialect, place)
            done[-1] = first, replace(last, text=last.text + block.text)
    return done


ONE = "neighbouring texts of one turn were joined"


def _joins(last: TextBlock, block: TextBlock, dialect: str, join: TextJoin) -> bool:
    if join == "parts":
        return not marks(dialect, block) and dialect not in block.extras
    return _is_bare(last) and _is_bare(block)


def _is_bare(block: TextBlock) -> bool:
    return not (block.citations or block.signature or block.cache or block.incomplete)


def _as_part(block: Block, dialect: str) -> Block:
    return replace(block, forms={**block.forms, dialect: {"joined": True}})


class Joined:
    """A block being written, joined from one text or more."""

    __slots__ = ("citations", "first", "is_one", "open", "texts")

    def __init__(self, index: int) -> None:
        self.first, self.open, self.is_one = index, {index}, True
        self.texts: dict[int, str] = {}  # by the index of the part, once it is complete
        self.citations: list[Citation] = []


class Joining:
    """Joins neighbouring texts in the events of an answer of another protocol: an event in, the events to write out.

    ``response`` does the same for a whole answer. The end of a text is held until the next event shows whether the text
    goes on. Some decoders end all their texts at the end of the answer, one after the other.
    """

    def __init__(self, dialect: str, join: TextJoin) -> None:
        self._dialect = dialect
        self._join: TextJoin = join
        self._ledger = Ledger()
        self._ledger.where = ("content",)
        self._places: dict[int, int] = {}
        self._done: list[Block | None] = []
        self._starts: list[Block] = []
        self._texts: dict[int, Joined] = {}
        self._held: BlockComplete | None = None
        self._parts: set[int] = set()  # places of parts that are not the first of their item

    @property
    def losses(self) -> list[Loss]:
        """The losses of joining so far."""
        return self._ledger.losses

    def response(self, response: Response) -> Response:
        """A whole answer, its neighbouring texts joined."""
        if self._join == "apart":
            return response
        placed = _joined(response.content, self._dialect, self._join, self._ledger)
        return replace(response, content=tuple([block for _, block in placed]))

    def text(self, event: TextDelta) -> TextDelta:
        """The event to write for a piece of text."""
        place = event.index if self._join == "apart" else self._places[event.index]
        return event if place == event.index else replace(event, index=place)

    def events(self, event: Event) -> Sequence[Event]:
        """The events to write for an event."""
        if self._join == "apart":
            return (event,)
        if type(event) is TextDelta:
            return (self.text(event),)
        if isinstance(event, BlockStart | ToolUseStart):
            return self._opened(event)
        if isinstance(event, BlockComplete | ToolUseEnd):
            return self._closed(event)
        if isinstance(event, MessageComplete):
            content = tuple(block for block in self._done if block is not None)
            return (*self._released(), replace(event, response=replace(event.response, content=content)))
        index = getattr(event, "index", None)
        if index is None:
            return (event,)
        return (self._placed(event, self._places[index]),)

    def _opened(self, event: BlockStart | ToolUseStart) -> Sequence[Event]:
        block, index, place = event.block, event.index, len(self._done)
        last = self._starts[-1] if self._starts else None
        if type(block) is TextBlock and type(last) is TextBlock and _joins(last, block, self._dialect, self._join):
            if self._join == "one" and (continued := self._continued(index, block)) is not None:
                return continued
            if self._join == "parts":
                self._parts.add(place)
                event = replace(event, block=cast("Any", _as_part(block, self._dialect)))
        self._places[index] = place
        self._done.append(None)
        self._starts.append(block)
        if type(block) is TextBlock and self._join == "one":
            self._texts[place] = Joined(index)
        return (*self._released(), self._placed(event, place))

    def _continued(self, index: int, block: TextBlock) -> Sequence[Event] | None:
        """The events that continue the text before; None if it was closed with citations or a signature of its own."""
        place = len(self._done) - 1
        text = self._texts[place]
        if not text.open and self._held is None:
            return None
        self._held = None
        self._places[index] = place
        text.open.add(index)
        text.is_one = False
        for joined in (text.first, index):
            self._ledger.lose_form("moved", ONE, joined)
        self._ledger.lose_foreign_extras(block, self._dialect, index)
        return (TextDelta(place, block.text),) if block.text else ()

    def _closed(self, event: BlockComplete | ToolUseEnd) -> Sequence[Event]:
        place, block = self._places[event.index], event.block
        text = self._texts.get(place)
        if place in self._parts:
            block = _as_part(block, self._dialect)
        elif text is not None and isinstance(block, TextBlock):
            text.open.discard(event.index)
            text.texts[event.index] = block.text
            text.citations += block.citations
            if not text.is_one and block.citations:
                self._ledger.lose_form("moved", "they were of one part of the text", event.index, "citations")
            if text.open:
                return ()
            if not text.is_one:
                block = replace(
                    block,
                    text="".join(text.texts[index] for index in sorted(text.texts)),
                    citations=tuple(text.citations),
                )
        self._done[place] = block
        closed = replace(event, index=place, block=cast("Any", block))
        if text is not None and place == len(self._done) - 1 and _is_bare(cast("TextBlock", block)):
            self._held = cast("BlockComplete", closed)
            return ()
        return (closed,)

    def _released(self) -> Sequence[Event]:
        held, self._held = self._held, None
        return () if held is None else (held,)

    def _placed(self, event: Event, place: int) -> Event:
        return event if getattr(event, "index", place) == place else replace(cast("Any", event), index=place)

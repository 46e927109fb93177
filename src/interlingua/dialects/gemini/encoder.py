"""Writing the streams of Gemini: server-sent events, each an answer that holds what is new.

The protocol has no beginning or end of a block: parts follow each other. A text is sent as it comes; all other parts
are sent whole. Calls without ids are sent together, since a reader could take the second for a repetition of the first.
Citations come last. After a failure, finished blocks and the text so far are sent before the error.
"""

from __future__ import annotations

from msgspec.structs import replace

from ...codec.framing import encode_sse
from ...codec.history.incomplete import CUT_BLOCK
from ...codec.json import Wire, is_object
from ...codec.ledger import Ledger
from ...codec.marks import marks
from ...codec.streams.serial import Closer, Delta, Opener, SerialEncoder
from ...codec.streams.stream import dump
from ...errors import AdapterError
from ...types.base import Json
from ...types.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.events import BlockComplete, MessageComplete, MessageStart, TextDelta, ThinkingDelta, ToolUseEnd
from ...types.response import Response
from .errors import ERRORS
from .facts import KEYS, NAME, SIGNATURE
from .response import Placed, write_answer, write_block
from .stream import PLAIN, TEXT, THOUGHT

TextLike = TextBlock | ThinkingBlock | RefusalBlock
ALL_CITED = 2**31
"""More citations than any block has: ``cited`` then says that none is left to write, because they come last."""


class Encoder(SerialEncoder):
    def __init__(self) -> None:
        super().__init__()
        self.envelope: Wire = {}
        self.streams = False  # whether the text of the current block is sent as it comes
        self.begun = False  # whether some of that text was sent
        self.pieces: list[str] = []  # the text so far, if it is sent whole
        self.tail: str | None = None  # the kind of the last part, if a reader would append the next part to it
        self.held: list[Wire] = []  # calls without ids that were not sent yet
        self.signed: dict[int, Json] = {}  # the signatures of texts that were ended early, by index of the block
        self.order: list[int] = []  # the indexes of the blocks in the order of their parts
        self.split: dict[int, list[str]] = {}  # the texts of blocks that have several parts

    def start(self, event: MessageStart) -> bytes:
        known = {"modelVersion": event.model, "responseId": event.message_id}
        self.envelope = {key: value for key, value in known.items() if value is not None}
        return b""

    # -------------------------------------------------------------------------------------------------- one block

    def begin_block(self, event: Opener) -> bytes:
        block = event.block
        self.can_write, self.cited, self.begun, self.pieces = True, ALL_CITED, False, []
        self.order.append(event.index)
        self.streams = isinstance(block, TextLike) and not (
            block.signature or NAME in block.extras or NAME in block.forms
        )
        return b""

    def write_delta(self, event: Delta) -> bytes:
        if not isinstance(event, TextDelta | ThinkingDelta):
            return b""
        if not self.streams:
            self.pieces.append(event.text)
            return b""
        return self.write_text(event.text) if event.text else b""

    def stop_block(self) -> bytes:
        """End the text as far as it has come, because the next block begins."""
        assert self.current is not None
        if self.streams:
            return self.close_text()
        block = replace(self.block, text="".join(self.pieces))
        wire = write_block(block, self.current, Ledger())  # its losses are declared once, at its end
        if wire is None:
            return b""
        self.signed[self.current] = KEYS.get(wire, SIGNATURE)
        return self.write_part(wire)

    def finish(self, block: Block) -> bytes:
        assert self.current is not None
        wire = write_block(block, self.current, self.ledger)
        if wire is None:
            return b""
        if self.streams:
            return self.close_text() + self.write_signature(block, wire, self.current)
        if isinstance(block, ToolUseBlock) and "id" in marks(NAME, block):
            self.held.append(wire)
            return b""
        return self.write_part(wire)

    def declare(self, block: Block) -> None:
        where = self.ledger.where
        write_block(block, int(where[1]), self.ledger)
        self.ledger.where = where

    def end_early_block(self, event: Closer) -> bytes:
        index, block = event.index, event.block
        rest = "".join(self.early[index].texts)
        if rest and isinstance(block, TextLike):
            self.split[index] = [block.text[: -len(rest)], rest]
        if block.signature is not None and self.signed.get(index) == block.signature:
            block = replace(block, signature=None)  # it was sent already
        return super().end_early_block(BlockComplete(index, block))

    def write_cut_block(self, event: Closer) -> bytes:
        return self.write_event(event)

    # ------------------------------------------------------------------------------------------------------- parts

    def write_text(self, text: str) -> bytes:
        part: Wire = {"text": text, "thought": True} if isinstance(self.block, ThinkingBlock) else {"text": text}
        if self.begun:
            return self.write_chunk([part])
        self.begun = True
        return self.write_part(part)

    def close_text(self) -> bytes:
        """Send an empty part if nothing of the text was sent: an empty text is a part, too."""
        return b"" if self.begun else self.write_text("")

    def write_signature(self, block: Block, wire: Wire, index: int) -> bytes:
        """Send a signature that came after its text as a part of its own, as Gemini itself does."""
        signature = KEYS.get(wire, SIGNATURE)
        if block.signature is None or signature is None:
            return b""
        self.ledger.where = ("content", index)
        self.ledger.lose_form("moved", f"a late signature of {NAME} has its own part", "signature")
        self.ledger.where = ()
        self.order.append(index)
        self.split[index] = [block.text if isinstance(block, TextLike) else "", ""]
        thought = {"thought": True} if isinstance(block, ThinkingBlock) else {}
        return self.write_part({"text": "", **thought, SIGNATURE: signature})

    def write_part(self, part: Wire) -> bytes:
        """Send a part so that no reader appends it to the last one: parts of one chunk stay apart."""
        kind = None
        if is_object(part) and type(part.get("text")) is str and part.keys() <= PLAIN:
            kind = THOUGHT if part.get("thought") is True else TEXT
        calls = self.write_held_calls()
        before = [{**part, "text": ""}] if kind is not None and kind == self.tail else []
        self.tail = kind
        return calls + self.write_chunk([*before, part])

    def write_held_calls(self) -> bytes:
        """Send the calls that were held back, in one chunk."""
        if not self.held:
            return b""
        held, self.held, self.tail = self.held, [], None
        return self.write_chunk(held)

    def write_chunk(self, parts: list[Wire]) -> bytes:
        content = {"parts": parts, "role": "model"}
        return encode_sse(dump({"candidates": [{"content": content}], **self.envelope}))

    # ----------------------------------------------------------------------------------------------------- the end

    def complete(self, event: MessageComplete) -> bytes:
        sent = self.abandon() + self.write_held_calls()
        self.ended = True
        self.ledger.where = ()
        wire = write_answer(event.response, [], self.ledger, written=self.blocks_as_sent(event.response))
        return sent + encode_sse(dump({**self.envelope, **wire}))

    def blocks_as_sent(self, response: Response) -> Placed:
        """The blocks as their reader has them: a text sent in two parts is two blocks, the first has the citations."""
        if not self.split or len(response.content) != len(set(self.order)):
            return list(enumerate(response.content))
        parts = {index: iter(texts) for index, texts in self.split.items()}
        found, blocks = Placed(), list(response.content)
        for index in self.order:
            block = blocks[index]
            if index in parts and isinstance(block, TextLike):
                found.append((index, replace(block, text=next(parts[index]))))
                blocks[index] = replace(block, citations=()) if isinstance(block, TextBlock) else block
            else:
                found.append((index, block))
        return found

    def fail(self, error: AdapterError) -> bytes:
        if self.ended:
            return b""
        sent = self.abandon() + self.write_held_calls()
        self.ended = True
        return sent + self.write_error(error)

    def write_error(self, error: AdapterError) -> bytes:
        return encode_sse(dump(ERRORS.body(error)))

    def abandon(self) -> bytes:
        """End the answer early: leave out a block that is still open, and write the finished ones behind it."""
        self.ledger.where = ()
        if self.current is not None and not isinstance(self.block, TextLike):
            self.ledger.lose("dropped", CUT_BLOCK, "content", self.current)
        for index, events in list(self.waiting.items()):
            opener = events[0]
            assert isinstance(opener, Opener)
            if not isinstance(events[-1], BlockComplete | ToolUseEnd) and not isinstance(opener.block, TextLike):
                self.ledger.lose("dropped", CUT_BLOCK, "content", index)
                del self.waiting[index]
        for index, early in self.early.items():
            if early.texts:
                why = "the answer ended before the rest of this text could be written"
                self.ledger.lose("dropped", why, "content", index)
        sent: list[bytes] = []
        self.current = None
        while self.waiting:
            sent.append(self.next_waiting())
            self.current = None
        return b"".join(sent)

"""Writing the streams of Gemini: server-sent events, each an answer that holds what is new.

The protocol has no beginning or end of a block: parts follow each other. A text is sent as it comes; all other parts
are sent whole. Calls without ids are sent together, since a reader could take the second for the first once more. What
an answer cites comes last. After a failure, what is finished and the text so far is sent before the error.
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

Worded = TextBlock | ThinkingBlock | RefusalBlock
ALL = 2**31
"""No citation is written with its block."""


class Encoder(SerialEncoder):
    def __init__(self) -> None:
        super().__init__()
        self.envelope: Wire = {}
        self.live = False  # the text is sent as it comes
        self.begun = False  # some of it was sent
        self.pieces: list[str] = []  # the text so far, where it is sent whole
        self.tail: str | None = None  # what the last part is, if a reader would go on with it
        self.held: list[Wire] = []  # calls without ids
        self.signed: dict[int, Json] = {}  # the signatures of texts that were ended early
        self.order: list[int] = []  # of the blocks, as their parts follow each other
        self.split: dict[int, list[str]] = {}  # the parts of texts that have several

    def start(self, event: MessageStart) -> bytes:
        known = {"modelVersion": event.model, "responseId": event.message_id}
        self.envelope = {key: value for key, value in known.items() if value is not None}
        return b""

    # -------------------------------------------------------------------------------------------------- one block

    def begin_block(self, event: Opener) -> bytes:
        block = event.block
        self.can_write, self.cited, self.begun, self.pieces = True, ALL, False, []
        self.order.append(event.index)
        self.live = isinstance(block, Worded) and not (block.signature or NAME in block.extras or NAME in block.forms)
        return b""

    def write_delta(self, event: Delta) -> bytes:
        if not isinstance(event, TextDelta | ThinkingDelta):
            return b""
        if not self.live:
            self.pieces.append(event.text)
            return b""
        return self.write_text(event.text) if event.text else b""

    def stop_block(self) -> bytes:
        """The text ends here, as far as it has come: the next block begins."""
        assert self.current is not None
        if self.live:
            return self.close_text()
        block = replace(self.block, text="".join(self.pieces))
        wire = write_block(block, self.current, Ledger())  # what it cannot say is declared once, at its end
        if wire is None:
            return b""
        self.signed[self.current] = KEYS.get(wire, SIGNATURE)
        return self.write_part(wire)

    def finish(self, block: Block) -> bytes:
        assert self.current is not None
        wire = write_block(block, self.current, self.ledger)
        if wire is None:
            return b""
        if self.live:
            return self.close_text() + self.write_signature(block, wire, self.current)
        if isinstance(block, ToolUseBlock) and "id" in marks(NAME, block):
            self.held.append(wire)
            return b""
        return self.write_part(wire)

    def declare(self, block: Block) -> None:
        where = self.ledger.where
        write_block(block, int(where[1]), self.ledger)
        self.ledger.where = where

    def late(self, event: Closer) -> bytes:
        index, block = event.index, event.block
        rest = "".join(self.early[index].texts)
        if rest and isinstance(block, Worded):
            self.split[index] = [block.text[: -len(rest)], rest]
        if block.signature is not None and self.signed.get(index) == block.signature:
            block = replace(block, signature=None)  # it was sent
        return super().late(BlockComplete(index, block))

    def write_cut_block(self, event: Closer) -> bytes:
        return self.write_event(event)

    # ------------------------------------------------------------------------------------------------------- parts

    def write_text(self, text: str) -> bytes:
        part: Wire = {"text": text, "thought": True} if isinstance(self.block, ThinkingBlock) else {"text": text}
        if self.begun:
            return self.chunk([part])
        self.begun = True
        return self.write_part(part)

    def close_text(self) -> bytes:
        """A text without any words is a part all the same."""
        return b"" if self.begun else self.write_text("")

    def write_signature(self, block: Block, wire: Wire, index: int) -> bytes:
        """A signature that came after its text has a part of its own, as the protocol itself streams it."""
        signature = KEYS.get(wire, SIGNATURE)
        if block.signature is None or signature is None:
            return b""
        self.ledger.where = ("content", index)
        self.ledger.lose_form("moved", f"a late signature of {NAME} has its own part", "signature")
        self.ledger.where = ()
        self.order.append(index)
        self.split[index] = [block.text if isinstance(block, Worded) else "", ""]
        thought = {"thought": True} if isinstance(block, ThinkingBlock) else {}
        return self.write_part({"text": "", **thought, SIGNATURE: signature})

    def write_part(self, part: Wire) -> bytes:
        """A part that is not to be taken for more of the last one: within a chunk parts stay apart."""
        kind = None
        if is_object(part) and type(part.get("text")) is str and part.keys() <= PLAIN:
            kind = THOUGHT if part.get("thought") is True else TEXT
        calls = self.release()
        before = [{**part, "text": ""}] if kind is not None and kind == self.tail else []
        self.tail = kind
        return calls + self.chunk([*before, part])

    def release(self) -> bytes:
        """The calls that were held back."""
        if not self.held:
            return b""
        held, self.held, self.tail = self.held, [], None
        return self.chunk(held)

    def chunk(self, parts: list[Wire]) -> bytes:
        content = {"parts": parts, "role": "model"}
        return encode_sse(dump({"candidates": [{"content": content}], **self.envelope}))

    # ----------------------------------------------------------------------------------------------------- the end

    def complete(self, event: MessageComplete) -> bytes:
        sent = self.abandon() + self.release()
        self.ended = True
        self.ledger.where = ()
        wire = write_answer(event.response, [], self.ledger, written=self.written(event.response))
        return sent + encode_sse(dump({**self.envelope, **wire}))

    def written(self, response: Response) -> Placed:
        """The answer as its reader has it: what was sent in two parts is two blocks, of which the first one cites."""
        if not self.split or len(response.content) != len(set(self.order)):
            return list(enumerate(response.content))
        parts = {index: iter(texts) for index, texts in self.split.items()}
        found, blocks = Placed(), list(response.content)
        for index in self.order:
            block = blocks[index]
            if index in parts and isinstance(block, Worded):
                found.append((index, replace(block, text=next(parts[index]))))
                blocks[index] = replace(block, citations=()) if isinstance(block, TextBlock) else block
            else:
                found.append((index, block))
        return found

    def fail(self, error: AdapterError) -> bytes:
        if self.ended:
            return b""
        sent = self.abandon() + self.release()
        self.ended = True
        return sent + self.write_error(error)

    def write_error(self, error: AdapterError) -> bytes:
        return encode_sse(dump(ERRORS.body(error)))

    def abandon(self) -> bytes:
        """The answer ends here: what is still open is left out, and what waited behind it is written."""
        self.ledger.where = ()
        if self.current is not None and not isinstance(self.block, Worded):
            self.ledger.lose("dropped", CUT_BLOCK, "content", self.current)
        for index, events in list(self.waiting.items()):
            opener = events[0]
            assert isinstance(opener, Opener)
            if not isinstance(events[-1], BlockComplete | ToolUseEnd) and not isinstance(opener.block, Worded):
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

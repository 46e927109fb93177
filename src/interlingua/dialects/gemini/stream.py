"""Reading the streams of Gemini: each chunk is an answer of its own, to be added to what came before.

Parts append. The first part of a chunk goes on with the last one of the chunk before where both are unsigned texts of
one kind; parts of one chunk stay apart. The whole is put together on the wire's side and read as any whole answer, so a
stream cannot say anything else. Texts stay open to the end, since what they cite comes last. The stream ends with the
connection; it is whole if a finish reason, or that the prompt was blocked, was said by then, and nothing after it. One
that never says why it ends is whole only if the transport saw the end of the HTTP body (``close(clean=True)``).

Calls come whole, or in pieces, of which each says whether more will come. The last call of a stream that broke off is
incomplete in any case: it could still have been said again with more arguments.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from ...codec.framing import SseOrArrayDecoder
from ...codec.json import Wire, is_object
from ...codec.schema.plans import restorer
from ...codec.streams.stream import NOT_JSON, FrameDecoder, decode_frame, lengthen
from ...codec.tools.arguments import write_arguments
from ...types.base import Json
from ...types.blocks import Block, TextBlock, ThinkingBlock, ToolUseBlock
from ...types.events import CitationDelta, Event, MessageStart, UsageUpdate
from ...types.request import Request
from ...types.response import Response
from .calls import IDENTIFIED, NO_CALL, Calls, OpenCall
from .errors import ERRORS, is_error
from .facts import KEYS, NAME
from .response import read_answer
from .rows import ANSWER, ANSWER_PARTS

ENVELOPE = frozenset(("candidates", "usageMetadata", "modelVersion", "responseId", "createTime", "promptFeedback"))
CANDIDATE = frozenset(
    ("content", "finishReason", "index", "safetyRatings", "avgLogprobs", "groundingMetadata", "citationMetadata")
) | {"finishMessage", "logprobsResult", "urlContextMetadata", "tokenCount", "continuationToken"}
AROUND = ENVELOPE - {"promptFeedback"}
ALONE = frozenset(("content", "index"))
GROWING = frozenset(("groundingMetadata", "citationMetadata", "logprobsResult"))
PLAIN = frozenset(("text", "thought"))
WHOLE_CALL = frozenset(("id", "name", "args"))
TEXT, THOUGHT, CALL = "text", "thought", "call"


class Decoder(FrameDecoder):
    dialect = NAME

    def __init__(self, request: Request | None = None, provider: str | None = None) -> None:
        self.source = SseOrArrayDecoder()
        super().__init__(self.source)
        self.provider = provider
        self.restore = restorer(request, texts=False)
        self.envelope: Wire = {}
        self.candidate: Wire | None = None  # the first one, without its content
        self.around: Wire | None = None  # its content, without the parts
        self.others: dict[int, Other] = {}
        self.places: list[Json] = []  # the wire form of each block; of an open text, without the text
        self.growing: str | None = None  # what the last part is that the next may go on with: TEXT, THOUGHT or CALL
        self.call = NO_CALL
        self.code: str | None = None  # the last code that was run
        self.ended = False
        self.answer: dict[str, Any] = {}

    def terminal(self) -> bool:
        return self.ended or (self.clean and self.candidate is not None and self.source.whole)

    def read(self, frame: tuple[str, bytes] | bytes, out: list[Event]) -> None:
        data = frame[1] if isinstance(frame, tuple) else frame
        try:
            wire = decode_frame(data)
        except NOT_JSON as fault:
            if self.broken(data, fault, out):
                return
            self.clean = False  # the last chunk is cut, however the body ended
            wire = data.decode("utf-8", "replace")
        if self.growing is not None and self.more_text(wire, out):
            return
        if is_object(wire) and "error" not in wire:
            self.chunk(wire, out)
        else:
            self.other(wire, out)

    def more_text(self, wire: Json, out: list[Event]) -> bool:
        """Nearly every chunk: more of the text that is open, and around it nothing new. Says whether it was that."""
        try:
            (candidate,) = wire["candidates"]
            (part,) = candidate["content"]["parts"]
            text: str = part["text"]
            kind = TEXT if len(part) == 1 else THOUGHT if len(part) == 2 and part["thought"] is True else None
        except (KeyError, TypeError, ValueError):
            return False
        if kind != self.growing or not text or not candidate.keys() <= ALONE or not wire.keys() <= AROUND:
            return False
        if candidate.get("index", 0) != 0 or type(text) is not str:
            return False
        del wire["candidates"]
        self.ended = False
        self.envelope.update(wire)
        index = len(self.places) - 1
        out.append(self.fold.thinking(index, text) if kind == THOUGHT else self.fold.text(index, text))
        return True

    def other(self, wire: Json, out: list[Event]) -> None:
        if is_error(wire):
            self.fail(ERRORS.decode(None, None, wire, self.provider), out)
        elif wire != "[DONE]":
            self.unknown(wire, out)

    def chunk(self, wire: Wire, out: list[Event]) -> None:
        if not wire.keys() <= ENVELOPE:
            wire = dict(KEYS.usual(wire)[0])
        candidates = wire.pop("candidates", None)
        if not self.started:
            self.begin(out, MessageStart(wire.get("responseId") or None, wire.get("modelVersion") or None))
        self.envelope.update(wire)
        for position, candidate in enumerate(candidates or ()):
            index = candidate.get("index")
            if type(index) is not int:
                index = position
            if index == 0:
                self.first(candidate, out)
            else:
                self.others.setdefault(index, Other()).add(candidate)
        if "promptFeedback" in wire and wire["promptFeedback"].get("blockReason"):
            self.ended = True

    def first(self, candidate: Wire, out: list[Event]) -> None:
        if not candidate.keys() <= CANDIDATE:
            candidate = dict(KEYS.usual(candidate)[0])
        if self.candidate is None:
            self.candidate = {}
        spoken: list[Json] = []
        if "content" in candidate:
            content = candidate.pop("content")
            if content:
                spoken = content.pop("parts", None) or []
                for position, part in enumerate(spoken):
                    self.part(part, position, out)
                self.around = content
            elif self.around is None:
                self.candidate["content"] = content
        if candidate.keys().isdisjoint(GROWING):
            self.candidate.update(candidate)
        else:
            grow(self.candidate, candidate)
        if candidate.get("finishReason") is not None:
            self.ended = True
        elif self.ended and any(not is_object(part) or part.get("text") != "" for part in spoken):
            self.ended = False  # it went on after its finish reason

    def part(self, part: Json, position: int, out: list[Event]) -> None:
        if is_object(part):
            text = part.get("text")
            if type(text) is str and part.keys() <= PLAIN:
                kind = THOUGHT if part.get("thought") is True else TEXT
                if position or self.growing != kind:
                    self.open_text(part, kind, out)
                if text:
                    index = len(self.places) - 1
                    out.append(self.fold.thinking(index, text) if kind == THOUGHT else self.fold.text(index, text))
                return
            call = part.get("functionCall", part.get("function_call"))
            if is_object(call) and (call.get("name") or self.growing == CALL):
                usual = "functionCall" in part and call.keys() <= WHOLE_CALL and not KEYS.is_suspect(part)
                self.function_call(part if usual else KEYS.usual(part)[0], position, out)
                return
        self.whole(part, out)

    def open_text(self, part: Wire, kind: str, out: list[Event]) -> None:
        self.settle(out)
        self.growing = kind
        self.places.append(part)
        out.append(self.fold.open(self.read_part({**part, "text": ""})))

    def function_call(self, part: Wire, position: int, out: list[Event]) -> None:
        """A call, more of one, or one seen again."""
        if self.growing == CALL and self.call.takes(part, position):
            self.call.add(part)
            self.places[-1] = self.call.part
            return
        call = OpenCall(part, position)
        block = self.read_part(call.part, len(self.places))
        if not isinstance(block, ToolUseBlock):
            self.whole(part, out)
            return
        self.settle(out)
        self.growing, self.call, call.block = CALL, call, block
        self.places.append(call.part)
        out.append(self.fold.open(replace(block, input={})))

    def whole(self, part: Json, out: list[Event]) -> None:
        """A part that nothing goes on with."""
        self.settle(out)
        self.places.append(part)
        block = self.read_part(part)
        index = len(self.places) - 1
        match block:
            case TextBlock():
                out.append(self.fold.open(replace(block, text="")))
                if block.text:
                    out.append(self.fold.text(index, block.text))
                return
            case ThinkingBlock():
                out.append(self.fold.open(replace(block, text="")))
                if block.text:
                    out.append(self.fold.thinking(index, block.text))
            case _:
                out.append(self.fold.open(block))
        out.append(self.fold.close(index, block))

    def read_part(self, part: Json, place: int | None = None) -> Block:
        """The newest part as a block, or the one at another place."""
        block: Block = ANSWER_PARTS.read(part)
        if type(block) in IDENTIFIED:
            calls = Calls(self.code)
            calls.identify(block, len(self.places) - 1 if place is None else place)
            self.code = calls.code
        return block

    def settle(self, out: list[Event], *, cut: bool = False) -> None:
        """Something else follows: a thought or a call is at its end. Texts wait for what they cite."""
        index = len(self.places) - 1
        if self.growing == THOUGHT:
            self.places[index] = {**self.places[index], "text": self.fold.joined(index)}
            block = self.read_part(self.places[index])
            out.append(self.fold.close(index, replace(block, incomplete=True) if cut else block))
        elif self.growing == CALL:
            out.extend(self.finish_call(index, cut=cut))
        self.growing = None

    def finish_call(self, index: int, *, cut: bool) -> list[Event]:
        block = self.read_part(self.call.finish()) if self.call.grown else self.call.block
        if not isinstance(block, ToolUseBlock):  # what came later cannot be read: what came first still can
            block = self.fold.blocks[index]
            assert isinstance(block, ToolUseBlock)
        said = write_arguments(block.input, None)
        if self.restore is not None:
            block = self.restore(block)
        text = said if block.kind == "json" else block.input_text or ""
        if cut or self.call.unfinished:
            block = replace(block, incomplete=True)
        return [self.fold.arguments(index, text), self.fold.close(index, block)]

    def finished_block(self, index: int) -> Block:
        return self.fold.blocks[index]

    def close_blocks(self, out: list[Event], *, cut: bool = False) -> None:
        self.settle(out, cut=cut)
        blocks = self.fold.blocks[:]
        for index in self.fold.open_indexes:
            blocks[index] = self.read_part({**self.places[index], "text": self.fold.joined(index)}, index)
        self.answer = read_answer(*ANSWER.take(self.assembled()), None, blocks)
        content = self.answer.pop("content", ())
        for index in list(self.fold.open_indexes):
            block = content[index]
            if block.citations:
                out.extend(CitationDelta(index, citation) for citation in block.citations)
            out.append(self.fold.close(index, replace(block, incomplete=True) if cut else block))
        if (usage := self.answer.get("usage")) is not None:
            out.append(UsageUpdate(usage))

    def assembled(self) -> Wire:
        """The whole answer so far without its parts, as one body."""
        wire = dict(self.envelope)
        if self.candidate is not None:
            candidate = self.candidate if self.candidate.keys().isdisjoint(GROWING) else KEYS.usual(self.candidate)[0]
            candidate = candidate if self.around is None else {**candidate, "content": self.around}
            wire["candidates"] = [candidate, *[self.others[index].whole() for index in sorted(self.others)]]
        return wire

    def response(self, *, finished: bool) -> Response:
        return Response(**self.answer)


# ----------------------------------------------------------------------------------------------------------- candidates


def grow(candidate: Wire, more: Wire) -> None:
    """Add a chunk's candidate to what came before: probabilities append, the rest is said anew."""
    for key, value in more.items():
        before: Json = candidate.get(key)
        if key == "logprobsResult" and value:
            candidate[key] = lengthen(before or {}, value)
        elif key in GROWING and before and value:
            candidate[key] = {**before, **{k: v for k, v in value.items() if v}}
        elif value or not before:
            candidate[key] = value


class Other:
    """A candidate beyond the first."""

    __slots__ = ("candidate", "content", "parts", "texts")

    def __init__(self) -> None:
        self.candidate: Wire = {}
        self.content: Wire | None = None
        self.parts: list[Json] = []
        self.texts: list[str] = []  # of the last part, where that is a text which may go on

    def add(self, candidate: Wire) -> None:
        content: Json = candidate.get("content")
        if is_object(content) and content:
            candidate = {key: value for key, value in candidate.items() if key != "content"}
            self.content = {**(self.content or {}), **content}
            for position, part in enumerate(content.get("parts") or ()):
                self.part(part, position)
        grow(self.candidate, candidate)

    def part(self, part: Json, position: int) -> None:
        plain = is_object(part) and type(part.get("text")) is str and part.keys() <= PLAIN
        last: Json = self.parts[-1] if self.texts and not position else None
        if plain and is_object(last) and last.get("thought") == part.get("thought"):
            self.texts.append(part["text"])
            return
        self.settle()
        self.parts.append(part)
        self.texts = [part["text"]] if plain else []

    def settle(self) -> None:
        """Put the last text together."""
        if len(self.texts) > 1:
            self.parts[-1] = {**self.parts[-1], "text": "".join(self.texts)}

    def whole(self) -> Wire:
        self.settle()
        if self.content is None:
            return self.candidate
        return {**self.candidate, "content": {**self.content, "parts": self.parts}}

"""Reading the streams of Gemini: each chunk is an answer of its own, to be added to the chunks before.

Parts append. The first part of a chunk continues the last part of the chunk before if both are unsigned texts of one
kind; parts of one chunk stay apart. The chunks are joined on the wire and read like any whole answer, so that both give
the same response. Texts stay open to the end, since their citations come last. The stream ends with the connection; it
is whole if a finish reason came and no content after it, or if the prompt was blocked. A stream without a finish reason
is whole only if the transport saw the end of the HTTP body (``close(clean=True)``).

Calls come whole, or in pieces, each of which says whether more will come. The last call of a stream that broke off is
always incomplete: the server might have repeated it with more arguments.
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
OUTER_KEYS = ENVELOPE - {"promptFeedback"}
BARE_KEYS = frozenset(("content", "index"))
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
        self.content_rest: Wire | None = None  # its content, without the parts
        self.others: dict[int, OtherCandidate] = {}
        self.parts: list[Json] = []  # the wire form of each block; for an open text, without the text
        self.open_kind: str | None = None  # TEXT, THOUGHT or CALL if the next part may continue the last one
        self.call = NO_CALL
        self.code: str | None = None  # the id of the last code that the provider ran
        self.ended = False
        self.answer: dict[str, Any] = {}

    def is_finished(self) -> bool:
        return self.ended or (self.clean and self.candidate is not None and self.source.whole)

    def read(self, frame: tuple[str, bytes] | bytes, out: list[Event]) -> None:
        data = frame[1] if isinstance(frame, tuple) else frame
        try:
            wire = decode_frame(data)
        except NOT_JSON as fault:
            if self.skip_broken_frame(data, fault, out):
                return
            self.clean = False  # the last chunk is cut, however the body ended
            wire = data.decode("utf-8", "replace")
        if self.open_kind is not None and self.read_more_text(wire, out):
            return
        if is_object(wire) and "error" not in wire:
            self.read_chunk(wire, out)
        else:
            self.read_other(wire, out)

    def read_more_text(self, wire: Json, out: list[Event]) -> bool:
        """Read the common chunk: more of the open text, and nothing else that is new. False if it is another chunk."""
        try:
            (candidate,) = wire["candidates"]
            (part,) = candidate["content"]["parts"]
            text: str = part["text"]
            kind = TEXT if len(part) == 1 else THOUGHT if len(part) == 2 and part["thought"] is True else None
        except (KeyError, TypeError, ValueError):
            return False
        if kind != self.open_kind or not text or not candidate.keys() <= BARE_KEYS or not wire.keys() <= OUTER_KEYS:
            return False
        if candidate.get("index", 0) != 0 or type(text) is not str:
            return False
        del wire["candidates"]
        self.ended = False
        self.envelope.update(wire)
        index = len(self.parts) - 1
        out.append(self.fold.thinking(index, text) if kind == THOUGHT else self.fold.text(index, text))
        return True

    def read_other(self, wire: Json, out: list[Event]) -> None:
        if is_error(wire):
            self.fail(ERRORS.decode(None, None, wire, self.provider), out)
        elif wire != "[DONE]":
            self.unknown(wire, out)

    def read_chunk(self, wire: Wire, out: list[Event]) -> None:
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
                self.read_first_candidate(candidate, out)
            else:
                self.others.setdefault(index, OtherCandidate()).add(candidate)
        if "promptFeedback" in wire and wire["promptFeedback"].get("blockReason"):
            self.ended = True

    def read_first_candidate(self, candidate: Wire, out: list[Event]) -> None:
        if not candidate.keys() <= CANDIDATE:
            candidate = dict(KEYS.usual(candidate)[0])
        if self.candidate is None:
            self.candidate = {}
        new: list[Json] = []
        if "content" in candidate:
            content = candidate.pop("content")
            if content:
                new = content.pop("parts", None) or []
                for position, part in enumerate(new):
                    self.add_part(part, position, out)
                self.content_rest = content
            elif self.content_rest is None:
                self.candidate["content"] = content
        if candidate.keys().isdisjoint(GROWING):
            self.candidate.update(candidate)
        else:
            grow(self.candidate, candidate)
        if candidate.get("finishReason") is not None:
            self.ended = True
        elif self.ended and any(not is_object(part) or part.get("text") != "" for part in new):
            self.ended = False  # content came after the finish reason

    def add_part(self, part: Json, position: int, out: list[Event]) -> None:
        if is_object(part):
            text = part.get("text")
            if type(text) is str and part.keys() <= PLAIN:
                kind = THOUGHT if part.get("thought") is True else TEXT
                if position or self.open_kind != kind:
                    self.open_text(part, kind, out)
                if text:
                    index = len(self.parts) - 1
                    out.append(self.fold.thinking(index, text) if kind == THOUGHT else self.fold.text(index, text))
                return
            call = part.get("functionCall", part.get("function_call"))
            if is_object(call) and (call.get("name") or self.open_kind == CALL):
                usual = "functionCall" in part and call.keys() <= WHOLE_CALL and not KEYS.is_suspect(part)
                self.add_call(part if usual else KEYS.usual(part)[0], position, out)
                return
        self.add_whole_part(part, out)

    def open_text(self, part: Wire, kind: str, out: list[Event]) -> None:
        self.close_last_part(out)
        self.open_kind = kind
        self.parts.append(part)
        out.append(self.fold.open(self.read_part({**part, "text": ""})))

    def add_call(self, part: Wire, position: int, out: list[Event]) -> None:
        """Read a call, a piece of the open call, or a repetition of it."""
        if self.open_kind == CALL and self.call.is_continued_by(part, position):
            self.call.add(part)
            self.parts[-1] = self.call.part
            return
        call = OpenCall(part, position)
        block = self.read_part(call.part, len(self.parts))
        if not isinstance(block, ToolUseBlock):
            self.add_whole_part(part, out)
            return
        self.close_last_part(out)
        self.open_kind, self.call, call.block = CALL, call, block
        self.parts.append(call.part)
        out.append(self.fold.open(replace(block, input={})))

    def add_whole_part(self, part: Json, out: list[Event]) -> None:
        """Read a part that no later part continues."""
        self.close_last_part(out)
        self.parts.append(part)
        block = self.read_part(part)
        index = len(self.parts) - 1
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
        """A part as a block. ``place`` is its index, that of the newest part if left out."""
        block: Block = ANSWER_PARTS.read(part)
        if type(block) in IDENTIFIED:
            calls = Calls(self.code)
            calls.identify(block, len(self.parts) - 1 if place is None else place)
            self.code = calls.code
        return block

    def close_last_part(self, out: list[Event], *, cut: bool = False) -> None:
        """Close the last part if it is a thought or a call, since something else follows. Texts wait for citations."""
        index = len(self.parts) - 1
        if self.open_kind == THOUGHT:
            self.parts[index] = {**self.parts[index], "text": self.fold.joined(index)}
            block = self.read_part(self.parts[index])
            out.append(self.fold.close(index, replace(block, incomplete=True) if cut else block))
        elif self.open_kind == CALL:
            out.extend(self.finish_call(index, cut=cut))
        self.open_kind = None

    def finish_call(self, index: int, *, cut: bool) -> list[Event]:
        block = self.read_part(self.call.finish()) if self.call.has_grown else self.call.block
        if not isinstance(block, ToolUseBlock):  # with its later pieces it cannot be read: keep what came first
            block = self.fold.blocks[index]
            assert isinstance(block, ToolUseBlock)
        arguments = write_arguments(block.input, None)
        if self.restore is not None:
            block = self.restore(block)
        text = arguments if block.kind == "json" else block.input_text or ""
        if cut or self.call.unfinished:
            block = replace(block, incomplete=True)
        return [self.fold.arguments(index, text), self.fold.close(index, block)]

    def finished_block(self, index: int) -> Block:
        return self.fold.blocks[index]

    def close_blocks(self, out: list[Event], *, cut: bool = False) -> None:
        self.close_last_part(out, cut=cut)
        blocks = self.fold.blocks[:]
        for index in self.fold.open_indexes:
            blocks[index] = self.read_part({**self.parts[index], "text": self.fold.joined(index)}, index)
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
        """The answer so far as one body, without the parts of its first candidate."""
        wire = dict(self.envelope)
        if self.candidate is not None:
            candidate = self.candidate if self.candidate.keys().isdisjoint(GROWING) else KEYS.usual(self.candidate)[0]
            candidate = candidate if self.content_rest is None else {**candidate, "content": self.content_rest}
            wire["candidates"] = [candidate, *[self.others[index].assembled() for index in sorted(self.others)]]
        return wire

    def response(self, *, finished: bool) -> Response:
        return Response(**self.answer)


# ----------------------------------------------------------------------------------------------------------- candidates


def grow(candidate: Wire, more: Wire) -> None:
    """Add a candidate of a chunk to the candidate so far: log probabilities append, other keys replace."""
    for key, value in more.items():
        before: Json = candidate.get(key)
        if key == "logprobsResult" and value:
            candidate[key] = lengthen(before or {}, value)
        elif key in GROWING and before and value:
            candidate[key] = {**before, **{k: v for k, v in value.items() if v}}
        elif value or not before:
            candidate[key] = value


class OtherCandidate:
    """A candidate other than the first. It is put together on the wire and kept as residue."""

    __slots__ = ("candidate", "content", "parts", "texts")

    def __init__(self) -> None:
        self.candidate: Wire = {}
        self.content: Wire | None = None
        self.parts: list[Json] = []
        self.texts: list[str] = []  # the pieces of the last part, if it is a text that may be continued

    def add(self, candidate: Wire) -> None:
        content: Json = candidate.get("content")
        if is_object(content) and content:
            candidate = {key: value for key, value in candidate.items() if key != "content"}
            self.content = {**(self.content or {}), **content}
            for position, part in enumerate(content.get("parts") or ()):
                self.add_part(part, position)
        grow(self.candidate, candidate)

    def add_part(self, part: Json, position: int) -> None:
        plain = is_object(part) and type(part.get("text")) is str and part.keys() <= PLAIN
        last: Json = self.parts[-1] if self.texts and not position else None
        if plain and is_object(last) and last.get("thought") == part.get("thought"):
            self.texts.append(part["text"])
            return
        self.join_last_text()
        self.parts.append(part)
        self.texts = [part["text"]] if plain else []

    def join_last_text(self) -> None:
        """Join the pieces of the last text."""
        if len(self.texts) > 1:
            self.parts[-1] = {**self.parts[-1], "text": "".join(self.texts)}

    def assembled(self) -> Wire:
        self.join_last_text()
        if self.content is None:
            return self.candidate
        return {**self.candidate, "content": {**self.content, "parts": self.parts}}

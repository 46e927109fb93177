"""What the two protocols of Claude, Anthropic Messages and Bedrock Converse, have in common."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from msgspec.structs import replace

from ..codec.history import incomplete, rules
from ..codec.json import Wire, is_array, is_dict, is_object
from ..codec.ledger import Ledger
from ..codec.marks import extras_and_forms, marks
from ..codec.paths import merge, put_back
from ..codec.rows.endings import Ending
from ..codec.rows.table import Frame, Table
from ..codec.schema.plans import is_strict_form, restorer, write_strict_schema
from ..codec.schema.subsets import DATES, SHAPE, Subset, formats, is_primitive, words
from ..codec.streams.serial import Delta, SerialEncoder
from ..codec.streams.stream import FrameDecoder, Frames
from ..codec.tools.arguments import parse_object
from ..codec.tools.offered_tools import calls_as_declared
from ..types.base import Json
from ..types.blocks import Block, Citation, RedactedThinkingBlock, ThinkingBlock, ToolUseBlock
from ..types.capabilities import Target
from ..types.events import CitationDelta, Event, ToolUseInputDelta, UsageUpdate
from ..types.loss import Encoded
from ..types.messages import Message
from ..types.request import Request
from ..types.response import Response
from ..types.tools import ToolDefinition
from ..types.words import StopReason

SIBLING = {"anthropic-messages": "bedrock-converse", "bedrock-converse": "anthropic-messages"}
BASE64 = re.compile(r"[A-Za-z0-9+/]*={0,2}")

STOP = {
    "end_turn": StopReason.end_turn,
    "max_tokens": StopReason.max_tokens,
    "stop_sequence": StopReason.stop_sequence,
    "tool_use": StopReason.tool_use,
    "model_context_window_exceeded": StopReason.context_overflow,
}

# https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
# The vendor counts 24 and 16 over all strict schemas of a request; 16 unions in one schema were refused as too complex.
SCHEMA = Subset(
    keywords=SHAPE | words("$schema $ref $defs definitions const additionalProperties default format minItems"),
    accepts={
        "enum": is_primitive,
        "const": lambda value, node: not isinstance(value, dict | list),
        "format": formats({"string": DATES | {"uri"}}),
        "minItems": lambda value, node: value in (0, 1),
    },
    typed=True,
    strict=True,
    recursive=False,
    limits={"optional properties": 24, "properties with a union type": 15},
)


def adopt_siblings(
    messages: Sequence[Message], dialect: str, target: Target | None, model: str | None = None
) -> Sequence[Message]:
    """The history, with signed turns that Claude wrote in the other protocol treated as turns of this one.

    ``model`` is the request's model. It stands for the model of a turn or a target that names none.
    """
    sibling = SIBLING[dialect]
    if not [True for turn in messages if turn.origin is not None and turn.origin.dialect == sibling]:
        return messages
    reader = target.model if target is not None and target.model is not None else model
    if reader is None or not _is_claude(reader):
        return messages
    known = target is not None and target.provider is not None
    return [replace(turn, origin=None) if _is_sibling(turn, sibling, model, known=known) else turn for turn in messages]


def _is_sibling(turn: Message, sibling: str, model: str | None, *, known: bool) -> bool:
    """Whether Claude will accept a turn of the sibling protocol. ``known``: the target names its provider; if the turn
    names one too, ``same_issuer`` decides later."""
    origin = turn.origin
    if origin is None or origin.dialect != sibling or (known and origin.provider is not None):
        return False
    return all(map(_is_signed, turn.content)) and _is_claude(origin.model or model or "")


def _is_signed(block: Block) -> bool:
    """Whether Claude accepts a block: reasoning needs a signature, hidden reasoning must be base64."""
    if type(block) is RedactedThinkingBlock:
        return len(block.data) % 4 == 0 and BASE64.fullmatch(block.data) is not None
    return type(block) is not ThinkingBlock or block.signature is not None


def _is_claude(model: str) -> bool:
    return "claude" in model.lower()


# ------------------------------------------------------------------------------------------------------------ requests


def leading_system(
    request: Request, dialect: str, ledger: Ledger
) -> tuple[Sequence[tuple[tuple[str | int, ...], Block]], int]:
    """The blocks of the system text with their paths, and how many leading messages they were taken from.

    If the conversation was read with a first turn that is not the user's, system messages stay messages.
    """
    if request.messages and "first" in marks(dialect, request.messages[0]):
        return [(("system", index), block) for index, block in enumerate(request.system)], 0
    return rules.leading_system(request, ledger)


def write_turn(message: Message, role: list[Json], content: Json, dialect: str, filler: Wire, ledger: Ledger) -> Wire:
    """The wire turn of a message: its role, if it has one, and its content, or ``filler`` if that is empty."""
    mark, residue = marks(dialect, message), message.extras.get(dialect, {})
    wire: Wire = {"role": role[0]} if role else {}
    original = mark.get("content")  # what the turn had if it was read without blocks
    if content:
        wire["content"] = content
    elif message.content or not (is_array(original) or "content" in residue):
        wire["content"] = [filler.copy()]
        ledger.lose("added", f"{dialect} accepts no empty message; a placeholder was added", "content")
    elif original:
        wire["content"] = original[0]
    return merge(wire, residue)


def stub_tools(request: Request, dialect: str, ledger: Ledger) -> list[ToolDefinition]:
    """Stubs for the tools that the history calls and the request does not define; none if it was read that way."""
    if "tools" in marks(dialect, request) or not rules.has_calls(request.messages):
        return []
    ledger.lose("added", f"{dialect} requires definitions of tools called before; stubs were added", "tools")
    return rules.stub_tools(request.messages)


def read_format(config: Wire, key: str, fields: dict[str, Any], mark: Wire, dialect: str) -> bool:
    """Move an output schema from ``config[key]`` to ``fields``; False if there is none or one was found before.

    ``config`` is changed, so it must be a copy.
    """
    form = config.get(key)
    if "output_schema" in fields or not is_dict(form) or form.get("type") != "json_schema":
        return False
    if not is_dict(schema := form.get("schema")):
        return False
    fields["output_schema"] = schema
    mark_schema(schema, dialect, mark)
    put_back(config, key, {name: value for name, value in form.items() if name not in ("type", "schema")})
    return True


def mark_schema(schema: Wire, dialect: str, mark: Wire) -> None:
    """Mark a schema that is not in the strict form in which we would write it."""
    if not is_strict_form(schema, dialect):
        mark["verbatim"] = [*mark.get("verbatim", ()), "output_schema"]


def write_schema(schema: Wire, dialect: str, mark: Wire, ledger: Ledger) -> Wire:
    """The schema in the strict form that the protocol requires; as it is if it is marked ``verbatim``."""
    if "output_schema" in mark.get("verbatim", ()):
        return schema
    return write_strict_schema(schema, dialect, ledger, "output_schema")[0]


# ------------------------------------------------------------------------------------------------------------- answers


class Answers(NamedTuple):
    """Reads and writes answers: ``blocks`` their blocks, ``ending`` stop reason and usage, ``frame`` everything else.

    ``empty`` is the wire object that ``frame`` needs for an answer without blocks.
    """

    dialect: str
    frame: Frame
    blocks: Table
    ending: Ending
    empty: Wire

    def read(self, wire: Wire, request: Request | None) -> Response:
        """Read a whole answer."""
        fields, rest, mark = self.frame.take(wire)
        content: tuple[Block, ...] = fields["content"]
        calls = ToolUseBlock in map(type, content)
        if calls and request is not None:
            fields["content"] = calls_as_declared(content, request, texts=False)
        self.ending.read(fields, rest, mark, calls=calls)
        return incomplete.mark_cut_call(Response(**fields, **extras_and_forms(self.dialect, rest, mark)))

    def read_streamed(self, envelope: Wire, content: tuple[Block, ...]) -> Response:
        """The answer of a stream: ``content`` are the blocks it brought, ``envelope`` is everything else."""
        fields, rest, mark = self.frame.take({**self.empty, **envelope})
        fields["content"] = content
        self.ending.read(fields, rest, mark, calls=ToolUseBlock in map(type, content))
        return Response(**fields, **extras_and_forms(self.dialect, rest, mark))

    def write(self, response: Response) -> Encoded:
        """Write a whole answer."""
        ledger, mark = Ledger(), marks(self.dialect, response)
        wire = self.frame.put(response, ledger)
        self._declare_last_call(response, ledger)
        wire |= self.ending.write_stop(response, mark, ledger)
        wire |= self.ending.write_usage(response, mark, ledger)
        if response.extras:
            merge(wire, response.extras.get(self.dialect, {}))
            ledger.lose_foreign_extras(response, self.dialect)
        self.frame.put_constants(wire, mark)
        return Encoded(wire, None, {}, tuple(ledger.losses))

    def _declare_last_call(self, response: Response, ledger: Ledger) -> None:
        """Declare a call at the end of an answer that reached its limit: readers will assume that it was cut off."""
        if response.stop_reason in incomplete.LIMITS:
            blocks, content = self.blocks, enumerate(response.content)
            places = [at for at, b in content if blocks.write(b, Ledger()) is not None or blocks.is_null(b)]
            incomplete.declare_last_call(response, places[-1] if places else None, ledger)


class GrowingBlock:
    """A block that still receives deltas: its index in the fold, its wire form so far, and the content of its deltas.

    ``parts`` is the fold's own list of texts. ``pieces`` holds what the fold does not: citations, signatures, bytes,
    results, the input of a call that the server runs itself.
    """

    __slots__ = ("index", "parts", "pieces", "wire")

    def __init__(self, index: int, wire: Wire, parts: list[str]) -> None:
        self.index, self.wire, self.parts = index, wire, parts
        self.pieces: list[Any] = []


class BlockDecoder(FrameDecoder):
    """Reads a stream whose blocks have a start, deltas and an end, each with the block's index on the wire.

    The wire form of a block is put together from its start and its deltas and read with the table of whole answers,
    so a stream and a whole answer are read alike.
    """

    answers: ClassVar[Answers]

    def __init__(self, frames: Frames, request: Request | None, provider: str | None) -> None:
        super().__init__(frames)
        self.provider = provider
        self.restore = restorer(request, texts=False)
        self.envelope: Wire = {}
        self.growing: dict[Json, GrowingBlock] = {}  # by wire index, which a spliced stream may use twice
        self.places: list[GrowingBlock] = []  # by place in the fold
        self.stopped = False  # a stop reason has arrived

    def open(self, at: Json, wire: Wire, block: Block, out: list[Event]) -> GrowingBlock:
        """Begin the block that has the index ``at`` on the wire."""
        index = len(self.fold.blocks)
        self.release(out)
        out.append(self.fold.open(block))
        growing = self.growing[at] = GrowingBlock(index, wire, self.fold.parts[index])
        self.places.append(growing)
        return growing

    def usage(self, out: list[Event]) -> None:
        """Append an event with the tokens counted so far, if the server has sent any counts."""
        usage = self.envelope.get("usage")
        if is_object(usage):
            out.append(UsageUpdate(self.answers.ending.usage.count(usage)))

    def finished_call(self, text: str, initial: Json, write: Callable[[Json], Wire]) -> Block:
        """A call whose input is the ``text`` of its deltas, else that of its start. ``write`` makes its wire form."""
        value = parse_object(text) if text else initial
        block: Block = self.answers.blocks.read(write({} if value is None else value))
        if type(block) is not ToolUseBlock:
            return block
        if value is None:
            return replace(block, input_text=text)
        return self.restore(block) if self.restore is not None else block

    def response(self, *, finished: bool) -> Response:
        return self.answers.read_streamed(self.envelope, self.fold.content)


class BlockEncoder(SerialEncoder):
    """Writes the blocks of a stream. ``delta_writers`` make wire deltas; ``write_piece`` makes events of them."""

    answers: ClassVar[Answers]
    citations: ClassVar[Table]
    delta_writers: ClassVar[Mapping[type[Delta], Callable[[Any], Wire]]]

    def __init__(self) -> None:
        super().__init__()
        self.index: int = -1  # on the wire, of the block being written
        self.can_write = False
        self.silent = True  # no delta of the block has been written
        self.cited = 0

    @abstractmethod
    def write_piece(self, delta: Wire) -> bytes:
        """The event that adds a wire delta to the block being written."""

    def write_delta(self, event: Delta) -> bytes:
        if type(event) is CitationDelta:
            self.cited += 1
            return self.write_citation(event.citation)
        if type(event) is ToolUseInputDelta and not (type(self.block) is ToolUseBlock and self.block.kind == "json"):
            return b""
        return self.write_piece(self.delta_writers[type(event)](event))

    def write_citation(self, citation: Citation) -> bytes:
        wire = self.citations.write(citation, Ledger())  # losses are declared when its block ends
        return b"" if wire is None else self.write_piece(self.citation_delta(wire))

    @abstractmethod
    def citation_delta(self, wire: Wire) -> Wire:
        """The wire delta of a citation."""

    def write_whole(self, block: Block) -> tuple[Wire, str | None]:
        """The finished block as in a whole answer, and the text of its arguments if that is malformed."""
        text = block.input_text if isinstance(block, ToolUseBlock) and block.kind == "json" else None
        malformed = text if text and parse_object(text) is None else None
        if malformed is not None:
            block = replace(block, input_text=None)  # the deltas carry the malformed text unchanged
        return self.answers.blocks.write(block, self.ledger) or {}, malformed

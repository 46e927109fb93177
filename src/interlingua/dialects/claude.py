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
from ..codec.marks import kept, marks
from ..codec.paths import leave, merge
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
from ..types.events import CitationDelta, Event, TextDelta, ThinkingDelta, ToolUseInputDelta, UsageUpdate
from ..types.loss import Encoded
from ..types.messages import Message
from ..types.request import Request
from ..types.response import Response
from ..types.tools import ToolDefinition
from ..types.words import StopReason

ELSEWHERE = {"anthropic-messages": "bedrock-converse", "bedrock-converse": "anthropic-messages"}
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


def kindred(
    messages: Sequence[Message], dialect: str, target: Target | None, model: str | None = None
) -> Sequence[Message]:
    """The history, Claude's signed turns of the other protocol as if they were written in this one.

    ``model`` is the request's: of turns that do not name theirs, and of a target that does not.
    """
    elsewhere = ELSEWHERE[dialect]
    if not [True for turn in messages if turn.origin is not None and turn.origin.dialect == elsewhere]:
        return messages
    reader = target.model if target is not None and target.model is not None else model
    if reader is None or not _is_claude(reader):
        return messages
    known = target is not None and target.provider is not None
    return [replace(turn, origin=None) if _is_kin(turn, elsewhere, model, known=known) else turn for turn in messages]


def _is_kin(turn: Message, elsewhere: str, model: str | None, *, known: bool) -> bool:
    """``known``: the target's provider is; where the turn's is too, ``same_issuer`` decides."""
    origin = turn.origin
    if origin is None or origin.dialect != elsewhere or (known and origin.provider is not None):
        return False
    return all(map(_is_proved, turn.content)) and _is_claude(origin.model or model or "")


def _is_proved(block: Block) -> bool:
    """Whether Claude would know its own reasoning again; what is hidden must be base64 in one of its protocols."""
    if type(block) is RedactedThinkingBlock:
        return len(block.data) % 4 == 0 and BASE64.fullmatch(block.data) is not None
    return type(block) is not ThinkingBlock or block.signature is not None


def _is_claude(model: str) -> bool:
    return "claude" in model.lower()


# ------------------------------------------------------------------------------------------------------------ requests


def opening(
    request: Request, dialect: str, ledger: Ledger
) -> tuple[Sequence[tuple[tuple[str | int, ...], Block]], int]:
    """The system text with the places of its blocks, and how many messages it took.

    Where a turn that is not the user's was read as the first, system messages stay where they are.
    """
    if request.messages and "first" in marks(dialect, request.messages[0]):
        return [(("system", index), block) for index, block in enumerate(request.system)], 0
    return rules.leading_system(request, ledger)


def write_turn(message: Message, role: list[Json], content: Json, dialect: str, blank: Wire, ledger: Ledger) -> Wire:
    """The turn of a message: its role, if it has one, and its content. ``blank`` is the placeholder for no content."""
    mark, residue = marks(dialect, message), message.extras.get(dialect, {})
    wire: Wire = {"role": role[0]} if role else {}
    came = mark.get("content")  # what the turn had instead of blocks, where it came without
    if content:
        wire["content"] = content
    elif message.content or not (is_array(came) or "content" in residue):
        wire["content"] = [blank.copy()]
        ledger.lose("added", f"{dialect} accepts no empty message; a placeholder was added", "content")
    elif came:
        wire["content"] = came[0]
    return merge(wire, residue)


def stub_tools(request: Request, dialect: str, ledger: Ledger) -> list[ToolDefinition]:
    """Definitions of the tools that a history without definitions speaks of, unless it was read so."""
    if "tools" in marks(dialect, request) or not rules.has_calls(request.messages):
        return []
    ledger.lose("added", f"{dialect} requires definitions of tools called before; stubs were added", "tools")
    return rules.stub_tools(request.messages)


def read_format(config: Wire, key: str, fields: dict[str, Any], mark: Wire, dialect: str) -> bool:
    """Take the schema of structured output from the object under a key, if it is the first. ``config`` is our own."""
    form = config.get(key)
    if "output_schema" in fields or not is_dict(form) or form.get("type") != "json_schema":
        return False
    if not is_dict(schema := form.get("schema")):
        return False
    fields["output_schema"] = schema
    mark_schema(schema, dialect, mark)
    leave(config, key, {name: value for name, value in form.items() if name not in ("type", "schema")})
    return True


def mark_schema(schema: Wire, dialect: str, mark: Wire) -> None:
    """Remember that a schema is one that we would not write so."""
    if not is_strict_form(schema, dialect):
        mark["verbatim"] = [*mark.get("verbatim", ()), "output_schema"]


def write_schema(schema: Wire, dialect: str, mark: Wire, ledger: Ledger) -> Wire:
    """A schema in the form that the protocol takes; as it is where it was read so."""
    if "output_schema" in mark.get("verbatim", ()):
        return schema
    return write_strict_schema(schema, dialect, ledger, "output_schema")[0]


# ------------------------------------------------------------------------------------------------------------- answers


class Answers(NamedTuple):
    """The answers of a protocol: the row of all but their end, the table of their blocks, and their end.

    ``empty`` is what ``frame`` has of an answer without blocks.
    """

    dialect: str
    frame: Frame
    blocks: Table
    ending: Ending
    empty: Wire

    def read(self, wire: Wire, request: Request | None) -> Response:
        """A whole answer."""
        fields, rest, mark = self.frame.take(wire)
        content: tuple[Block, ...] = fields["content"]
        calls = ToolUseBlock in map(type, content)
        if calls and request is not None:
            fields["content"] = calls_as_declared(content, request, texts=False)
        self.ending.read(fields, rest, mark, calls=calls)
        return incomplete.mark_cut_call(Response(**fields, **kept(self.dialect, rest, mark)))

    def read_streamed(self, envelope: Wire, content: tuple[Block, ...]) -> Response:
        """An answer whose blocks were read already; ``envelope`` is what else came."""
        fields, rest, mark = self.frame.take({**self.empty, **envelope})
        fields["content"] = content
        self.ending.read(fields, rest, mark, calls=ToolUseBlock in map(type, content))
        return Response(**fields, **kept(self.dialect, rest, mark))

    def write(self, response: Response) -> Encoded:
        """A whole answer."""
        ledger, mark = Ledger(), marks(self.dialect, response)
        wire = self.frame.put(response, ledger)
        self._declare_last_call(response, ledger)
        wire |= self.ending.write_stop(response, mark, ledger)
        wire |= self.ending.write_usage(response, mark, ledger)
        if response.extras:
            merge(wire, response.extras.get(self.dialect, {}))
            ledger.foreign(response, self.dialect)
        self.frame.put_constants(wire, mark)
        return Encoded(wire, None, {}, tuple(ledger.losses))

    def _declare_last_call(self, response: Response, ledger: Ledger) -> None:
        """Declare a call that stands last in an answer that reached its limit: readers take it for one that was cut
        off."""
        if response.stop_reason in incomplete.LIMITS:
            blocks, content = self.blocks, enumerate(response.content)
            places = [at for at, b in content if blocks.write(b, Ledger()) is not None or blocks.is_null(b)]
            incomplete.declare_last_call(response, places[-1] if places else None, ledger)


class Growing:
    """A block on its way: its place in the fold, its wire form so far, and what its deltas said.

    ``parts`` is the fold's own list of texts. ``pieces`` are what the fold does not hold: citations, signatures, bytes,
    results, the input of a call that the server runs itself.
    """

    __slots__ = ("index", "parts", "pieces", "wire")

    def __init__(self, index: int, wire: Wire, parts: list[str]) -> None:
        self.index, self.wire, self.parts = index, wire, parts
        self.pieces: list[Any] = []


class BlockDecoder(FrameDecoder):
    """The blocks of a stream, each with a start, deltas and an end at an index of the wire.

    A block's wire form is put together from its start and its deltas and then read with the same table as in a whole
    answer, so a stream cannot say anything else than its whole.
    """

    answers: ClassVar[Answers]

    def __init__(self, frames: Frames, request: Request | None, provider: str | None) -> None:
        super().__init__(frames)
        self.provider = provider
        self.restore = restorer(request, texts=False)
        self.envelope: Wire = {}
        self.growing: dict[Json, Growing] = {}  # by wire index, which a spliced stream may use twice
        self.places: list[Growing] = []  # by place in the fold
        self.stopped = False  # a stop reason was told

    def open(self, at: Json, wire: Wire, block: Block, out: list[Event]) -> Growing:
        """Begin a block at this index of the wire."""
        index = len(self.fold.blocks)
        self.release(out)
        out.append(self.fold.open(block))
        growing = self.growing[at] = Growing(index, wire, self.fold.parts[index])
        self.places.append(growing)
        return growing

    def usage(self, out: list[Event]) -> None:
        """Tell the tokens counted so far."""
        usage = self.envelope.get("usage")
        if is_object(usage):
            out.append(UsageUpdate(self.answers.ending.usage.count(usage)))

    def finished_call(self, said: str, given: Json, wire_of: Callable[[Json], Wire]) -> Block:
        """A call with the input that its deltas said, else the one of its start. ``wire_of`` makes its wire form."""
        value = parse_object(said) if said else given
        block: Block = self.answers.blocks.read(wire_of({} if value is None else value))
        if type(block) is not ToolUseBlock:
            return block
        if value is None:
            return replace(block, input_text=said)
        return self.restore(block) if self.restore is not None else block

    def response(self, *, finished: bool) -> Response:
        return self.answers.read_streamed(self.envelope, self.fold.content)


class BlockEncoder(SerialEncoder):
    """The blocks of a stream. ``spelled`` says how a delta is spelled; ``piece`` makes an event of it."""

    answers: ClassVar[Answers]
    citations: ClassVar[Table]
    spelled: ClassVar[Mapping[type[Delta], Callable[[str], Wire]]]

    def __init__(self) -> None:
        super().__init__()
        self.written: int = -1  # the index of the block being written, as the wire counts
        self.can_write = False
        self.silent = True  # nothing of the block was written
        self.cited = 0

    @abstractmethod
    def piece(self, delta: Wire) -> bytes:
        """More of the block being written."""

    def write_delta(self, event: Delta) -> bytes:
        match event:
            case TextDelta() | ThinkingDelta():
                return self.piece(self.spelled[type(event)](event.text))
            case ToolUseInputDelta() if isinstance(self.block, ToolUseBlock) and self.block.kind == "json":
                return self.piece(self.spelled[ToolUseInputDelta](event.partial_json))
            case CitationDelta():
                self.cited += 1
                return self.cite(event.citation)
            case _:
                return b""

    def cite(self, citation: Citation) -> bytes:
        wire = self.citations.write(citation, Ledger())  # what it cannot say is declared with its block
        return b"" if wire is None else self.piece(self.spelled_citation(wire))

    @abstractmethod
    def spelled_citation(self, wire: Wire) -> Wire:
        """A citation as a delta."""

    def write_whole(self, block: Block) -> tuple[Wire, str | None]:
        """The finished block as a whole answer has it, and the text of its arguments if that is malformed."""
        text = block.input_text if isinstance(block, ToolUseBlock) and block.kind == "json" else None
        malformed = text if text and parse_object(text) is None else None
        if malformed is not None:
            block = replace(block, input_text=None)  # deltas carry the text, malformed as it is
        return self.answers.blocks.write(block, self.ledger) or {}, malformed

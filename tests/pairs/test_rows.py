"""One row, one column for each dialect: every encode, every decode and every ordered translation between the columns.

``rows.jsonl`` has one JSON object per line. A line with ``row`` begins a row: it has a canonical value as ``message``,
``tool_choice``, ``request`` or ``response``; fields that it does not have are as in ``pairs.frames``. The lines after
it are its cells, one per dialect:

- ``wire`` is the JSON of the protocol, merged into the frames of ``pairs.frames``. For a message: the wire message, or
  a list if it becomes several; else the keys that are added to a request or changed in an answer, ``without`` those
  that the frame has and the wire has not. ``content`` replaces the content of an answer;
- ``headers`` are the headers beside the body;
- ``losses``, each ``"place kind"``, are all losses of encoding, and ``reads`` is the value that such a cell is read as;
- ``spelling``: the wire is another spelling of the same value: read as the same, written back unchanged, and translated
  the same to every other dialect.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from conformance.matrix import SPOKEN
from interlingua import (
    Encoded,
    Loss,
    Message,
    RedactedThinkingBlock,
    Request,
    Response,
    Role,
    ThinkingBlock,
    ToolChoice,
    ToolResultBlock,
    ToolUseBlock,
    dialect,
    translate_request,
    translate_response,
)
from interlingua.testing.differences import plain, unexplained
from pairs.frames import (
    ADD,
    ANSWERED,
    ASKED,
    CONTENT,
    HI,
    HISTORY,
    TOOL_LOSSES,
    TOOLS,
    Wire,
    called,
    calls,
    laid_over,
    request_frame,
    response_frame,
)


def said_beside(frame: Any, value: Any) -> Any:
    """A value completed by the fields of the frame."""
    defaults = type(value)()
    given = {name: getattr(value, name) for name in value.__struct_fields__}
    return replace(frame, **{name: said for name, said in given.items() if said != getattr(defaults, name)})


class Row:
    """One canonical value and what it is in every dialect."""

    prefix = ""  # what the places of losses begin with

    def __init__(self, name: str, meant: Any) -> None:
        self.name = name
        self.meant = meant
        self.cells: dict[str, Wire] = {}
        self.spellings: list[Wire] = []

    def wire(self, name: str) -> Wire:
        """The whole body of a dialect."""
        raise NotImplementedError

    def usual(self, name: str) -> set[str]:
        """The losses that the frame itself has."""
        return set()

    def compared(self, value: Any) -> Any:
        """The part of a value that the row is about."""
        return value

    def read_as(self, cell: Wire) -> Any:
        """The canonical part that is read from a cell."""
        return msgspec.convert(cell["reads"], type(self.meant)) if "reads" in cell else self.compared(self.meant)

    def encode(self, name: str) -> Encoded:
        raise NotImplementedError

    def decode(self, name: str, wire: Wire) -> Any:
        raise NotImplementedError

    def translate(self, wire: Wire, source: str, target: str) -> Encoded:
        raise NotImplementedError

    def check_encode(self, name: str, encoded: Encoded, how: str) -> None:
        expected, cell = self.wire(name), self.cells[name]
        assert encoded.body == expected, f"{how} {name}: " + "; ".join(unexplained(expected, encoded.body))
        assert encoded.headers.items() >= cell.get("headers", {}).items(), f"{how} {name}: headers {encoded.headers}"
        told = {_told(loss, self.prefix) for loss in encoded.losses} - self.usual(name)
        assert told == set(cell.get("losses", ())), f"{how} {name}: losses {sorted(told)}"

    def check_decode(self, name: str) -> None:
        cell = self.cells[name]
        if "losses" in cell and "reads" not in cell:
            return
        read, expected = plain(self.compared(self.decode(name, self.wire(name)))), plain(self.read_as(cell))
        assert read == expected, f"decode {name}: " + "; ".join(unexplained(expected, read))

    def check_translation(self, source: str, target: str) -> None:
        encoded = self.translate(self.wire(source), source, target)
        self.check_encode(target, encoded, f"translate from {source} to")


def _told(loss: Loss, prefix: str) -> str:
    return f"{loss.path.removeprefix(prefix)} {loss.kind}"


class Asked(Row):
    """A request."""

    def wire(self, name: str) -> Wire:
        frame, cell = request_frame(name), self.cells[name]
        if self.meant.tools == (ADD,):
            frame = laid_over(frame, TOOLS[name])
        return laid_over(frame, cell["wire"], cell.get("without", ()))

    def usual(self, name: str) -> set[str]:
        return TOOL_LOSSES.get(name, set()) if self.meant.tools == (ADD,) else set()

    def read_as(self, cell: Wire) -> Any:
        read = super().read_as(cell)
        return said_beside(ASKED, read) if isinstance(read, Request) else read

    def encode(self, name: str) -> Encoded:
        return dialect(name).encode_request(self.meant)

    def decode(self, name: str, wire: Wire) -> Any:
        headers = self.cells[name].get("headers", {})
        read = dialect(name).decode_request(wire, headers, self.meant.model, self.meant.stream)
        if name in TOOL_LOSSES and self.meant.tools == (ADD,):  # what the frame added
            read = replace(read, tools=(replace(read.tools[0], strict=None),))
        return read

    def translate(self, wire: Wire, source: str, target: str) -> Encoded:
        headers = self.cells[source].get("headers", {})
        return translate_request(
            wire, source=source, target=target, model=self.meant.model, stream=self.meant.stream, headers=headers
        )

    def check_translation(self, source: str, target: str) -> None:
        if source in TOOL_LOSSES and self.meant.tools == (ADD,):
            return  # it has `strict`, which the other dialects then write too
        super().check_translation(source, target)

    def check_spelling(self, spelling: Wire) -> None:
        name, meant = spelling["dialect"], self.meant
        wire = laid_over(request_frame(name), spelling["wire"], spelling.get("without", ()))
        read = dialect(name).decode_request(wire, None, meant.model, meant.stream)
        assert plain(read) == plain(meant), "; ".join(unexplained(plain(meant), plain(read)))
        again = dialect(name).encode_request(read).body
        assert again == wire, "; ".join(unexplained(wire, again))
        for target in set(SPOKEN) - {name}:
            told, expected = (dialect(target).encode_request(request) for request in (read, meant))
            heard, due = (
                plain(dialect(target).decode_request(encoded.body, encoded.headers, meant.model, meant.stream))
                for encoded in (told, expected)
            )
            assert (heard, told.losses) == (due, expected.losses), f"to {target}: {told}"


class Turns(Asked):
    """A message after the turns that it needs before it."""

    def __init__(self, name: str, message: Message) -> None:
        self.ids = tuple(block.tool_use_id for block in message.content if isinstance(block, ToolResultBlock))
        before = [] if message.role == Role.user else [HI]
        if self.ids:
            before.append(called(*self.ids))
        speaks = self.ids or any(isinstance(block, ToolUseBlock) for block in message.content)
        tools = {"tools": (ADD,)} if speaks else {}
        super().__init__(name, replace(ASKED, messages=(*before, message), **tools))
        self.prefix = f"messages/{len(before)}/"

    def wire(self, name: str) -> Wire:
        key, cell = HISTORY.get(name, "messages"), self.cells[name]["wire"]
        frame = request_frame(name)
        turns = frame[key] if len(self.meant.messages) > 1 else []
        turns += calls(name, self.ids) if self.ids else []
        tools = TOOLS[name] if self.meant.tools else {}
        added = cell if isinstance(cell, list) else [cell]
        return laid_over(laid_over(frame, tools), {key: [*turns, *added]})

    def compared(self, value: Request) -> Message:
        return value.messages[-1]

    def read_as(self, cell: Wire) -> Any:
        return msgspec.convert(cell["reads"], Message) if "reads" in cell else self.meant.messages[-1]

    def check_translation(self, source: str, target: str) -> None:
        secrets = [secret for block in self.meant.messages[-1].content for secret in _secrets(block)]
        if not secrets:
            super().check_translation(source, target)
            return
        encoded = self.translate(self.wire(source), source, target)
        said = msgspec.json.encode(encoded.body).decode()
        assert not [secret for secret in secrets if secret in said], f"{target} is told what {source} signed"
        assert any(loss.path.startswith(self.prefix) for loss in encoded.losses)


def _secrets(block: Any) -> list[str]:
    """The state of an issuer: signatures and reasoning."""
    found = [block.signature, block.data if isinstance(block, RedactedThinkingBlock) else None]
    found.append(block.text if isinstance(block, ThinkingBlock) else None)
    return [secret for secret in found if secret]


class Answers(Row):
    """An answer."""

    def wire(self, name: str) -> Wire:
        frame, cell = response_frame(name), self.cells[name]
        if "content" in cell:
            *keys, last = CONTENT[name]
            inner = frame
            for key in keys:
                inner = inner[key]
            inner[last] = cell["content"]
        return laid_over(frame, cell.get("wire", {}), cell.get("without", ()))

    def read_as(self, cell: Wire) -> Any:
        return said_beside(ANSWERED, super().read_as(cell))

    def encode(self, name: str) -> Encoded:
        return dialect(name).encode_response(self.meant)

    def decode(self, name: str, wire: Wire) -> Any:
        return dialect(name).decode_response(wire)

    def translate(self, wire: Wire, source: str, target: str) -> Encoded:
        return translate_response(wire, source=source, target=target)


def row_of(line: Wire) -> Row:
    name = line["row"]
    if "message" in line:
        return Turns(name, msgspec.convert(line["message"], Message))
    if "tool_choice" in line:
        choice = msgspec.convert(line["tool_choice"], ToolChoice)
        return Asked(name, replace(ASKED, tools=(ADD,), tool_choice=choice))
    if "request" in line:
        return Asked(name, said_beside(ASKED, msgspec.convert(line["request"], Request)))
    return Answers(name, said_beside(ANSWERED, msgspec.convert(line["response"], Response)))


def rows() -> Iterator[Row]:
    row: Row | None = None
    for text in Path(__file__).with_name("rows.jsonl").read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        if "row" in line:
            if row is not None:
                yield row
            row = row_of(line)
        elif row is not None and "spelling" in line:
            row.spellings.append(line)
        elif row is not None:
            row.cells[line["dialect"]] = line
    if row is not None:
        yield row


ROWS = list(rows())
WHOLE = [row for row in ROWS if row.cells]
SPELLINGS = [
    pytest.param(row, spelling, id=f"{spelling['dialect']}: {spelling['spelling']}")
    for row in ROWS
    for spelling in row.spellings
    if spelling["dialect"] in SPOKEN
]


@pytest.mark.parametrize("row", WHOLE, ids=[row.name for row in WHOLE])
def test_a_row(row: Row) -> None:
    spoken = [name for name in row.cells if name in SPOKEN]
    assert set(spoken) == set(SPOKEN), "columns are missing"
    for name in spoken:
        row.check_encode(name, row.encode(name), "encode")
        row.check_decode(name)
    for source, target in itertools.permutations(spoken, 2):
        if "losses" not in row.cells[source]:
            row.check_translation(source, target)


@pytest.mark.parametrize(("row", "spelling"), SPELLINGS)
def test_a_spelling(row: Asked, spelling: Wire) -> None:
    row.check_spelling(spelling)

"""One row, one column for each dialect: every encode, every decode and every ordered translation between the columns.

A cell is what the wire says, laid over the frames of ``pairs.frames``:

- for a Message: the wire message, or a list where it takes several;
- for a ToolChoice or a Request: the keys that it adds to a request;
- for a Response: the keys that it changes in an answer, or (``said``) what stands for its content;
- for an error: ``failed(status, body)``.

``lossy(cell, "place kind", ...)`` is a cell that the dialect can only say with losses, which are listed exactly;
``reads=`` is what it is read as, where that matters. ``reported(cell, why)`` is a cell that a dialect gets wrong today.
A dialect that is not finished is passed over.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import msgspec
import pytest
from msgspec.structs import replace

from conformance.matrix import SPOKEN
from interlingua import (
    AdapterError,
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


class Lossy(NamedTuple):
    """What the wire says although it cannot say it all."""

    cell: Wire
    losses: frozenset[str]
    reads: Any
    headers: dict[str, str]


def lossy(cell: Wire, *losses: str, reads: Any = None) -> Lossy:
    """A cell with the losses that encoding it declares, each as ``"place kind"``."""
    return Lossy(cell, frozenset(losses), reads, {})


def sent(cell: Wire, **headers: str) -> Lossy:
    """A cell that also says something in headers."""
    return Lossy(cell, frozenset(), None, {key.replace("_", "-"): value for key, value in headers.items()})


class Reported(NamedTuple):
    """A cell that a dialect gets wrong today."""

    cell: Any
    why: str


def reported(cell: Any, why: str) -> Reported:
    """What the wire should say and does not say yet: passed over, until it passes."""
    return Reported(cell, why)


class Failed(NamedTuple):
    """An error answer."""

    status: int
    body: Wire
    headers: dict[str, str]


def failed(status: int, body: Wire, **headers: str) -> Failed:
    """A cell of an error row."""
    return Failed(status, body, {key.replace("_", "-"): value for key, value in headers.items()})


def check(canonical: Message | ToolChoice | Request | Response | AdapterError, **columns: Any) -> None:
    """Check a row."""
    cells = {name.replace("_", "-"): cell for name, cell in columns.items()}
    assert cells.keys() >= set(SPOKEN), f"columns are missing: {set(SPOKEN) - cells.keys()}"
    cells = {name: cell for name, cell in cells.items() if name in SPOKEN}
    for name, cell in cells.items():
        if isinstance(cell, Reported):
            with pytest.raises(AssertionError):
                check_cells(canonical, {name: cell.cell})
    check_cells(canonical, {name: cell for name, cell in cells.items() if not isinstance(cell, Reported)})


def spelled(canonical: Request, name: str, cell: Wire) -> None:
    """Another spelling of a request: read as the same, written back as it was, and the same to every other reader."""
    if name not in SPOKEN:
        return
    meant, wire = _asked(canonical), laid_over(request_frame(name), cell)
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


def check_cells(canonical: Any, cells: dict[str, Any]) -> None:
    if isinstance(canonical, AdapterError):
        check_errors(canonical, cells)
    elif isinstance(canonical, Response):
        Answers(canonical, cells).check()
    elif isinstance(canonical, Message):
        Turns(canonical, cells).check()
    else:
        Asked(_asked(canonical), cells).check()


def _asked(canonical: ToolChoice | Request) -> Request:
    if isinstance(canonical, ToolChoice):
        return replace(ASKED, tools=(ADD,), tool_choice=canonical)
    defaults = Request()
    given = {name: getattr(canonical, name) for name in Request.__struct_fields__}
    return replace(ASKED, **{name: value for name, value in given.items() if value != getattr(defaults, name)})


class Row:
    """One canonical value and what it is in every dialect."""

    prefix = ""  # what the places of losses begin with

    def __init__(self, meant: Any, cells: dict[str, Any]) -> None:
        self.meant = meant
        self.cells = {name: cell if isinstance(cell, Lossy) else lossy(cell) for name, cell in cells.items()}

    def wire(self, name: str) -> Wire:
        """The whole body of a dialect."""
        raise NotImplementedError

    def usual(self, name: str) -> set[str]:
        """The losses of the frame."""
        return set()

    def compared(self, value: Any) -> Any:
        """The part of a value that the row is about."""
        return value

    def encode(self, name: str) -> Encoded:
        raise NotImplementedError

    def decode(self, name: str, wire: Wire) -> Any:
        raise NotImplementedError

    def translate(self, wire: Wire, source: str, target: str) -> Encoded:
        raise NotImplementedError

    def check(self) -> None:
        for name in self.cells:
            self.check_encode(name, self.encode(name), "encode")
            self.check_decode(name)
        for source, target in itertools.permutations(self.cells, 2):
            if not self.cells[source].losses:
                self.check_translation(source, target)

    def check_encode(self, name: str, encoded: Encoded, how: str) -> None:
        expected, cell = self.wire(name), self.cells[name]
        assert encoded.body == expected, f"{how} {name}: " + "; ".join(unexplained(expected, encoded.body))
        assert encoded.headers.items() >= cell.headers.items(), f"{how} {name}: headers {encoded.headers}"
        told = {_told(loss, self.prefix) for loss in encoded.losses} - self.usual(name)
        assert told == cell.losses, f"{how} {name}: losses {sorted(told)}"

    def check_decode(self, name: str) -> None:
        cell = self.cells[name]
        if cell.losses and cell.reads is None:
            return
        expected = cell.reads if cell.reads is not None else self.compared(self.meant)
        read = self.compared(self.decode(name, self.wire(name)))
        assert plain(read) == plain(expected), f"decode {name}: " + "; ".join(unexplained(plain(expected), plain(read)))

    def check_translation(self, source: str, target: str) -> None:
        encoded = self.translate(self.wire(source), source, target)
        self.check_encode(target, encoded, f"translate from {source} to")


def _told(loss: Loss, prefix: str) -> str:
    return f"{loss.path.removeprefix(prefix)} {loss.kind}"


class Asked(Row):
    """A request."""

    def wire(self, name: str) -> Wire:
        frame = request_frame(name)
        if self.meant.tools == (ADD,):
            frame = laid_over(frame, TOOLS[name])
        return laid_over(frame, self.cells[name].cell)

    def usual(self, name: str) -> set[str]:
        return TOOL_LOSSES.get(name, set()) if self.meant.tools == (ADD,) else set()

    def encode(self, name: str) -> Encoded:
        return dialect(name).encode_request(self.meant)

    def decode(self, name: str, wire: Wire) -> Any:
        read = dialect(name).decode_request(wire, self.cells[name].headers, self.meant.model, self.meant.stream)
        if name in TOOL_LOSSES and self.meant.tools == (ADD,):  # what the frame added
            read = replace(read, tools=(replace(read.tools[0], strict=None),))
        return read

    def translate(self, wire: Wire, source: str, target: str) -> Encoded:
        headers = self.cells[source].headers
        return translate_request(
            wire, source=source, target=target, model=self.meant.model, stream=self.meant.stream, headers=headers
        )

    def check_translation(self, source: str, target: str) -> None:
        if source in TOOL_LOSSES and self.meant.tools == (ADD,):
            return  # it says `strict`, which the others then say too
        super().check_translation(source, target)


class Turns(Asked):
    """A message, behind the turns that it needs before it."""

    def __init__(self, message: Message, cells: dict[str, Any]) -> None:
        self.ids = tuple(block.tool_use_id for block in message.content if isinstance(block, ToolResultBlock))
        before = [] if message.role == Role.user else [HI]
        if self.ids:
            before.append(called(*self.ids))
        speaks = self.ids or any(isinstance(block, ToolUseBlock) for block in message.content)
        tools = {"tools": (ADD,)} if speaks else {}
        super().__init__(replace(ASKED, messages=(*before, message), **tools), cells)
        self.prefix = f"messages/{len(before)}/"

    def wire(self, name: str) -> Wire:
        key, cell = HISTORY.get(name, "messages"), self.cells[name].cell
        frame = request_frame(name)
        turns = frame[key] if len(self.meant.messages) > 1 else []
        turns += calls(name, self.ids) if self.ids else []
        tools = TOOLS[name] if self.meant.tools else {}
        added = cell if isinstance(cell, list) else [cell]
        return laid_over(laid_over(frame, tools), {key: [*turns, *added]})

    def compared(self, value: Request) -> Message:
        return value.messages[-1]

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
    """What belongs to an issuer: proofs, and thoughts as such."""
    found = [block.signature, block.data if isinstance(block, RedactedThinkingBlock) else None]
    found.append(block.text if isinstance(block, ThinkingBlock) else None)
    return [secret for secret in found if secret]


class Answers(Row):
    """An answer."""

    def __init__(self, response: Response, cells: dict[str, Any]) -> None:
        defaults = Response()
        given = {name: getattr(response, name) for name in Response.__struct_fields__}
        given = {name: value for name, value in given.items() if value != getattr(defaults, name)}
        super().__init__(replace(ANSWERED, **given), cells)

    def wire(self, name: str) -> Wire:
        frame, cell = response_frame(name), self.cells[name].cell
        if isinstance(cell, Said):
            return laid_over(_put(frame, CONTENT[name], cell.content), cell.rest)
        return laid_over(frame, cell)

    def encode(self, name: str) -> Encoded:
        return dialect(name).encode_response(self.meant)

    def decode(self, name: str, wire: Wire) -> Any:
        return dialect(name).decode_response(wire)

    def translate(self, wire: Wire, source: str, target: str) -> Encoded:
        return translate_response(wire, source=source, target=target)


class Said(NamedTuple):
    """What stands for the content of an answer: a list of blocks or items, or the message itself."""

    content: Wire
    rest: Wire


def said(content: Wire, **rest: Any) -> Said:
    """A cell of an answer: its content, and what else differs from the frame."""
    return Said(content, rest)


def _put(frame: Wire, keys: tuple[str | int, ...], content: Wire) -> Wire:
    inner = frame
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = content
    return frame


def check_errors(error: AdapterError, cells: dict[str, Failed]) -> None:
    for name, cell in cells.items():
        wire = dialect(name).encode_error(error)
        assert (wire.status, msgspec.json.decode(wire.body)) == (cell.status, cell.body), f"encode {name}: {wire}"
        assert wire.headers.items() >= cell.headers.items(), f"encode {name}: {wire.headers}"
        read = dialect(name).decode_error(cell.status, cell.headers, msgspec.json.encode(cell.body))
        _same_error(error, read, f"decode {name}")
        for target in cells.keys() - {name}:
            told = dialect(target).encode_error(read)
            again = dialect(target).decode_error(told.status, told.headers, told.body)
            _same_error(error, again, f"translate from {name} to {target}")
            kept = told.status == cell.status  # a 504 is one everywhere
            assert kept or told.status // 100 == cells[target].status // 100, (
                f"translate from {name} to {target}: {told}"
            )


def _same_error(error: AdapterError, read: AdapterError, how: str) -> None:
    meant, found = ((type(e), e.error_class, e.retryable, e.retry_after) for e in (error, read))
    assert found == meant, f"{how}: {read!r}"
    assert error.message in read.message, f"{how}: {read!r}"

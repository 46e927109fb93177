"""What each dialect reads and writes, case by case: ``tests/cases/<dialect>.jsonl``, one JSON object per line.

The cases of errors are in ``errors.jsonl`` (``test_error_cases.py``).

A line with ``frame`` gives the surroundings of the cases after it that name it in ``in``:

- ``request`` or ``response``: a body in which the string ``"$"`` is replaced by the wire of a case, and a key ``"$"``
  by the keys of that wire;
- ``at``: the path of the wire's canonical value, such as ``messages/1/content/0``; if it is empty, the value has fields
  of the whole request or answer;
- ``filler``: a wire for the frame, used for values that are only written.

All other lines are cases:

- ``wire`` and ``value``: each is read and written as the other one, without losses. Only the fields that ``value`` has
  are compared;
- ``wire`` with ``odd``: it is read (as ``value``, if there is one) and written back exactly, but it is not what we
  would write for such a value;
- ``value`` with ``losses``: it is written as ``wire`` (or not at all, if there is none), and these are the losses, each
  ``[kind, path below at]`` or ``[kind, path below at, weight]``. With an empty list nothing is lost, but the wire is
  not read as this value.

Every value that is read is also checked so: after saving and loading it is written the same; an answer, written as a
stream, folds to itself, and is read as itself again if it is not odd, unless ``streamed`` says why not; near misses of
the wire are written back exactly or refused; the other dialects declare what they lose of it, and read what they wrote;
compiled rows give the same as interpreted rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import msgspec
import pytest

from interlingua import DIALECTS, AdapterError, Loss, Request, Response, dialect, fold, from_json, to_json, unfold
from interlingua.testing.stream_laws import check_stream_is_whole
from lab.fuzzing import near_miss
from row_tables import check_compiled, may_stand_in, named_tables, objects

HERE = Path(__file__).parent
NEAR_MISSES, SEED = 4, 20261118
GONE = object()
Wire = dict[str, Any]


class Case(NamedTuple):
    dialect: str
    line: Wire
    frame: Wire

    @property
    def verb(self) -> str:
        return "request" if "request" in self.frame else "response"

    @property
    def place(self) -> list[str]:
        return [step for step in self.frame.get("at", "").split("/") if step]

    @property
    def body(self) -> Wire:
        """The whole wire."""
        filled: Wire = fill(self.frame[self.verb], self.line.get("wire", GONE))
        return filled

    def decode(self, body: Wire) -> Any:
        speaker = dialect(self.dialect)
        if self.verb == "response":
            return speaker.decode_response(body)
        return speaker.decode_request(body, model=None if "model" in body else "m")

    def encode(self, value: Any, name: str = "") -> tuple[Any, tuple[Loss, ...]]:
        speaker = dialect(name or self.dialect)
        encoded = speaker.encode_request(value) if self.verb == "request" else speaker.encode_response(value)
        return encoded.body, encoded.losses

    def built(self) -> Any:
        """A canonical value with the case's value in it, built by hand: it has no marks of having been read."""
        whole = without_marks(json.loads(to_json(self.decode(fill(self.frame[self.verb], self.frame["filler"])))))
        home, value = whole, self.line["value"]
        for step in self.place[:-1]:
            home = home[int(step) if isinstance(home, list) else step]
        if not self.place:
            whole |= value
        elif isinstance(home, list):
            home[int(self.place[-1]) :] = [value]
        else:
            home[self.place[-1]] = value
        return msgspec.convert(whole, Request if self.verb == "request" else Response)


def lines(file: Path) -> Iterator[Case]:
    frames: dict[str, Wire] = {}
    for text in file.read_text(encoding="utf-8").splitlines():
        line = json.loads(text)
        if "frame" in line:
            frames[line["frame"]] = line
        else:
            yield Case(file.stem, line, frames[line["in"]])


def fill(value: Any, wire: Any) -> Any:
    """A frame with a wire in it; without a wire, objects and lists that would be empty are left out."""
    if isinstance(value, list):
        return [filled for item in value if (filled := wire if item == "$" else fill(item, wire)) is not GONE]
    if not isinstance(value, dict):
        return value
    filled = {key: wire if item == "$" else fill(item, wire) for key, item in value.items() if key != "$"}
    filled |= wire if "$" in value and wire is not GONE else {}
    left = {key: item for key, item in filled.items() if item is not GONE}
    return left if left or not value else GONE


def without_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: without_marks(item) for key, item in value.items() if key not in ("forms", "raw")}
    return [without_marks(item) for item in value] if isinstance(value, list) else value


def fields(value: Any) -> Any:
    """A value as JSON, with all fields, including those with their default."""
    if isinstance(value, msgspec.Struct):
        tag = {"type": value.__struct_config__.tag} if value.__struct_config__.tag else {}
        return tag | {name: fields(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, dict):
        return {key: fields(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [fields(item) for item in value]
    return msgspec.to_builtins(value, enc_hook=str)  # an error is no value


def says(found: Any, expected: Any) -> bool:
    """Whether a value has everything that a case expects."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return all(says(found.get(key), item) for key, item in expected.items())
    if isinstance(expected, list) and isinstance(found, list):
        return len(found) == len(expected) and all(map(says, found, expected))
    return type(found) is type(expected) and bool(found == expected)


CASES = [case for file in sorted(HERE.glob("*.jsonl")) if file.stem in DIALECTS for case in lines(file)]
READ = [case for case in CASES if "losses" not in case.line]
WRITTEN = [case for case in CASES if "value" in case.line and "odd" not in case.line]


def each(cases: list[Case]) -> Any:
    return pytest.mark.parametrize(
        "case", [pytest.param(c, id=f"{c.dialect}: {c.line['in']}: {c.line['case']}") for c in cases]
    )


@cache
def tables(name: str) -> list[Any]:
    return [
        table for _, table in named_tables() if (table if hasattr(table, "by_tag") else table.table).dialect == name
    ]


@each(READ)
def test_it_is_read_and_written_back_exactly(case: Case) -> None:
    value = case.decode(case.body)
    if "value" in case.line:
        found = fields(value)
        for step in case.place:
            found = found[int(step) if isinstance(found, list) else step]
        assert says(found, case.line["value"]), found
    assert case.encode(value) == (case.body, ())
    assert case.encode(from_json(to_json(value), type(value))) == (case.body, ())
    assert isinstance(value, Request) or fold(unfold(value)) == value


@each([case for case in READ if case.verb == "response" and not {"odd", "streamed"} & case.line.keys()])
def test_a_stream_says_the_same(case: Case) -> None:
    check_stream_is_whole(case.dialect, case.decode(case.body))


@each(WRITTEN)
def test_it_is_written(case: Case) -> None:
    body, losses = case.encode(case.built())
    assert body == case.body
    at = case.frame["at"]
    expected = case.line.get("losses", [])
    assert len(losses) == len(expected), losses
    for loss, told in zip(losses, expected, strict=True):
        assert [loss.kind, loss.path.removeprefix(at), loss.weight][: len(told)] == told


@each(READ)
def test_near_misses_are_written_back_exactly_or_refused(case: Case) -> None:
    random = Random(f"{SEED} {case.line}")
    for _ in range(NEAR_MISSES):
        body = near_miss(case.body, random)
        try:
            assert case.encode(case.decode(body))[0] == body
        except AdapterError:
            continue


@each(READ)
def test_other_dialects_say_what_they_lose(case: Case) -> None:
    value = case.decode(case.body)
    for name in DIALECTS:
        try:
            body, losses = case.encode(value, name)
        except AdapterError:
            continue
        assert all(loss.path and loss.reason for loss in losses) or name == case.dialect
        speaker = dialect(name)
        (speaker.decode_request if case.verb == "request" else speaker.decode_response)(body)


@each(READ)
def test_compiled_code_means_what_the_rows_mean(case: Case) -> None:
    for table in tables(case.dialect):
        for wire in objects(case.body):
            if may_stand_in(wire, getattr(table, "table", table)):
                check_compiled(table, wire)

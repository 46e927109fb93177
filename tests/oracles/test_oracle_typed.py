"""The structural walker on declarations of our own: what it admits, what it reports, and where."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any, Literal, Required

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from lab.oracles.hints import Compiler
from lab.oracles.leaves import OBJECT, STRING
from lab.oracles.typed import record, run


class Text(TypedDict, total=False):
    type: Required[Literal["text"]]
    text: Required[str]


class Image(TypedDict, total=False):
    type: Required[Literal["image"]]
    source: Required[str | IO[bytes]]
    detail: Literal["low", "high"]


class Reference(TypedDict, total=False):
    id: Required[str]
    type: Literal["reference"] | None


class Easy(TypedDict, total=False):
    role: Required[Literal["user", "assistant"]]
    type: Literal["message"]
    content: Required[str | Iterable[Text | Image]]


class Base(TypedDict, total=False):
    items: Required[Sequence[Easy | Reference | Text]]
    count: int
    ratio: float | None
    tags: Mapping[str, str]
    schema: dict[str, object]
    parent: Base


class Streaming(Base):
    stream: Required[Literal[True]]


class Whole(Base, total=False):
    stream: Literal[False] | None


class Level(enum.StrEnum):
    LOW = "LOW"


class AnyCase(enum.StrEnum):
    @classmethod
    def _missing_(cls, value: object) -> Any:
        return None


class Loud(AnyCase):
    HIGH = "HIGH"


class Model(BaseModel):
    level: Level | None = None
    loud_level: Loud | None = Field(None, alias="loudLevel")
    data: bytes | None = None
    free: Any = None
    name: str


CHECKS = {
    "union": Compiler().compile(Streaming | Whole),
    "model": Compiler().compile(Model),
    "override": Compiler({Text: OBJECT}).compile(Iterable[Text]),
    "hand": record("Hand", {"a": STRING}, ("a",)),
}
EASY = {"role": "user", "content": "hi"}
OK = {"items": [EASY]}

ADMITTED: list[tuple[str, Any]] = [
    ("union", OK),
    ("union", {**OK, "stream": True}),
    ("union", {**OK, "stream": False}),
    ("union", {**OK, "stream": None}),
    ("union", {**OK, "count": 1, "ratio": 1, "tags": {"a": "b"}, "schema": {"$any": [1, {"x": None}]}, "parent": OK}),
    ("union", {"items": [{"id": "x"}, {"id": "x", "type": None}, {"type": "message", **EASY}]}),
    ("union", {"items": [{"role": "user", "content": [{"type": "image", "source": "x", "detail": "low"}]}]}),
    ("model", {"name": "n", "level": "LOW", "loudLevel": "high", "data": "QUJD", "free": {"any": ["thing"]}}),
    ("model", {"name": "n", "loud_level": "HIGH", "data": "_-8", "level": None}),
    ("override", [{"anything": "goes"}]),
    ("hand", {"a": ""}),
]

MISFITS: list[tuple[str, Any, str]] = [
    ("union", [], "$: [] is not object"),
    ("union", {}, "items: missing, Whole requires it"),
    ("union", {**OK, "stream": 1}, "stream: 1, expected one of True, False"),
    ("union", {**OK, "new": 1}, "new: unknown key of Whole"),
    ("union", {**OK, "stream": True, "new": 1}, "new: unknown key of Streaming"),
    ("union", {**OK, "count": 1.5}, "count: 1.5 is not integer"),
    ("union", {**OK, "count": True}, "count: True is not integer"),
    ("union", {**OK, "ratio": "1"}, "ratio: '1' is not integer or number or null"),
    ("union", {**OK, "tags": {"a": 1}}, "tags.a: 1 is not string"),
    ("union", {**OK, "tags": []}, "tags: [] is not object"),
    ("union", {**OK, "schema": "x"}, "schema: 'x' is not object"),
    ("union", {**OK, "parent": {**OK, "parent": {}}}, "parent.parent.items: missing, Base requires it"),
    ("union", {"items": {}}, "items: {} is not array"),
    ("union", {"items": [1]}, "items[0]: 1 is not object"),
    ("union", {"items": [{"type": "poem"}]}, "items[0].type: 'poem', expected one of 'message', 'reference', 'text'"),
    ("union", {"items": [{"type": ["text"]}]},
     "items[0].type: ['text'], expected one of 'message', 'reference', 'text'"),
    ("union", {"items": [{"type": "text", "text": "x", "id": "x"}]}, "items[0].id: unknown key of Text"),
    ("union", {"items": [{**EASY, "id": "x"}]}, "items[0].id: unknown key of Easy"),
    ("union", {"items": [{**EASY, "content": [{"text": "x"}]}]},
     "items[0].content[0].type: missing, expected one of 'text', 'image'"),
    ("union", {"items": [{**EASY, "content": [{"type": "image", "source": 1}]}]},
     "items[0].content[0].source: 1 is not string"),
    ("union", {"items": [{**EASY, "content": None}]}, "items[0].content: None is not array or string"),
    ("model", {}, "name: missing, Model requires it"),
    ("model", {"name": "n", "level": "low"}, "level: 'low' is none of 'LOW'"),
    ("model", {"name": "n", "loudLevel": 1}, "loudLevel: 1 is not string or null"),
    ("model", {"name": "n", "data": "data:image/png;base64,AA=="}, "data: 'data:image/png;base64,AA==' is not base64"),
    ("override", [[]], "[0]: [] is not object"),
    ("hand", {"b": 1}, "b: unknown key of Hand"),
]  # fmt: skip


@pytest.mark.parametrize(("check", "value"), ADMITTED)
def test_admitted(check: str, value: Any) -> None:
    assert run(CHECKS[check], value) == []


@pytest.mark.parametrize(("check", "value", "said"), MISFITS)
def test_misfit(check: str, value: Any, said: str) -> None:
    assert run(CHECKS[check], value)[0] == said


def test_all_misfits_are_told() -> None:
    found = run(CHECKS["union"], {"items": [{"type": "text", "text": 1}, 2], "count": "3", "new": 4})
    assert [line.split(":")[0] for line in found] == ["items[0].text", "items[1]", "count", "new"]


def test_long_values_are_cut() -> None:
    assert len(run(CHECKS["union"], {**OK, "count": "x" * 10_000})[0]) < 100

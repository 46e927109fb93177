"""Typed answers: the schema of a type, reading a value of the type, and reading an incomplete answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import msgspec
import pytest
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator
from pydantic import BaseModel, Field
from pydantic_core import from_json

from interlingua.codec.schema import strict_schema
from interlingua.codec.schema.walk import subschemas
from interlingua.codec.typed import PartialJson, complaints, output_of


@dataclass
class Cat:
    name: str
    lives: int = 9


@dataclass
class Dog:
    """A dog.

    Args:
        breed: As the club says it.
    """

    name: str
    breed: str
    tags: list[str] = field(default_factory=list)


@dataclass
class Node:
    value: int
    next: Node | None = None


class Circle(msgspec.Struct, tag="circle"):
    radius: float


class Square(msgspec.Struct, tag="square"):
    side: float


class Point(TypedDict):
    x: int
    y: int


class Pair(NamedTuple):
    first: str
    second: int


class Color(Enum):
    red = "red"
    blue = "blue"


class Review(BaseModel):
    stars: int = Field(ge=1, le=5)
    on: date
    by: Cat | None = None


LOOSE: dict[str, Any] = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "b": {"type": "integer"}},
    "required": ["a"],
}
BY_NAME: dict[str, Any] = {
    "$ref": "#/definitions/N",
    "definitions": {"N": {"type": "object", "properties": {"k": {"$ref": "#/definitions/N"}, "v": {"type": "string"}}}},
}

KINDS: list[tuple[str, Any, Any, Any]] = [
    # name, output=, what a model says, what it is
    ("dataclass", Cat, {"name": "Tom", "lives": 7}, Cat("Tom", 7)),
    ("forced nulls", Cat, {"name": "Tom", "lives": None}, Cat("Tom", 9)),
    ("left out", Cat, {"name": "Tom"}, Cat("Tom", 9)),
    ("a whole float", Cat, {"name": "Tom", "lives": 7.0}, Cat("Tom", 7)),
    ("default factory", Dog, {"name": "Rex", "breed": "pug", "tags": None}, Dog("Rex", "pug", [])),
    ("recursive", Node, {"value": 1, "next": {"value": 2, "next": None}}, Node(1, Node(2))),
    ("TypedDict", Point, {"x": 1, "y": 2}, {"x": 1, "y": 2}),
    ("NamedTuple", Pair, {"result": ["a", 1]}, Pair("a", 1)),
    ("pydantic", Review, {"stars": 5, "on": "2024-02-29", "by": {"name": "Tom", "lives": None}}, None),
    ("union of plain classes", Cat | Dog, {"result": {"name": "Rex", "breed": "pug", "tags": None}}, Dog("Rex", "pug")),
    ("the other of it", Cat | Dog, {"result": {"name": "Tom", "lives": None}}, Cat("Tom")),
    ("tagged union", Circle | Square, {"result": {"type": "square", "side": 2}}, Square(2.0)),
    ("optional", Cat | None, {"result": None}, None),
    ("list", list[Cat], {"result": [{"name": "Tom", "lives": None}]}, [Cat("Tom")]),
    ("a list as it is", list[Cat], [{"name": "Tom"}], [Cat("Tom")]),
    ("dict", dict[str, int], {"a": 1}, {"a": 1}),
    ("str", str, {"result": "x"}, "x"),
    ("int", int, {"result": 3}, 3),
    ("enum", Color, {"result": "red"}, Color.red),
    ("literal", Literal["a", "b"], {"result": "b"}, "b"),
    ("date", date, {"result": "2024-02-29"}, date(2024, 2, 29)),
    ("bounds", Annotated[int, msgspec.Meta(ge=1)], {"result": 3}, 3),
    ("schema", LOOSE, {"a": "x", "b": None}, {"a": "x"}),
    ("schema with a reference as root", BY_NAME, {"v": "x", "k": {"v": "y", "k": None}}, {"v": "x", "k": {"v": "y"}}),
    ("schema of a list", {"type": "array", "items": {"type": "integer"}}, {"result": [1]}, [1]),
    ("schema of nested lists", {"type": "array", "items": {"$ref": "#"}}, {"result": [[], [[]]]}, [[], [[]]]),
]
IDS = [name for name, *_ in KINDS]


@pytest.mark.parametrize(("kind", "said", "meant"), [row[1:] for row in KINDS], ids=IDS)
def test_what_a_model_says_becomes_the_type(kind: Any, said: Any, meant: Any) -> None:
    value = output_of(kind).read(json.dumps(said))
    if kind is Review:
        assert value == Review(stars=5, on=date(2024, 2, 29), by=Cat("Tom"))
    else:
        assert (value, type(value)) == (meant, type(meant))


@pytest.mark.parametrize("kind", [row[1] for row in KINDS], ids=IDS)
def test_the_schema_is_an_object_that_asks_for_every_property(kind: Any) -> None:
    """Providers that require an object take it, and every null that strict mode forces is removed again."""
    schema = output_of(kind).schema
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert "$ref" not in schema
    for node in nodes(schema):
        assert set(node.get("required", ())) >= set(node.get("properties", ()))
    made = strict_schema(schema, "openai-chat")
    assert not any("null if left out" in change for change in made.changes)


def nodes(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        yield schema
        for _, child in subschemas(schema):
            yield from nodes(child)


@pytest.mark.parametrize(("kind", "said"), [(row[1], row[2]) for row in KINDS if "left out" not in row[0]])
def test_the_schema_lets_in_what_is_read(kind: Any, said: Any) -> None:
    if isinstance(said, dict):
        assert Draft202012Validator(output_of(kind).schema).is_valid(said)


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        (Cat, "", "- the answer holds no text"),
        (Cat, "Tom", "- it is not JSON: "),
        (Cat, '{"lives": "many"}', "- `lives`: expected integer, got string\n- `name` is missing"),
        (Cat, "[" * 100_000 + "]" * 100_000, "- it is not JSON: "),
        (Cat | Dog, '{"result": {"name": 1}}', "- `name`: expected string, got integer\n- `breed` is missing"),
        (list[int], '{"result": [1, "a"]}', "- `[1]`: expected integer, got string"),
        (Review, '{"stars": 9, "on": "2024-02-29"}', "- stars: Input should be less than or equal to 5"),
        (LOOSE, '{"b": "x"}', "- `b`: expected integer, got string\n- `a` is missing"),
    ],
)
def test_what_does_not_fit_is_told(kind: Any, text: str, why: str) -> None:
    with pytest.raises(ValueError, match="- ") as caught:
        output_of(kind).read(text)
    assert set(why.splitlines()) <= set(str(caught.value).splitlines()) or str(caught.value).startswith(why)


def test_a_fenced_answer_is_read() -> None:
    assert output_of(Cat).read('\n```json\n{"name": "Tom"}\n```\n') == Cat("Tom")


def test_an_error_of_the_callers_own_class_is_a_reason() -> None:
    @dataclass
    class Picky:
        name: str

        def __post_init__(self) -> None:
            raise LookupError(f"nobody is called {self.name}")

    with pytest.raises(ValueError, match="nobody is called Tom"):
        output_of(Picky).read('{"name": "Tom"}')


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("Verdict", "output= takes a type or a JSON Schema"),
        (5, "output= takes a type or a JSON Schema"),
        ([Cat], "output= takes a type or a JSON Schema"),
        (list[Cat | Dog], "output=list: Type unions may not contain more than one dataclass"),
        (object, "output=object: "),
    ],
)
def test_what_is_no_type_is_refused_at_once(kind: Any, why: str) -> None:
    with pytest.raises(TypeError) as caught:
        output_of(kind)
    assert str(caught.value).startswith(why)


# --------------------------------------------------------------------------------------------------- half of an answer

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
ROOTS = st.lists(VALUES, max_size=4) | st.dictionaries(st.text(), VALUES, max_size=4)


@given(ROOTS, st.booleans(), st.integers(1, 9))
def test_pieces_of_any_size_come_to_the_whole(value: Any, ascii_only: bool, size: int) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only)
    partial = PartialJson()
    for at in range(0, len(text), size):
        partial.feed(text[at : at + size])
        assert partial.value is None or isinstance(partial.value, dict | list)
    assert partial.value == value


@given(st.recursive(st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12))
def test_every_beginning_is_read_as_pydantic_reads_it(value: Any) -> None:
    """For texts, lists and objects only: pydantic also shows numbers and words that are not complete."""
    text = json.dumps([value], ensure_ascii=False)
    partial = PartialJson()
    for at, letter in enumerate(text, 1):
        partial.feed(letter)
        if "\\" not in text[:at]:  # pydantic waits for the end of a string that ends in half an escape
            assert partial.value == from_json(text[:at], allow_partial="trailing-strings"), text[:at]


@pytest.mark.parametrize(
    "text", ["", "no", "}{", '{"a" "b"}', "[1 2]", '{"a": }', "[nul, \\", '{"\\q": 1}', "{]}", ',:"[']
)
def test_what_is_no_json_does_not_raise(text: str) -> None:
    partial = PartialJson()
    for letter in text:
        partial.feed(letter)
    assert partial.value is None or isinstance(partial.value, dict | list)


def test_words_around_the_answer_are_skipped() -> None:
    partial = PartialJson()
    partial.feed('Here it is: {"a": "half')
    assert partial.value == {"a": "half"}
    partial.feed('"} I hope {"a": "it helps"}')
    assert partial.value == {"a": "half"}


def test_a_long_text_is_read_once() -> None:
    """The work is not timed: the characters that the patterns read are counted."""
    partial, seen = PartialJson(), 0
    text = json.dumps({"a": "x" * 5000, "b": list(range(2000))})
    original = PartialJson._between

    def counted(self: PartialJson, text: str, at: int) -> int:
        nonlocal seen
        end = original(self, text, at)
        seen += end - at
        return end

    PartialJson._between = counted  # type: ignore[method-assign]
    try:
        for letter in text:
            partial.feed(letter)
    finally:
        PartialJson._between = original  # type: ignore[method-assign]
    assert seen <= len(text)
    assert complaints(partial.value, {"type": "object", "required": ["a", "b"]}) == []

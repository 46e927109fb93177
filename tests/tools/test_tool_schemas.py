"""The schema of a signature, judged by ``jsonschema``: what it takes and refuses, the tool takes and refuses too."""

from __future__ import annotations

import datetime
import enum
import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, Optional, Required, TypedDict

import annotated_types
import attrs
import msgspec
import pydantic
import pytest
from jsonschema import Draft202012Validator
from msgspec import Meta

from interlingua import ToolResultBlock, ToolUseBlock, strict_schema
from interlingua.agent.tools import Ready, Toolbox, tool
from tools.tool_support import refused


class Colour(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclass
class Address:
    """Where somebody lives.

    Attributes:
        street: With its number.
    """

    street: str
    floor: Annotated[int, "From the ground, which is 0."] = 0
    tags: list[str] = field(default_factory=list)


@dataclass
class Person:
    name: str
    home: Address
    friends: list[Person] = field(default_factory=list)


class Movie(TypedDict, total=False):
    title: Required[str]
    year: int


class Song(TypedDict):
    title: str
    year: NotRequired[int]


class Point(msgspec.Struct):
    x: float
    y: float = 0.0


@attrs.define
class Crate:
    size: int


class Circle(msgspec.Struct, tag="circle", forbid_unknown_fields=True):
    radius: float


class Square(msgspec.Struct, tag="square", forbid_unknown_fields=True):
    side: float


class Pair(NamedTuple):
    key: str
    value: int


class Pet(pydantic.BaseModel):
    """An animal."""

    name: str = pydantic.Field(description="What it hears.", min_length=1)
    born: datetime.date | None = None
    young: list[Pet] = []


class Owner(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)
    pets: tuple[Pet, ...]
    since: datetime.date


Metres = NewType("Metres", float)

DAY = datetime.date(2024, 2, 29)
WHEN = datetime.datetime(2024, 2, 29, 1, 2, 3, tzinfo=datetime.UTC)
ORIGIN = Point(0, 0)
ID = uuid.UUID("12345678-1234-5678-1234-567812345678")

# fmt: off
TYPES: dict[str, tuple[Any, list[tuple[Any, Any]], list[Any]]] = {
    # the annotation; what is taken, as JSON and as the tool sees it; what is refused
    "str":        (str, [("a", "a"), ("", "")], [1, None, ["a"], {}]),
    "int":        (int, [(3, 3), (3.0, 3), (-(2**70), -(2**70))], [3.5, "3", True, None]),
    "float":      (float, [(1.5, 1.5), (2, 2.0)], ["1.5", True, None]),
    "bool":       (bool, [(True, True), (False, False)], [1, "true", None]),
    "none":       (None, [(None, None)], [0, ""]),
    "any":        (Any, [(None, None), ({"a": [1]}, {"a": [1]}), (1.0, 1.0)], []),
    "optional":   (Optional[int], [(1, 1), (None, None)], ["1", 1.5]),  # noqa: UP045
    "or none":    (str | None, [("a", "a"), (None, None)], [1]),
    "union":      (int | str, [(1, 1), ("1", "1")], [None, 1.5, []]),
    "literal":    (Literal["b", "a", 3], [("a", "a"), (3, 3)], ["c", None, 4]),
    "enum":       (Colour, [("red", Colour.RED)], ["RED", "green", 1]),
    "int enum":   (Level, [(2, Level.HIGH), (2.0, Level.HIGH)], [3, "HIGH", "2"]),
    "list":       (list[int], [([], []), ([1, 2.0], [1, 2])], [[1, "2"], [1.0, "2"], 1, {}]),
    "bare list":  (list, [([1, "a"], [1, "a"])], [{}]),
    "tuple":      (tuple[int, str], [([1, "a"], (1, "a"))], [[1], ["a", 1], [1, "a", 2]]),
    "many":       (tuple[int, ...], [([1, 2], (1, 2)), ([], ())], [["a"]]),
    "set":        (set[str], [(["a", "b"], {"a", "b"})], [[1], "a"]),
    "frozenset":  (frozenset[int], [([1], frozenset({1}))], [["a"]]),
    "dict":       (dict[str, int], [({"a": 1}, {"a": 1}), ({}, {})], [{"a": "1"}, []]),
    "dict of":    (dict[str, Point], [({"a": {"x": 1}}, {"a": Point(1.0)})], [{"a": {}}]),
    "bare dict":  (dict, [({"a": 1}, {"a": 1})], [[], 1]),
    "dataclass":  (Address, [({"street": "x 1"}, Address("x 1")),
                             ({"street": "x", "floor": 2, "tags": ["a"]}, Address("x", 2, ["a"]))],
                   [{}, {"street": 1}, {"street": "x", "tags": [1]}, None]),
    "recursive":  (Person, [({"name": "a", "home": {"street": "x"},
                              "friends": [{"name": "b", "home": {"street": "y"}}]},
                             Person("a", Address("x"), [Person("b", Address("y"))]))],
                   [{"name": "a"}, {"name": "a", "home": {"street": "x"}, "friends": [{"name": "b"}]}]),
    "typed dict": (Movie, [({"title": "a"}, {"title": "a"}), ({"title": "a", "year": 1}, {"title": "a", "year": 1})],
                   [{"year": 1}, {"title": "a", "year": "1"}]),
    "not required": (Song, [({"title": "a"}, {"title": "a"})], [{}, {"title": 1}]),
    "struct":     (Point, [({"x": 1}, Point(1.0)), ({"x": 1, "y": 2.5}, Point(1.0, 2.5))], [{}, {"x": "1"}]),
    "tagged":     (Circle | Square, [({"type": "circle", "radius": 1}, Circle(1.0)),
                                     ({"type": "square", "side": 2}, Square(2.0))],
                   [{"type": "circle"}, {"type": "oval"}, {"type": "circle", "side": 2}]),
    "named tuple": (Pair, [(["a", 1], Pair("a", 1))], [["a"], [1, 1]]),
    "pydantic":   (Pet, [({"name": "a", "born": "2024-02-29", "young": [{"name": "b"}]},
                          Pet(name="a", born=DAY, young=[Pet(name="b")]))],
                   [{}, {"name": ""}, {"name": "a", "young": [{}]}]),
    "pydantic strict": (Owner | None, [({"pets": [{"name": "a"}], "since": "2024-02-29"},
                                         Owner(pets=(Pet(name="a"),), since=DAY)), (None, None)],
                   [{"pets": [{"name": "a"}]}, {"pets": {}, "since": "2024-02-29"}]),
    "pydantic list": (list[Pet], [([{"name": "a"}], [Pet(name="a")])], [[{}], [1]]),
    "date":       (datetime.date, [("2024-02-29", DAY)], ["2024-02-30", 1]),
    "datetime":   (datetime.datetime, [("2024-02-29T01:02:03Z", WHEN)], [1.5, None]),
    "time":       (datetime.time, [("01:02:03", datetime.time(1, 2, 3))], [1, None]),
    "timedelta":  (datetime.timedelta, [("PT90S", datetime.timedelta(seconds=90))], [None, []]),
    "attrs":      (Crate, [({"size": 1}, Crate(1))], [{}, {"size": "1"}]),
    "uuid":       (uuid.UUID, [(str(ID), ID)], ["x", 1]),
    "path":       (Path, [("a/b", Path("a/b"))], [1, None]),
    "paths":      (list[Path] | None, [(["a"], [Path("a")]), (None, None)], [[1], "a"]),
    "decimal":    (Decimal, [("1.50", Decimal("1.50"))], [None, []]),
    "bytes":      (bytes, [("aGk=", b"hi")], [1, None]),
    "new type":   (Metres, [(1, 1.0)], ["1"]),
    "bounds":     (Annotated[int, Meta(ge=1, le=5)], [(1, 1), (5, 5)], [0, 6]),
    "pattern":    (Annotated[str, Meta(pattern="^a+$", max_length=3)], [("aa", "aa")], ["b", "aaaa"]),
    "inner bounds": (list[Annotated[int, Meta(gt=0)]], [([1], [1])], [[0]]),
    "their bounds": (Annotated[int, annotated_types.Ge(1), annotated_types.Le(5)], [(1, 1)], [0, 6]),
    "their interval": (Annotated[float, annotated_types.Interval(gt=0, lt=1)], [(0.5, 0.5)], [0, 1]),
    "their field": (Annotated[str, pydantic.Field(min_length=2, description="Two letters.")], [("ab", "ab")], ["a"]),
    "inner field": (list[Annotated[int, pydantic.Field(ge=1)]] | None, [([1], [1]), (None, None)], [[0]]),
}
# fmt: on


def asking(hint: Any, *default: Any) -> Callable[..., Any]:
    """A function with one parameter of that type."""

    def ask(value):
        return value

    ask.__annotations__ = {"value": hint}
    ask.__defaults__ = default or None
    return ask


def seen(function: Callable[..., Any], input: dict[str, Any]) -> Any:
    """What the function is given, or the error result."""
    ready = Toolbox([function]).prepare(ToolUseBlock(id="1", name="ask", input=input))
    return ready.kwargs if isinstance(ready, Ready) else ready


def schema_of(function: Callable[..., Any]) -> dict[str, Any]:
    schema = tool(function).definition.input_schema
    Draft202012Validator.check_schema(schema)
    assert json.loads(json.dumps(schema)) == schema
    return schema


def valid(schema: dict[str, Any], value: Any) -> bool:
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER).is_valid(value)


@pytest.mark.parametrize(("hint", "good", "bad"), TYPES.values(), ids=TYPES.keys())
def test_schema_and_tool_agree(hint, good, bad):
    function = asking(hint)
    schema = schema_of(function)
    for said, meant in good:
        assert valid(schema, {"value": said}), said
        got = seen(function, {"value": said})
        assert got == {"value": meant}
        assert type(got["value"]) is type(meant)
    for said in bad:
        assert not valid(schema, {"value": said}), said
        assert isinstance(seen(function, {"value": said}), ToolResultBlock), said


@pytest.mark.parametrize(("hint", "good", "_"), TYPES.values(), ids=TYPES.keys())
def test_what_is_missing_or_unknown_is_refused(hint, good, _):
    function = asking(hint)
    assert not valid(schema_of(function), {})
    assert "`value` is missing" in refused(seen(function, {}))
    assert not valid(schema_of(function), {"value": good[0][0], "other": 1})
    assert "`other` is not a parameter; there are: value" in refused(seen(function, {"other": 1}))


@pytest.mark.parametrize("hint", [hint for hint, *_ in TYPES.values()], ids=TYPES.keys())
def test_an_optional_null_is_the_default_again(hint):
    """What strict mode makes of the schema lets the model say null; the function sees its default."""
    default = object()  # JSON has no word for it, so the schema shows none
    function = asking(hint, default)
    schema = schema_of(function)
    assert "required" not in schema
    strict = strict_schema(schema, dialect="openai-responses")
    if strict.strict:
        assert strict.schema["required"] == ["value"]
        assert valid(strict.schema, {"value": None})
    nullable = valid(schema, {"value": None})
    assert seen(function, {"value": None}) == ({"value": None} if nullable else {})
    assert seen(function, {}) == {}


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses"])
def test_nested_nulls_are_defaults_again(dialect):
    def ask(home: Address, others: list[Address], point: Point = ORIGIN, limit: int = 10, note: str | None = "x"):
        raise AssertionError

    strict = strict_schema(schema_of(ask), dialect=dialect)
    assert strict.strict
    street = {"street": "x", "floor": None, "tags": None}
    input = {"home": street, "others": [street, {**street, "floor": 3}], "point": None, "limit": None, "note": None}
    assert valid(strict.schema, input)
    # null for `note` stays: its author allowed it
    given = {"home": Address("x"), "others": [Address("x"), Address("x", 3)], "note": None}
    assert seen(ask, input) == given
    assert seen(ask, {**input, "point": {"x": 2, "y": None}}) == {**given, "point": Point(2, 0)}


def test_a_null_for_an_optional_argument_is_absent_though_the_schema_cannot_be_strict():
    def ask(names: dict[str, str], limit: int = 10, colour: Colour = Colour.RED):
        raise AssertionError

    assert not strict_schema(schema_of(ask), dialect="openai-chat").strict
    assert seen(ask, {"names": {"a": "b"}, "limit": None, "colour": None}) == {"names": {"a": "b"}}
    assert isinstance(seen(ask, {"names": None}), ToolResultBlock)  # it is required


# ------------------------------------------------------------------------------------------------- words and defaults


def test_words_come_from_annotations_docstrings_and_classes():
    def ask(
        home: Address, pet: Pet, a: Annotated[int, "Said here."], b: int = 1, c: Annotated[int, Meta(title="C c")] = 2
    ):
        """Asks.

        Args:
            home: Where.
            a: Said less well.
            b: By the docstring.
        """

    schema = schema_of(ask)
    properties = schema["properties"]
    assert properties["home"] == {"$ref": "#/$defs/Address", "description": "Where."}
    assert properties["a"]["description"] == "Said here."
    assert properties["b"] == {"type": "integer", "description": "By the docstring.", "default": 1}
    assert properties["c"]["title"] == "C c"  # the author's own title stays, made-up ones go
    assert schema["$defs"]["Address"] == {
        "type": "object",
        "description": "Where somebody lives.",
        "properties": {
            "street": {"type": "string", "description": "With its number."},
            "floor": {"type": "integer", "default": 0, "description": "From the ground, which is 0."},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["street"],
    }
    assert schema["$defs"]["Pet"]["description"] == "An animal."
    assert schema["$defs"]["Pet"]["properties"]["name"] == {
        "type": "string",
        "description": "What it hears.",
        "minLength": 1,
    }


@pytest.mark.parametrize(
    ("default", "said"),
    [
        (1, 1),
        (None, None),
        ([1, 2], [1, 2]),
        ((), []),
        (Colour.BLUE, "blue"),
        (Address("x"), {"street": "x", "floor": 0, "tags": []}),
        (Pet(name="a"), {"name": "a", "born": None, "young": []}),
        (DAY, "2024-02-29"),
        (Path("a"), "a"),
    ],
)
def test_a_default_is_in_the_schema(default, said):
    assert schema_of(asking(Any, default))["properties"]["value"] == {"default": said}


@pytest.mark.parametrize("default", [object(), float("nan"), float("inf"), print, {1, "a", object()}])
def test_a_default_that_json_cannot_say_is_not(default):
    schema = schema_of(asking(Any, default))
    assert schema["properties"]["value"] == {}
    assert "required" not in schema


def test_an_enum_keeps_its_order_and_has_a_type():
    definitions = schema_of(asking(dict[str, Colour] | Level))["$defs"]
    assert definitions == {
        "Colour": {"type": "string", "enum": ["red", "blue"]},
        "Level": {"type": "integer", "enum": [1, 2]},
    }
    assert schema_of(asking(Literal["a", 1, None]))["properties"]["value"]["type"] == ["null", "integer", "string"]


def test_definitions_of_one_name_do_not_meet():
    """pydantic puts its definitions inside; a class of ours may bear the same name."""
    ours = type("Pet", (msgspec.Struct,), {"__annotations__": {"paws": int}})

    def ask(mine, theirs, again):
        raise AssertionError

    ask.__annotations__ = {"mine": ours, "theirs": Pet, "again": list[Pet]}
    schema = schema_of(ask)
    assert schema["$defs"].keys() == {"Pet", "Pet_2"}
    assert schema["properties"]["mine"] == {"$ref": "#/$defs/Pet"}
    assert schema["properties"]["theirs"] == {"$ref": "#/$defs/Pet_2"}
    input = {"mine": {"paws": 4}, "theirs": {"name": "a", "young": [{"name": "b"}]}, "again": []}
    assert valid(schema, input)
    assert not valid(schema, {**input, "theirs": {"name": "a", "young": [{"paws": 4}]}})


def test_a_tool_without_parameters_takes_an_empty_object():
    def ask():
        raise AssertionError

    assert schema_of(ask) == {"type": "object", "properties": {}, "additionalProperties": False}
    assert seen(ask, {}) == {}

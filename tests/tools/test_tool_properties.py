"""Any typed value, said as JSON and called back, is the same value; and the schema takes what the tool takes."""

from __future__ import annotations

import datetime
import enum
import itertools
from dataclasses import MISSING, field, make_dataclass
from typing import Any, Literal, NamedTuple, TypedDict

import msgspec
from hypothesis import given, strategies as st
from jsonschema import Draft202012Validator

from interlingua import ToolUseBlock, restore_optional, strict_schema
from interlingua.agent.tools import Ready, Toolbox, tool


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Kind(NamedTuple):
    """A type and what there is of it."""

    hint: Any
    values: st.SearchStrategy[Any]


_numbers = itertools.count()
NAMES = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=4, unique=True)

SCALARS = st.sampled_from(
    [
        Kind(int, st.integers()),
        Kind(float, st.floats(allow_nan=False, allow_infinity=False)),
        Kind(str, st.text(max_size=8)),
        Kind(bool, st.booleans()),
        Kind(bytes, st.binary(max_size=4)),
        Kind(datetime.date, st.dates()),
        Kind(datetime.datetime, st.datetimes(timezones=st.just(datetime.UTC))),
        Kind(Colour, st.sampled_from(Colour)),
        Kind(Literal["x", "y", 3], st.sampled_from(["x", "y", 3])),
        Kind(int | str, st.integers() | st.text(max_size=3)),
    ]
)


def of(kind: Kind) -> st.SearchStrategy[Kind]:
    return st.sampled_from(
        [
            Kind(list[kind.hint], st.lists(kind.values, max_size=3)),
            Kind(tuple[kind.hint, ...], st.lists(kind.values, max_size=3).map(tuple)),
            Kind(tuple[kind.hint, bool], st.tuples(kind.values, st.booleans())),
            Kind(dict[str, kind.hint], st.dictionaries(st.text(max_size=3), kind.values, max_size=3)),
            Kind(kind.hint | None, st.none() | kind.values),
        ]
    )


@st.composite
def records(draw: st.DrawFn, inner: st.SearchStrategy[Kind]) -> Kind:
    """A dataclass, a Struct or a TypedDict of such fields; the later ones of a dataclass have defaults."""
    fields = [(name, draw(inner)) for name in draw(NAMES)]
    optional = draw(st.integers(0, len(fields)))
    required = len(fields) - optional
    name = f"Record{next(_numbers)}"
    values = st.tuples(*(kind.values for _, kind in fields))
    kind = draw(st.sampled_from(["dataclass", "struct", "typed dict"]))
    if kind == "typed dict":
        hints = {field_name: found.hint for field_name, found in fields}
        typed: Any = TypedDict  # made at run time, which checkers do not know
        return Kind(typed(name, hints), st.fixed_dictionaries({n: found.values for n, found in fields}))
    defaults = [MISSING] * required + [draw(found.values) for _, found in fields[required:]]
    if kind == "struct":
        hints = [
            (field_name, found.hint) if default is MISSING else (field_name, found.hint, made(default))
            for (field_name, found), default in zip(fields, defaults, strict=True)
        ]
        cls: Any = msgspec.defstruct(name, hints)
    else:
        cls = make_dataclass(
            name,
            [
                (field_name, found.hint, field() if default is MISSING else field(default_factory=lambda d=default: d))
                for (field_name, found), default in zip(fields, defaults, strict=True)
            ],
        )
    return Kind(cls, values.map(lambda given: cls(*given)))


def made(default: Any) -> Any:
    return msgspec.field(default_factory=lambda: default)


KINDS = st.recursive(SCALARS, lambda inner: inner.flatmap(of) | records(inner), max_leaves=6)


@st.composite
def calls(draw: st.DrawFn) -> tuple[Any, dict[str, Any]]:
    """A function with such parameters, and arguments for it; what has a default may be left out."""
    fields = {name: draw(KINDS) for name in draw(NAMES)}
    optional = draw(st.integers(0, len(fields)))

    required = list(fields)[: len(fields) - optional]
    source = f"def ask({', '.join(name if name in required else f'{name}=DEFAULT' for name in fields)}): ..."
    scope: dict[str, Any] = {"DEFAULT": object()}
    exec(source, scope)
    ask = scope["ask"]
    ask.__annotations__ = {name: kind.hint for name, kind in fields.items()}
    given = {name: draw(kind.values) for name, kind in fields.items() if name in required or draw(st.booleans())}
    return ask, given


@given(calls())
def test_a_value_said_and_called_back_is_the_same(case):
    ask, arguments = case
    made = tool(ask)
    schema = made.definition.input_schema
    Draft202012Validator.check_schema(schema)
    input = msgspec.json.decode(msgspec.json.encode(arguments))
    assert Draft202012Validator(schema).is_valid(input)
    ready = Toolbox([made]).prepare(ToolUseBlock(id="1", name="ask", input=input))
    assert isinstance(ready, Ready), ready
    assert ready.kwargs == arguments
    assert all(type(ready.kwargs[name]) is type(value) for name, value in arguments.items())


@given(calls())
def test_strict_mode_and_back_is_the_same(case):
    """Null for each optional argument that was left out; those whose type knows null keep it, the others are absent."""
    ask, arguments = case
    made = tool(ask)
    schema = made.definition.input_schema
    input = msgspec.json.decode(msgspec.json.encode(arguments))
    forced = {**input, **{name: None for name in schema["properties"] if name not in input}}
    nullable = {n for n in forced.keys() - input.keys() if Draft202012Validator(schema).is_valid({**input, n: None})}
    if strict_schema(schema, dialect="openai-responses").strict:
        assert restore_optional(forced, schema).keys() == input.keys() | nullable
    ready = Toolbox([made]).prepare(ToolUseBlock(id="1", name="ask", input=forced))
    assert isinstance(ready, Ready), ready
    assert ready.kwargs == {**arguments, **dict.fromkeys(nullable)}

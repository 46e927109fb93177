"""What can be a tool, what cannot, and how either is said when it is defined."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import pytest

from interlingua import ServerTool, ToolAnnotations, ToolDefinition, ToolUseBlock
from interlingua.agent.tools import BoundTool, Ready, Toolbox, ToolContext, bind, tool

if TYPE_CHECKING:
    from decimal import Decimal as OnlyForCheckers


def prepared(source: Any, input: dict[str, Any]) -> Any:
    box = Toolbox([source])
    (definition,) = box.definitions
    assert isinstance(definition, ToolDefinition)
    ready = box.prepare(ToolUseBlock(id="c1", name=definition.name, input=input))
    assert isinstance(ready, Ready), ready
    return ready.invoke({"user": "u"})


def names_of(source: Any) -> list[str]:
    (definition,) = Toolbox([source]).definitions
    assert isinstance(definition, ToolDefinition)
    return list(definition.input_schema["properties"])


# -------------------------------------------------------------------------------------------------------- what can be


@tool
def read_file(path: str, limit: int | None = None) -> str:
    """Reads a file.

    Args:
        path: From the root.
    """
    return f"{path}:{limit}"


@tool(name="erase", description="Gone.", timeout=5, annotations=ToolAnnotations(destructive=True), strict=True)
def delete(path: str) -> str:
    """Not this."""
    return path


@dataclass
class Greeter:
    greeting: str

    def greet(self, name: str) -> str:
        """Greets."""
        return f"{self.greeting} {name}"

    @classmethod
    def where(cls, name: str) -> str:
        return f"{cls.__name__} {name}"

    @staticmethod
    def how(name: str) -> str:
        return f"how {name}"

    def __call__(self, name: str) -> str:
        """Greets when called."""
        return f"{self.greeting}, {name}"


class Waiting:
    """Waits."""

    async def __call__(self, name: str) -> str:
        return name


def shouted(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return function(*args, **kwargs).upper()

    return wrapper


@shouted
def wrapped(name: str) -> str:
    """Behind a wrapper."""
    return name


def connect(query: str, *, key: str, limit: int = 3) -> str:
    """Asks a server."""
    return f"{query} {key} {limit}"


async def wait(name: str) -> str:
    return name


def test_a_decorated_function():
    assert read_file.definition == ToolDefinition(
        name="read_file",
        description="Reads a file.",
        input_schema={
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "From the root."},
                "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
            },
            "required": ["path"],
            "additionalProperties": False,
        },
    )
    assert read_file("a", 3) == "a:3"  # it is still a function
    assert (read_file.name, read_file.timeout, read_file.wants_context) == ("read_file", None, False)


def test_a_decorator_with_options():
    definition = delete.definition
    assert (definition.name, definition.description, definition.strict) == ("erase", "Gone.", True)
    assert delete.timeout == 5
    assert delete.is_destructive
    assert not read_file.is_destructive
    assert delete("x") == "x"


def test_options_without_a_decorator():
    made = tool(connect, name="ask", description="")
    assert isinstance(made, BoundTool)
    assert made.name == "ask"
    assert made.definition.description == ""


@pytest.mark.parametrize(
    ("source", "name", "description", "says"),
    [
        (read_file, "read_file", "Reads a file.", None),
        (wrapped, "wrapped", "Behind a wrapper.", "X"),
        (Greeter("hi").greet, "greet", "Greets.", "hi x"),
        (Greeter.where, "where", None, "Greeter x"),
        (Greeter.how, "how", None, "how x"),
        (Greeter("hi"), "Greeter", "Greets when called.", "hi, x"),
        (functools.partial(Greeter("hi").greet), "greet", "Greets.", "hi x"),
    ],
)
def test_what_can_be_a_tool(source, name, description, says):
    (definition,) = Toolbox([source]).definitions
    assert isinstance(definition, ToolDefinition)
    assert (definition.name, definition.description) == (name, description)
    if says is not None:
        assert prepared(source, {"name": "x"}) == says


@pytest.mark.parametrize("source", [wait, Waiting(), functools.partial(wait)])
def test_an_asynchronous_tool_is_awaited(source):
    made = tool(source)
    assert made.is_async
    assert asyncio.run(prepared(source, {"name": "x"})) == "x"


def test_the_description_of_an_object_may_be_its_class():
    assert tool(Waiting()).definition.description == "Waits."

    @dataclass
    class Silent:
        x: int

        def __call__(self) -> int:
            return self.x

    assert tool(Silent(1)).definition.description is None


def test_what_a_partial_fills_is_not_the_models():
    source = functools.partial(connect, key="k")
    assert names_of(source) == ["query", "limit"]
    assert prepared(source, {"query": "q"}) == "q k 3"
    deeper = functools.partial(source, limit=7)
    assert names_of(deeper) == ["query"]
    assert prepared(deeper, {"query": "q"}) == "q k 7"
    assert names_of(functools.partial(connect, "q", key="k")) == ["limit"]


def test_the_context_is_given_and_not_in_the_schema():
    def ask(context: ToolContext, name: str, other: Annotated[ToolContext | None, "Too."] = None) -> Any:
        """Asks.

        Args:
            context: Hidden.
        """
        return context

    def aware(name: str, context: ToolContext | None = None) -> Any:
        return context

    assert names_of(aware) == ["name"]
    assert tool(aware).wants_context
    assert prepared(aware, {"name": "x"}) == ToolContext("c1", "aware", {"user": "u"})
    assert "context" not in str(tool(ask).definition.input_schema)


def test_a_return_type_that_only_checkers_see_is_no_matter():
    def ask(name: str) -> OnlyForCheckers:
        raise AssertionError

    assert names_of(ask) == ["name"]


# ------------------------------------------------------------------------------------------------------ what cannot be


def positional(x: int, /) -> None: ...
def many(*numbers: int) -> None: ...
def named(**numbers: int) -> None: ...
def untyped(x) -> None: ...
def hidden(x: OnlyForCheckers) -> None: ...
def unknown(x: NoSuchName) -> None: ...  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
def odd(x: inspect.Signature) -> None: ...
def either(good: str, x: Greeter | Waiting) -> None: ...
def yields(x: int) -> Iterator[int]:
    yield x


async def yields_later(x: int) -> Any:
    yield x


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (positional, "positional: parameter `x` is positional-only"),
        (many, "many: parameter `numbers` takes any number"),
        (named, "named: parameter `numbers` takes arguments of any name"),
        (untyped, "untyped: parameter `x` has no annotation; say Any"),
        (Greeter.greet, "greet: parameter `self` has no annotation; decorate the bound method"),
        (hidden, "hidden: an annotation cannot be resolved: name 'OnlyForCheckers'"),
        (unknown, "unknown: an annotation cannot be resolved: name 'NoSuchName'"),
        (odd, "odd: parameter `x`: type <class 'inspect.Signature'> is not supported"),
        (either, "either: parameter `x`: Type unions"),
        (yields, "yields is a generator"),
        (yields_later, "yields_later is a generator"),
        (Greeter, "Greeter is a class"),
        (type, "type is a class"),
        (max, "max has no signature that Python can read"),
        (3, "not a tool"),
        (ToolDefinition(name="t"), "nobody answers calls of 't'"),
        ((ToolDefinition(name="t"), None), "the handler of t cannot be called"),
    ],
)
def test_what_cannot_be_a_tool_says_why(source, says):
    with pytest.raises(TypeError) as caught:
        Toolbox([source])
    assert says in str(caught.value)


@pytest.mark.parametrize("name", ["<lambda>", "é", "a b", "a.b", "", "x" * 65])
def test_a_name_that_vendors_refuse_is_refused(name):
    with pytest.raises(ValueError, match="cannot be the name of a tool"):
        tool(connect, name=name)


def test_a_lambda_needs_a_name():
    function = lambda: 1  # noqa: E731
    with pytest.raises(ValueError, match="pass name="):
        tool(function)
    assert tool(function, name="one").name == "one"


# --------------------------------------------------------------------------------------------------------- the toolbox


def test_definitions_are_in_the_order_given():
    search = ServerTool(dialect="anthropic-messages", raw={"type": "web_search_20250305", "name": "web_search"})
    written = ToolDefinition(name="run", kind="text")
    box = Toolbox([delete, search, (written, print), connect, read_file])
    assert box.definitions == (
        delete.definition,
        search,
        written,
        tool(connect).definition,
        read_file.definition,
    )
    assert box.get("erase") is delete
    assert box.get("web_search") is None
    assert Toolbox().definitions == ()


def test_two_tools_of_one_name_are_named_both():
    with pytest.raises(ValueError, match="two tools are named 'greet'") as caught:
        Toolbox([Greeter("a").greet, bind(ToolDefinition(name="greet"), connect)])
    assert "test_tool_definitions.Greeter.greet" in str(caught.value)
    assert "test_tool_definitions.connect" in str(caught.value)


def test_the_same_tool_twice_is_a_mistake_too():
    with pytest.raises(ValueError, match="two tools are named 'greet'"):
        Toolbox([Greeter("a").greet, Greeter("b").greet])


def test_whoever_has_tools_can_bring_them():
    class Kit:
        tools = (read_file, delete)

    assert Toolbox([Kit(), connect]).definitions == (
        read_file.definition,
        delete.definition,
        tool(connect).definition,
    )


def test_a_handler_of_a_written_definition_may_want_the_context():
    def handle(input, context: ToolContext):
        return context.metadata, input

    pair = (ToolDefinition(name="t", input_schema={"type": "object", "properties": {}}), handle)
    assert prepared(pair, {"a": 1}) == ({"user": "u"}, {"a": 1})
    assert bind(*pair).wants_context
    assert not bind(pair[0], print).wants_context

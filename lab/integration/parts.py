"""The model's part in the rows: steps of a script, which read the request that arrived before they answer.

So an answer shows whether earlier messages and results really arrived.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import msgspec

from interlingua.client.embedded import Step
from interlingua.types.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from interlingua.types.request import Request
from interlingua.types.tools import ToolDefinition

__all__ = [
    "BOOKED",
    "JOURNEY",
    "Choice",
    "add_what_was_read",
    "book_strictly",
    "call",
    "calls",
    "count_texts",
    "count_tools",
    "mend",
    "read_what_was_found",
    "say",
    "sum_up",
]

Choice = Step | Callable[[Request], Step]


def say(text: str) -> Step:
    return Step(content=(TextBlock(text),))


def call(name: str, number: int = 1, **arguments: Any) -> ToolUseBlock:
    return ToolUseBlock(f"call_{number}_scripted", name, input=arguments)


def calls(*blocks: Block) -> Step:
    return Step(content=blocks)


def results(request: Request) -> list[str]:
    """The texts of the tool results in the last message."""
    found = [block for block in request.messages[-1].content if isinstance(block, ToolResultBlock)]
    return [" ".join(part.text for part in block.content if isinstance(part, TextBlock)) for block in found]


def count_texts(request: Request) -> Step:
    """An answer that repeats the system prompt and all texts of the request, as a proof that they arrived."""
    system = " ".join(block.text for block in request.system if isinstance(block, TextBlock))
    texts = [block.text for message in request.messages for block in message.content if isinstance(block, TextBlock)]
    return say(f"{system} {len(texts)} texts: {' / '.join(texts)}")


def sum_up(request: Request) -> Step:
    return say(" | ".join(results(request)))


def mend(request: Request) -> Step:
    """Call again, with another divisor, if the error arrived."""
    result = results(request)[0]
    return calls(call("divide", 2, a=6, b=4)) if "ZeroDivisionError" in result else say(f"no error came: {result}")


def read_what_was_found(request: Request) -> Step:
    (names,) = results(request)
    return calls(call("Read", 2, path=msgspec.json.decode(names)[0]))


def add_what_was_read(request: Request) -> Step:
    (text,) = results(request)
    a, b = [int(word) for word in text.split() if word.isdigit()]
    return calls(call("add", 3, a=a, b=b))


def count_tools(request: Request) -> Step:
    names = [tool.name for tool in request.tools if isinstance(tool, ToolDefinition)]
    return calls(call(names[27], 1, text=f"one of {len(names)}", times=2))


# ------------------------------------------------------------------------------------------------------ strict schemas

JOURNEY: dict[str, Any] = {
    "traveller": {"name": "Ada", "age": None},
    "stops": [{"city": "Oslo", "nights": 2}, {"city": "Lima", "wishes": ["sea"]}],
    "note": None,
    "seat": None,
    "comfort": "first",
}


def book_strictly(request: Request) -> Step:
    """A call in strict mode, which must have every property of the schema: those without a value are null."""
    (tool,) = (tool for tool in request.tools if isinstance(tool, ToolDefinition))
    return calls(ToolUseBlock("call_1_scripted", "book", input=filled(JOURNEY, tool.input_schema, tool.input_schema)))


def filled(value: Any, schema: Any, root: Any) -> Any:
    """The value with null for every property that the schema requires and the value lacks."""
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    either = [part for part in schema.get("anyOf", ()) if part.get("type") != "null"]
    if value is not None and len(either) == 1:
        return filled(value, either[0], root)
    if isinstance(value, list):
        return [filled(item, schema.get("items", {}), root) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    given, known = cast("dict[str, object]", value), schema.get("properties", {})
    missing = {name: None for name in schema.get("required", ()) if name not in given}
    return {**{name: filled(inner, known.get(name, {}), root) for name, inner in given.items()}, **missing}


BOOKED = (
    '{"comfort":"first","discount":0.0,"note":null,"seat":null,'
    '"stops":[{"city":"Oslo","nights":2,"wishes":[]},{"city":"Lima","nights":1,"wishes":["sea"]}],'
    '"traveller":{"age":null,"card":"none","name":"Ada"}}'
)
"""The arguments that the function gets: its own defaults for what the model left out, null where null is allowed."""

"""The shapes that nearly all traffic has, read and said without bookkeeping.

Each function does exactly what the tables would do with such a value, or gives None, and then the tables speak:
nothing here has an opinion of its own. A test holds both ways against each other over all recordings.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...types.base import Json
from ...types.blocks import Block, TextBlock, ToolResultBlock, ToolUseBlock
from ...types.tools import Tool, ToolDefinition
from .._tables import is_plain_tool
from .media import NAME
from .schemas import all_fit
from .spelling import Wire, is_array, is_object

SIGNATURE = "thoughtSignature"
PLACEHOLDERS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")


def read_block(part: Wire, prefix: str, place: int) -> Block | None:
    """A text, a call or a result with nothing special about it; the last two give its id where the wire has none."""
    signature = None
    if len(part) == 2:
        signature = part.get(SIGNATURE)
        if type(signature) is not str or not signature or signature in PLACEHOLDERS:
            return None
    elif len(part) != 1:
        return None
    if type(text := part.get("text")) is str:
        return TextBlock(text, signature=signature)
    if is_object(call := part.get("functionCall")):
        return _read_call(call, prefix, place, signature)
    if is_object(result := part.get("functionResponse")):
        return _read_result(result, signature)
    return None


def _read_call(call: Wire, prefix: str, place: int, signature: str | None) -> Block | None:
    name, args, id = call.get("name"), call.get("args"), call.get("id")
    if type(name) is not str or not name or not is_object(args):
        return None
    if len(call) == 3 and type(id) is str and id:
        return ToolUseBlock(id, name, "json", args, signature=signature)
    if len(call) == 2:
        derived = f"{prefix}{place}"
        return ToolUseBlock(derived, name, "json", args, signature=signature, forms={NAME: {"id": derived}})
    return None


def _read_result(result: Wire, signature: str | None) -> Block | None:
    id, name, response = result.get("id"), result.get("name"), result.get("response")
    if len(result) != 3 or type(id) is not str or not id or type(name) is not str or not name:
        return None
    text = response.get("output") if is_object(response) and len(response) == 1 else None
    if type(text) is not str or text.startswith("{"):
        return None
    return ToolResultBlock(id, (TextBlock(text),), name, signature=signature)


def read_tools(wire: Json) -> tuple[ToolDefinition, ...] | None:
    """Declarations with a name, a description and a schema that needs no mark."""
    declared = wire.get("functionDeclarations") if is_object(wire) and len(wire) == 1 else None
    if not is_array(declared) or not declared:
        return None
    tools: list[ToolDefinition] = []
    for tool in declared:
        if not is_object(tool) or len(tool) != 3:
            return None
        name, about, schema = tool.get("name"), tool.get("description"), tool.get("parametersJsonSchema")
        if type(name) is not str or type(about) is not str or not about or not is_object(schema) or not schema:
            return None
        tools.append(ToolDefinition(name, about, schema))
    return tuple(tools) if all_fit([tool.input_schema for tool in tools]) else None


def say_tools(tools: Sequence[Tool]) -> Wire | None:
    """Tools that say nothing but name, description and a schema that can be said as it is."""
    said: list[Wire] = []
    for tool in tools:
        if type(tool) is not ToolDefinition or not is_plain_tool(tool) or not tool.description or not tool.input_schema:
            return None
        said.append({"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.input_schema})
    return {"functionDeclarations": said} if said and all_fit([tool["parametersJsonSchema"] for tool in said]) else None


def say_block(block: Block) -> Wire | None:
    """A text, a call or a named result that says nothing beyond its own fields."""
    if block.extras or block.forms or block.cache is not None or block.signature is not None:
        return None
    if type(block) is TextBlock:
        return {"text": block.text} if block.text and not block.citations else None
    if type(block) is ToolUseBlock:
        if block.kind == "json" and block.input_text is None and not block.native_ids:
            return {"functionCall": {"name": block.name, "id": block.id, "args": block.input}}
        return None
    return _say_result(block) if type(block) is ToolResultBlock else None


def _say_result(block: ToolResultBlock) -> Wire | None:
    if block.is_error is not None or len(block.content) != 1:
        return None
    only = block.content[0]
    if type(only) is not TextBlock or only.text.startswith("{"):
        return None
    if only.extras or only.forms or only.citations or only.cache is not None or only.signature is not None:
        return None
    wire: Wire = {"id": block.tool_use_id, "response": {"output": only.text}}
    if block.name is not None:
        wire["name"] = block.name
    return {"functionResponse": wire}

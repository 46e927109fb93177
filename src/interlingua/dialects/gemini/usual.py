"""The shapes that nearly all traffic has, read and said without bookkeeping.

Each function does exactly what the tables would do with such a value, or gives None, and then the tables speak:
nothing here has an opinion of its own. A test holds both ways against each other over all recordings.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from functools import lru_cache

from ...codec.issuer import same_issuer
from ...codec.schemas import Plan, fitted_tools
from ...types.base import Json
from ...types.blocks import (
    Base64Source,
    Block,
    ImageBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ...types.capabilities import Target
from ...types.loss import Loss
from ...types.messages import Message
from ...types.tools import Tool, ToolDefinition
from ...types.words import Role
from .key_case import Wire, is_array, is_object
from .media import FAILURES_ONLY, NAME
from .schemas import all_fit

SIGNATURE = "thoughtSignature"
PLACEHOLDERS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")

USER, ASSISTANT, TOOL = Role.user, Role.assistant, Role.tool  # looked up once: an enum's members are slow to reach

NAMED_BY_CALL = f"a tool result of {NAME} names its tool; the name was taken from the call"
SIGNED_FIRST = f"{NAME} wants the first call of a turn signed; the documented placeholder was added"


def is_base64(text: str) -> bool:
    """Whether readers take it for bytes: one of the two alphabets, padded or not, and no bits left over."""
    digits = text.rstrip("=")
    missing = -len(digits) % 4
    plain = digits.replace("-", "+").replace("_", "/")
    if len(text) - len(digits) > missing or (plain != digits and ("+" in digits or "/" in digits)):
        return False
    try:
        data = b64decode(plain + "=" * missing, validate=True)
    except ValueError:
        return False
    return b64encode(data).decode().rstrip("=") == plain


def read_turn(
    parts: list[Json], prefix: str, waiting: list[tuple[str, str]], model: bool
) -> tuple[Role, tuple[Block, ...]] | None:
    """The parts of a turn with nothing special about it: whose message they are, and its blocks.

    ``waiting`` holds calls that have no result yet, with their names: it gets those made here, and loses the answered.
    """
    blocks: list[Block] = []
    results = 0
    for place, part in enumerate(parts):
        block = read_block(part, prefix, place) if is_object(part) else None
        if block is None:
            return None
        if type(block) is ToolResultBlock:
            results += 1
        elif type(block) is TextBlock and not block.text and block.signature is None:
            return None
        blocks.append(block)
    if results and (model or results < len(blocks)):
        return None
    for block in blocks:
        if type(block) is ToolUseBlock:
            waiting.append((block.id, block.name))
        elif type(block) is ToolResultBlock:
            _answer(block.tool_use_id, waiting)
    return ASSISTANT if model else TOOL if results else USER, tuple(blocks)


def _answer(id: str, waiting: list[tuple[str, str]]) -> None:
    for place, call in enumerate(waiting):
        if call[0] == id:
            del waiting[place]
            return


def read_block(part: Wire, prefix: str, place: int) -> Block | None:
    """A text, a thought, a picture, a call or a result; ``prefix`` and ``place`` are its id where the wire has none."""
    size, signature = len(part), None
    if size > 1 and SIGNATURE in part:
        size, signature = size - 1, part[SIGNATURE]
        if type(signature) is not str or not signature or signature in PLACEHOLDERS or not is_base64(signature):
            return None
    if type(text := part.get("text")) is str:
        if size == 1:
            return TextBlock(text) if signature is None else TextBlock(text, signature=signature)
        return ThinkingBlock(text=text, signature=signature) if size == 2 and part.get("thought") is True else None
    if size != 1:
        return None
    if is_object(call := part.get("functionCall")):
        return _read_call(call, prefix, place, signature)
    if is_object(result := part.get("functionResponse")):
        return _read_result(result, signature)
    return _read_picture(part.get("inlineData"), signature)


def _read_picture(wire: Json, signature: str | None) -> Block | None:
    """Data that are base64 of the standard alphabet, as far as one can tell without reading them."""
    if not is_object(wire) or len(wire) != 2:
        return None
    kind, data = wire.get("mimeType"), wire.get("data")
    if type(kind) is not str or type(data) is not str or not kind.startswith("image/"):
        return None
    if len(data) % 4 or "-" in data or "_" in data:
        return None
    return ImageBlock(source=Base64Source(kind, data), signature=signature)


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


def say_tools(tools: Sequence[Tool], plans: Sequence[Plan], losses: list[Loss]) -> Wire | None:
    """Tools that say nothing but name, description and schema."""
    fitted = fitted_tools(tools, plans, losses)
    if not fitted:
        return None
    said = [
        {"name": tool.name, "description": tool.description, "parametersJsonSchema": schema} for tool, schema in fitted
    ]
    return {"functionDeclarations": said}


class History:
    """What the calls so far tell of their results: name, place, and the id on the wire, if there is one."""

    __slots__ = ("calls", "count", "signing", "unnamed")

    def __init__(self, signing: bool = False) -> None:
        self.calls: dict[str, tuple[str, int, str | None]] = {}
        self.count = 0
        self.signing = signing  # the reader refuses unsigned calls
        self.unnamed = False  # some call has no id on the wire


def say_parts(
    message: Message, index: int, history: History, target: Target | None, losses: list[Loss]
) -> list[Wire] | None:
    """The parts of a message with nothing special about it."""
    if message.role is TOOL:
        return say_results(message, index, history, losses)
    parts: list[Wire] = []
    for block in message.content:
        if block.extras or block.forms or block.cache is not None:
            return None
        if type(block) is TextBlock:
            wire: Wire | None = {"text": block.text} if block.text and not block.citations else None
        elif type(block) is ToolUseBlock:
            wire = say_call(block, history)
        else:
            wire = say_seen(block, message, target)
        if wire is None:
            return None
        if block.signature is not None:
            if not same_issuer(message.origin, NAME, target) or not is_base64(block.signature):
                return None
            wire[SIGNATURE] = block.signature
        parts.append(wire)
    if history.signing and message.role is ASSISTANT:
        sign_first(parts, index, losses)
    return parts


def say_call(block: ToolUseBlock, history: History) -> Wire | None:
    if block.kind != "json" or block.input_text is not None:
        return None
    id = block.native_ids.get(NAME, block.id) if block.native_ids else block.id
    history.calls[block.id] = block.name, 0, id
    return {"functionCall": {"name": block.name, "id": id, "args": block.input}}


def say_seen(block: Block, message: Message, target: Target | None) -> Wire | None:
    """A thought, which goes back to its issuer only, or a picture."""
    if type(block) is ThinkingBlock:
        return {"text": block.text, "thought": True} if same_issuer(message.origin, NAME, target) else None
    source = block.source if type(block) is ImageBlock and block.detail is None else None
    if type(source) is not Base64Source or source.extras or source.forms or not source.media_type.startswith("image/"):
        return None
    return {"inlineData": {"mimeType": source.media_type, "data": source.data}}


def sign_first(parts: list[Wire], index: int, losses: list[Loss]) -> None:
    """Of calls made together only the first is signed."""
    for place, wire in enumerate(parts):
        if "functionCall" in wire:
            if SIGNATURE not in wire:
                wire[SIGNATURE] = PLACEHOLDERS[0]
                losses.append(Loss(f"messages/{index}/content/{place}/signature", "added", SIGNED_FIRST))
            return


def say_results(message: Message, index: int, history: History, losses: list[Loss]) -> list[Wire] | None:
    """Results of one plain text each; a name that is missing is that of the call."""
    parts: list[Wire] = []
    known = len(losses)
    for place, block in enumerate(message.content):
        wire = say_result(block, index, place, history, losses) if type(block) is ToolResultBlock else None
        if wire is None:
            del losses[known:]
            return None
        parts.append({"functionResponse": wire})
    return parts


def say_result(block: ToolResultBlock, index: int, place: int, history: History, losses: list[Loss]) -> Wire | None:
    if block.extras or block.forms or block.cache is not None or block.signature is not None or len(block.content) != 1:
        return None
    only = block.content[0]
    if type(only) is not TextBlock or only.extras or only.forms or only.cache is not None or only.signature is not None:
        return None
    if only.citations or history.unnamed or only.text.startswith("{"):
        return None
    id, name, called = block.tool_use_id, block.name, history.calls.get(block.tool_use_id)
    if called is not None and called[2] is not None:
        id = called[2]
    if block.is_error is False:
        losses.append(Loss(f"messages/{index}/content/{place}/is_error", "dropped", FAILURES_ONLY, weight="form"))
    response = {"error" if block.is_error else "output": only.text}
    if name is not None:
        return {"id": id, "name": name, "response": response}
    if called is None:
        return None
    losses.append(_named_by_call(index, place))
    return {"id": id, "response": response, "name": called[0]}


@lru_cache(maxsize=4096)
def _named_by_call(index: int, place: int) -> Loss:
    return Loss(f"messages/{index}/content/{place}/name", "added", NAMED_BY_CALL, weight="form")

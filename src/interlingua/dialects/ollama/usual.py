"""The shapes that nearly all traffic has, read and said without bookkeeping.

Each function does exactly what the tables would do with such a value, or gives None, and then the tables speak:
nothing here has an opinion of its own. A test holds both ways against each other over all recordings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

from ...codec.issuer import same_issuer
from ...codec.json import Wire, is_array, is_object
from ...codec.schemas import Plan, fitted_tools
from ...codec.tables import marks
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
from ...types.messages import Message, Origin
from ...types.tools import Tool, ToolDefinition
from ...types.words import Role
from .blocks import NAME, media_type
from .schemas import is_ours

# looked up once: an enum's members are slow to reach
USER, ASSISTANT, TOOLS = Role.user, Role.assistant, Role.tool

THOUGHT, TEXT, PICTURES, CALLS = 1, 2, 3, 4  # the order of what a message says

ERROR_PREFIX = "Error: "
ERROR_IN_WORDS = f"{NAME} has no error flag; the text begins with {ERROR_PREFIX!r}"
NO_ERROR_FLAG = f"{NAME} has no error flag; false says the same as none"
NAMED_BY_CALL = f"a tool result of {NAME} names its tool; the name was taken from the call"


def read_turn(turn: Wire, before: Role | None, origin: Origin) -> Message | None:
    """A text, and what may stand beside it; not where a turn of the model's follows another."""
    word, text = turn.get("role"), turn.get("content")
    if type(text) is not str:
        return None
    if word == "assistant" and before is not ASSISTANT:
        blocks = read_blocks(turn, text)
        return Message(ASSISTANT, blocks, None, origin) if blocks else None
    if word != "user" or "tool_calls" in turn:
        return None
    blocks = read_blocks(turn, text)
    return Message(USER, blocks) if blocks else None


def read_blocks(turn: Wire, text: str) -> tuple[Block, ...] | None:
    """A thought, a text, pictures and calls, where a turn says nothing else."""
    if len(turn) == 2:
        return (TextBlock(text),) if text else None
    left = len(turn) - 2
    blocks: list[Block] = []
    if "thinking" in turn:
        left -= 1
        if type(turn["thinking"]) is not str or not turn["thinking"]:
            return None
        blocks.append(ThinkingBlock(text=turn["thinking"]))
    if text:
        blocks.append(TextBlock(text))
    if "images" in turn:
        left -= 1
        if not read_images(turn["images"], blocks):
            return None
    if "tool_calls" in turn:
        left -= 1
        if not read_calls(turn["tool_calls"], blocks):
            return None
    return tuple(blocks) if not left else None


def read_images(images: Json, into: list[Block]) -> bool:
    if not is_array(images) or not images:
        return False
    for data in images:
        if type(data) is not str or data.startswith("data:"):
            return False
        into.append(ImageBlock(source=Base64Source(media_type(data), data)))
    return True


def read_calls(calls: Json, into: list[Block]) -> bool:
    """Calls with ids and arguments."""
    if not is_array(calls) or not calls:
        return False
    for call in calls:
        function: Json = call.get("function") if is_object(call) and len(call) == 2 else None
        if not is_object(function) or len(function) != 2:
            return False
        id, name, input = call.get("id"), function.get("name"), function.get("arguments")
        if type(id) is not str or not id or type(name) is not str or not is_object(input):
            return False
        into.append(ToolUseBlock(id, name, "json", input))
    return True


def read_result(turn: Wire, called: list[ToolUseBlock]) -> ToolResultBlock | None:
    """A named text that answers one of the calls right before it, which then is open no more."""
    id, name, text = turn.get("tool_call_id"), turn.get("tool_name"), turn.get("content")
    if len(turn) != 4 or type(id) is not str or type(name) is not str or type(text) is not str:
        return None
    if not id or not name or not text:
        return None
    for place, call in enumerate(called):
        if call.id == id:
            del called[place]
            return ToolResultBlock(id, (TextBlock(text),), name)
    return None


def read_tool(wire: Wire) -> ToolDefinition | None:
    """A function with nothing but a name, a description and a schema that the server holds whole."""
    function = wire.get("function")
    if len(wire) != 2 or wire.get("type") != "function" or not is_object(function) or len(function) != 3:
        return None
    name, description, schema = function.get("name"), function.get("description"), function.get("parameters")
    if type(name) is not str or type(description) is not str or not is_object(schema) or not is_ours(name, schema):
        return None
    return ToolDefinition(name, description, schema)


class History:
    """What was said so far: the turns, and what a result must know of the calls before it."""

    __slots__ = ("calls", "derived", "issued", "turns")

    def __init__(self) -> None:
        self.turns: list[Wire] = []
        self.calls: dict[str, tuple[str, int]] = {}  # name, and place among the calls of its turn, by id
        self.derived: dict[str, Wire] = {}  # the marks of calls that went out without an id
        self.issued: dict[str, str] = {}  # the server's ids, where the conversation has others

    def note_ids(self, message: Message) -> None:
        for block in message.content:
            if type(block) is ToolUseBlock and block.native_ids:
                self.issued[block.id] = block.native_ids.get(NAME, block.id)

    def hear(self, message: Message) -> None:
        """Calls under the ids that they go out under."""
        if message.role is not ASSISTANT:
            return
        for place, call in enumerate(block for block in message.content if type(block) is ToolUseBlock):
            mark = marks(NAME, call)
            self.calls[call.id] = call.name, place
            if mark.get("derived") == call.id:
                self.derived[call.id] = mark
            else:
                self.derived.pop(call.id, None)


def say_history(
    messages: Sequence[Message],
    skip: int,
    history: History,
    target: Target | None,
    losses: list[Loss],
    otherwise: Callable[[int], None],
) -> bool:
    """A history where each message is a turn of its own, and results stand right behind the turn that called.

    Where it turns out not to be one, False; a message that has something special about it is said ``otherwise``.
    """
    before = None
    for index, message in enumerate(messages):
        role = message.role
        if role is TOOLS:
            if before is not ASSISTANT or message.forms:
                return False
            said = say_results(message, index, history, losses)
        elif role is before is ASSISTANT:
            return False
        else:
            said = index < skip or say_turn(message, history, target)
        if not said:
            otherwise(index)
        before = role
    return True


def say_message(message: Message, index: int, history: History, target: Target | None, losses: list[Loss]) -> bool:
    """A message with nothing special about it. False where the tables must speak."""
    if message.role is TOOLS:
        return say_results(message, index, history, losses)
    return say_turn(message, history, target)


def say_turn(message: Message, history: History, target: Target | None) -> bool:
    """A thought, a text, pictures and calls, as far as there are any, in this order."""
    role = message.role
    turn: Wire = {"role": "assistant" if role is ASSISTANT else "user" if role is USER else "system", "content": ""}
    calls: list[Wire] = []
    last = 0
    if message.extras or message.forms:
        return False
    for block in message.content:
        if block.extras or block.forms or block.cache is not None or block.signature is not None:
            return False
        if type(block) is TextBlock:
            if last >= TEXT or not block.text or block.citations:
                return False
            turn["content"] = block.text
            last = TEXT
        elif type(block) is ToolUseBlock:
            if role is not ASSISTANT or block.kind != "json" or block.input_text is not None or not block.id:
                return False
            calls.append(_say_call(block, len(calls), history))
            last = CALLS
        elif not (last := _say_seen(block, last, turn, message, target)):
            return False
    if last == CALLS:
        turn["tool_calls"] = calls
    if last:
        history.turns.append(turn)
    return last > 0


def _say_seen(block: Block, last: int, turn: Wire, message: Message, target: Target | None) -> int:
    """A thought, or a picture of which nothing is lost: its place in the order, 0 if it is neither, or out of order."""
    if type(block) is ThinkingBlock:
        if last or not block.text or not same_issuer(message.origin, NAME, target):
            return 0
        turn["thinking"] = block.text
        return THOUGHT
    source = block.source if type(block) is ImageBlock and block.detail is None and last <= PICTURES else None
    if type(source) is not Base64Source or source.extras or source.media_type != media_type(source.data):
        return 0
    turn.setdefault("images", []).append(source.data)
    return PICTURES


def _say_call(block: ToolUseBlock, place: int, history: History) -> Wire:
    id = block.id
    if block.native_ids:
        id = block.native_ids.get(NAME, id)
        history.issued[block.id] = id
    history.calls[id] = block.name, place
    if history.derived:
        history.derived.pop(id, None)
    return {"function": {"name": block.name, "arguments": block.input}, "id": id}


def say_results(message: Message, index: int, history: History, losses: list[Loss]) -> bool:
    """Results of one plain text each; a name that is missing is that of the call."""
    if message.extras or message.forms:
        return False
    turns, said, known = history.turns, len(history.turns), len(losses)
    for place, block in enumerate(message.content):
        turn = say_result(block, index, place, history, losses) if type(block) is ToolResultBlock else None
        if turn is None:
            del turns[said:], losses[known:]
            return False
        turns.append(turn)
    return len(turns) > said


def say_result(block: ToolResultBlock, index: int, place: int, history: History, losses: list[Loss]) -> Wire | None:
    if block.extras or block.forms or block.cache is not None or block.signature is not None or len(block.content) != 1:
        return None
    only, id, name = block.content[0], block.tool_use_id, block.name
    if type(only) is not TextBlock or only.extras or only.forms or only.cache is not None or only.signature is not None:
        return None
    text = only.text
    if id in history.issued:
        id = history.issued[id]
    if not text or only.citations or not id or id in history.derived:
        return None
    if block.is_error is not None:
        text = _say_error(text, block.is_error, f"messages/{index}/content/{place}", losses)
    if name is None:
        if id not in history.calls:
            return {"role": "tool", "content": text, "tool_call_id": id}
        name = history.calls[id][0]
        losses.append(_named_by_call(index, place))
    return {"role": "tool", "content": text, "tool_name": name, "tool_call_id": id}


@lru_cache(maxsize=4096)
def _named_by_call(index: int, place: int) -> Loss:
    return Loss(f"messages/{index}/content/{place}/name", "added", NAMED_BY_CALL, weight="form")


def _say_error(text: str, is_error: bool, place: str, losses: list[Loss]) -> str:
    if not is_error:
        losses.append(Loss(f"{place}/is_error", "dropped", NO_ERROR_FLAG, weight="form"))
        return text
    losses += [Loss(f"{place}/{field}", "approximated", ERROR_IN_WORDS) for field in ("is_error", "content")]
    return ERROR_PREFIX + text


def say_tools(tools: Sequence[Tool], plans: Sequence[Plan], losses: list[Loss]) -> list[Wire] | None:
    """Definitions with nothing but a name, a description and a schema."""
    fitted = fitted_tools(tools, plans, losses)
    if fitted is None:
        return None
    return [
        {"type": "function", "function": {"name": tool.name, "description": tool.description, "parameters": schema}}
        for tool, schema in fitted
    ]

"""The history: leading system text, turns, and tool results, of which each is a message of its own on the wire.

Adjacent ``tool`` messages are one canonical message; what a wire message keeps for itself is kept on its result block.
Leading system messages are ``Request.system``; the first block of each carries its message's own marks and residue
under ``message``. Media in a tool result cannot be said there and move to a user message behind the results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from ...errors import ParseError
from ...ids import IdMap
from ...types.base import Json
from ...types.blocks import Block, JsonBlock, RefusalBlock, TextBlock, ToolResultBlock, ToolUseBlock
from ...types.capabilities import Target
from ...types.messages import Message, Origin
from ...types.words import Role
from .._history import PLACEHOLDER, call_ids, scattered, settled, speakable
from .._issuer import same_issuer
from .._json import is_array
from .._tables import Ledger, kept, marks, own, take
from . import usual
from .assistant import read_turn, say_turn, writes_string
from .calls import quirky_id
from .parts import NAME, Wire, read_cache, read_part, say_cache, say_part
from .quirks import OPENAI, Quirks

FITS = OPENAI.ids.pattern.fullmatch
ROLES = {"system": Role.system, "developer": Role.system, "user": Role.user, "assistant": Role.assistant}


def decode_messages(wire: list[Wire], provider: str | None) -> tuple[tuple[Block, ...], tuple[Message, ...]]:
    """The system blocks that open the conversation, and the messages behind them."""
    system: list[Block] = []
    messages: list[Message] = []
    origin, answered = Origin(provider, NAME), list[str]()
    for index, turn in enumerate(wire):
        if type(turn) is not dict:
            raise ParseError(f"messages[{index}] is not an object")
        word = turn.get("role")
        if word == "tool" and (result := usual.read_result(turn, answered, FITS)) is not None:
            _join(result, messages)
            continue
        if word != "tool" and (message := usual.read_message(turn, origin, FITS)) is not None:
            messages.append(message)
            answered = [block.id for block in message.content if type(block) is ToolUseBlock]
            continue
        rest = dict(turn)
        word = rest.pop("role", None)
        if word in ("tool", "function"):
            read_result(word, rest, messages)
        elif (
            not messages and word in ("system", "developer") and (blocks := read_leading(word, rest, first=not system))
        ):
            system.extend(blocks)
        else:
            messages.append(read_message(word, rest, origin))
            answered = list(_open_calls(messages))
    return tuple(system), tuple(messages)


def read_leading(word: str, rest: Wire, *, first: bool) -> tuple[Block, ...]:
    """The blocks of a leading system message, or none where there is no block to carry what it keeps."""
    forms, blanks = Wire(), Wire()
    inner = dict(rest)
    blocks = read_content(inner, forms, blanks)
    if not blocks or blanks:
        return ()
    if word != "system":
        forms["role"] = word
    if not first or forms or inner:
        extras = {**blocks[0].extras.get(NAME, {}), **({"message": inner} if inner else {})}
        own_forms = {**marks(NAME, blocks[0]), "message": forms}
        head = replace(blocks[0], extras={NAME: extras} if extras else {}, forms={NAME: own_forms})
        return (head, *blocks[1:])
    return blocks


def read_message(word: Json, rest: Wire, origin: Origin) -> Message:
    role = ROLES.get(word, Role.user) if isinstance(word, str) else Role.user
    if role is Role.assistant:
        turn = read_turn(rest)
        forms = turn.forms
        _default_content(turn.blocks, forms)
        blocks, blanks = turn.blocks, turn.blanks
    else:
        forms, blanks = Wire(), Wire()
        blocks = read_content(rest, forms, blanks)
    if word == "developer" or word not in ROLES:
        forms["role"] = word
    by = origin if role is Role.assistant else None
    return Message(role, blocks, origin=by, **kept(NAME, rest, forms, blanks))


def _default_content(blocks: tuple[Block, ...], forms: Wire) -> None:
    """Null content beside calls or a refusal is what we would write; alone it is a mark."""
    if forms.get("content", "") is None and any(isinstance(block, ToolUseBlock | RefusalBlock) for block in blocks):
        del forms["content"]


def read_content(rest: Wire, forms: Wire, blanks: Wire) -> tuple[Block, ...]:
    """String or parts. One plain text is a string unless it is marked ``list``."""
    if "content" not in rest:
        forms["content"] = "absent"
        return ()
    content = take(rest, "content", blanks)
    if type(content) is str:
        return (TextBlock(content),)
    if is_array(content):
        parts = list(map(read_part, content))
        if writes_string(parts):
            forms["content"] = "list"
        return tuple(parts)
    if content is not None:
        rest["content"] = content
    return ()


def read_result(word: str, rest: Wire, messages: list[Message]) -> None:
    """One result; it joins the results right before it."""
    forms, blanks = Wire(), Wire()
    fields: dict[str, Any] = {"content": read_content(rest, forms, blanks), "name": take(rest, "name", blanks)}
    if "content" in blanks and blanks["content"] == "":
        del blanks["content"]
    if any(not isinstance(block, TextBlock) for block in fields["content"]):
        forms["content"] = "parts"
    if word == "function":
        forms["role"] = word
        fields["tool_use_id"] = _last_call(messages)
    elif isinstance(rest.get("tool_call_id"), str):
        fields["tool_use_id"] = rest.pop("tool_call_id")
    else:
        forms["id"] = rest.pop("tool_call_id", "absent")
        fields["tool_use_id"] = _last_call(messages)
    if not isinstance(fields["name"], str | None):
        rest["name"] = fields.pop("name")
    if fields.get("name") is not None and word == "tool":
        forms["named"] = True
    if fields["tool_use_id"] not in _open_calls(messages):
        forms["place"] = "kept"
    if quirky_id(fields["tool_use_id"]):
        forms["verbatim"] = True
    cache = read_cache(rest)
    _join(ToolResultBlock(**fields, cache=cache, **kept(NAME, rest, forms, blanks)), messages)


def _join(block: ToolResultBlock, messages: list[Message]) -> None:
    if messages and messages[-1].role is Role.tool:
        messages[-1] = replace(messages[-1], content=(*messages[-1].content, block))
    else:
        messages.append(Message(Role.tool, (block,)))


def _open_calls(messages: list[Message]) -> set[str]:
    """The calls of the turn that results standing here answer."""
    turn = next((message for message in reversed(messages) if message.role is not Role.tool), None)
    return {block.id for block in turn.content if isinstance(block, ToolUseBlock)} if turn is not None else set()


def _last_call(messages: list[Message]) -> str:
    for message in reversed(messages):
        for block in reversed(message.content):
            if isinstance(block, ToolUseBlock):
                return block.id
    return "call_0"


def encode_system(blocks: Sequence[Block], quirks: Quirks, ledger: Ledger) -> list[Wire]:
    """One system message, or as many as it was read from."""
    groups: list[list[tuple[int, Block]]] = []
    for index, block in enumerate(blocks):
        if not groups or "message" in marks(NAME, block):
            groups.append([])
        groups[-1].append((index, block))
    return [_say_system(group, quirks, ledger) for group in groups]


def _say_system(group: list[tuple[int, Block]], quirks: Quirks, ledger: Ledger) -> Wire:
    head = group[0][1]
    forms = marks(NAME, head).get("message", {})
    residue = head.extras.get(NAME, {}).get("message", {})
    wire: Wire = {"role": _system_word(forms, quirks)}
    group = [(group[0][0], _without_message(head)), *group[1:]]
    wire |= say_content(group, ("system",), forms, quirks, ledger)
    wire.setdefault("content", PLACEHOLDER)
    return {**residue, **wire}


def _without_message(block: Block) -> Block:
    """A leading block without what it carried for its message."""
    extras = {key: value for key, value in block.extras.get(NAME, {}).items() if key != "message"}
    forms = {key: value for key, value in marks(NAME, block).items() if key != "message"}
    others = {name: value for name, value in block.extras.items() if name != NAME}
    return replace(block, extras={**others, NAME: extras} if extras else others, forms={NAME: forms} if forms else {})


def _system_word(forms: Wire, quirks: Quirks) -> str:
    word: str = forms.get("role", "system")
    return "system" if word == "developer" and not quirks.developer_role else word


def say_content(
    blocks: list[tuple[int, Block]], where: tuple[str | int, ...], forms: Wire, quirks: Quirks, ledger: Ledger
) -> Wire:
    """The content of a message that is not the assistant's; nothing where nothing is left to say."""
    inner = [block for _, block in blocks]
    if forms.get("content") != "list" and writes_string(inner):
        return {"content": inner[0].text}  # type: ignore[union-attr]
    said: list[Wire] = []
    before = ledger.where
    for index, block in blocks:
        ledger.where = (*where, index)
        if isinstance(block, TextBlock) and block.citations:
            ledger.lose("dropped", "a request does not cite", "citations")
        wire = say_part(block, quirks, ledger)
        if wire is not None:
            said.append(wire)
    ledger.where = before
    return {"content": said} if said else {}


def encode_messages(messages: Sequence[Message], target: Target | None, quirks: Quirks, ledger: Ledger) -> list[Wire]:
    if target is None and not quirks.replay_thinking:
        usual_turns = usual.say_history(messages, quirks.ids.pattern.fullmatch)
        if usual_turns is not None:
            return usual_turns
    turns: list[Wire] = []
    ids = IdMap(quirks.ids, call_ids(messages))
    moved: list[Wire] = []
    homeless = _scattered(messages)
    fits = quirks.ids.pattern.fullmatch
    for index, message in settled(messages, ledger):
        if not homeless and not moved and (said := _say_usual(message, target, quirks, fits)) is not None:
            turns.extend(said)
            continue
        ledger.where = ("messages", index)
        if moved and message.role != Role.tool:
            turns.append({"role": "user", "content": moved})
            moved = []
        if message.role == Role.tool:
            skip = [place for at, place in homeless if at == index]
            turns.extend(say_results(message, ids, quirks, moved, ledger, skip))
        elif message.role == Role.assistant:
            turns.append(say_assistant(message, target, ids, quirks, ledger))
            for (at, place), home in homeless.items():
                if home == index:
                    turns.append(bring_home(messages[at], at, place, ids, quirks, moved, ledger))
        else:
            turns.append(say_message(message, quirks, ledger))
        if message.extras:
            ledger.foreign(message, NAME)
    if moved:
        turns.append({"role": "user", "content": moved})
    ledger.where = ()
    return turns


def _say_usual(message: Message, target: Target | None, quirks: Quirks, fits: usual.Fits) -> list[Wire] | None:
    if message.extras or message.forms or message.role == Role.system:
        return None
    if message.role == Role.tool:
        return usual.say_results(message, fits)
    if message.role == Role.assistant and (quirks.replay_thinking or not _ours(message, target)):
        return None
    wire = usual.say_message(message, fits)
    return None if wire is None else [wire]


def _ours(message: Message, target: Target | None) -> bool:
    return message.origin is None or (target is None and message.origin.dialect == NAME)


def _scattered(messages: Sequence[Message]) -> dict[tuple[int, int], int]:
    """Results to be brought home, but for those that this dialect itself read where they are."""
    return {
        (at, place): home
        for (at, place), home in scattered(messages).items()
        if "place" not in marks(NAME, messages[at].content[place])
    }


def bring_home(
    message: Message, at: int, place: int, ids: IdMap, quirks: Quirks, moved: list[Wire], ledger: Ledger
) -> Wire:
    block = message.content[place]
    assert isinstance(block, ToolResultBlock)
    where = ledger.where
    ledger.where = ("messages", at, "content", place)
    ledger.lose("moved", "a result stands right behind the turn that called")
    wire = say_result(block, ids, quirks, moved, ledger)
    ledger.where = where
    return wire


def say_assistant(message: Message, target: Target | None, ids: IdMap, quirks: Quirks, ledger: Ledger) -> Wire:
    mark = marks(NAME, message)
    wire: Wire = {"role": "assistant"}
    blocks = list(speakable(message, NAME, target, ledger))
    say_turn(wire, blocks, mark, quirks, ids, ledger, answer=False)
    said = wire.keys() & {"tool_calls", "function_call", "audio", "refusal"}
    if wire.get("content", "") is None and not said and "content" not in mark:
        wire["content"] = PLACEHOLDER
        ledger.lose("added", "a turn may not be empty", "content")
    if NAME in message.extras and not same_issuer(message.origin, NAME, target):
        for key in message.extras[NAME]:
            ledger.lose("dropped", "only the server that wrote this turn reads it", "extras", NAME, key)
        return wire
    return own(NAME, wire, message)


def say_message(message: Message, quirks: Quirks, ledger: Ledger) -> Wire:
    mark = marks(NAME, message)
    word = _system_word(mark, quirks) if message.role == Role.system else mark.get("role", "user")
    wire: Wire = {} if word is None else {"role": word}
    wire |= say_content(list(enumerate(message.content)), (*ledger.where, "content"), mark, quirks, ledger)
    own(NAME, wire, message)
    if "content" not in wire and mark.get("content") != "absent":
        wire["content"] = PLACEHOLDER
        ledger.lose("added", "a turn may not be empty", "content")
    return wire


def say_results(
    message: Message, ids: IdMap, quirks: Quirks, moved: list[Wire], ledger: Ledger, skip: Sequence[int]
) -> list[Wire]:
    said: list[Wire] = []
    where = ledger.where
    for index, block in enumerate(message.content):
        if index in skip:
            continue
        ledger.where = (*where, "content", index)
        if isinstance(block, ToolResultBlock):
            said.append(say_result(block, ids, quirks, moved, ledger))
        else:
            wire = say_part(block, quirks, ledger)
            if wire is not None:
                moved.append(wire)
                ledger.lose("moved", "only results stand in a tool message")
    ledger.where = where
    return said


def say_result(block: ToolResultBlock, ids: IdMap, quirks: Quirks, moved: list[Wire], ledger: Ledger) -> Wire:
    mark = marks(NAME, block)
    wire: Wire = {"role": mark.get("role", "tool")}
    if "id" in mark:
        wire |= {} if mark["id"] == "absent" else {"tool_call_id": mark["id"]}
    elif wire["role"] == "tool":
        verbatim = "verbatim" in mark and ids.rule is OPENAI.ids
        wire["tool_call_id"] = block.tool_use_id if verbatim else ids.fit(block.tool_use_id)
        if wire["tool_call_id"] != block.tool_use_id:
            ledger.lose("approximated", "the reader takes other ids: one was derived", "tool_use_id")
    if block.name is not None:
        if "named" in mark or wire["role"] == "function":
            wire["name"] = block.name
        else:
            ledger.lose("dropped", "a tool message names its call by id alone", "name")
    wire |= say_result_content(block, mark, quirks, moved, ledger)
    say_cache(block.cache, wire, quirks, ledger, here=False)
    if block.signature is not None:
        ledger.lose("dropped", f"{NAME} does not sign results", "signature")
    ledger.foreign(block, NAME)
    own(NAME, wire, block)
    if "content" not in wire and mark.get("content") != "absent":
        wire["content"] = ""
    return wire


def say_result_content(block: ToolResultBlock, mark: Wire, quirks: Quirks, moved: list[Wire], ledger: Ledger) -> Wire:
    where, texts = ledger.where, list[tuple[int, Block]]()
    for index, inner in enumerate(block.content):
        ledger.where = (*where, "content", index)
        if isinstance(inner, TextBlock | JsonBlock) or mark.get("content") == "parts":
            texts.append((index, inner))
        elif (wire := say_part(inner, quirks, ledger)) is not None:
            moved.append(wire)
            ledger.lose("moved", "a tool result is text: media go to a user message behind it")
    ledger.where = where
    if block.is_error:
        texts = _as_error(texts, ledger)
    elif block.is_error is False:
        ledger.lose("dropped", f"{NAME} has no error flag", "is_error")
    return say_content(texts, (*where, "content"), mark, quirks, ledger)


def _as_error(texts: list[tuple[int, Block]], ledger: Ledger) -> list[tuple[int, Block]]:
    """There is no flag, so the text says it. Decoding never guesses it back."""
    ledger.lose("approximated", "an error is the prefix 'Error: '", "is_error")
    index, head = texts[0] if texts else (0, None)
    if isinstance(head, TextBlock):
        ledger.lose("approximated", "an error is the prefix 'Error: '", "content", index)
        return [(index, replace(head, text=f"Error: {head.text}")), *texts[1:]]
    return [(0, TextBlock("Error: ")), *texts]

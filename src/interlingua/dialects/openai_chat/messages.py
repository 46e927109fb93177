"""The history: leading system text, turns, and tool results, of which each is a message of its own on the wire.

Leading system messages are ``Request.system``; the first block of each carries its message's own marks and residue
under ``message``.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from ...codec.history import PLACEHOLDER, call_ids, issued, settled, speakable
from ...codec.ids import IdMap
from ...codec.issuer import same_issuer
from ...codec.tables import Ledger, kept, marks, note_role, own
from ...errors import ParseError
from ...types.base import Json
from ...types.blocks import AudioBlock, Block, FileSource, RefusalBlock, ToolUseBlock
from ...types.capabilities import Target
from ...types.messages import Message, Origin
from ...types.words import Role
from . import usual
from .assistant import read_turn, say_turn
from .calls import is_derived
from .content import read_content, say_content
from .parts import NAME, Wire
from .quirks import OPENAI, Quirks
from .results import bring_home, homeless, join, open_calls, read_result, say_results

FITS = OPENAI.ids.pattern.fullmatch
ROLES = {"system": Role.system, "developer": Role.system, "user": Role.user, "assistant": Role.assistant}


def decode_messages(wire: list[Wire], provider: str | None) -> tuple[tuple[Block, ...], tuple[Message, ...]]:
    """The system blocks that open the conversation, and the messages behind them."""
    system: list[Block] = []
    messages: list[Message] = []
    answered: list[str] = []
    origin = Origin(provider, NAME)
    for index, turn in enumerate(wire):
        if type(turn) is not dict:
            raise ParseError(f"messages[{index}] is not an object")
        word = turn.get("role")
        if word == "tool" and (result := usual.read_result(turn, answered, FITS)) is not None:
            join(result, messages)
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
            messages.append(told_apart(read_message(word, rest, origin), messages))
            answered = list(open_calls(messages))
    return tuple(system), tuple(messages)


def told_apart(message: Message, before: list[Message]) -> Message:
    """Calls without ids get ours, by their place in the turn; in a later turn, by the turn's too."""
    if not any(isinstance(block, ToolUseBlock) and is_derived(block) for block in message.content):
        return message
    taken = {block.id for turn in before for block in turn.content if isinstance(block, ToolUseBlock)}
    content = [
        replace(block, id=f"call_{len(before)}_{index}")
        if isinstance(block, ToolUseBlock) and is_derived(block) and block.id in taken
        else block
        for index, block in enumerate(message.content)
    ]
    return replace(message, content=tuple(content))


def read_leading(word: str, rest: Wire, *, first: bool) -> tuple[Block, ...]:
    """The blocks of a leading system message, or none where there is no block to carry what it keeps."""
    forms: Wire = {}
    blanks: Wire = {}
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
    if not isinstance(word, str) or word == "developer" or word not in ROLES:
        forms["role"] = word
        note_role(word, ROLES, rest)
    by = origin if role is Role.assistant else None
    return Message(role, blocks, origin=by, **kept(NAME, rest, forms, blanks))


def _default_content(blocks: tuple[Block, ...], forms: Wire) -> None:
    """Null content beside calls, a refusal or an audio's id is what we would write; alone it is a mark."""
    if forms.get("content", "") is None and any(map(_stands_alone, blocks)):
        del forms["content"]


def _stands_alone(block: Block) -> bool:
    heard = isinstance(block, AudioBlock) and isinstance(block.source, FileSource)
    return heard or isinstance(block, ToolUseBlock | RefusalBlock)


def encode_system(blocks: Sequence[Block], quirks: Quirks, ledger: Ledger) -> list[Wire]:
    """One system message, or as many as it was read from."""
    if len(blocks) == 1 and (text := usual.say_text(blocks[0])) is not None:
        return [{"role": "system", "content": text}]
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


def encode_messages(messages: Sequence[Message], target: Target | None, quirks: Quirks, ledger: Ledger) -> list[Wire]:
    messages = issued(messages, NAME)
    fits = quirks.ids.pattern.fullmatch
    usual_turns = usual.say_history(messages, fits, quirks.replay_thinking)
    if usual_turns is not None:
        return usual_turns
    turns: list[Wire] = []
    ids = IdMap(quirks.ids, call_ids(messages))
    moved: list[Wire] = []
    astray = homeless(messages)
    for index, message in settled(messages, ledger):
        if not astray and not moved and (said := _say_usual(message, quirks, fits)) is not None:
            turns.extend(said)
            continue
        ledger.where = ("messages", index)
        if moved and message.role != Role.tool:
            turns.append({"role": "user", "content": moved})
            moved = []
        if message.role == Role.tool:
            skip = [place for at, place in astray if at == index]
            turns.extend(say_results(message, ids, quirks, moved, ledger, skip))
        elif message.role == Role.assistant:
            turns.append(say_assistant(message, target, ids, quirks, ledger))
            for (at, place), home in astray.items():
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


def _say_usual(message: Message, quirks: Quirks, fits: usual.Fits) -> list[Wire] | None:
    if message.extras or message.forms or message.role == Role.system:
        return None
    if message.role == Role.tool:
        return usual.say_results(message, fits)
    if message.role == Role.assistant and quirks.replay_thinking:
        return None
    wire = usual.say_message(message, fits)
    return None if wire is None else [wire]


def say_assistant(message: Message, target: Target | None, ids: IdMap, quirks: Quirks, ledger: Ledger) -> Wire:
    mark = marks(NAME, message)
    wire: Wire = {"role": "assistant"}
    blocks = list(speakable(message, NAME, target, ledger))
    say_turn(wire, blocks, mark, quirks, ids, ledger, answer=False)
    said = wire.keys() & {"tool_calls", "function_call", "audio", "refusal"}
    if wire.get("content", "") is None and not said and "content" not in mark:
        wire["content"] = PLACEHOLDER
        ledger.lose("added", f"{NAME} accepts no empty message; a placeholder was added", "content")
    if NAME in message.extras and not same_issuer(message.origin, NAME, target):
        for key in message.extras[NAME]:
            ledger.lose("dropped", "a field of another server, which this one may not know", "extras", NAME, key)
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
        ledger.lose("added", f"{NAME} accepts no empty message; a placeholder was added", "content")
    return wire

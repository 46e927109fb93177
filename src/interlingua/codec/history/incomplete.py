"""What is sent of blocks that were open when their answer broke off (``Block.incomplete``).

No protocol can mark a call as cut off, and such a call is never sent as a finished one. In the history of a request it
is left out together with its result. In an answer it is left out too, with one exception: protocols that write
arguments in pieces end an answer that reached its limit with the partial call, and their readers know that it is not
finished. Text and reasoning stay, without a signature, which is valid for the whole text only. Every other incomplete
block is left out.

An encoder never sees the blocks that are left out. The losses have the caller's paths.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from msgspec.structs import replace

from ...types.blocks import Block, RefusalBlock, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ...types.loss import Encoded, Loss
from ...types.messages import Message
from ...types.response import Response
from ...types.words import Role, StopReason
from ..ledger import Ledger
from ..marks import marks
from ..tools.arguments import parse_object

__all__ = [
    "BROKEN",
    "CUT_BLOCK",
    "LIMITS",
    "Adapted",
    "cut_answer",
    "cut_history",
    "declare_last_call",
    "has_whole_calls",
    "is_left_out",
    "mark_cut_call",
]

T = TypeVar("T")
Placed = list[tuple[int, Block]]

LIMITS = (StopReason.max_tokens, StopReason.context_overflow)
"""The output limit or the context window ended the answer, perhaps within a call."""
BROKEN = (*LIMITS, StopReason.error)
"""The stop reasons of answers whose last call may not be finished."""
_TEXTS = (TextBlock, ThinkingBlock, RefusalBlock)
_RESULT, _TOOL, _USER = ToolResultBlock, Role.tool, Role.user

_CUT_CALL = "the call was cut off before it was finished, so it was left out"
_CUT_RESULT = "the call that it answers was cut off before it was finished, so the result was left out"
_MALFORMED = "the arguments of the call are not a JSON object, so it was left out"
CUT_BLOCK = "the block was cut off before it was finished, so it was left out"


def mark_cut_call(response: Response) -> Response:
    """The answer, its last block marked incomplete if that is a call and a limit or an error ended the answer.

    For protocols that write arguments in pieces: the arguments of such a call may parse and still not be complete.
    """
    content = response.content
    if response.stop_reason not in BROKEN or not content or type(content[-1]) is not ToolUseBlock:
        return response
    return replace(response, content=(*content[:-1], replace(content[-1], incomplete=True)))


def is_left_out(block: Block, dialect: str, ledger: Ledger) -> bool:
    """Whether an answer leaves a block out in a protocol that has only whole calls. The loss is declared.

    A call whose arguments are not JSON would be written with invented ones, and the reader would run it. If the same
    protocol read the arguments as a string, it can write that string again.
    """
    if block.incomplete and not isinstance(block, _TEXTS):
        ledger.lose("dropped", _CUT_CALL if type(block) is ToolUseBlock else CUT_BLOCK)
        return True
    if type(block) is not ToolUseBlock or block.input or block.kind != "json" or not (block.input_text or "").strip():
        return False
    if marks(dialect, block).get("arguments") == "string" or parse_object(block.input_text or "") is not None:
        return False
    ledger.lose("dropped", _MALFORMED)
    return True


def has_whole_calls(response: Response, dialect: str) -> bool:
    """Whether an answer has calls that are not left out."""
    return any(not is_left_out(block, dialect, Ledger()) for block in response.tool_uses)


def declare_last_call(response: Response, last: int | None, ledger: Ledger) -> None:
    """Declare that readers take the call at ``last``, written last, as cut off, if a limit ended the answer."""
    if last is None or last >= len(response.content) or response.stop_reason not in LIMITS:
        return
    block = response.content[last]
    if type(block) is ToolUseBlock and not block.incomplete:
        why = "readers take the last call of an answer that reached its limit for one that was cut off"
        ledger.lose("approximated", why, "content", last, "incomplete")


class Adapted(NamedTuple, Generic[T]):
    """A value as the protocol can take it. ``places`` maps the new path of each moved part to the caller's path."""

    value: T
    places: dict[str, str]
    losses: list[Loss]

    def complete_losses(self, encoded: Encoded) -> Encoded:
        """What was encoded from the value, with the losses of this step and of the encoding, at the caller's paths."""
        return replace(encoded, losses=(*self.losses, *map(self._place, encoded.losses)))

    def _place(self, loss: Loss) -> Loss:
        path = loss.path.split("/")
        for end in (4, 2):  # messages/1/content/2, then messages/1 or content/2
            if (place := self.places.get("/".join(path[:end]))) is not None:
                return replace(loss, path="/".join([place, *path[end:]]))
        return loss


def cut_history(messages: Sequence[Message], dialect: str) -> Adapted[tuple[Message, ...]] | None:
    """The history as it can be sent. None if it need not change, as usual.

    It changes if a block is incomplete, or if a user message built by hand holds tool results: that is read as a tool
    message and a user message joined to it.
    """
    for turn in messages:
        role = turn.role
        if role is not _TOOL:
            for block in turn.content:
                if block.incomplete or (role is _USER and type(block) is _RESULT):
                    return _cut_history(messages, dialect)
    return None


def _cut_history(messages: Sequence[Message], dialect: str) -> Adapted[tuple[Message, ...]]:
    ledger = Ledger()
    cut: set[str] = set()
    kept: list[Message] = []
    places: dict[str, str] = {}
    for index, message in enumerate(messages):
        ledger.where = ("messages", index)
        before = len(ledger.losses)
        blocks = _finished(message.content, cut, ledger)
        if not blocks and any(type(block) is ToolResultBlock for block in message.content):
            del ledger.losses[before:]
            ledger.lose("dropped", _CUT_RESULT)  # the message held nothing else
            continue
        for part, placed in _parts(message, blocks, dialect):
            here = f"messages/{len(kept)}"
            places[here] = f"messages/{index}"
            places |= {
                f"{here}/content/{at}": f"messages/{index}/content/{place}" for at, (place, _) in enumerate(placed)
            }
            kept.append(replace(part, content=tuple([block for _, block in placed])))
    return Adapted(tuple(kept), places, ledger.losses)


def _parts(message: Message, blocks: Placed, dialect: str) -> list[tuple[Message, Placed]]:
    """The messages that a message is split into, each with its blocks: results in a user message are apart."""
    results = [placed for placed in blocks if type(placed[1]) is _RESULT] if message.role is _USER else []
    if not results:
        return [(message, blocks)]
    answers = replace(message, role=Role.tool)
    others = [placed for placed in blocks if type(placed[1]) is not _RESULT]
    if not others:
        return [(answers, results)]
    joined = {**message.forms, dialect: {**message.forms.get(dialect, {}), "joined": True}}
    return [(replace(answers, extras={}, forms={}), results), (replace(message, forms=joined), others)]


def _finished(
    content: Sequence[Block], cut: set[str], ledger: Ledger, as_is: tuple[type, ...] = ()
) -> list[tuple[int, Block]]:
    """The blocks that can be sent, with their places. ``cut`` collects the ids of calls that were cut off.

    Blocks of the types ``as_is`` stay incomplete.
    """
    kept: list[tuple[int, Block]] = []
    for place, block in enumerate(content):
        if type(block) is ToolUseBlock:
            (cut.add if block.incomplete else cut.discard)(block.id)
        if type(block) is ToolResultBlock and block.tool_use_id in cut:
            ledger.lose("dropped", _CUT_RESULT, "content", place)
        elif not block.incomplete or type(block) in as_is:
            kept.append((place, block))
        elif (sendable := _sendable(block, ledger, place)) is not None:
            kept.append((place, sendable))
    return kept


def _sendable(block: Block, ledger: Ledger, place: int) -> Block | None:
    """An incomplete block as it can be sent: partial text and reasoning; None for any other block."""
    if not isinstance(block, _TEXTS):
        ledger.lose("dropped", _CUT_CALL if type(block) is ToolUseBlock else CUT_BLOCK, "content", place)
        return None
    if block.signature is not None:
        ledger.lose("dropped", "the reasoning that it signs was cut off", "content", place, "signature")
    ledger.lose("dropped", "no protocol says that a text was cut off", "content", place, "incomplete", weight="form")
    return replace(block, incomplete=False, signature=None)


def cut_answer(response: Response, *, pieces: bool, texts: bool = False) -> Adapted[Response] | None:
    """The answer as it can be written. None if nothing has to be left out, as usual.

    ``pieces``: the protocol writes arguments in pieces, so the last call of an answer that reached its limit stays.
    ``texts``: the protocol can mark the texts of an answer that broke off as incomplete.
    """
    content = response.content
    broken = response.stop_reason in (StopReason.error, StopReason.cancelled)
    as_is = (TextBlock, RefusalBlock) if texts and broken else ()
    cut = [index for index, block in enumerate(content) if block.incomplete and type(block) not in as_is]
    if not cut:
        return None
    last = len(content) - 1
    stays = pieces and response.stop_reason in LIMITS and type(content[last]) is ToolUseBlock
    if stays and cut == [last]:
        return None
    ledger = Ledger()
    blocks = _finished(content[:last] if stays else content, set(), ledger, as_is)
    if stays:
        blocks.append((last, content[last]))
    places = {f"content/{at}": f"content/{place}" for at, (place, _) in enumerate(blocks)}
    return Adapted(replace(response, content=tuple([block for _, block in blocks])), places, ledger.losses)

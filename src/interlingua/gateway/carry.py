"""Opaque state across a client that cannot hold it: signatures and encrypted reasoning come home to their issuer.

A client speaks one dialect, and the provider that answered it another. What the provider signed or encrypted travels in
an *envelope*, where the client's dialect has an opaque field that clients return untouched: whose it is, the canonical
blocks, and a proof that this gateway wrote it. Any process with the same secret reads it. Where a dialect has no such
field, the *vault* keeps the state for a while, found again by the call ids and texts that were given out.

An envelope that is broken, or somebody else's, is left out with a Loss. No envelope is ever sent to a provider.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..codec.saving import from_json, to_json
from ..errors import AdapterError
from ..types.blocks import Block, RedactedThinkingBlock, TextBlock, ThinkingBlock, ToolUseBlock
from ..types.loss import Loss
from ..types.messages import Message, Origin
from ..types.request import Request
from ..types.words import Role

if TYPE_CHECKING:
    from .shared import Shared

__all__ = ["ENVELOPE", "Envelopes", "Vault", "has_state", "issuers", "restore", "state_of"]

ENVELOPE = "Interlingua1"
"""How every envelope begins: twelve letters, so that the whole is base64, which some dialects require."""
MAC, LARGEST = 16, 512 * 1024
KIND, MOST, MOST_OF_ONE = "state", 10_000, 2_000
BROKEN = Loss("", "dropped", "the reasoning came back in an envelope that this gateway did not write", "state")


class Envelopes:
    """Seals state into a text and opens it again."""

    def __init__(self, secret: bytes) -> None:
        self._secret = hashlib.blake2b(secret, digest_size=32).digest()

    def seal(self, state: Message) -> str:
        """The envelope of the state of a turn."""
        payload = zlib.compress(to_json(state), 1)
        return ENVELOPE + base64.b64encode(self._proof(payload) + payload).decode()

    def open(self, text: str) -> Message | None:
        """The state in an envelope; None if it is broken or not ours."""
        try:
            data = base64.b64decode(text.removeprefix(ENVELOPE), validate=True)
            proof, payload = data[:MAC], data[MAC:]
            if not hmac.compare_digest(proof, self._proof(payload)):
                return None
            return from_json(zlib.decompressobj().decompress(payload, LARGEST), Message)
        except (ValueError, zlib.error, AdapterError):
            return None

    def _proof(self, payload: bytes) -> bytes:
        return hashlib.blake2b(payload, key=self._secret, digest_size=MAC).digest()


class Vault:
    """State by the owner and what was given out, for so many seconds and entries, in all and of one owner. It is in the
    memory of this process; what other processes keep is in ``shared``."""

    shared: Shared | None = None

    def __init__(
        self, clock: Callable[[], float], *, seconds: float = 3600.0, most: int = MOST, of_one: int = MOST_OF_ONE
    ) -> None:
        self._clock, self._seconds, self._most, self._of_one = clock, seconds, most, of_one
        self._kept: dict[tuple[str | None, str], tuple[float, Message]] = {}
        self._names: dict[str | None, dict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def is_empty(self) -> bool:
        """Whether nothing can be found."""
        return self.shared is None and not self._kept

    def put(self, owner: str | None, state: Message, content: Sequence[Block]) -> None:
        """Keep the state of a turn, under every call and text of it."""
        now = self._clock()
        saved = b"" if self.shared is None else to_json(state)
        for name in _names(content):
            self._forget(owner, name)
            self._kept[owner, name] = now, state
            self._names.setdefault(owner, {})[name] = None
            if self.shared is not None:
                self.shared.put(KIND, owner, name, saved)
        while len(own := self._names.get(owner, {})) > self._of_one:
            self._forget(owner, next(iter(own)))
        while self._kept:
            oldest = next(iter(self._kept))
            if len(self._kept) <= self._most and self._kept[oldest][0] > now - self._seconds:
                return
            self._forget(*oldest)

    def _forget(self, owner: str | None, name: str) -> None:
        if self._kept.pop((owner, name), None) is not None:
            del self._names[owner][name]
            if not self._names[owner]:
                del self._names[owner]

    def find(self, owner: str | None, content: Sequence[Block]) -> Message | None:
        """The state of a turn that came back."""
        now = self._clock()
        for name in _names(content):
            at, state = self._kept.get((owner, name), (0.0, None))
            if state is not None and at > now - self._seconds:
                return state
            if self.shared is not None and (saved := self.shared.get(KIND, owner, name)) is not None:
                return from_json(saved, Message)
        return None

    async def kept(self) -> None:
        """Wait until every process can find what was put."""
        if self.shared is not None:
            await self.shared.written()


def _names(content: Sequence[Block]) -> Iterator[str]:
    """What a turn is known by: its calls, and its text if it has no calls."""
    calls = [f"call {block.id}" for block in content if isinstance(block, ToolUseBlock)]
    if calls:
        yield from calls
    elif text := "".join(block.text for block in content if isinstance(block, TextBlock)):
        yield f"text {text_hash(text)}"


def text_hash(text: str) -> str:
    """By what a text is known again."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


# -------------------------------------------------------------------------------------------------- the state of a turn


def has_state(block: Block) -> bool:
    """Whether there is something in a block that only its issuer understands, or wants back."""
    return isinstance(block, ThinkingBlock | RedactedThinkingBlock) or block.signature is not None


def state_of(blocks: Sequence[Block], origin: Origin | None) -> Message:
    """The blocks that must come home, without what the client holds itself: inputs of calls, and texts."""
    return Message(Role.assistant, tuple(map(_bare, filter(has_state, blocks))), origin=origin)


def _bare(block: Block) -> Block:
    if isinstance(block, ToolUseBlock):
        return replace(block, input={}, input_text=None, forms={})
    if isinstance(block, TextBlock):
        return replace(block, text=text_hash(block.text), citations=(), forms={})
    return block


def issuers(messages: Sequence[Message]) -> list[Origin]:
    """Who wrote the turns of a history, where it is known with provider and model."""
    found = [turn.origin for turn in messages if turn.origin is not None and turn.origin.provider is not None]
    return list(dict.fromkeys(reversed(found)))


def restore(
    request: Request, envelopes: Envelopes, find: Callable[[Sequence[Block]], Message | None] | None = None
) -> tuple[Request, tuple[Loss, ...]]:
    """The request with the state of its turns, and what could not be restored. ``find`` asks the vault."""
    losses: list[Loss] = []
    turns = [
        _restored(turn, envelopes, find, losses, index) if turn.role is Role.assistant else turn
        for index, turn in enumerate(request.messages)
    ]
    if not losses and all(new is old for new, old in zip(turns, request.messages, strict=True)):
        return request, ()
    return replace(request, messages=tuple(turns)), tuple(losses)


def _restored(
    turn: Message,
    envelopes: Envelopes,
    find: Callable[[Sequence[Block]], Message | None] | None,
    losses: list[Loss],
    index: int,
) -> Message:
    content: list[Block] = []
    states: list[Message] = []
    for place, block in enumerate(turn.content):
        text = _envelope_in(block)
        if text is None:
            content.append(block)
            continue
        state = envelopes.open(text)
        if state is None:
            losses.append(replace(BROKEN, path=f"messages/{index}/content/{place}"))
        else:
            states.append(state)
            content += _reasoning(state)
        content += _without_envelope(block, opened=state is not None)
    if not states and find is not None and (found := find(turn.content)) is not None:
        states, content = [found], [*_reasoning(found), *content]
    if states:
        return replace(turn, content=tuple(_signed(content, states)), origin=states[0].origin)
    return turn if len(content) == len(turn.content) and not losses else replace(turn, content=tuple(content))


def _without_envelope(block: Block, *, opened: bool) -> list[Block]:
    """What is left of a block that carried an envelope: reasoning was restored from it, or keeps its bare text."""
    if isinstance(block, RedactedThinkingBlock) or (isinstance(block, ThinkingBlock) and (opened or not block.text)):
        return []
    return [replace(block, signature=None)]


def _envelope_in(block: Block) -> str | None:
    text = block.data if isinstance(block, RedactedThinkingBlock) else block.signature
    return text if text is not None and text.startswith(ENVELOPE) else None


def _reasoning(state: Message) -> list[Block]:
    return [block for block in state.content if isinstance(block, ThinkingBlock | RedactedThinkingBlock)]


def _signed(content: list[Block], states: Sequence[Message]) -> Iterator[Block]:
    """The turn, its calls and texts as they were signed. Reasoning that came back twice is left out once."""
    kept = [block for state in states for block in state.content]
    calls = {block.id: block for block in kept if isinstance(block, ToolUseBlock)}
    texts = {block.text: block for block in kept if isinstance(block, TextBlock)}
    own = [block for block in kept if isinstance(block, ThinkingBlock)]
    thoughts = {block.text for block in own}
    for block in content:
        if isinstance(block, ToolUseBlock) and (was := calls.get(block.id)) is not None:
            yield replace(block, signature=was.signature, extras=was.extras, native_ids=was.native_ids)
        elif isinstance(block, TextBlock) and (said := texts.get(text_hash(block.text))) is not None:
            yield replace(block, signature=said.signature, extras=said.extras)
        elif isinstance(block, ThinkingBlock) and not any(block is one for one in own) and block.text in thoughts:
            continue
        else:
            yield block

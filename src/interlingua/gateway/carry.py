"""Carries signatures and encrypted reasoning through a client of another dialect, back to their issuer.

Where the client's dialect has an opaque field that clients return untouched, this state travels in an *envelope*: the
issuer, the canonical blocks, and a proof that this gateway wrote it. Any process with the same secret can open it.
Where a dialect has no such field, the *vault* keeps the state for a while, and finds it again by the call ids and
texts of the answer.

An envelope that is broken or not ours is left out with a Loss. No envelope is ever sent to a provider.
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
KIND, MOST, MOST_PER_OWNER = "state", 10_000, 2_000
BROKEN = Loss("", "dropped", "the reasoning came back in an envelope that this gateway did not write", "state")


class Envelopes:
    """Seals the state of a turn into a text, and opens such a text again."""

    def __init__(self, secret: bytes) -> None:
        self._secret = hashlib.blake2b(secret, digest_size=32).digest()

    def seal(self, state: Message) -> str:
        """The envelope of the state of a turn."""
        payload = zlib.compress(to_json(state), 1)
        return ENVELOPE + base64.b64encode(self._proof(payload) + payload).decode()

    def open(self, text: str) -> Message | None:
        """The state in an envelope; None if the envelope is broken or was made with another secret."""
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
    """The state of recent turns, kept in memory for clients that cannot carry it. An entry is found by its owner (the
    name of the key) and a call id or text of the answer. What other processes keep is in ``shared``."""

    shared: Shared | None = None

    def __init__(
        self, clock: Callable[[], float], *, seconds: float = 3600.0, most: int = MOST, per_owner: int = MOST_PER_OWNER
    ) -> None:
        self._clock, self._seconds, self._most, self._per_owner = clock, seconds, most, per_owner
        self._kept: dict[tuple[str | None, str], tuple[float, Message]] = {}
        self._names: dict[str | None, dict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def is_empty(self) -> bool:
        """Whether nothing can be found, neither here nor in ``shared``."""
        return self.shared is None and not self._kept

    def put(self, owner: str | None, state: Message, content: Sequence[Block]) -> None:
        """Keep the state of a turn under each of its lookup names."""
        now = self._clock()
        saved = b"" if self.shared is None else to_json(state)
        for name in _lookup_names(content):
            self._forget(owner, name)
            self._kept[owner, name] = now, state
            self._names.setdefault(owner, {})[name] = None
            if self.shared is not None:
                self.shared.put(KIND, owner, name, saved)
        while len(names := self._names.get(owner, {})) > self._per_owner:
            self._forget(owner, next(iter(names)))
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
        """The state that was kept for a turn of a client's request; None if there is none."""
        now = self._clock()
        for name in _lookup_names(content):
            at, state = self._kept.get((owner, name), (0.0, None))
            if state is not None and at > now - self._seconds:
                return state
            if self.shared is not None and (saved := self.shared.get(KIND, owner, name)) is not None:
                return from_json(saved, Message)
        return None

    async def wait_until_shared(self) -> None:
        """Wait until every process can find what was put so far."""
        if self.shared is not None:
            await self.shared.written()


def _lookup_names(content: Sequence[Block]) -> Iterator[str]:
    """The names under which a turn's state is kept: its call ids, or a hash of its text if it has no calls."""
    calls = [f"call {block.id}" for block in content if isinstance(block, ToolUseBlock)]
    if calls:
        yield from calls
    elif text := "".join(block.text for block in content if isinstance(block, TextBlock)):
        yield f"text {text_hash(text)}"


def text_hash(text: str) -> str:
    """The hash by which a text is recognised when it comes back."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


# -------------------------------------------------------------------------------------------------- the state of a turn


def has_state(block: Block) -> bool:
    """Whether a block holds state that must go back to its issuer: reasoning or a signature."""
    return isinstance(block, ThinkingBlock | RedactedThinkingBlock) or block.signature is not None


def state_of(blocks: Sequence[Block], origin: Origin | None) -> Message:
    """The blocks that must go back to their issuer, without what the client sends anyway: call inputs and texts."""
    return Message(Role.assistant, tuple(map(_without_content, filter(has_state, blocks))), origin=origin)


def _without_content(block: Block) -> Block:
    if isinstance(block, ToolUseBlock):
        return replace(block, input={}, input_text=None, forms={})
    if isinstance(block, TextBlock):
        return replace(block, text=text_hash(block.text), citations=(), forms={})
    return block


def issuers(messages: Sequence[Message]) -> list[Origin]:
    """The origins of a history's turns whose provider is known, each once, the latest first."""
    found = [turn.origin for turn in messages if turn.origin is not None and turn.origin.provider is not None]
    return list(dict.fromkeys(reversed(found)))


def restore(
    request: Request, envelopes: Envelopes, find: Callable[[Sequence[Block]], Message | None] | None = None
) -> tuple[Request, tuple[Loss, ...]]:
    """The request with the state of its turns put back, and what could not be restored. ``find`` asks the vault."""
    losses: list[Loss] = []
    turns = [
        _restore_turn(turn, envelopes, find, losses, index) if turn.role is Role.assistant else turn
        for index, turn in enumerate(request.messages)
    ]
    if not losses and all(new is old for new, old in zip(turns, request.messages, strict=True)):
        return request, ()
    return replace(request, messages=tuple(turns)), tuple(losses)


def _restore_turn(
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
        return replace(turn, content=tuple(_with_signatures(content, states)), origin=states[0].origin)
    return turn if len(content) == len(turn.content) and not losses else replace(turn, content=tuple(content))


def _without_envelope(block: Block, *, opened: bool) -> list[Block]:
    """A block that carried an envelope, without it: nothing if the reasoning was restored or has no text."""
    if isinstance(block, RedactedThinkingBlock) or (isinstance(block, ThinkingBlock) and (opened or not block.text)):
        return []
    return [replace(block, signature=None)]


def _envelope_in(block: Block) -> str | None:
    text = block.data if isinstance(block, RedactedThinkingBlock) else block.signature
    return text if text is not None and text.startswith(ENVELOPE) else None


def _reasoning(state: Message) -> list[Block]:
    return [block for block in state.content if isinstance(block, ThinkingBlock | RedactedThinkingBlock)]


def _with_signatures(content: list[Block], states: Sequence[Message]) -> Iterator[Block]:
    """A turn with its calls and texts signed again. The client's copy of restored reasoning is left out."""
    kept = [block for state in states for block in state.content]
    calls = {block.id: block for block in kept if isinstance(block, ToolUseBlock)}
    texts = {block.text: block for block in kept if isinstance(block, TextBlock)}
    restored = [block for block in kept if isinstance(block, ThinkingBlock)]
    thoughts = {block.text for block in restored}
    for block in content:
        if isinstance(block, ToolUseBlock) and (call := calls.get(block.id)) is not None:
            yield replace(block, signature=call.signature, extras=call.extras, native_ids=call.native_ids)
        elif isinstance(block, TextBlock) and (text := texts.get(text_hash(block.text))) is not None:
            yield replace(block, signature=text.signature, extras=text.extras)
        elif isinstance(block, ThinkingBlock) and not any(block is one for one in restored) and block.text in thoughts:
            continue
        else:
            yield block

"""What both clients are: a provider's row, its settings, its dialect, and how a request becomes a call."""

from __future__ import annotations

import os
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Generic, Protocol, TypedDict, TypeVar

from msgspec.structs import replace

from .addressing import Address
from .bus import BUS, Bus
from .calls import Call
from .config import AdapterConfig
from .dialects import dialect
from .exchange import Exchange
from .losses import OnLoss, judge_losses
from .providers.table import Provider, provider as find
from .retry import Budget
from .signing import signer_for
from .tokens import rough_tokens
from .types.blocks import Block, TextBlock
from .types.capabilities import AdapterCapabilities, Target
from .types.events import Event
from .types.messages import Message
from .types.request import Request
from .types.response import Response
from .types.tools import Tool

__all__ = ["Active", "Adapter", "ProviderAdapter", "Register", "Settings", "new_ulid"]

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

# What a protocol can carry. A model may do less: who knows the model says so with ``capabilities``.
ABLE: dict[str, AdapterCapabilities] = {
    "anthropic-messages": AdapterCapabilities(
        images=True, documents=True, thinking=True, structured_output=True, prompt_caching=True
    ),
    "openai-chat": AdapterCapabilities(images=True, documents=True, audio=True, thinking=True, structured_output=True),
    "openai-responses": AdapterCapabilities(images=True, documents=True, thinking=True, structured_output=True),
    "gemini": AdapterCapabilities(
        images=True, documents=True, audio=True, video=True, thinking=True, structured_output=True
    ),
    "ollama": AdapterCapabilities(images=True, thinking=True, structured_output=True),
    "bedrock-converse": AdapterCapabilities(
        images=True, documents=True, video=True, thinking=True, structured_output=True, prompt_caching=True
    ),
}


class ProviderAdapter(Protocol):
    """What anything that answers requests looks like; ``AsyncClient`` is one."""

    @property
    def name(self) -> str: ...

    @property
    def capabilities(self) -> AdapterCapabilities:
        """Of the default model."""
        ...

    def capabilities_for(self, model: str) -> AdapterCapabilities: ...

    async def complete(self, request: Request) -> Response: ...

    def stream(self, request: Request) -> AsyncIterator[Event]: ...

    def estimate_input_tokens(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), system: str | Sequence[Block] | None = None
    ) -> int: ...

    async def cancel(self, request_id: str) -> bool: ...

    async def close(self) -> None: ...


class Settings(TypedDict, total=False):
    """What both clients can be told beside provider, configuration and default model."""

    on_loss: OnLoss
    capabilities: Callable[[str], AdapterCapabilities | None] | None
    """Who knows what a model can do."""
    bus: Bus
    clock: Callable[[], float]
    chance: Callable[[], float]


class Adapter:
    """The part that does not wait."""

    def __init__(
        self,
        provider: str | Provider,
        config: AdapterConfig | None = None,
        *,
        model: str | None = None,
        on_loss: OnLoss = "warn",
        capabilities: Callable[[str], AdapterCapabilities | None] | None = None,
        bus: Bus = BUS,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self.provider = find(provider) if isinstance(provider, str) else provider
        self.name = self.provider.name
        self.config = config or AdapterConfig()
        self._signer = signer_for(self.provider, self.config)
        self._address = Address(self.provider, self.config)
        self.model, self.bus = model, bus
        self.on_loss: OnLoss = on_loss
        self.dialect = dialect(self.provider.dialect, self.name)
        self._able, self._clock, self._chance = capabilities, clock, chance

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, model={self.model!r})"

    @property
    def capabilities(self) -> AdapterCapabilities:
        """Of the default model; without one, what the protocol can carry."""
        return self.capabilities_for(self.model or "")

    def capabilities_for(self, model: str) -> AdapterCapabilities:
        """What a model can do, where somebody knows, else what the protocol can carry."""
        return self._known(model) or ABLE.get(self.dialect.name, AdapterCapabilities())

    def _known(self, model: str | None) -> AdapterCapabilities | None:
        return self._able(model) if self._able is not None and model else None

    def estimate_input_tokens(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), system: str | Sequence[Block] | None = None
    ) -> int:
        """Roughly how many tokens a prompt is, without a network."""
        blocks = (TextBlock(system),) if isinstance(system, str) else tuple(system or ())
        bodies = [self.dialect.encode_messages(messages).body]
        bodies += [self.dialect.encode_tools(tools).body] if tools else []
        bodies += [self.dialect.encode_system(blocks).body] if blocks else []
        return rough_tokens(bodies)

    def call(self, request: Request, *, stream: bool) -> Call:
        """A request as a call that is ready to be made. Raises if it cannot be said, or not without losses."""
        model = request.model or self.model
        request = replace(request, model=model, request_id=request.request_id or new_ulid())
        target = Target(self.name, model, self._known(model), None, self.provider.shares)
        exchange = Exchange(
            self.provider, self.config, self.dialect, request, target, stream=stream, address=self._address
        )
        judge_losses(exchange, self.on_loss)
        config = self.config
        budget = Budget(config.retry, config.max_retries, config.timeout_seconds, self._clock, self._chance)
        return Call(exchange, config, budget, self.bus, self._signer)


def new_ulid() -> str:
    """An id that sorts by time: 48 bits of milliseconds, 80 bits of chance."""
    number = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    return "".join(_ALPHABET[number >> shift & 31] for shift in range(125, -5, -5))


class Active(Protocol):
    """A call that is being made."""

    @property
    def call(self) -> Call: ...

    def cancel(self) -> None: ...


A = TypeVar("A", bound=Active)


class Register(Generic[A]):
    """The calls that run, by request id. An id may be used twice."""

    def __init__(self) -> None:
        self._calls: dict[str, list[A]] = {}

    def add(self, active: A) -> A:
        """Remember a call."""
        self._calls.setdefault(active.call.request_id, []).append(active)
        return active

    def drop(self, active: A) -> None:
        """Forget a call; once more does no harm."""
        known = self._calls.get(active.call.request_id, [])
        if active in known:
            known.remove(active)
        if not known:
            self._calls.pop(active.call.request_id, None)

    def cancel(self, request_id: str) -> bool:
        """End all calls of that id; whether any was still running."""
        known = [active for active in self._calls.get(request_id, ()) if active.call.response is None]
        for active in known:
            active.cancel()
        return bool(known)

    def cancel_all(self) -> None:
        """End every call."""
        for request_id in list(self._calls):
            self.cancel(request_id)

    def __len__(self) -> int:
        return sum(map(len, self._calls.values()))

"""What both clients are: a provider's row, its settings, its dialect, and how a request becomes a call."""

from __future__ import annotations

import os
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Generic, Protocol, TypedDict, TypeVar

from msgspec.structs import replace

from ..dialects import dialect
from ..errors import InvalidRequestError, NotConfigured, ToolStateError
from ..models.catalogue import Catalogue, Facts, default_catalogue
from ..models.estimate import Learner
from ..models.providers import Provider, provider as find
from ..types.blocks import Block
from ..types.capabilities import AdapterCapabilities, Target
from ..types.events import Event
from ..types.loss import Loss
from ..types.messages import Message
from ..types.request import Request
from ..types.response import Response
from ..types.tools import Tool
from .addressing import Address
from .bus import BUS, Bus
from .calls import Call
from .config import AdapterConfig
from .exchange import Exchange
from .fitting import Fitter, Unsupported, fit_request, match_results
from .loss_policy import OnLoss, judge_losses
from .retry import Budget
from .signing import signer_for

__all__ = ["Active", "Adapter", "ProviderAdapter", "Register", "Settings", "new_ulid"]

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)
_LETTERS = _ALPHABET.encode() * 8
_LOTS = random.Random()
if hasattr(os, "register_at_fork"):  # or parent and child would draw the same
    os.register_at_fork(after_in_child=_LOTS.seed)
_MOST_REMEMBERED = 64


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
    unsupported: Unsupported
    """What becomes of a parameter that the model does not take: dropped with a Loss, or the request refused."""
    catalogue: Catalogue | None
    """Who knows what a model is called and what it takes; ``Catalogue(())`` knows nothing and refuses nothing."""
    prepare: Callable[[Request], Request] | None
    """What is done to every request first, such as filling in a configuration's defaults."""
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
        unsupported: Unsupported = "drop",
        catalogue: Catalogue | None = None,
        prepare: Callable[[Request], Request] | None = None,
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
        self.unsupported: Unsupported = unsupported
        self.dialect = dialect(self.provider.dialect, self.name)
        self._catalogue, self._prepare, self._clock, self._chance = catalogue, prepare, clock, chance
        self._readers: dict[str, tuple[Target, Fitter | None]] = {}
        self._learner = Learner(self.name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, model={self.model!r})"

    @property
    def capabilities(self) -> AdapterCapabilities:
        """Of the default model; without one, what the protocol can carry."""
        return self.capabilities_for(self.model or "")

    def capabilities_for(self, model: str) -> AdapterCapabilities:
        """What a model can do; of one that nobody knows, what the protocol can carry."""
        return self.catalogue.capabilities_for(self.name, model, self.dialect.name)

    @property
    def catalogue(self) -> Catalogue:
        """Who knows the models; the default one is loaded when it is first asked."""
        if self._catalogue is None:
            self._catalogue = default_catalogue()
        return self._catalogue

    def estimate_input_tokens(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), system: str | Sequence[Block] | None = None
    ) -> int:
        """Roughly how many tokens a prompt is, without a network; how roughly is in ``docs/estimates.md``.

        From the first question on it learns from what the provider reports of each model's prompts.
        """
        return self.estimate(Request(messages, None, system or (), tools))

    def estimate(self, request: Request) -> int:
        """The same, of a whole request: its model, its choice of tools, its thinking and its schema count too."""
        if self._prepare is not None and request.model is not None:
            with suppress(NotConfigured):  # to estimate one needs no key
                request = self._prepare(request)
        name = request.model or self.model or ""
        reader, _ = self._readers.get(name) or self._reader(name)
        return self._learner.estimate(replace(request, model=reader.model))

    def target(self, model: str | None) -> Target:
        """Who will read a request for this model."""
        able = self.capabilities_for(model) if model else None
        return Target(self.name, model, able, None, self.provider.shares)

    def budget(self) -> Budget:
        """The attempts and the time of one model call."""
        config = self.config
        return Budget(config.retry, config.max_retries, config.timeout_seconds, self._clock, self._chance)

    def call(self, request: Request, *, stream: bool, budget: Budget | None = None) -> Call:
        """A request as a call that is ready to be made. Raises if it cannot be said, or not without losses.

        ``budget`` is somebody else's, who tries several adapters within one.
        """
        if type(request) is not Request:
            _demand(request)
        request, target, losses = self.fitted(request, stream=stream)
        exchange = Exchange(
            self.provider,
            self.config,
            self.dialect,
            request,
            target,
            stream=stream,
            address=self._address,
            losses=losses,
        )
        if exchange.losses:
            judge_losses(exchange, self.on_loss, budget)
        return Call(exchange, self.config, budget or self.budget(), self.bus, self._signer, self._learner)

    def fitted(self, request: Request, *, stream: bool) -> tuple[Request, Target, tuple[Loss, ...]]:
        """The request as this provider's model takes it, who will read it, and what was changed."""
        model = request.model or self.model
        if self._prepare is not None:
            request = self._prepare(replace(request, model=model))
            model = request.model
        target, fitter = self._readers.get(model or "") or self._reader(model or "")
        request = replace(request, model=target.model, request_id=request.request_id or new_ulid(), stream=stream)
        try:
            losses: tuple[Loss, ...] = ()
            if fitter is not None and not fitter.takes(request):
                request, losses = fit_request(request, fitter.facts, fitter.able, self.unsupported)
            request, mended = match_results(request)
        except (InvalidRequestError, ToolStateError) as error:
            error.provider, error.request_id = self.name, request.request_id
            raise
        return request, target, losses + mended

    def _reader(self, model: str) -> tuple[Target, Fitter | None]:
        """Who reads requests for a model of that name, and what is known of it. Remembered: calls repeat themselves."""
        wire = self.catalogue.wire_name(self.name, model) if model else None
        target = self.target(wire)
        facts = self.catalogue.facts(self.name, wire) if wire else Facts()
        found = target, None if target.capabilities is None else Fitter(facts, target.capabilities)
        if len(self._readers) < _MOST_REMEMBERED:
            self._readers[model] = found
        return found


def _demand(request: object) -> None:
    if not isinstance(request, Request):
        raise TypeError(f"a Request is needed, not {type(request).__name__}: Request([Message('user', 'Hello')])")


def new_ulid() -> str:
    """An id that sorts by time: 48 bits of milliseconds, 80 bits of chance."""
    at = time.time_ns() // 1_000_000
    chance = _LOTS.getrandbits(128).to_bytes(16, "big").translate(_LETTERS).decode()
    return f"{_era(at >> 20)}{_PAIRS[at >> 10 & 1023]}{_PAIRS[at & 1023]}{chance}"


@lru_cache(maxsize=2)
def _era(number: int) -> str:
    """The letters that change every quarter of an hour."""
    return _PAIRS[number >> 20] + _PAIRS[number >> 10 & 1023] + _PAIRS[number & 1023]


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
        request_id = active.call.request_id
        known = self._calls.get(request_id)
        if known and active in known:
            known.remove(active)
            if not known:
                self._calls.pop(request_id, None)

    def cancel(self, request_id: str) -> bool:
        """End all calls of that id; whether any was still running."""
        running = self._calls.get(request_id, ())
        known = [active for active in running if active.call.response is None and not active.call.finished]
        for active in known:
            active.cancel()
        return bool(known)

    def cancel_all(self) -> None:
        """End every call."""
        for request_id in list(self._calls):
            self.cancel(request_id)

    def __len__(self) -> int:
        return sum(map(len, self._calls.values()))

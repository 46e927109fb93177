"""What both clients share: a provider's row, its settings, its dialect, and how a request becomes a call."""

from __future__ import annotations

import os
import random
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, Protocol, TypedDict, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ..dialects import dialect
from ..errors import InvalidRequestError, NotConfigured, ToolStateError
from ..models.catalogue import Catalogue, Facts, default_catalogue
from ..models.catalogue.names import ALSO_CALLED, our_spelling
from ..models.estimate import Learner
from ..models.providers import PROVIDERS, Provider, provider as find
from ..types.base import altered
from ..types.blocks import Block
from ..types.capabilities import AdapterCapabilities, Target
from ..types.checking import check_arguments
from ..types.events import Event
from ..types.loss import Loss
from ..types.messages import Message
from ..types.request import Request
from ..types.response import Response
from ..types.tools import Tool
from ..types.words import Role
from .addressing import HOSTED_DIALECTS, Address
from .bus import BUS, Bus
from .calls import Call
from .client_parts import DEFAULTS, Partial, merge_settings
from .config import AdapterConfig
from .exchange import Exchange
from .fitting import (
    Fitter,
    Unsupported,
    fit_request,
    match_results,
    results_match,
    roots_are_plain,
    with_plain_roots,
)
from .limiter import Limiter
from .loss_policy import OnLoss, judge_losses
from .retry import Budget
from .signing import signer_for
from .uploaded import Uploads

__all__ = ["Adapter", "Passage", "ProviderAdapter", "Settings", "new_ulid"]

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = tuple(first + second for first in _ALPHABET for second in _ALPHABET)
_LETTERS = _ALPHABET.encode() * 8
_RANDOM = random.Random()
if hasattr(os, "register_at_fork"):  # without it, parent and child would make the same ids
    os.register_at_fork(after_in_child=_RANDOM.seed)
_MOST_REMEMBERED = 64

C = TypeVar("C", bound=Call)


class ProviderAdapter(Protocol):
    """Anything that answers requests; ``AsyncClient`` is one."""

    @property
    def name(self) -> str:
        """Who answers, for logs and reports: the name of the provider."""
        ...

    @property
    def capabilities(self) -> AdapterCapabilities:
        """Of the default model."""
        ...

    def capabilities_for(self, model: str) -> AdapterCapabilities:
        """What a model accepts and returns."""
        ...

    async def complete(self, request: Request) -> Response:
        """The whole answer. Raises an ``AdapterError``; what had come until then is its ``response``."""
        ...

    def stream(self, request: Request) -> AsyncIterator[Event]:
        """The answer event by event; the last is ``message.complete``."""
        ...

    def estimate_input_tokens(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), system: str | Sequence[Block] | None = None
    ) -> int:
        """About how many tokens a prompt has; nothing is asked over a network."""
        ...

    async def cancel(self, request_id: str) -> bool:
        """End the call that has this ``request_id``; False if there is none."""
        ...

    async def close(self) -> None:
        """End all calls and close the connections."""
        ...


class Passage(Struct, frozen=True):
    """Where a body goes that is passed on as it is: the provider's name of the model, URL, and headers with the key."""

    model: str
    url: str
    headers: dict[str, str]


WORDS: dict[str, Any] = {
    "on_loss": OnLoss,
    "unsupported": Unsupported | None,
    "limiter": Limiter | None,
    "upload": bool,
}
"""Arguments whose values are checked when a client is made: a misspelt one must not be taken for the default."""


class Settings(TypedDict, total=False):
    """The arguments of both clients beside provider, configuration and default model."""

    on_loss: OnLoss
    unsupported: Unsupported | None
    """What becomes of what the model does not take. By default parameters are dropped with a Loss, and a request with
    content that it cannot read is refused. ``"drop"`` leaves such content out too, ``"describe"`` puts a note in its
    place, ``"refuse"`` refuses the request for either."""
    catalogue: Catalogue | None
    """Names and abilities of models. ``Catalogue(())`` knows nothing, so nothing is refused or changed."""
    prepare: Callable[[Request], Request] | None
    """Applied to every request first, for instance to fill in the defaults of a configuration."""
    upload: bool
    """Whether media that are too big for a request are sent to the provider's Files API first."""
    limiter: Limiter | None
    """Requests and tokens a minute, and calls at once; several clients may share one."""
    bus: Bus
    clock: Callable[[], float]
    chance: Callable[[], float]


class Adapter:
    """The part of a client that does not wait."""

    account: str | None = None
    """The id under which a manager has it; without a manager, the provider's name counts."""

    def __init__(
        self,
        provider: str | Provider,
        config: Partial | None = None,
        *,
        model: str | None = None,
        on_loss: OnLoss = "warn",
        unsupported: Unsupported | None = None,
        catalogue: Catalogue | None = None,
        prepare: Callable[[Request], Request] | None = None,
        upload: bool = False,
        limiter: Limiter | None = None,
        bus: Bus = BUS,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        if isinstance(provider, str):
            id, _, named = our_spelling(provider).partition(":")
            provider, model = find(ALSO_CALLED.get(id, id)), model or named or None
        self.provider, self.name = provider, provider.name
        self.config = _as_config(config)
        self._signer = signer_for(self.provider, self.config)
        self._address = Address(self.provider, self.config)
        self.model, self.bus, self.limiter = model, bus, limiter
        self.uploads = Uploads() if upload else None
        self.on_loss: OnLoss = on_loss
        self.unsupported: Unsupported | None = unsupported
        given = {"on_loss": on_loss, "unsupported": unsupported, "limiter": limiter, "upload": upload}
        check_arguments(type(self).__name__, given, WORDS)
        self.dialect = dialect(self.provider.dialect, self.name)
        self._catalogue, self._prepare, self._clock, self._chance = catalogue, prepare, clock, chance
        self._targets: dict[str, tuple[Target, Fitter | None]] = {}
        self._learner = Learner(self.name)
        self._passages: dict[tuple[str | None, bool], Passage | None] = {}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, model={self.model!r})"

    @property
    def capabilities(self) -> AdapterCapabilities:
        """Of the default model; without one, what the dialect can carry."""
        return self.capabilities_for(self.model or "")

    def capabilities_for(self, model: str) -> AdapterCapabilities:
        """What a model can do; for an unknown model, what the dialect can carry."""
        return self.catalogue.capabilities_for(self.name, model, self.dialect.name)

    @property
    def catalogue(self) -> Catalogue:
        """What is known of models. The default catalogue is loaded on first use."""
        if self._catalogue is None:
            self._catalogue = default_catalogue()
        return self._catalogue

    def estimate_input_tokens(
        self, messages: Sequence[Message], tools: Sequence[Tool] = (), system: str | Sequence[Block] | None = None
    ) -> int:
        """An estimate of a prompt's tokens, without a network. ``docs/estimates.md`` says how exact it is.

        It is corrected with the counts that the provider reports, for each model.
        """
        return self.estimate(Request(messages, None, system or (), tools))

    def estimate(self, request: Request) -> int:
        """The same for a whole request: its model, tool choice, thinking and schema count too."""
        if request.model is not None and ":" in request.model:
            request = replace(request, model=self.own_model(request.model))
        if self._prepare is not None and request.model is not None:
            with suppress(NotConfigured):  # an estimate needs no key
                request = self._prepare(request)
        name = request.model or self.model or ""
        target, _ = self._targets.get(name) or self._find_target(name)
        return self._learner.estimate(replace(request, model=target.model))

    def target(self, model: str | None) -> Target:
        """The reader of a request for this model: provider, model and capabilities."""
        able = self.capabilities_for(model) if model else None
        return Target(self.name, model, able, None, self.provider.shares)

    def budget(self) -> Budget:
        """The attempts and the time of one model call."""
        config = self.config
        return Budget(config.retry, config.max_retries, config.timeout_seconds, self._clock, self._chance)

    def call(self, kind: type[C], request: Request, *, stream: bool, budget: Budget | None = None) -> C:
        """A request as a call that is ready to be made. Raises if it cannot be encoded, or not without losses.

        ``kind`` is the client's class of calls. ``budget``: attempts and time that are shared with other adapters.
        """
        exchange = self.exchange(request, stream=stream)
        budget = budget or self.budget()
        budget.account = self.account or self.name
        exchange.body()
        if exchange.losses:
            judge_losses(exchange, self.on_loss, budget)
        return kind(exchange, self.config, budget, self.bus, self._signer, self._learner, self.limiter, self.uploads)

    def passage(self, model: str | None, *, stream: bool) -> Passage | None:
        """Where a body of this dialect would go as it is; None where it may not, because it would be changed or signed.

        A body is changed where a cloud has a form of its own for it, and by settings that are laid over it.
        """
        key = model, stream
        if key not in self._passages:
            if len(self._passages) >= _MOST_REMEMBERED:
                self._passages.clear()
            self._passages[key] = self._find_passage(model, stream=stream)
        return self._passages[key]

    def passage_to(self, path: str) -> Passage | None:
        """Where a request to another endpoint of this provider would go; None where a cloud has other paths."""
        if self.name in HOSTED_DIALECTS:
            return None
        return Passage("", self._address.url(path), self._address.headers({}))

    def _find_passage(self, model: str | None, *, stream: bool) -> Passage | None:
        if self._signer is not None or self.config.options.get("body") or self.name in HOSTED_DIALECTS:
            return None
        exchange = self.exchange(Request((Message(Role.user, "?"),), model), stream=stream)
        return None if exchange.model is None else Passage(exchange.model, exchange.url, exchange.headers)

    def exchange(self, request: Request, *, stream: bool, address: Address | None = None) -> Exchange:
        """The request as this provider's model takes it, encoded, with what was lost."""
        if type(request) is not Request:
            _require_request(request)
        model = request.model or self.model
        if model is not None and ":" in model:
            model = self.own_model(model)
        if self._prepare is not None:
            request = self._prepare(request if model == request.model else altered(request, model=model))
            model = request.model
        target, fitter = self._targets.get(model or "") or self._find_target(model or "")
        if request.model != target.model or not request.request_id or request.stream is not stream:
            id = request.request_id or new_ulid()
            request = altered(request, model=target.model, request_id=id, stream=stream)
        losses: tuple[Loss, ...] = ()
        if fitter is None or not fitter.takes(request):
            request, losses = self._fitted(request, fitter)
        return Exchange(
            self.provider,
            self.config,
            self.dialect,
            request,
            target,
            stream=stream,
            address=address or self._address,
            losses=losses,
        )

    def _fitted(self, request: Request, fitter: Fitter | None) -> tuple[Request, tuple[Loss, ...]]:
        """The request as the model takes it, and what that changed. Raises for what cannot be sent."""
        losses: tuple[Loss, ...] = ()
        try:
            if fitter is not None:
                request, losses = fit_request(request, fitter.facts, fitter.able, self.unsupported)
            if not results_match(request.messages):
                request, changed = match_results(request)
                losses += changed
            if not roots_are_plain(request.tools):
                request, copied = with_plain_roots(request)
                losses += copied
        except (InvalidRequestError, ToolStateError) as error:
            error.provider, error.request_id = self.name, request.request_id
            raise
        return request, losses

    def own_model(self, name: str) -> str:
        """A model's name without the provider in ``"provider:model"``. Raises for a model of another provider, if it
        cannot be a name of ours: names of local servers and of servers at other addresses may begin so."""
        prefix, _, model = name.partition(":")
        other = ALSO_CALLED.get(prefix, prefix)
        if self.name in (prefix, other) and model:
            return model
        anything = self.provider.local or self.config.base_url is not None or self.name not in PROVIDERS
        if anything or other not in PROVIDERS:
            return name
        raise InvalidRequestError(
            f"{name!r} is a model of {other}, and this client calls {self.name}: use connect({name!r}), a router or a"
            " session",
            provider=self.name,
        )

    def _find_target(self, model: str) -> tuple[Target, Fitter | None]:
        """The reader of requests for a model of that name, and what is known of it. Remembered for the next call."""
        wire = self.catalogue.wire_name(self.name, model) if model else None
        target = self.target(wire)
        facts = self.catalogue.facts(self.name, wire) if wire else Facts()
        found = target, None if target.capabilities is None else Fitter(facts, target.capabilities)
        if len(self._targets) < _MOST_REMEMBERED:
            self._targets[model] = found
        return found


def _as_config(config: Partial | None) -> AdapterConfig:
    if config is None or isinstance(config, AdapterConfig):
        return config or DEFAULTS
    if not hasattr(config, "keys"):  # what it is may be a key, so it is not shown
        raise TypeError("the second argument of a client is its configuration: AdapterConfig(api_key=…), or a dict")
    return merge_settings(DEFAULTS, config)


def _require_request(request: object) -> None:
    if not isinstance(request, Request):
        raise TypeError(f"expected a Request, got {type(request).__name__}: write Request([Message('user', 'Hello')])")


def new_ulid() -> str:
    """An id that sorts by time: 48 bits of milliseconds, 80 random bits."""
    at = time.time_ns() // 1_000_000
    chance = _RANDOM.getrandbits(128).to_bytes(16, "big").translate(_LETTERS).decode()
    return f"{_high_bits(at >> 20)}{_PAIRS[at >> 10 & 1023]}{_PAIRS[at & 1023]}{chance}"


@lru_cache(maxsize=2)
def _high_bits(number: int) -> str:
    """The letters that change only every 17 minutes."""
    return _PAIRS[number >> 20] + _PAIRS[number >> 10 & 1023] + _PAIRS[number & 1023]

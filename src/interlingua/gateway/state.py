"""The objects that all calls of one process share."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_args

from msgspec import json
from msgspec.structs import replace

from ..agent.routing import Router
from ..client.adapter import Adapter
from ..client.manager import ProviderManager
from ..errors import AdapterError
from ..models.pricing import Pricing
from ..serving import Listed
from ..types.loss import LossWeight
from ..types.messages import Message
from ..types.request import Request
from ..types.usage import TokenUsage
from ..types.words import Role
from . import carry, receipts
from .admission import Admission, Key
from .carry import Envelopes, Vault
from .choose import is_usable, require_models
from .config import Route, Snapshot, StartError
from .direct import Directs
from .metrics import Labels, Metrics, Sums
from .peek import KnownTools
from .receipts import Receipt, Receipts

if TYPE_CHECKING:
    from .shared import Shared

__all__ = ["State"]

LIMITS = {receipts.KIND: (receipts.MOST, receipts.MOST), carry.KIND: (carry.MOST, carry.MOST_PER_OWNER)}
"""How many values of each kind the processes keep together, in all and of one owner."""

PASSED, TRANSLATED = ("way", "passed"), ("way", "translated")
INPUT: Labels = (("kind", "input"),)
OUTPUT: Labels = (("kind", "output"),)
WEIGHTS: dict[str, Labels] = {weight: (("weight", weight),) for weight in get_args(LossWeight)}


class State:
    """The configuration in use, the providers' clients, and what is remembered of calls."""

    def __init__(
        self,
        snapshot: Snapshot,
        *,
        manager: ProviderManager | None = None,
        clock: Callable[[], float] = time.monotonic,
        **managing: Any,
    ) -> None:
        self.snapshot, self.clock = snapshot, clock
        self.manager = manager or ProviderManager(snapshot.settings.models, on_loss="allow", **managing)
        self._shared: Shared | None = None
        self.router = Router((), self.manager, clock=clock)
        self.directs = Directs(self.manager, self.router)
        self.admission = Admission(snapshot.keys, clock)
        self.receipts, self.metrics, self.vault = Receipts(clock), Metrics(), Vault(clock)
        self.envelopes = Envelopes(_secret(snapshot.settings.secret_env))
        self.pricing = Pricing(self.manager.configuration.prices)
        self.known_tools = KnownTools()
        self.generated_keys: tuple[Key, ...] = ()
        """The keys that are used while the configuration has none."""
        self.open = 0
        self.draining = False

    def replace(self, snapshot: Snapshot) -> None:
        """Use another configuration for new calls. If it cannot be served, raise ``StartError`` and change nothing."""
        snapshot.require_keys()
        require_models(snapshot, self.manager)
        self.snapshot = snapshot
        self.admission.replace(snapshot.keys or self.generated_keys)
        self.manager.refresh()
        self.pricing = Pricing(self.manager.configuration.prices)

    def warm_up(self) -> None:
        """Load what the first calls would wait for: the HTTP client, prices, and for each provider of the routes its
        codec and the facts of its first model."""
        import_module("..client.transport.aio", __package__)
        names = [name for route in self.snapshot.routes.values() for name in route.names] or self._usable_models()
        done = set[str]()
        for name in names:
            with suppress(AdapterError, ValueError):  # a call to this model will say what is wrong
                id, model = self.manager.locate(name)
                adapter = self.manager.get_adapter(id)
                if id not in done and isinstance(adapter, Adapter):
                    done.add(id)
                    adapter.exchange(Request((Message(Role.user, "?"),), model), stream=True)
                    self.pricing.cost(TokenUsage(), id, model or "")

    def note(self, receipt: Receipt, key: Key | None) -> None:
        """Look up what a call cost, keep its receipt, and count the call."""
        self._price(receipt)
        self.receipts.keep(receipt, None if key is None else key.name)
        metrics, way = self.metrics, PASSED if receipt.passed else TRANSLATED
        labels = ("dialect", receipt.dialect), way, ("status", str(receipt.status))
        metrics.count("interlingua_requests_total", labels)
        for loss in receipt.losses:
            metrics.count("interlingua_losses_total", WEIGHTS[loss.weight])
        usage = receipt.usage
        if usage is not None:
            metrics.count("interlingua_tokens_total", INPUT, usage.total_input_tokens)
            metrics.count("interlingua_tokens_total", OUTPUT, usage.output_tokens)

    def _price(self, receipt: Receipt) -> None:
        if receipt.billed is None or receipt.usage is None:
            return
        receipt.cost_usd = self.pricing.cost(receipt.usage, *receipt.billed, at=datetime.now(UTC)).cost_usd
        receipt.billed, receipt.usage = None, replace(receipt.usage, raw=None)  # only the price needed the details
        if receipt.cost_usd:
            self.metrics.add("interlingua_cost_usd_total", receipt.cost_usd)

    # -------------------------------------------------------------------------------------------------- other processes

    def share(self, path: str, process: int) -> None:
        """Keep receipts, state of answers and sums in a file that other processes of this gateway use too."""
        made: type[Shared] = import_module(
            ".shared", __package__
        ).Shared  # with SQLite, which one process does not need
        self._shared = shared = made(path, process, self.clock, limits=LIMITS)
        self.receipts.shared = self.vault.shared = shared
        before = shared.sums().get(process)
        if before is not None:
            self.metrics.resume(json.decode(before, type=Sums))

    def publish_sums(self) -> None:
        """Write the sums of this process for the others. Called every second."""
        if self._shared is not None:
            self._update_metrics()
            self._shared.put_sums(json.encode(self.metrics.sums()))

    def metrics_text(self) -> str:
        """The text of ``/metrics`` for all processes. The sums of the others are at most a second old."""
        self._update_metrics()
        if self._shared is None:
            return self.metrics.text()
        all_sums, own = self._shared.sums(), self._shared.process
        return self.metrics.text(json.decode(sums, type=Sums) for process, sums in all_sums.items() if process != own)

    def _update_metrics(self) -> None:
        self.metrics.set("interlingua_open_requests", self.open)

    async def close(self) -> None:
        """Close the clients, and write the values that wait for the shared file."""
        await self.manager.close()
        if self._shared is not None:
            self.open = 0
            self.publish_sums()
            await asyncio.to_thread(self._shared.close)

    # --------------------------------------------------------------------------------------------------------- models

    def list_models(self, key: Key | None) -> list[Listed]:
        """The models that a key may use: those of the routes; without routes, the configured models."""
        routes = self.snapshot.routes
        names = [self._listed_name(*route) for route in routes.items()] if routes else self._usable_models()
        unique = dict.fromkeys(filter(None, names))
        return [self.describe_model(name) for name in unique if key is None or key.may_use(name)]

    def _listed_name(self, pattern: str, route: Route) -> str | None:
        """The name under which a route is listed. A pattern is listed as its first model, if it matches that name."""
        if not set(pattern) & set("*?["):
            return pattern
        model = route.names[0]
        return next((name for name in (model, model.partition(":")[2]) if self.snapshot.route(name) is route), None)

    def _usable_models(self) -> list[str]:
        """The models of ``models.yaml``, and the default model of each provider that has a key."""
        configuration = self.manager.configuration
        found = [name for name in configuration.models if is_usable(name, self.manager)]
        for id, adapter in configuration.adapters.items():
            if adapter.config.api_key and (default := configuration.default(id)):
                found.append(f"{id}:{default}")
        return found

    def describe_model(self, name: str) -> Listed:
        """The description of a model under the name by which clients request it."""
        route = self.snapshot.route(name)
        can = self.manager.capabilities_for(route.names[0] if route is not None else name)
        words = {"completion": True, "tools": can.tools, "vision": can.images, "thinking": can.thinking}
        abilities = tuple(word for word, has in words.items() if has)
        return Listed(name, "interlingua", can.max_context_tokens, can.max_output_tokens, abilities)


def _secret(variable: str | None) -> bytes:
    """The secret of envelopes, from the environment variable, else a random one that ends with the process."""
    if variable is None:
        return secrets.token_bytes(32)
    value = os.environ.get(variable, "")
    if len(value) < 16:
        raise StartError(f"set the variable {variable}, the secret of envelopes, to 16 characters or more")
    return value.encode()

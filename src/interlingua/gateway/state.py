"""What all calls of one process share."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Callable
from typing import Any

from ..agent.routing import Router
from ..client.manager import ProviderManager
from ..models.pricing import Pricing
from ..serving import Listed
from .admission import Admission, Key
from .carry import Envelopes, Vault
from .choose import is_usable
from .config import Snapshot, StartError
from .metrics import Metrics
from .receipts import Receipt, Receipts

__all__ = ["State"]


class State:
    """The configuration in use, the clients, and what is remembered of calls."""

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
        self.router = Router((), self.manager, clock=clock)
        self.admission = Admission(snapshot.keys, clock)
        self.receipts, self.metrics, self.vault = Receipts(clock, self.price), Metrics(), Vault(clock)
        self.envelopes = Envelopes(_secret(snapshot.settings.secret_env))
        self.pricing = Pricing(self.manager.configuration.prices)
        self.made_keys: tuple[Key, ...] = ()
        """Used as long as the file has none."""
        self.open = 0
        self.draining = False

    def replace(self, snapshot: Snapshot) -> None:
        """Use another configuration from now on. Calls keep what they began with."""
        snapshot.require_keys()
        self.snapshot = snapshot
        self.admission.replace(snapshot.keys or self.made_keys)
        self.manager.refresh()
        self.pricing = Pricing(self.manager.configuration.prices)

    def price(self, receipt: Receipt) -> None:
        """Look up what a call cost, and count it. Done when somebody asks, or at the latest when it is forgotten."""
        if receipt.billed is None or receipt.usage is None:
            return
        receipt.cost_usd = self.pricing.cost(receipt.usage, *receipt.billed).cost_usd
        receipt.billed = None
        if receipt.cost_usd:
            self.metrics.add("interlingua_cost_usd_total", receipt.cost_usd)

    def priced(self) -> list[Receipt]:
        """All receipts that are kept, with their costs."""
        receipts = self.receipts.all()
        for receipt in receipts:
            self.price(receipt)
        return receipts

    def listed(self, key: Key | None) -> list[Listed]:
        """The models that a key may use: routes with a name of their own, then the configured models."""
        names = [name for name in self.snapshot.routes if not set(name) & set("*?[")]
        if not self.snapshot.routes:
            names += self._ready()
        return [self._listed(name) for name in dict.fromkeys(names) if key is None or key.may_use(name)]

    def _ready(self) -> list[str]:
        """The models of ``models.yaml``, and the default model of each provider that has a key."""
        configuration = self.manager.configuration
        found = [name for name in configuration.models if is_usable(name, self.manager)]
        for id, adapter in configuration.adapters.items():
            if adapter.config.api_key and (default := configuration.default(id)):
                found.append(f"{id}:{default}")
        return found

    def _listed(self, name: str) -> Listed:
        route = self.snapshot.route(name)
        able = self.manager.capabilities_for(route.names[0] if route is not None else name)
        told = {"completion": True, "tools": able.tools, "vision": able.images, "thinking": able.thinking}
        abilities = tuple(word for word, has in told.items() if has)
        return Listed(name, "interlingua", able.max_context_tokens, able.max_output_tokens, abilities)


def _secret(variable: str | None) -> bytes:
    """The secret of envelopes. One that is made here is forgotten with the process."""
    if variable is None:
        return secrets.token_bytes(32)
    value = os.environ.get(variable, "")
    if len(value) < 16:
        raise StartError(f"the variable {variable}, the secret of envelopes, has fewer than 16 characters")
    return value.encode()

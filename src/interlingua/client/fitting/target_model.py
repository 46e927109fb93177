"""The model that a request is sent to, and what is lost on the way."""

from __future__ import annotations

from ...models.catalogue.facts import Facts
from ...types.capabilities import AdapterCapabilities
from ...types.loss import Loss, LossKind
from ...types.request import Request

__all__ = ["TargetModel"]


class TargetModel:
    """What the catalogue knows of a model, and the losses of the request. Their reasons begin with the model's name."""

    __slots__ = ("capabilities", "facts", "losses", "name")

    def __init__(self, facts: Facts, capabilities: AdapterCapabilities, request: Request) -> None:
        self.facts, self.capabilities, self.name = facts, capabilities, request.model or "the model"
        self.losses: list[Loss] = []

    def lose(self, path: str, kind: LossKind, why: str) -> None:
        """Note a loss. The reason is the model's name and then ``why``."""
        self.losses.append(Loss(path, kind, f"{self.name} {why}"))

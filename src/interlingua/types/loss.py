"""What a translation could not express, or had to express otherwise."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from .base import Json

__all__ = ["Encoded", "Loss", "LossKind", "LossWeight", "WireError"]

LossKind = Literal["dropped", "approximated", "moved", "added"]
"""What was done with something that could not be expressed as it was."""
LossWeight = Literal["state", "content", "form"]
"""What a loss affects: whether the conversation can go on, what is said in it, or only how it is written."""


class Loss(Struct, frozen=True):
    """One difference between the canonical value and what was written to the wire.

    ``path`` is a place in the canonical value, e.g. ``messages/3/content/1``. ``weight`` says how much it matters:
    ``state``, the conversation cannot go on the same (a thread, a stored response, reasoning of another issuer);
    ``content``, the model sees or says something else; ``form``, only a comparison of bytes would notice. Losses of
    weight ``form`` are returned, but never logged and never a reason to raise.
    """

    path: str
    kind: LossKind
    reason: str
    weight: LossWeight = "content"


class Encoded(Struct, frozen=True, omit_defaults=True):
    """What an encoder made: the body as a JSON value, where and with which headers to send it, and the losses.

    ``path`` is ``None`` where the URL needs a model and none was given.
    """

    body: Json
    path: str | None = None
    headers: dict[str, str] = {}
    losses: tuple[Loss, ...] = ()


class WireError(Struct, frozen=True, omit_defaults=True):
    """An error in a provider's own shape. ``body`` is bytes: an error answer need not be JSON."""

    status: int
    headers: dict[str, str]
    body: bytes

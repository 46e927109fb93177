"""What happens when a translation loses something: the caller's policy, before anything is sent."""

from __future__ import annotations

import logging
from typing import Literal

import msgspec

from .errors import LossyTranslation
from .exchange import Exchange
from .types.base import Json
from .types.loss import Loss
from .types.request import Request

__all__ = ["OnLoss", "judge_losses"]

log = logging.getLogger("interlingua")

OnLoss = Literal["warn", "allow", "raise"]


def judge_losses(exchange: Exchange, on_loss: OnLoss) -> None:
    """Raise, log one line, or let it pass. What was only added, by a pinned rule, is no loss of the caller's."""
    if not exchange.losses or on_loss == "allow":
        return
    lost = [loss for loss in exchange.losses if loss.kind != "added"]
    if not lost:
        return
    if on_loss == "raise":
        raise _refusal(exchange, lost)
    told = {
        "adapter": exchange.provider.name,
        "dialect": exchange.dialect.name,
        "model": exchange.model,
        "request_id": exchange.request.request_id,
        "losses": [_tell(loss, exchange.request) for loss in lost],
    }
    log.warning("lost in translation: %s", msgspec.json.encode(told).decode(), extra={"interlingua": told})


def _refusal(exchange: Exchange, lost: list[Loss]) -> LossyTranslation:
    places = "; ".join(f"{loss.path}: {loss.reason}" for loss in lost[:5])
    more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
    error = LossyTranslation(f"{exchange.provider.name} would not get all of the request: {places}{more}")
    error.losses = tuple(lost)
    exchange.name(error)
    return error


def _tell(loss: Loss, request: Request) -> dict[str, Json]:
    """A loss with the message and the kind of block that it hit."""
    told: dict[str, Json] = {"path": loss.path, "kind": loss.kind, "reason": loss.reason}
    parts = loss.path.split("/")
    if parts[0] == "messages" and len(parts) > 1 and parts[1].isdigit() and int(parts[1]) < len(request.messages):
        message = request.messages[int(parts[1])]
        told["message_id"] = message.id
        if len(parts) > 3 and parts[3].isdigit() and int(parts[3]) < len(message.content):
            told["block"] = message.content[int(parts[3])].type
    return told

"""What happens when a translation loses something: the caller's policy, before anything is sent."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Literal, TypeVar

import msgspec

from ..errors import LossyTranslation
from ..types.base import Json
from ..types.blocks import Block
from ..types.loss import Loss
from ..types.messages import Message
from ..types.request import Request
from .exchange import Exchange
from .retry import Budget

__all__ = ["OnLoss", "judge_losses"]

log = logging.getLogger("interlingua")

OnLoss = Literal["warn", "allow", "raise"]
Told = tuple[str, str, str | None]
"""Kind, reason and message id of a loss that was logged."""

V = TypeVar("V")


def judge_losses(exchange: Exchange, on_loss: OnLoss, budget: Budget | None = None) -> None:
    """Raise, log one line, or let it pass, before anything is sent.

    Weight ``form`` is neither logged nor a reason to raise; nor is what a pinned rule added. ``budget`` remembers what
    was logged in the conversation before: two losses are the same if kind, reason and message id agree.
    """
    if not exchange.losses or on_loss == "allow":
        return
    lost = [loss for loss in exchange.losses if loss.weight != "form" and loss.kind != "added"]
    if lost and on_loss == "raise":
        raise _refusal(exchange, lost)
    told = budget.told if budget is not None and budget.told is not None else set[Told]()
    lines = [line for loss in lost if (line := _news(loss, exchange.request, told)) is not None]
    if lines:
        _log(exchange, budget.session_id if budget is not None else None, lines)


def _refusal(exchange: Exchange, lost: list[Loss]) -> LossyTranslation:
    places = "; ".join(f"{loss.path}: {loss.reason}" for loss in lost[:5])
    more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
    error = LossyTranslation(f"{exchange.provider.name} would not get all of the request: {places}{more}")
    error.losses = tuple(lost)
    exchange.name(error)
    return error


def _log(exchange: Exchange, session_id: str | None, lines: list[dict[str, Json]]) -> None:
    told = {
        "session_id": session_id,
        "adapter": exchange.provider.name,
        "dialect": exchange.dialect.name,
        "model": exchange.model,
        "request_id": exchange.request.request_id,
        "losses": lines,
    }
    log.warning("lost in translation: %s", msgspec.json.encode(told).decode(), extra={"interlingua": told})


def _news(loss: Loss, request: Request, told: set[Told]) -> dict[str, Json] | None:
    """A loss with the message and the type of the block that it hit; None if it was logged before."""
    message, block = _hit(loss.path, request)
    key = (loss.kind, loss.reason, None if message is None else message.id)
    if key in told:
        return None
    told.add(key)
    line: dict[str, Json] = {"path": loss.path, "kind": loss.kind, "weight": loss.weight, "reason": loss.reason}
    if message is not None:
        line["message_id"] = message.id
    if block is not None:
        line["block"] = block.type
    return line


def _hit(path: str, request: Request) -> tuple[Message | None, Block | None]:
    """The message and the block that a path lies in."""
    parts = path.split("/")
    if parts[0] == "system":
        return None, _at(request.system, parts[1:])
    message = _at(request.messages, parts[1:]) if parts[0] == "messages" else None
    return message, None if message is None else _at(message.content, parts[3:])


def _at(values: Sequence[V], parts: list[str]) -> V | None:
    return values[int(parts[0])] if parts and parts[0].isdigit() and int(parts[0]) < len(values) else None

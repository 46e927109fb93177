"""What happens when encoding a request loses something: the caller's policy, applied before anything is sent."""

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
LossKey = tuple[str, str, str | None]
"""Kind, reason and message id of a loss that was logged."""

V = TypeVar("V")


def judge_losses(exchange: Exchange, on_loss: OnLoss, budget: Budget | None = None) -> None:
    """Raise, log one line, or do nothing, as ``on_loss`` says.

    Losses of weight ``form`` and of kind ``added`` are neither logged nor a reason to raise. ``budget`` remembers what
    was logged in the conversation before: two losses are the same if kind, reason and message id agree.
    """
    if not exchange.losses or on_loss == "allow":
        return
    lost = [loss for loss in exchange.losses if loss.weight != "form" and loss.kind != "added"]
    if lost and on_loss == "raise":
        raise _lossy_translation(exchange, lost)
    found = None if budget is None else budget.logged_losses
    logged: set[LossKey] = set() if found is None else found
    lines = [line for loss in lost if (line := _log_line(loss, exchange.request, logged)) is not None]
    if lines:
        _log(exchange, budget, lines)


def _lossy_translation(exchange: Exchange, lost: list[Loss]) -> LossyTranslation:
    places = "; ".join(f"{loss.path}: {loss.reason}" for loss in lost[:5])
    more = f" and {len(lost) - 5} more" if len(lost) > 5 else ""
    error = LossyTranslation(f"{exchange.provider.name} would not get all of the request: {places}{more}")
    error.losses = tuple(lost)
    exchange.describe(error)
    return error


def _log(exchange: Exchange, budget: Budget | None, lines: list[dict[str, Json]]) -> None:
    fields = {
        "session_id": None if budget is None else budget.session_id,
        "message_id": None if budget is None else budget.message_id,
        "step": None if budget is None else budget.step,
        "account": None if budget is None else budget.account,
        "adapter": exchange.provider.name,
        "dialect": exchange.dialect.name,
        "model": exchange.model,
        "request_id": exchange.request.request_id,
        "losses": lines,
    }
    log.warning("lost in translation: %s", msgspec.json.encode(fields).decode(), extra={"interlingua": fields})


def _log_line(loss: Loss, request: Request, logged: set[LossKey]) -> dict[str, Json] | None:
    """A loss with its message id and the type of its block; None if it was logged before."""
    message, block = _message_and_block(loss.path, request)
    key = (loss.kind, loss.reason, None if message is None else message.id)
    if key in logged:
        return None
    logged.add(key)
    line: dict[str, Json] = {"path": loss.path, "kind": loss.kind, "weight": loss.weight, "reason": loss.reason}
    if message is not None:
        line["message_id"] = message.id
    if block is not None:
        line["block"] = block.type
    return line


def _message_and_block(path: str, request: Request) -> tuple[Message | None, Block | None]:
    """The message and the block that a path points into."""
    parts = path.split("/")
    if parts[0] == "system":
        return None, _item_at(request.system, parts[1:])
    message = _item_at(request.messages, parts[1:]) if parts[0] == "messages" else None
    return message, None if message is None else _item_at(message.content, parts[3:])


def _item_at(values: Sequence[V], parts: list[str]) -> V | None:
    return values[int(parts[0])] if parts and parts[0].isdigit() and int(parts[0]) < len(values) else None

"""What a model takes, held against a request before a byte is sent.

Content that the model cannot read (a picture, a tool) is refused with a sentence that says so: an answer that ignores
half of the question is worse than none. A parameter that the model does not take is dropped with a Loss, or refused,
as the caller wishes. Facts come from the catalogue; what nobody knows is sent as written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Literal

from msgspec.structs import replace

from .catalogue.facts import Facts
from .errors import InvalidRequestError
from .types.blocks import (
    AudioBlock,
    Base64Source,
    Block,
    DocumentBlock,
    ImageBlock,
    ToolResultBlock,
    VideoBlock,
)
from .types.capabilities import AdapterCapabilities
from .types.loss import Loss
from .types.request import Request, Thinking

__all__ = ["Unsupported", "fit_request", "problems"]

Unsupported = Literal["drop", "refuse"]

MEDIA: dict[type, tuple[str, str]] = {
    ImageBlock: ("images", "images"),
    DocumentBlock: ("documents", "documents"),
    AudioBlock: ("audio", "audio"),
    VideoBlock: ("video", "video"),
}

# How many tokens of thought a word asks for, where a model takes only the one or the other; read both ways.
EFFORTS = {
    "none": 0,
    "minimal": 1_024,
    "low": 2_048,
    "medium": 8_192,
    "high": 16_384,
    "xhigh": 32_768,
    "max": 63_999,
}


def fit_request(
    request: Request, facts: Facts, able: AdapterCapabilities, unsupported: Unsupported = "drop"
) -> tuple[Request, tuple[Loss, ...]]:
    """The request as the model takes it, and what was changed. Raises ``InvalidRequestError`` if it cannot be."""
    wrong = next(problems(request, able), None)
    if wrong is not None:
        raise InvalidRequestError(wrong)
    changes, losses = _parameters(request, facts, able)
    if losses and unsupported == "refuse":
        raise InvalidRequestError("; ".join(f"{loss.path}: {loss.reason}" for loss in losses))
    return (replace(request, **changes) if changes else request), losses


# ------------------------------------------------------------------------------------------------------------- content


def problems(request: Request, able: AdapterCapabilities) -> Iterator[str]:
    """Why the model cannot read this request, each a sentence that says where."""
    who = request.model or "the model"
    if request.tools and not able.tools:
        yield f"tools: {who} calls no tools"
    if request.system and not able.system_prompt:
        yield f"system: {who} takes no system prompt"
    if request.stream and not able.streaming:
        yield f"stream: {who} does not stream; ask for the whole answer"
    if request.output_schema is not None and not (able.structured_output or able.tools):
        yield f"output_schema: {who} has no structured output, and no tools to approximate it with"
    if not (able.images and able.documents and able.audio and able.video) or able.image_types:
        yield from _unreadable(request, able, who)


def _unreadable(request: Request, able: AdapterCapabilities, who: str) -> Iterator[str]:
    for index, message in enumerate(request.messages):
        for block in _with_results(message.content):
            if type(block) in MEDIA:
                yield from _medium(block, f"messages/{index}", able, who)


def _medium(block: Block, place: str, able: AdapterCapabilities, who: str) -> Iterator[str]:
    ability, word = MEDIA[type(block)]
    if not getattr(able, ability):
        yield f"{place}: {who} takes no {word}"
    elif isinstance(block, ImageBlock) and able.image_types and isinstance(block.source, Base64Source):
        kind = block.source.media_type
        if kind and kind.lower() not in able.image_types:
            yield f"{place}: {who} takes no {kind}, only {', '.join(able.image_types)}"


def _with_results(blocks: Iterable[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        if type(block) is ToolResultBlock:
            yield from _with_results(block.content)


# ---------------------------------------------------------------------------------------------------------- parameters


def _parameters(request: Request, facts: Facts, able: AdapterCapabilities) -> tuple[dict[str, Any], tuple[Loss, ...]]:
    changes: dict[str, Any] = {}
    losses: list[Loss] = []
    who = request.model or "the model"
    thinking = request.thinking
    if thinking is not None:
        thinking, loss = _thinking(thinking, facts, able, who)
        if loss is not None:
            changes["thinking"] = thinking
            losses.append(loss)
    for name in (*(facts.rejects or ()), *((facts.rejects_while_thinking or ()) if _thinks(thinking) else ())):
        if name not in changes and getattr(request, name) not in (None, ()):
            changes[name] = () if isinstance(getattr(request, name), tuple) else None
            losses.append(Loss(name, "dropped", f"{who} does not take it"))
    _limit(request, able, who, changes, losses)
    return changes, tuple(losses)


def _limit(request: Request, able: AdapterCapabilities, who: str, changes: dict[str, Any], losses: list[Loss]) -> None:
    most, choice = able.max_output_tokens, request.tool_choice
    if most is not None and request.max_output_tokens is not None and request.max_output_tokens > most:
        changes["max_output_tokens"] = most
        losses.append(Loss("max_output_tokens", "approximated", f"{who} writes at most {most} tokens"))
    if choice is not None and choice.parallel and not able.parallel_tool_calls:
        changes["tool_choice"] = replace(choice, parallel=None)
        losses.append(Loss("tool_choice/parallel", "dropped", f"{who} makes one call at a time"))


def _thinks(thinking: Thinking | None) -> bool:
    return thinking is not None and thinking.mode != "disabled" and thinking.effort != "none" and thinking.budget != 0


def _thinking(
    thinking: Thinking, facts: Facts, able: AdapterCapabilities, who: str
) -> tuple[Thinking | None, Loss | None]:
    """How the model can be asked to think, if it is not as the caller says it."""
    if not able.thinking:
        return (None, Loss("thinking", "dropped", f"{who} does not think")) if _thinks(thinking) else (thinking, None)
    forms = frozenset(facts.thinking_forms or ())
    if not forms or not _thinks(thinking):
        return thinking, None
    if thinking.budget is not None and "budget" not in forms:
        return _without_budget(thinking, facts, forms, who)
    if thinking.effort is not None and not forms & {"effort", "level"}:
        return _without_effort(thinking, forms, who)
    if thinking.effort is not None and facts.efforts and thinking.effort not in facts.efforts:
        nearest = _nearest(EFFORTS.get(thinking.effort), facts.efforts)
        if nearest is not None:
            told = f"{who} knows no effort {thinking.effort!r}; {nearest!r} is the nearest"
            return replace(thinking, effort=nearest), Loss("thinking/effort", "approximated", told)
    return thinking, None


def _without_budget(thinking: Thinking, facts: Facts, forms: frozenset[str], who: str) -> tuple[Thinking, Loss]:
    effort = thinking.effort
    if effort is None and forms & {"effort", "level"}:
        effort = _nearest(thinking.budget, facts.efforts or tuple(EFFORTS))
    mode: Any = "adaptive" if "adaptive" in forms else None if forms & {"effort", "level"} else thinking.mode
    told = f"{who} takes no budget for its thoughts" + (f"; it is asked for effort {effort!r}" if effort else "")
    changed = replace(thinking, mode=mode, budget=None, effort=effort)
    return changed, Loss("thinking/budget", "approximated", told)


def _without_effort(thinking: Thinking, forms: frozenset[str], who: str) -> tuple[Thinking, Loss]:
    budget = thinking.budget if thinking.budget is not None else EFFORTS.get(thinking.effort or "")
    if "budget" not in forms:
        told = f"{who} takes no effort for its thoughts"
        return replace(thinking, effort=None, mode="enabled"), Loss("thinking/effort", "approximated", told)
    told = f"{who} takes no effort for its thoughts; it is given {budget} tokens"
    return replace(thinking, effort=None, mode="enabled", budget=budget), Loss("thinking/effort", "approximated", told)


def _nearest(budget: int | None, words: Iterable[str]) -> str | None:
    """The word among those known that asks for about as much."""
    known = [word for word in words if word in EFFORTS and word != "none"]
    if budget is None or not known:
        return None
    return min(known, key=lambda word: abs(EFFORTS[word] - budget))

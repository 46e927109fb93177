"""What the protocol leaves to the model: ``additionalModelRequestFields`` and ``outputConfig.effort``.

Claude's spelling is the one we write. Another is marked on reading (``mode`` and ``effort`` on the thinking, ``top_k``
on the request) and, where the reader's model is known, taken from ``FAMILIES``. Mark ``budget``: enabled without one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...codec.tables import Ledger, kept, marks, own, take
from ...types.base import Json
from ...types.capabilities import Target
from ...types.request import Request, Thinking
from .names import NAME
from .wire import Wire, is_array, is_object


class Way(NamedTuple):
    """Where a family of models keeps the mode of its thinking, its effort and top_k; None for nowhere."""

    mode: str | None
    effort: str
    top_k: str


CLAUDE = Way("thinking", "outputConfig", "top_k")
# part of the model's id, its way
FAMILIES = (
    ("amazon.nova", Way("reasoningConfig", "reasoningConfig", "inferenceConfig")),
    ("openai.", Way(None, "reasoning_effort", "top_k")),
    ("qwen.", Way(None, "reasoning_config", "top_k")),
)
_THREE = ("low", "medium", "high")
# place of the effort word: the words it takes
EFFORTS = {
    "outputConfig": (*_THREE, "xhigh", "max"),
    "reasoningConfig": _THREE,
    "reasoning_effort": _THREE,
    "reasoning_config": _THREE,
}
NEAREST = {"xhigh": "high", "max": "high"}
# place of the mode: the modes it takes
MODES = {
    "thinking": ("adaptive", "enabled", "disabled", "between_tools"),
    "reasoning_config": ("adaptive", "enabled", "disabled", "between_tools"),
    "reasoningConfig": ("enabled", "disabled"),
}
BUDGETED = ("thinking", "reasoning_config")


def way_of(target: Target | None) -> Way | None:
    """The way of the reader's model, where a reader is named."""
    if target is None or target.model is None:
        return None
    model = target.model
    return next((way for part, way in FAMILIES if part in model), CLAUDE if "anthropic." in model else None)


def read_native(native: Wire, config: Wire, fields: dict[str, Any], forms: Wire) -> None:
    """Pop what is ours from private copies of the two objects."""
    thinking = read_thinking(native, config)
    if thinking is not None:
        fields["thinking"] = thinking
    inner = native.get("inferenceConfig")
    if type(native.get("top_k")) is int:
        fields["top_k"] = native.pop("top_k")
    elif is_object(inner) and type(inner.get("topK")) is int:
        forms["top_k"] = "inferenceConfig"
        fields["top_k"] = inner["topK"]
        _without(native, "inferenceConfig", "topK")
    betas = native.get("anthropic_beta")
    if is_array(betas) and betas and all(type(beta) is str for beta in betas):
        fields["betas"] = tuple(native.pop("anthropic_beta"))


def _without(native: Wire, key: str, inner: str) -> None:
    left = {k: v for k, v in native.pop(key).items() if k != inner}
    if left:
        native[key] = left


def read_thinking(native: Wire, config: Wire) -> Thinking | None:
    found: dict[str, Any] = {}
    forms: Wire = {}
    place = next((key for key in MODES if _mode(native, key) in MODES[key]), None)
    rest: Wire = {}
    blanks: Wire = {}
    if place is not None:
        rest = dict(native.pop(place))
        found["mode"] = rest.pop("type")
        if place == "reasoningConfig":
            if rest.get("maxReasoningEffort") in EFFORTS[place]:
                found["effort"] = rest.pop("maxReasoningEffort")
                forms["effort"] = place
        else:
            found |= {"budget": take(rest, "budget_tokens", blanks), "display": take(rest, "display", blanks)}
            if found["mode"] == "enabled" and found["budget"] is None:
                forms["budget"] = "absent"
        if place != CLAUDE.mode:
            forms["mode"] = place
    _read_effort(native, config, found, forms)
    return Thinking(**found, **kept(NAME, rest, forms, blanks)) if found else None


def _mode(native: Wire, key: str) -> Json:
    wire = native.get(key)
    return wire.get("type") if is_object(wire) and isinstance(wire.get("type"), str) else None


def _read_effort(native: Wire, config: Wire, found: dict[str, Any], forms: Wire) -> None:
    if "effort" in found:
        return
    if config.get("effort") in EFFORTS["outputConfig"]:
        found["effort"] = config.pop("effort")
        return
    for place in ("reasoning_effort", "reasoning_config"):
        if isinstance(native.get(place), str) and native[place] in EFFORTS[place]:
            found["effort"] = native.pop(place)
            forms["effort"] = place
            return


def say_native(request: Request, native: Wire, config: Wire, way: Way | None, ledger: Ledger) -> None:
    if request.thinking is not None:
        ledger.where = ("thinking",)
        say_thinking(request.thinking, native, config, way, ledger)
        ledger.where = ()
    if request.top_k is not None:
        place = way.top_k if way is not None else marks(NAME, request).get("top_k", CLAUDE.top_k)
        if place == "inferenceConfig":
            native["inferenceConfig"] = {"topK": request.top_k}
        else:
            native["top_k"] = request.top_k
    if request.betas and way in (None, CLAUDE):
        native["anthropic_beta"] = list(request.betas)
    elif request.betas:
        ledger.lose("dropped", "this model has no betas", "betas")


def say_thinking(thinking: Thinking, native: Wire, config: Wire, way: Way | None, ledger: Ledger) -> None:
    mark = marks(NAME, thinking)
    mode_at = way.mode if way is not None else mark.get("mode", CLAUDE.mode)
    effort_at = way.effort if way is not None else mark.get("effort", CLAUDE.effort)
    mode = _said_mode(thinking, mode_at, effort_at, ledger)
    effort = _said_effort(thinking, mode, effort_at, ledger)
    if mode_at is not None and mode is not None:
        native[mode_at] = own(NAME, _said_object(thinking, mode, effort, mode_at, ledger), thinking)
    else:
        for field in ("mode", "budget", "display"):
            if getattr(thinking, field) is not None:
                ledger.lose("dropped", "this model has no such setting", field)
    if effort is not None and effort_at == "outputConfig":
        config["effort"] = effort
    elif effort is not None and effort_at != mode_at:
        native[effort_at] = effort
    ledger.foreign(thinking, NAME)


def _said_mode(thinking: Thinking, mode_at: str | None, effort_at: str, ledger: Ledger) -> str | None:
    mode = thinking.mode
    if mode is not None:
        if mode_at is not None and mode not in MODES[mode_at]:
            ledger.lose(
                "approximated", f"this model has the modes {', '.join(MODES[mode_at])}; sent as enabled", "mode"
            )
            return "enabled"
        budget = thinking.budget or marks(NAME, thinking).get("budget")
        if mode == "enabled" and budget is None and mode_at in BUDGETED:
            ledger.lose("approximated", "enabled thinking needs a budget on this model; sent as adaptive", "mode")
            return "adaptive"
        return mode
    if mode_at is None:
        return None
    if thinking.effort == "none":
        ledger.lose_form("added", f"effort none is said as thinking disabled in {NAME}", "mode")
        return "disabled"
    if thinking.budget is not None or (mode_at == effort_at and thinking.effort is not None):
        mode = "enabled"
    elif thinking.display is not None:
        mode = "adaptive" if "adaptive" in MODES[mode_at] else "enabled"
    if mode is not None:
        ledger.lose_form("added", f"thinking in {NAME} needs a mode; one was added", "mode")
    return mode


def _said_effort(thinking: Thinking, mode: str | None, effort_at: str, ledger: Ledger) -> str | None:
    effort = thinking.effort
    if effort is None or effort in EFFORTS[effort_at]:
        return effort
    if effort == "none" and mode == "disabled":
        ledger.lose_form("approximated", f"effort none is said as thinking disabled in {NAME}", "effort")
        return None
    ledger.lose(
        "approximated", f"this model has the efforts {', '.join(EFFORTS[effort_at])}; sent as the nearest", "effort"
    )
    return NEAREST.get(effort, "low")


def _said_object(thinking: Thinking, mode: str, effort: str | None, mode_at: str, ledger: Ledger) -> Wire:
    wire: Wire = {"type": mode}
    if mode_at == "reasoningConfig":
        if effort is not None:
            wire["maxReasoningEffort"] = effort
        for field in ("budget", "display"):
            if getattr(thinking, field) is not None:
                ledger.lose("dropped", "this model has no such setting", field)
        return wire
    if thinking.budget is not None:
        wire["budget_tokens"] = thinking.budget
    if thinking.display is not None:
        wire["display"] = thinking.display
    return wire

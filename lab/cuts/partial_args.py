"""Gemini's ``partialArgs``: arguments that come value by value, each with the JSON path of its place."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from lab.oracles.leaves import is_array

__all__ = ["lay_partial_args"]

STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\['([^']+)'\]")
VALUES = ("stringValue", "numberValue", "boolValue")


def lay_partial_args(so_far: str, partial: list[dict[str, Any]]) -> Any:
    """The arguments with more values put in their places. A text is appended to a text that is already there."""
    whole: Any = {"$": msgspec.json.decode(so_far) if so_far else {}}
    for entry in partial:
        steps = [int(index) if index else key or quoted for key, index, quoted in STEP.findall(entry["jsonPath"])]
        _lay(whole, ["$", *steps], next((entry[key] for key in VALUES if key in entry), None))
    return whole["$"]


def _lay(value: Any, steps: list[Any], leaf: Any) -> None:
    step, *rest = steps
    if is_array(value):
        value.extend([None] * (step + 1 - len(value)))
        old = value[step]
    else:
        old = value.get(step)
    if not rest:
        value[step] = old + leaf if isinstance(old, str) and isinstance(leaf, str) else leaf
        return
    if not isinstance(old, dict | list):
        value[step] = [] if isinstance(rest[0], int) else {}
    _lay(value[step], rest, leaf)

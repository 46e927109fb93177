"""Every ordering rule is shown something guilty, and an innocent conversation that none of them may accuse."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from lab.oracles import DIALECTS, WARNING, check_order
from lab.oracles.order import rules_of

Body = dict[str, Any]

LINES = [json.loads(line) for line in Path(__file__).with_name("order.jsonl").read_text(encoding="utf-8").splitlines()]
GOOD: dict[str, Body] = {line["dialect"]: line["good"] for line in LINES if "good" in line}
"""One conversation each: a question, a call with its result, an answer, another question."""

Edit = list[Any]
"""A dotted path (numbers index arrays) and the value to put there, or to append where the path ends in ``+``. Without
a value, what is there is removed."""
BAD: list[tuple[str, str, list[Edit]]] = [
    (line["dialect"], line["broken"], line["edits"]) for line in LINES if "broken" in line
]
ALLOWED: list[tuple[str, list[Edit]]] = [(line["dialect"], line["edits"]) for line in LINES if "allowed" in line]
"""What the rules must not forbid, each seen in accepted traffic or named by a sheet."""


def edited(body: Body, *edits: Edit) -> Body:
    result = copy.deepcopy(body)
    for path, *value in edits:
        *steps, last = (int(step) if step.isdigit() else step for step in path.split("."))
        place: Any = result
        for step in steps:
            place = place.setdefault(step, {}) if isinstance(place, dict) else place[step]
        if not value:
            del place[last]
        elif last == "+":
            place.extend(value)
        else:
            (place[last],) = value
    return result


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_rule_accuses_the_innocent(dialect: str) -> None:
    assert check_order(GOOD[dialect], dialect) == []


@pytest.mark.parametrize(("dialect", "rule", "edits"), BAD)
def test_the_rule_accuses_the_guilty(dialect: str, rule: str, edits: list[Edit]) -> None:
    found = check_order(edited(GOOD[dialect], *edits), dialect)
    assert any(problem.endswith(f" [{rule}]") for problem in found), found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_rule_was_shown_something_guilty(dialect: str) -> None:
    assert {rule.name for rule in rules_of(dialect)} == {rule for name, rule, _ in BAD if name == dialect}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_disputed_rule_only_warns(dialect: str) -> None:
    disputed = {rule.name: rule.disputed for rule in rules_of(dialect)}
    for name, rule, edits in BAD:
        if name == dialect:
            found = [
                each for each in check_order(edited(GOOD[dialect], *edits), dialect) if each.endswith(f" [{rule}]")
            ]
            assert {each.startswith(WARNING) for each in found} == {disputed[rule]}


@pytest.mark.parametrize(("dialect", "edits"), ALLOWED)
def test_what_the_rules_allow(dialect: str, edits: list[Edit]) -> None:
    assert check_order(edited(GOOD[dialect], *edits), dialect) == []


def test_an_unknown_dialect_is_named() -> None:
    with pytest.raises(ValueError, match="known are anthropic-messages"):
        check_order({}, "smoke-signals")


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("junk", [None, 1, "x", [], {}, [None], [[]], {"a": []}])
def test_rules_pass_by_what_has_the_wrong_type(dialect: str, junk: Any) -> None:
    """Any value at any place: the type check speaks about it, the rules must not fall over it."""
    assert isinstance(check_order(junk, dialect), list)
    for path in places(GOOD[dialect]):
        check_order(edited(GOOD[dialect], [path, junk]), dialect)


def places(value: Any, path: str = "") -> list[str]:
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    here = [(f"{path}.{step}".lstrip("."), inner) for step, inner in steps]
    return [place for step, inner in here for place in (step, *places(inner, step))]

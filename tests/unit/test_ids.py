"""Tool-call ids that a protocol refuses: the derived ids are deterministic and do not collide."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from interlingua.codec.tools.ids import ANY, IdMap, IdRule

NINE = IdRule(re.compile(r"[a-zA-Z0-9]{9}"), prefix="", length=9)
WORDS = IdRule(re.compile(r"[a-zA-Z0-9_-]+"), prefix="toolu_")
FORTY = IdRule(re.compile(r"(?s).{1,40}"))
TINY = IdRule(re.compile(r"[a-zA-Z0-9]"), prefix="", length=1)  # 62 ids: collisions are certain
RULES = (NINE, WORDS, FORTY)


@pytest.mark.parametrize("rule", RULES)
@given(ids=st.lists(st.text(min_size=0, max_size=60), max_size=30))
def test_derived_ids_fit_and_never_collide(rule: IdRule, ids: list[str]) -> None:
    mapping = IdMap(rule, ids)
    fitted = {id: mapping.fit(id) for id in ids}
    assert all(rule.pattern.fullmatch(value) for value in fitted.values())
    assert len(set(fitted.values())) == len(fitted)
    assert all(fitted[id] == id for id in fitted if rule.pattern.fullmatch(id))


@pytest.mark.parametrize("rule", RULES)
@given(ids=st.lists(st.text(min_size=1, max_size=60), max_size=10))
def test_the_same_history_gets_the_same_ids(rule: IdRule, ids: list[str]) -> None:
    one, other = IdMap(rule, ids), IdMap(rule, ids)
    assert [one.fit(id) for id in ids] == [other.fit(id) for id in ids] == [one.fit(id) for id in ids]


def test_a_growing_history_keeps_its_ids() -> None:
    ids = [f"call:{n}" for n in range(50)]
    short, long = IdMap(NINE, ids[:10]), IdMap(NINE, ids)
    assert [short.fit(id) for id in ids[:10]] == [long.fit(id) for id in ids[:10]]


def test_derived_ids_are_pinned() -> None:
    """Prompt caches and saved conversations depend on them: a change of the derivation changes the wire."""
    first = IdMap(NINE).fit("functions.Bash:0")
    assert first == IdMap(NINE).fit("functions.Bash:0")
    assert re.fullmatch(r"[a-zA-Z0-9]{9}", first)
    assert IdMap(WORDS).fit("functions.Bash:0").startswith("toolu_")
    assert first != IdMap(NINE).fit("functions.Bash:1")


def test_a_derived_id_does_not_take_one_already_given_out() -> None:
    derived = IdMap(NINE).fit("refused")
    mapping = IdMap(NINE)
    assert mapping.fit(derived) == derived
    assert mapping.fit("refused") != derived


def test_a_derived_id_does_not_take_one_that_comes_later() -> None:
    derived = IdMap(NINE).fit("refused")
    mapping = IdMap(NINE, ["refused", derived])
    assert mapping.fit("refused") != derived
    assert mapping.fit(derived) == derived


def test_many_collisions_are_resolved() -> None:
    mapping = IdMap(TINY)
    assert len({mapping.fit(f"refused {n}") for n in range(60)}) == 60


def test_any_id_passes_where_there_is_no_rule() -> None:
    mapping = IdMap(ANY)
    for id in ("x", "functions.Bash:0", "é\n", "x" * 500):
        assert mapping.fit(id) == id
    assert mapping.fit("") != ""


def test_lone_surrogates_do_not_break_it() -> None:
    assert NINE.pattern.fullmatch(IdMap(NINE).fit("\ud800"))

"""Tool arguments: between the text a model wrote and the object a tool is given."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from interlingua.codec.tools.arguments import (
    is_text_of,
    parse_error,
    parse_object,
    read_arguments,
    without_nulls,
    write_arguments,
)

WRITTEN: tuple[tuple[str, dict[str, Any], bool], ...] = (
    # text, input, whether the text must be kept
    ("{}", {}, False),
    ('{"a":1}', {"a": 1}, False),
    ('{"a": 1}', {"a": 1}, True),
    ('{"a":1.0}', {"a": 1.0}, False),
    ('{"a":1e2}', {"a": 100.0}, True),
    ('{"a":"é"}', {"a": "é"}, False),
    ('{"a":"\\u00e9"}', {"a": "é"}, True),
    ('{"a":"\\/"}', {"a": "/"}, True),
    ('{"a":1,"a":2}', {"a": 2}, True),
    (" {}", {}, True),
    ("{}\n", {}, True),
    ('{"b":1,"a":2}', {"b": 1, "a": 2}, False),
    ('{"n":12345678901234567890123}', {"n": 12345678901234567890123}, False),
    ("", {}, True),
    ("null", {}, True),
    ("[]", {}, True),
    ('"x"', {}, True),
    ('{"a":', {}, True),
    ("nonsense", {}, True),
    ("{}{}", {}, True),
    ("\ud800", {}, True),
)


@pytest.mark.parametrize(("text", "input", "kept"), WRITTEN)
def test_reading_and_writing_back(text: str, input: dict[str, Any], kept: bool) -> None:
    found, found_text = read_arguments(text)
    assert (found, found_text) == (input, text if kept else None)
    assert write_arguments(found, found_text) == text


@given(st.text(max_size=40))
def test_any_text_comes_back(text: str) -> None:
    assert write_arguments(*read_arguments(text)) == text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=5), json_values, max_size=4))
def test_any_object_comes_back(value: dict[str, Any]) -> None:
    text = write_arguments(value, None)
    assert read_arguments(text) == (value, None)
    assert parse_error(text) is None


def test_an_edited_input_wins_over_a_stale_text() -> None:
    assert write_arguments({"a": 2}, '{"a": 1}') == '{"a":2}'
    assert write_arguments({"a": 1}, '{"a": 1}') == '{"a": 1}'
    assert write_arguments({"a": 1}, '{"a": ') == '{"a":1}'
    assert write_arguments({}, '{"a": ') == '{"a": '  # still what the model wrote


def test_nulls_forced_by_a_strict_schema_do_not_make_a_text_stale() -> None:
    assert write_arguments({"a": 1}, '{"a": 1, "b": null}') == '{"a": 1, "b": null}'
    assert is_text_of('{"a": {"b": null, "c": 1}}', {"a": {"c": 1}})
    assert not is_text_of('{"a": 1, "b": 2}', {"a": 1})
    assert not is_text_of('{"a": [null]}', {"a": []})


def test_without_nulls() -> None:
    assert without_nulls({"a": None, "b": {"c": None, "d": [None, {"e": None}]}}) == {"b": {"d": [None, {}]}}


def test_what_is_wrong_and_where() -> None:
    assert parse_error('{"a":1}') is None
    for text in ('{"a": ', '{"a" 1}', "", "nonsense", '{"a":1}x'):
        assert "byte" in (parse_error(text) or "")
    assert "list" in (parse_error("[1]") or "")


def test_only_objects_are_arguments() -> None:
    assert parse_object('{"a":1}') == {"a": 1}
    for text in ("[1]", "1", "null", "", "{", "[" * 100_000):
        assert parse_object(text) is None

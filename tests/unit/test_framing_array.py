"""A JSON array streamed over time, and the bracket scanner under it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from interlingua.codec.framing import ArrayDecoder, encode_array_close, encode_array_element, encode_array_open
from interlingua.codec.framing.brackets import is_whole_value
from interlingua.errors import ParseError

SCALARS = st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('ab"\\{}[],\n é'), max_size=6)
KEYS = st.text('k"\\}]', max_size=3)
VALUES = st.recursive(SCALARS, lambda some: st.lists(some, max_size=3) | st.dictionaries(KEYS, some, max_size=3))
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=3)
DEEP = b'{"a":[' * 30 + b'"]"' + b"]}" * 30

# fmt: off
FAULTS = [
    # stream         elements  message
    (b'{"a":1}',     [],       "expected a JSON array, found b'{'"),
    (b"]",           [],       "expected a JSON array, found b']'"),
    (b"[{},null]",   [b"{}"],  "expected an object or the end of the JSON array, found b'n'"),
    (b"[{}}",        [b"{}"],  "expected an object or the end of the JSON array, found b'}'"),
]
# fmt: on


def encode(elements: list[bytes]) -> bytes:
    inner = [encode_array_element(element, first=index == 0) for index, element in enumerate(elements)]
    return b"".join([encode_array_open(), *inner, encode_array_close()])


@pytest.mark.parametrize(("stream", "elements", "message"), FAULTS)
def test_what_is_no_element_is_a_fault_behind_the_elements(stream: bytes, elements: list[bytes], message: str) -> None:
    decoder = ArrayDecoder()
    if elements:
        assert decoder.feed(stream) == elements
        stream = b""
    with pytest.raises(ParseError) as caught:
        decoder.feed(stream)
    assert message in str(caught.value)
    assert not decoder.finished


@given(st.lists(OBJECTS, max_size=4), st.sampled_from([None, 0, 2]))
def test_what_is_encoded_is_decoded(objects: list[dict[str, Any]], indent: int | None) -> None:
    elements = [json.dumps(value, indent=indent, ensure_ascii=False).encode() for value in objects]
    stream = encode(elements)
    assert json.loads(stream) == objects
    decoder = ArrayDecoder()
    assert decoder.feed(stream[:-1]) == elements
    assert not decoder.finished
    assert decoder.feed(stream[-1:]) == []
    assert decoder.finished


@given(OBJECTS)
def test_no_cut_of_a_whole_value_is_whole(value: dict[str, Any]) -> None:
    text = json.dumps(value).encode()
    assert [end for end in range(len(text) + 1) if is_whole_value(text[:end])] == [len(text)]


@pytest.mark.parametrize("text", [b"", b"1", b'"{}"', b"{} ", b"{}{}", b"}", b"word", DEEP[:-1], DEEP + b"}"])
def test_other_texts_are_not_whole_values(text: bytes) -> None:
    assert not is_whole_value(text)

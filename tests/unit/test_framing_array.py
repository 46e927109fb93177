"""A JSON array streamed over time, and the bracket scanner under it."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st

from interlingua.codec.framing import ArrayDecoder, encode_array_close, encode_array_element, encode_array_open
from interlingua.codec.framing.brackets import is_whole_value
from interlingua.errors import ParseError
from shared_data import corpus, needs_shared

SCALARS = st.none() | st.booleans() | st.integers() | st.text(st.sampled_from('ab"\\{}[],\n é'), max_size=6)
KEYS = st.text('k"\\}]', max_size=3)
VALUES = st.recursive(SCALARS, lambda some: st.lists(some, max_size=3) | st.dictionaries(KEYS, some, max_size=3))
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=3)
DEEP = b'{"a":[' * 30 + b'"]"' + b"]}" * 30

# fmt: off
TABLE = [
    # stream                                       elements                           finished
    (b"[]",                                        [],                                True),
    (b" [ ] ",                                     [],                                True),
    (b"[{}]",                                      [b"{}"],                           True),
    (b'[{"a": 1}\n,\r\n{"b": [2, {}]}\n]\n',       [b'{"a": 1}', b'{"b": [2, {}]}'],  True),
    (b"[[1], [2]]",                                [b"[1]", b"[2]"],                  True),
    (b'[{"a":"}"},{"a":"\\"}"},{"a":"\\\\"}]',     [b'{"a":"}"}', b'{"a":"\\"}"}', b'{"a":"\\\\"}'], True),
    (b"[" + DEEP + b"]",                           [DEEP],                            True),
    (b"[{},",                                      [b"{}"],                           False),
    (b'[{},{"a":"',                                [b"{}"],                           False),
    (b"",                                          [],                                False),
    (b"[{}] whatever ] follows",                   [b"{}"],                           True),
]
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


@pytest.mark.parametrize(("stream", "elements", "finished"), TABLE)
def test_elements(stream: bytes, elements: list[bytes], finished: bool) -> None:
    for chunks in ([stream], [bytes([byte]) for byte in stream]):
        decoder = ArrayDecoder()
        assert [element for chunk in chunks for element in decoder.feed(chunk)] == elements
        assert decoder.close() == []
        assert decoder.finished is finished


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


def test_an_element_is_delivered_by_the_chunk_that_closes_it() -> None:
    decoder = ArrayDecoder()
    steps = [(b'[{"a":', []), (b'"x\\', []), (b'"}', []), (b'"}', [b'{"a":"x\\"}"}']), (b",{}", [b"{}"]), (b"]", [])]
    assert [decoder.feed(chunk) for chunk, _ in steps] == [elements for _, elements in steps]
    assert decoder.finished


@pytest.mark.parametrize("size", [1, 3, 10, 100])
def test_the_limit_is_on_one_element(size: int) -> None:
    stream = b'[{"a":"xx"},{"a":"yy"},   ,{"a":"xxx"}]'
    decoder = ArrayDecoder(limit=10)
    elements: list[bytes] = []
    with suppress(ParseError):
        for start in range(0, len(stream), size):
            elements += decoder.feed(stream[start : start + size])
    with pytest.raises(ParseError, match="an element of the JSON array is longer than the limit of 10 bytes"):
        decoder.close()
    assert elements == [b'{"a":"xx"}', b'{"a":"yy"}']


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


@needs_shared
def test_recorded_arrays() -> None:
    texts = [record["response_text"] for record in corpus("gemini") if record.get("response_text", "").startswith("[")]
    assert texts
    for text in texts:
        for size in (1, 100, len(text) * 4):
            decoder = ArrayDecoder()
            stream = text.encode()
            elements = [e for start in range(0, len(stream), size) for e in decoder.feed(stream[start : start + size])]
            assert [json.loads(element) for element in elements] == json.loads(text)
            assert decoder.finished

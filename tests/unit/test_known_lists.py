"""A list of tools that was sent before is read and checked like any list, but only once."""

from __future__ import annotations

import copy
from typing import Any

import msgspec
import pytest

from interlingua import Request, dialect
from interlingua.codec.known_lists import KnownList, read_each
from interlingua.codec.registry import DIALECTS
from interlingua.errors import InvalidRequestError
from interlingua.gateway.peek import KnownTools, Peek
from interlingua.testing.conformance import Sample, samples


def bodies(name: str) -> list[dict[str, Any]]:
    """Requests of a dialect that offer tools at their top."""
    given = [sample.value for sample in samples.requests(name) if isinstance(sample, Sample)]
    found = [dialect(name).encode_request(request).body for request in given if isinstance(request, Request)]
    return [body for body in found if isinstance(body.get("tools"), list)]


@pytest.mark.parametrize("name", sorted(set(DIALECTS) - {"bedrock-converse"}))
def test_tools_that_came_before_are_read_as_any_others(name: str) -> None:
    asked = bodies(name)
    assert asked
    for body in asked:
        codec, plain = dialect(name), copy.deepcopy(body)
        known = {**body, "tools": KnownList(body["tools"])}
        for _ in range(2):
            assert codec.decode_request(known) == codec.decode_request(plain)
            assert refusal(name, known) == refusal(name, plain)
        assert known == plain
        assert encoded(name, codec.decode_request(known)) == encoded(name, codec.decode_request(plain))


def refusal(name: str, body: Any) -> str:
    try:
        dialect(name).validate_request(body)
    except InvalidRequestError as error:
        return str(error)
    return ""


def encoded(name: str, request: Request) -> Any:
    return dialect(name).encode_request(request).body


def test_what_is_wrong_in_tools_is_found_each_time() -> None:
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "?"}], "tools": [{"name": 5}]}
    known = {**body, "tools": KnownList([{"name": 5}])}
    assert refusal("anthropic-messages", body)
    for _ in range(2):
        assert refusal("anthropic-messages", known) == refusal("anthropic-messages", body)


def test_each_reader_reads_a_known_list_once() -> None:
    read: list[Any] = []

    def note(item: Any) -> Any:
        read.append(item)
        return item

    known = KnownList([1, 2])
    assert read_each(note, known) is read_each(note, known)
    assert read == [1, 2]
    assert read_each(note, [3]) == (3,)


def test_the_same_bytes_are_parsed_once() -> None:
    tools = KnownTools()
    first = Peek(b'{"model":"m","tools":[{"name":"a"}]}').body_value(tools)
    again = Peek(b'{"model":"n","tools":[{"name":"a"}]}').body_value(tools)
    other = Peek(b'{"model":"m","tools":[{"name":"b"}]}').body_value(tools)
    assert first == {"model": "m", "tools": [{"name": "a"}]}
    assert again["tools"] is first["tools"]
    assert other["tools"] == [{"name": "b"}]


@pytest.mark.parametrize("tools", [None, {"name": "a"}, "a", [], [1, None]])
def test_what_is_no_list_of_tools_stays_what_it_is(tools: Any) -> None:
    assert Peek(msgspec.json.encode({"tools": tools})).body_value(KnownTools()) == {"tools": tools}


def test_no_more_is_kept_than_is_told() -> None:
    tools = KnownTools(most=40)
    raws = [b'[{"name":"%d"}]' % number for number in range(10)]
    kept = [tools.value(raw) for raw in raws]
    assert tools.value(raws[0]) is not kept[0]
    assert tools.value(raws[-1]) is kept[-1]
    assert type(tools.value(b'["%s"]' % (b"a" * 60))) is list

"""Official clients read what we write, and we read what they send: ``sdks.jsonl``, one JSON object per line.

``client`` is whose client it is, by the dialect that it speaks. A line has one of

- ``answer``: an answer in our own types; ``seen`` is what the client holds of it, whole, and of its stream where
  ``streamed`` does not say otherwise;
- ``events``: a stream in our own types, and ``seen``;
- ``send``: a method of the client and its arguments (``{"base64": …}`` are bytes); ``meant`` is the request that we
  read. Written by us it is the same request again, and losses there are none.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from cases.test_calls import said_of, value_of, without_marks
from interlingua import (
    Event,
    Message,
    MessageComplete,
    MessageStart,
    NetworkError,
    RateLimitError,
    RefusalBlock,
    Request,
    Response,
    TextBlock,
    ThinkingBlock,
    TokenUsage,
    ToolDefinition,
    ToolUseBlock,
    dialect,
    fold,
    translate_stream,
    unfold,
)
from interlingua.testing.stream_laws import decode_bytes
from lab.oracles import problems
from oracles.clients import CLIENTS, Chat, Client, Http, bytes_in
from oracles.sdks import JSON, InMemory, interleaved, recorded, said, want
from shared_data import needs_shared

Json = Any
LINES = [json.loads(line) for line in Path(__file__).with_name("sdks.jsonl").read_text(encoding="utf-8").splitlines()]


def of(kind: str) -> Any:
    lines = [pytest.param(line, id=f"{line['client']}: {line['case']}") for line in LINES if kind in line]
    return pytest.mark.parametrize("line", lines)


# ------------------------------------------------------------------------------------------------ what they read


@of("answer")
def test_an_answer_is_read(line: Json) -> None:
    client, answer = CLIENTS[line["client"]], value_of(line["answer"], Response)
    body, wire = dialect(client.name).encode_response(answer).body, said(client.name, unfold(answer))
    client.validate(body)
    client.validate_stream(wire)
    assert client.reads(body) == line["seen"]
    assert client.reads_stream(wire) == line.get("streamed", line["seen"])


@of("events")
def test_a_stream_is_read(line: Json) -> None:
    client, events = CLIENTS[line["client"]], [value_of(event, Event) for event in line["events"]]
    fold(events)
    wire = said(client.name, events)
    client.validate_stream(wire)
    assert client.reads_stream(wire) == line["seen"]


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(st.data())
@pytest.mark.parametrize("name", [name for name, client in CLIENTS.items() if isinstance(client, Http)])
def test_any_interleaving_of_open_blocks(name: str, data: st.DataObject) -> None:
    """Calls never cross wires however their fragments alternate, and no text is lost."""
    client = CLIENTS[name]
    blocks, events = interleaved(data, client.kinds, lambda made: Response(made, id="msg_1", model="m", usage=USAGE))
    view = client.view(client.reads_stream(said(name, events)))
    texts = "".join(block.text for block in blocks if isinstance(block, TextBlock))
    thoughts = "".join(block.text for block in blocks if isinstance(block, ThinkingBlock))
    assert sorted(view.text) == sorted(texts)
    assert sorted(view.thoughts.replace("\n\n", "")) == sorted(thoughts)
    assert view.calls == [(block.id, block.name, block.input) for block in blocks if isinstance(block, ToolUseBlock)]


USAGE = TokenUsage(1, output_tokens=2)


def is_odd(response: Response) -> bool:
    """An answer of which no client holds all: arguments that are no object, or nothing but what it has no words for."""
    return any(call.kind == "json" and not call.input and call.input_text for call in response.tool_uses)


def is_read(client: Client, body: bytes) -> bool:
    """Whether a client reads a recording itself: no index, two calls on one index, or list content, and it gives up."""
    try:
        client.reads_stream(body)
    except (TypeError, RuntimeError, AssertionError, AttributeError, UserWarning, IndexError):
        return False
    return True


@needs_shared
@pytest.mark.parametrize("file", ["anthropic-messages", "openai-chat", "mistral", "openai-responses"])
@pytest.mark.parametrize("name", [name for name, client in CLIENTS.items() if isinstance(client, Http)])
def test_recorded_streams_are_read_as_whole_answers_are(name: str, file: str) -> None:
    """What any provider streamed, said in any protocol, is read to the same text, calls, counts and end."""
    client, source, compared = CLIENTS[name], "openai-chat" if file == "mistral" else file, 0
    for id, body, folded in recorded(file, source):
        if is_odd(folded) or (name == source == "openai-chat" and not is_read(client, body)):
            continue
        streamed = client.view(client.reads_stream(b"".join(translate_stream([body], source=source, target=name))))
        whole = client.view(client.reads(dialect(name).encode_response(folded).body))
        assert streamed.text == whole.text, id
        assert streamed.calls == whole.calls, id
        assert (streamed.stop, streamed.usage) == (whole.stop, whole.usage), id
        spoken = TextBlock | RefusalBlock if name == "anthropic-messages" else TextBlock
        assert streamed.text == "".join(block.text for block in folded.content if isinstance(block, spoken)), id
        known = [(call[0] or ours.id, call[1]) for call, ours in zip(streamed.calls, folded.tool_uses, strict=True)]
        assert known == [(ours.id, ours.name) for ours in folded.tool_uses], id
        compared += 1
    assert compared > 40


# ------------------------------------------------------------------------------------------------ what they send


@of("send")
def test_what_is_sent_is_what_was_meant(line: Json) -> None:
    client, (method, arguments) = CLIENTS[line["client"]], line["send"]
    answer = dialect(client.name).encode_response(Response((TextBlock("{}"),), usage=USAGE)).body
    path, headers, body = client.sends(method, bytes_in(arguments), answer)
    speaker = dialect(client.name)
    request = speaker.decode_request(body, headers, model=line["meant"]["model"], stream=line["meant"].get("stream"))
    assert said_of(request) == line["meant"]
    again = speaker.encode_request(request)
    assert (again.body, again.losses, again.path) == (body, (), path)
    if "anthropic-beta" in headers:
        assert again.headers["anthropic-beta"] == headers["anthropic-beta"]
    if "by_hand" in line:  # it is also what we write for the value that was meant
        assert speaker.encode_request(value_of(line["meant"], Request)).body == body
        assert problems(body, client.name) == []


def test_an_answer_goes_back_as_the_clients_own_object() -> None:
    """An answer of ours, appended to the history by the client, is read as the blocks that it was made of."""
    blocks = (TextBlock("so"), ToolUseBlock("call_1", "f", input={"a": 1}))
    for name in ("anthropic-messages", "openai-chat"):
        client, body = CLIENTS[name], dialect(name).encode_response(Response(blocks, "tool_use", usage=USAGE)).body
        held = client.whole(body)
        turn = held.choices[0].message if isinstance(client, Chat) else {"role": "assistant", "content": held.content}
        history = [*client.asked["messages"], turn]
        _, _, sent = client.sends(client.asks, {**client.asked, "messages": history}, body)
        said_again = without_marks(said_of(dialect(name).decode_request(sent).messages[1]))
        assert [block.get("text") or block["input"] for block in said_again["content"]] == ["so", {"a": 1}]


# -------------------------------------------------------------------------------------------- typed answers and tools


def test_structured_output_and_strict_tools_of_a_pydantic_model() -> None:
    pydantic, openai = want("pydantic"), want("openai")
    weather = pydantic.create_model("weather", city=(str, ...), unit=(str | None, ...))
    bern = weather(city="Bern", unit=None)
    text, call = TextBlock('{"city":"Bern","unit":null}'), ToolUseBlock("c", "weather", input=bern.model_dump())
    for name, method, key in (
        ("anthropic-messages", "messages.parse", "output_format"),
        ("openai-chat", "chat.completions.parse", "response_format"),
        ("openai-responses", "responses.parse", "text_format"),
    ):
        client, body = CLIENTS[name], dialect(name).encode_response(Response((text,), usage=USAGE)).body
        answer = (200, JSON, json.dumps(body).encode())
        with client.calls(answer, method, **client.asked, **{key: weather}) as (found, server):
            held = (
                found.choices[0].message.parsed
                if name == "openai-chat"
                else (found.output_parsed if name == "openai-responses" else found.parsed_output)
            )
            assert held == bern
            schema = dialect(name).decode_request(server.body).output_schema
            assert schema is not None
            assert schema["required"] == ["city", "unit"]
    chat, tool = CLIENTS["openai-chat"], openai.pydantic_function_tool(weather)
    for answer in (Response((text,), usage=USAGE), Response((call,), "tool_use", usage=USAGE)):
        server = InMemory(openai.OpenAI, 200, chat.streams, said(chat.name, unfold(answer)))
        with server.client.chat.completions.stream(**chat.asked, tools=[tool], response_format=weather) as stream:
            message = stream.get_final_completion().choices[0].message
        found = message.tool_calls[0].function.parsed_arguments if message.tool_calls else message.parsed
        assert found == bern
    (ours,) = dialect(chat.name).decode_request(server.body).tools
    assert isinstance(ours, ToolDefinition)
    assert (ours.name, ours.strict) == ("weather", True)


def test_geminis_own_types_take_what_we_write() -> None:
    types = want("google.genai").types
    for line in (line for line in LINES if line["client"] == "gemini" and "answer" in line):
        body = dialect("gemini").encode_response(value_of(line["answer"], Response)).body
        read = types.GenerateContentResponse.model_validate(body)
        again = dialect("gemini").decode_response(read.model_dump(mode="json", by_alias=True, exclude_none=True))
        assert said_of(again) == said_of(dialect("gemini").decode_response(body))


# ------------------------------------------------------------------------------------------------------------ failures


@pytest.mark.parametrize("request_", [None, Request((Message("user", "?"),), model="gpt")])
def test_a_responses_stream_that_never_began(request_: Request | None) -> None:
    """The client's stream helper raises a RuntimeError where the first event is not ``response.created``."""
    client = CLIENTS["openai-responses"]
    body = dialect(client.name).stream_encoder(request_).fail(RateLimitError("slow down"))
    server = InMemory(want("openai").OpenAI, 200, client.streams, body)
    plain = list(server.client.responses.create(**client.asked, stream=True))
    with server.client.responses.stream(**client.asked) as stream:
        helped = list(stream)
    for created, failed in (plain, helped):
        assert (created.type, created.response.status) == ("response.created", "in_progress")
        assert (failed.type, failed.response.status) == ("response.failed", "failed")
        assert (failed.response.error.code, failed.response.error.message) == ("rate_limit_exceeded", "slow down")
        assert {each.response.model for each in (created, failed)} == {"gpt" if request_ is not None else ""}


@pytest.mark.parametrize("name", ["anthropic-messages", "openai-chat"])
def test_a_stream_cut_upstream_never_looks_finished(name: str) -> None:
    upstream = said("openai-responses", [MessageStart("r", "m"), *list(unfold(Response("par", usage=USAGE)))[1:-2]])  # type: ignore[arg-type]
    body = b"".join(translate_stream([upstream], source="openai-responses", target=name))
    with pytest.raises(Exception, match="cut"):
        CLIENTS[name].reads_stream(body)
    events, error = decode_bytes(name, [body])
    assert isinstance(events[-1], MessageComplete)
    assert isinstance(error, NetworkError) or error is not None


def test_all_clients_have_cases() -> None:
    for kind in ("answer", "send"):
        assert {line["client"] for line in LINES if kind in line} == set(CLIENTS)
    assert all(isinstance(client, Client) for client in CLIENTS.values())

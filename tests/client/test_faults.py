"""The embedded provider: its answers, errors and faults in every dialect. How clients handle its faults is tested in
``test_fault_matrix.py``."""

from __future__ import annotations

import threading
from typing import Any

import msgspec
import pytest

from client.support import DIALECTS, PROVIDERS, WAYS, ask, call, config
from interlingua import (
    AdapterError,
    ErrorClass,
    Message,
    RefusalBlock,
    Request,
    StopReason,
    TextBlock,
    TokenUsage,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    dialect as speak,
)
from interlingua.client.connect import Client
from interlingua.client.embedded import LoopbackServer, Script, Step, deaf_url, handler
from interlingua.client.embedded.error_bodies import error_answer
from interlingua.client.http import HttpRequest
from interlingua.client.transport.memory import CUT, STALL, Answer

SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a"]}
ADD = ToolDefinition(name="add", input_schema=SCHEMA)
SUB = ToolDefinition(name="sub", input_schema=SCHEMA)

every_dialect = pytest.mark.parametrize("dialect", DIALECTS)
every_way = pytest.mark.parametrize("way", WAYS)


def say(way: str, dialect: str, script: Any, request: Request | None = None) -> Any:
    outcome = call(way, PROVIDERS[dialect], handler(script), request or ask())
    outcome.check_grammar()
    assert outcome.error is None
    assert outcome.response is not None
    return outcome.response


# ------------------------------------------------------------------------------------------------------ what it says


@every_dialect
def test_it_calls_as_often_as_it_is_told(dialect: str) -> None:
    response = say("stream", dialect, Step(act="call", calls=3), ask(tools=(ADD, SUB)))
    assert [use.name for use in response.tool_uses] == ["add", "sub", "add"]
    assert len({use.id for use in response.tool_uses}) == 3


CHOICES = {
    # the choice                           the calls
    "none": (ToolChoice.none(), []),
    "specific": (ToolChoice.specific("sub"), ["sub"]),
    "one at a time": (ToolChoice.auto(parallel=False), ["add"]),
    "any": (ToolChoice.any(), ["add", "sub"]),
}


@pytest.mark.parametrize("choice", CHOICES)
def test_it_follows_the_tool_choice(choice: str) -> None:
    asked, names = CHOICES[choice]
    response = say("complete", "anthropic-messages", Step(act="auto"), ask(tools=(ADD, SUB), tool_choice=asked))
    assert [use.name for use in response.tool_uses] == names


@every_dialect
def test_after_tool_results_it_answers_with_text(dialect: str) -> None:
    use = ToolUseBlock("call_0_embedded", "add", input={"a": "x"})
    result = ToolResultBlock("call_0_embedded", (TextBlock("42"),), name="add")
    turns = [Message("user", "add"), Message("assistant", (use,)), Message("tool", (result,))]
    response = say(
        "complete", dialect, Step(act="auto"), Request(turns, "some-model", tools=(ADD,), max_output_tokens=100)
    )
    assert response.text == "You said: 42"


@every_way
@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses"])
def test_it_refuses(dialect: str, way: str) -> None:
    response = say(way, dialect, Step(act="refuse"))
    assert [block.text for block in response.content if isinstance(block, RefusalBlock)] == ["I would rather not."]


@every_dialect
def test_it_answers_with_an_example_of_the_schema(dialect: str) -> None:
    response = say("complete", dialect, None, ask(output_schema={**SCHEMA, "additionalProperties": False}))
    assert '"a":"example"' in response.text


SAID = (TextBlock("First this."), ToolUseBlock("call_1", "add", input={"a": "ä", "n": [1, {"x": None}]}))


@every_way
@every_dialect
def test_it_says_exactly_what_the_script_says(dialect: str, way: str) -> None:
    usage = TokenUsage(input_tokens=11, output_tokens=7)
    response = say(way, dialect, Step(content=SAID, usage=usage))
    text, use = response.content
    assert text == SAID[0]
    assert isinstance(use, ToolUseBlock)
    assert (use.name, use.input) == ("add", SAID[1].input)
    assert response.stop_reason is StopReason.tool_use
    assert (response.usage.input_tokens, response.usage.output_tokens) == (11, 7)


@every_dialect
def test_it_has_the_stop_reason_of_the_script(dialect: str) -> None:
    response = say("stream", dialect, Step(text="cut sho", stop=StopReason.max_tokens))
    assert (response.text, response.stop_reason) == ("cut sho", StopReason.max_tokens)


@every_way
@every_dialect
def test_a_script_may_be_a_function_of_the_request(dialect: str, way: str) -> None:
    def answer(request: Request) -> Step:
        return Step(text=f"{request.model}: {len(request.messages)}")

    assert say(way, dialect, answer).text == "some-model: 1"
    assert say(way, dialect, Script(Step(text="a"), answer)).text == "a"


def test_a_script_goes_on_with_its_last_step_and_forgets_what_it_need_not_keep() -> None:
    script = Script(Step(text="a"), Step(text="b"), keep=1)
    said = [say("complete", "openai-chat", script).text for _ in range(3)]
    assert said == ["a", "b", "b"]
    assert (script.asked, len(script.seen)) == (3, 1)


def test_an_unknown_path_gets_a_404() -> None:
    answer = handler()(HttpRequest("POST", "http://h/nowhere", {}, b"{}"))
    assert (answer.status, list(answer.parts)) == (404, [b"no dialect has the path /nowhere"])


PATHS = {
    "anthropic-messages": "/v1/messages",
    "openai-chat": "/v1/chat/completions",
    "openai-responses": "/v1/responses",
    "gemini": "/v1beta/models/m:generateContent",
    "ollama": "/api/chat",
    "bedrock-converse": "/model/m/converse",
}


@every_dialect
def test_a_body_that_cannot_be_read_gets_a_400(dialect: str) -> None:
    answer = handler()(HttpRequest("POST", f"http://h{PATHS[dialect]}", {}, b"{"))
    error = speak(dialect).decode_error(answer.status, answer.headers, b"".join(answer.parts))
    assert error.error_class is ErrorClass.invalid_request
    assert "cannot be read" in error.message


# ---------------------------------------------------------------------------------------------------- how it refuses

# fmt: off
REFUSED = (
    # dialect              status  hint   the provider's word, as we read it     class
    ("anthropic-messages", 529,    None,  "overloaded_error",                    "rate_limit"),
    ("anthropic-messages", 404,    None,  "not_found_error",                     "invalid_request"),
    ("openai-chat",        401,    None,  "invalid_api_key",                     "auth"),
    ("openai-responses",   429,    2.0,   "rate_limit_exceeded",                 "rate_limit"),
    ("gemini",             429,    2.5,   "RESOURCE_EXHAUSTED",                  "rate_limit"),
    ("gemini",             418,    None,  None,                                  "invalid_request"),
    ("ollama",             503,    None,  None,                                  "rate_limit"),  # a full queue
    ("bedrock-converse",   424,    None,  "ModelErrorException",                 "server_error"),
)
# fmt: on


@pytest.mark.parametrize(("dialect", "status", "hint", "word", "error_class"), REFUSED)
def test_it_sends_the_error_bodies_of_the_provider(
    dialect: str, status: int, hint: float | None, word: str | None, error_class: str
) -> None:
    refused = error_answer(dialect, status, "no, sorry", hint)
    error = speak(dialect).decode_error(refused.status, refused.headers, refused.body)
    assert (error.provider_code, error.error_class, error.retry_after) == (word, error_class, hint)
    assert error.provider_message == "no, sorry"


# ------------------------------------------------------------------------------------------------------ how it breaks


def parts_of(fault: Any, *, stream: bool, after: int = 3) -> list[Any]:
    request = ask(stream=stream)
    body = speak("openai-chat").encode_request(request).body
    raw = msgspec.json.encode(body)
    answer: Answer = handler(Step(act="echo", fault=fault, after=after))(
        HttpRequest("POST", "http://h/v1/chat/completions", {}, raw)
    )
    return list(answer.parts)


@pytest.mark.parametrize("stream", [True, False])
def test_faults_break_the_bytes_where_they_say(stream: bool) -> None:
    whole = b"".join(parts_of("none", stream=stream))
    cut, half, stall = (parts_of(fault, stream=stream) for fault in ("cut", "half", "stall"))
    assert (cut[-1], half[-1], stall[-1]) == (CUT, CUT, STALL)
    assert cut[:-1] == stall[:-1]
    assert whole.startswith(b"".join(cut[:-1]))
    assert len(b"".join(cut[:-1])) < len(b"".join(half[:-1])) < len(whole)
    assert parts_of("unended", stream=stream)[-1] is CUT


def test_the_end_marker_comes_twice() -> None:
    before, after = parts_of("last_twice", stream=True)[-2:]
    assert before.endswith(b"data: [DONE]\n\n")
    assert after == b"data: [DONE]\n\n"


# ----------------------------------------------------------------------------------------------- a server on loopback


@every_dialect
def test_blocking_code_can_have_a_server_too(dialect: str) -> None:
    where = LoopbackServer.in_thread(Step(act="echo"))
    with where as server, Client(PROVIDERS[dialect], config(base_url=server.url)) as client:
        assert client.complete(ask()).text == "You said: one two three four"
        assert [event.type for event in client.stream(ask())][-1] == "message.complete"
        assert server.connections == 1, "the connection was not kept"
    assert not [thread for thread in threading.enumerate() if thread.name == "interlingua-loopback"]


def test_blocking_code_can_wait_for_the_server() -> None:
    with (
        LoopbackServer.in_thread(Step(fault="stall_first")) as server,
        Client("openai", config(base_url=server.url)) as client,
    ):
        reading = threading.Thread(target=lambda: list(client.stream(ask(request_id="r1"))))
        reading.start()
        server.wait(server.asked)
        client.cancel("r1")
        server.wait(server.gone)
        reading.join()
        assert server.left == 1
        server.gone.clear()
        with pytest.raises(TimeoutError):
            server.wait(server.gone, 0.01)


def test_nobody_listens_at_a_deaf_address() -> None:
    client = Client("openai", config(base_url=deaf_url(), max_retries=0))
    with client, pytest.raises(AdapterError) as caught:
        client.complete(ask())
    assert caught.value.error_class is ErrorClass.network

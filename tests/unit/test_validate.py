"""``validate_request``: nonsense is refused in the vendor's own form; nothing that a vendor took is refused."""

from __future__ import annotations

import copy
import json
import random
from contextlib import suppress
from functools import reduce
from typing import Any

import pytest

from conformance.matrix import SPOKEN
from interlingua import InvalidRequestError, dialect, translate_request, validate_request
from interlingua.testing.samples import requests
from lab.fidelity.records import corpus_files, file_protocol, read_lines, read_record
from lab.oracles import WARNING, check_order
from pairs.frames import HISTORY, REQUESTS, TOOLS, calls, laid_over, request_frame
from shared_data import CORPUS, needs_shared

CHAT, RESPONSES, CLAUDE = "openai-chat", "openai-responses", "anthropic-messages"
GEMINI, OLLAMA, CONVERSE = "gemini", "ollama", "bedrock-converse"
RESULT = {"type": "tool_result", "tool_use_id": "c9", "content": "3"}
USED = {"type": "tool_use", "id": "c1", "name": "f", "input": {}}
USING = {"role": "assistant", "content": [USED]}
CALLED = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLING = {"role": "assistant", "tool_calls": [CALLED]}
TOLD = {"role": "tool", "tool_call_id": "c9", "content": "3"}
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
ANSWERED = {"type": "function_call_output", "call_id": "c9", "output": "3"}
RESPONSE = {"functionResponse": {"name": "f", "response": {}}}
CONVERSED = {"toolResult": {"toolUseId": "c9", "content": []}}


def user(content: Any, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": content}


# fmt: off
NONSENSE: tuple[tuple[str, dict[str, Any], str, str], ...] = (
    # dialect  what is laid over a good body                       where, and what is said of it
    (CLAUDE,    {"messages": "hi"},                                 "messages", "got a string"),
    (CLAUDE,    {"messages": None},                                 "messages", "required"),
    (CLAUDE,    {"messages": []},                                   "messages", "at least one item"),
    (CLAUDE,    {"messages": ["hi"]},                               "messages.0", "got a string"),
    (CLAUDE,    {"messages": [user("hi", "robot")]},                "messages.0.role", "'robot'"),
    (CLAUDE,    {"messages": [{"role": "user"}]},                   "messages.0.content", "required"),
    (CLAUDE,    {"messages": [user([{"type": "text"}])]},           "messages.0.content.0.text", "required"),
    (CLAUDE,    {"messages": [user([{"text": "x"}])]},              "messages.0.content.0.type", "required"),
    (CLAUDE,    {"messages": [user("a"), user([RESULT])]},          "messages.1.content.0.tool_use_id", "'c9'"),
    (CLAUDE,    {"messages": [user("a"), USING, user("b")]},        "messages.1.content.0.id", "'c1'"),
    (CLAUDE,    {"max_tokens": None},                               "max_tokens", "required"),
    (CLAUDE,    {"max_tokens": "many"},                             "max_tokens", "got a string"),
    (CLAUDE,    {"tools": [{"name": 3}]},                           "tools.0.name", "got an integer"),
    (CHAT,      {"messages": "hi"},                                 "messages", "array of objects, but got a string"),
    (CHAT,      {"messages": 3},                                    "messages", "but got an integer"),
    (CHAT,      {"messages": []},                                   "messages", "empty array"),
    (CHAT,      {"messages": [user("hi", "robot")]},                "messages[0].role", "'robot'"),
    (CHAT,      {"messages": [user(3)]},                            "messages[0].content", "got an integer"),
    (CHAT,      {"messages": [user(None)]},                         "messages[0].content", "required"),
    (CHAT,      {"messages": [user("a"), TOLD]},                    "messages[1].tool_call_id", "'c9'"),
    (CHAT,      {"messages": [user("a"), CALLING, user("b")]},      "messages[1].tool_calls[0].id", "'c1'"),
    (CHAT,      {"temperature": "hot"},                             "temperature", "expected a number"),
    (CHAT,      {"tools": [{"type": "function", "function": {}}]},  "tools[0].function.name", "required"),
    (RESPONSES, {"input": 3},                                       "input", "got an integer"),
    (RESPONSES, {"input": None},                                    "input", "required"),
    (RESPONSES, {"input": [user("hi", "robot")]},                   "input[0].role", "'robot'"),
    (RESPONSES, {"input": [ANSWERED]},                              "input[0].call_id", "No tool call found"),
    (RESPONSES, {"input": [CALL, user("b")]},                       "input[0].call_id", "No tool output found"),
    (RESPONSES, {"input": [{**CALL, "arguments": {}}]},             "input[0].arguments", "got an object"),
    (RESPONSES, {"tools": [{"type": "function"}]},                  "tools[0].name", "required"),
    (GEMINI,    {"contents": "hi"},                                 "contents", "got a string"),
    (GEMINI,    {"contents": None},                                 "contents", "required"),
    (GEMINI,    {"contents": [{"role": "robot", "parts": []}]},     "contents[0].role", "'robot'"),
    (GEMINI,    {"contents": [{"role": "user", "parts": "hi"}]},    "contents[0].parts", "got a string"),
    (GEMINI,    {"contents": [{"parts": [RESPONSE]}]},              "contents[0].parts[0].functionResponse", "'f'"),
    (GEMINI,    {"generationConfig": {"maxOutputTokens": ""}},      "generationConfig.maxOutputTokens", "got a string"),
    (OLLAMA,    {"model": None},                                    "model", "required"),
    (OLLAMA,    {"messages": "hi"},                                 "messages", "a string"),
    (OLLAMA,    {"messages": [user("hi", "robot")]},                "messages[0].role", "'robot'"),
    (OLLAMA,    {"messages": [user([{"type": "text"}])]},           "messages[0].content", "an array"),
    (CONVERSE,  {"messages": "hi"},                                 "messages", "got a string"),
    (CONVERSE,  {"messages": None},                                 "messages", "required"),
    (CONVERSE,  {"messages": [user("hi")]},                         "messages.0.content", "got a string"),
    (CONVERSE,  {"messages": [user([], "robot")]},                  "messages.0.role", "'robot'"),
    (CONVERSE,  {"messages": [user([CONVERSED])]}, "messages.0.content.0.toolResult.toolUseId", "'c9'"),
)
# fmt: on


@pytest.mark.parametrize(("name", "over", "where", "said"), NONSENSE)
def test_nonsense_is_refused_where_it_stands(name: str, over: dict[str, Any], where: str, said: str) -> None:  # R12
    """The wire body reads like the vendor's: its shape, the path in its spelling, a 400."""
    validate_request(REQUESTS[name], name)
    with pytest.raises(InvalidRequestError) as caught:
        validate_request({**REQUESTS[name], **over}, name)
    wire = dialect(name).encode_error(caught.value)
    told = SHAPES[name](json.loads(wire.body))
    assert (wire.status, wire.headers["content-type"].partition(";")[0]) == (400, "application/json")
    assert where in told["place"]
    assert said in told["message"]
    assert told["kind"] == KINDS[name]
    if name == CONVERSE:
        assert wire.headers["x-amzn-errortype"] == "ValidationException"
    for other in SPOKEN:  # and every other dialect can say it
        again = dialect(other).encode_error(caught.value)
        assert (again.status, dialect(other).decode_error(again.status, again.headers, again.body).retryable) in (
            (400, False),
            (400, True),  # calls that do not match results may be repeated
        )


def test_an_output_that_the_application_adds_by_itself_has_no_call() -> None:
    """Codex tells the goal of a conversation like this; OpenAI's own types have `call_id` as optional."""
    told = {"type": "function_call_output", "name": "goal_objective", "namespace": "agent", "output": "x"}
    body = {"model": "m", "input": [CALL, {**ANSWERED, "call_id": "c1"}, told]}
    validate_request(body, RESPONSES)
    assert dialect(RESPONSES).encode_request(dialect(RESPONSES).decode_request(body)).body == body
    chat = translate_request(body, source=RESPONSES, target=CHAT)
    assert [loss.path for loss in chat.losses if loss.weight == "content"] == ["messages/1/content/1"]


KINDS = {CLAUDE: "invalid_request_error", CHAT: "invalid_request_error", RESPONSES: "invalid_request_error",
         GEMINI: "INVALID_ARGUMENT", OLLAMA: "", CONVERSE: ""}  # fmt: skip
SHAPES: dict[str, Any] = {
    CLAUDE: lambda wire: {**wire["error"], "place": wire["error"]["message"], "kind": wire["error"]["type"]},
    CHAT: lambda wire: {**wire["error"], "place": wire["error"]["param"], "kind": wire["error"]["type"]},
    RESPONSES: lambda wire: {**wire["error"], "place": wire["error"]["param"], "kind": wire["error"]["type"]},
    GEMINI: lambda wire: {
        **wire["error"],
        "place": wire["error"]["details"][0]["fieldViolations"][0]["field"],
        "kind": wire["error"]["status"],
    },
    OLLAMA: lambda wire: {"message": wire["error"], "place": wire["error"], "kind": ""},
    CONVERSE: lambda wire: {**wire, "place": wire["message"], "kind": ""},
}


@pytest.mark.parametrize("name", SPOKEN)
@pytest.mark.parametrize("body", [None, [], "hi", 3, {}])
def test_a_body_that_is_no_request_is_refused(name: str, body: Any) -> None:  # R12
    with pytest.raises(InvalidRequestError):
        validate_request(body, name)


def test_openai_codes() -> None:  # R12
    for over, code, param in (
        ({"messages": "hi"}, "invalid_type", "messages"),
        ({"messages": []}, "empty_array", "messages"),
        ({"messages": None}, "missing_required_parameter", "messages"),
        ({"messages": [user("x", "robot")]}, "invalid_value", "messages[0].role"),
    ):
        with pytest.raises(InvalidRequestError) as caught:
            validate_request({**REQUESTS[CHAT], **over}, CHAT)
        error = json.loads(dialect(CHAT).encode_error(caught.value).body)["error"]
        assert (error["code"], error["param"]) == (code, param)
        assert caught.value.provider_code == code


# ---------------------------------------------------------------------------------------------------- nothing else is


@pytest.mark.parametrize("name", SPOKEN)
def test_what_we_write_is_taken(name: str) -> None:  # R12
    body = laid_over(request_frame(name), TOOLS[name])
    body[HISTORY.get(name, "messages")] += calls(name, ("c1", "c2"))
    validate_request(body, name)
    for sample in requests(name):
        validate_request(dialect(name).encode_request(sample.value).body, name)


@needs_shared
@pytest.mark.parametrize("path", corpus_files(CORPUS) if CORPUS.is_dir() else [], ids=lambda path: path.name)
def test_recorded_requests_are_taken(path: Any) -> None:  # R12
    """All that a provider answered; but for one recording, whose result answers no call (the ordering rules agree)."""
    wrong: list[str] = []
    protocol = file_protocol(path)
    for line in read_lines(path) if protocol in SPOKEN else ():
        record = read_record(json.loads(line), protocol)
        if record is None or record.request is None or record.error is not None or not record.generation:
            continue
        try:
            validate_request(record.request, record.dialect)
        except InvalidRequestError as error:
            found = [rule for rule in check_order(record.request, record.dialect) if not rule.startswith(WARNING)]
            wrong += [] if found else [f"{record.id}: {error}"]
    assert wrong == []


ODD: tuple[Any, ...] = (None, True, 0, 1e300, "", "x", [], {}, [None], [[]], {"a": None}, ["x"], float("inf"))


def spoiled(wire: Any, chance: random.Random) -> Any:
    """The same request with something odd in one place or several."""
    if chance.random() < 0.08:
        return copy.deepcopy(chance.choice(ODD))
    if isinstance(wire, dict):
        return {key: spoiled(value, chance) for key, value in wire.items()}
    return [spoiled(item, chance) for item in wire] if isinstance(wire, list) else wire


@pytest.mark.parametrize("name", SPOKEN)
def test_nothing_but_our_own_error_is_raised(name: str) -> None:  # R12
    chance = random.Random(name)
    full = reduce(laid_over, [TOOLS[name]], request_frame(name))
    full[HISTORY.get(name, "messages")] += calls(name, ("c1", "c2"))
    for _ in range(2000):
        with suppress(InvalidRequestError):
            validate_request(spoiled(full, chance), name)


@pytest.mark.parametrize("name", SPOKEN)
def test_the_quick_look_agrees_with_the_rows(name: str) -> None:
    """It never takes what a row complains of, and has nothing against what is usual."""
    spoken: Any = dialect(name)
    chance, requirements = random.Random(name), spoken.requirements
    full = reduce(laid_over, [TOOLS[name]], request_frame(name))
    full[HISTORY.get(name, "messages")] += calls(name, ("c1", "c2"))
    assert requirements.is_fine(full)
    spoilt = [spoiled(full, chance) for _ in range(3000)]
    spoilt += [{**REQUESTS[name], **over} for told, over, *_ in NONSENSE if told == name]
    bad = [body for body in spoilt if next(requirements.complaints(body), None) is not None]
    assert len(bad) > 1000
    assert not any(map(requirements.is_fine, bad))

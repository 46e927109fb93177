"""The package ``serving``: endpoints, keys, lists of models, counts, refusals, and the frame of answers."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest

from interlingua import (
    DIALECTS,
    BlockStart,
    InvalidRequestError,
    Message,
    MessageStart,
    NetworkError,
    Origin,
    Request,
    Response,
    TextBlock,
    ThinkingBlock,
    TokenUsage,
    ToolUseBlock,
    UsageUpdate,
    decode_stream,
    dialect,
    fold,
    translate_request,
    unfold,
)
from interlingua.codec.translate import StreamTranslation
from interlingua.errors import AdapterError
from interlingua.serving import (
    SERVED,
    AnswerWriter,
    Listed,
    asks_for_usage,
    counted_request,
    find_entrance,
    find_key,
    refuse_state,
    write_count,
    write_models,
)
from shared_data import SHARED, needs_shared

CHAT, CLAUDE, RESPONSES, GEMINI = "openai-chat", "anthropic-messages", "openai-responses", "gemini"
OLLAMA, BEDROCK = "ollama", "bedrock-converse"
every_dialect = pytest.mark.parametrize("name", DIALECTS)

# ------------------------------------------------------------------------------------------------------------ endpoints

# fmt: off
PATHS = (
    ("POST", "/v1/messages",                                         (CLAUDE,    "generate", None, None)),
    ("POST", "/anthropic/v1/messages",                               (CLAUDE,    "generate", None, None)),
    ("POST", "/v1/messages/count_tokens",                            (CLAUDE,    "count", None, None)),
    ("POST", "/api/event_logging/batch",                             (CLAUDE,    "accept", None, None)),
    ("HEAD", "/api/hello",                                           (CLAUDE,    "probe", None, None)),
    ("HEAD", "/",                                                    (OLLAMA,    "probe", None, None)),
    ("HEAD", "/anthropic",                                           (CLAUDE,    "probe", None, None)),
    ("HEAD", "/openai/",                                             (CHAT,      "probe", None, None)),
    ("GET",  "/ollama/v1/models",                                    (CHAT,      "list", None, None)),
    ("GET",  "/anthropic/v1/models",                                 (CLAUDE,    "list", None, None)),
    ("GET",  "/anthropic/v1/models/claude-x",                        (CLAUDE,    "show", "claude-x", None)),
    ("POST", "/v1/chat/completions",                                 (CHAT,      "generate", None, None)),
    ("POST", "/chat/completions",                                    (CHAT,      "generate", None, None)),
    ("POST", "/openai/v1/chat/completions",                          (CHAT,      "generate", None, None)),
    ("POST", "/openai/deployments/gpt-5/chat/completions",           (CHAT,      "generate", "gpt-5", None)),
    ("GET",  "/v1/models",                                           (CHAT,      "list", None, None)),
    ("GET",  "/models",                                              (CHAT,      "list", None, None)),
    ("GET",  "/v1/models/openrouter:meta/llama",             (CHAT,      "show", "openrouter:meta/llama", None)),
    ("POST", "/v1/responses",                                        (RESPONSES, "generate", None, None)),
    ("POST", "/openai/openai/responses",                             (RESPONSES, "generate", None, None)),  # Azure's
    ("GET",  "/openai/openai/v1/models",                             (CHAT,      "list", None, None)),
    ("POST", "/responses",                                           (RESPONSES, "generate", None, None)),
    ("GET",  "/v1/responses",                                        (RESPONSES, "upgrade", None, None)),
    ("POST", "/v1/responses/compact",                                (RESPONSES, "compact", None, None)),
    ("POST", "/responses/input_tokens",                              (RESPONSES, "count", None, None)),
    ("POST", "/v1beta/models/gemini-3-pro:generateContent",          (GEMINI,    "generate", "gemini-3-pro", False)),
    ("POST", "/v1beta/models/openai:gpt-5:streamGenerateContent",    (GEMINI,    "generate", "openai:gpt-5", True)),
    ("POST", "/v1/models/m:generateContent",                         (GEMINI,    "generate", "m", False)),
    ("POST", "/v1beta/meta/llama:streamGenerateContent",             (GEMINI,    "generate", "meta/llama", True)),
    ("POST", "/models/m/models/m:generateContent",                   (GEMINI,    "generate", "m", False)),
    ("POST", "/genai/v1beta/models/m:countTokens",                   (GEMINI,    "count", "m", None)),
    ("POST", "/v1/projects/p/locations/l/publishers/google/models/m:streamGenerateContent",
                                                                     (GEMINI,    "generate", "m", True)),
    ("POST", "/v1/projects/p/locations/l/publishers/google/models/m:countTokens",
                                                                     (GEMINI,    "count", "m", None)),
    ("GET",  "/v1beta/models",                                       (GEMINI,    "list", None, None)),
    ("GET",  "/v1beta/models/m",                                     (GEMINI,    "show", "m", None)),
    ("GET",  "/gemini/v1beta/models",                                (GEMINI,    "list", None, None)),
    ("POST", "/api/chat",                                            (OLLAMA,    "generate", None, None)),
    ("POST", "/ollama/api/chat",                                     (OLLAMA,    "generate", None, None)),
    ("POST", "/api/generate",                                        (OLLAMA,    "generate", None, None)),
    ("GET",  "/api/tags",                                            (OLLAMA,    "list", None, None)),
    ("GET",  "/api/ps",                                              (OLLAMA,    "list", None, None)),
    ("GET",  "/api/version",                                         (OLLAMA,    "version", None, None)),
    ("POST", "/api/show",                                            (OLLAMA,    "show", None, None)),
    ("POST", "/model/anthropic.claude-v1%3A0/converse",      (BEDROCK,   "generate", "anthropic.claude-v1:0", False)),
    ("POST", "/bedrock/model/m/converse-stream",                     (BEDROCK,   "generate", "m", True)),
    ("POST", "/model/m/invoke",                                      (BEDROCK,   "invoke", "m", False)),
    ("POST", "/bedrock/model/m/invoke-with-response-stream",         (BEDROCK,   "invoke", "m", True)),
    ("POST", "/model/m/count-tokens",                                (BEDROCK,   "count", "m", None)),
    ("GET",  "/inference-profiles",                                  (BEDROCK,   "list", None, None)),
)
# fmt: on


@pytest.mark.parametrize(("method", "path", "meant"), PATHS, ids=[f"{row[0]} {row[1]}" for row in PATHS])
def test_an_endpoint_is_found_with_its_dialect(method: str, path: str, meant: Any) -> None:
    found = find_entrance(method, path)
    assert found is not None
    assert (found.door.dialect, found.door.kind, found.model, found.stream) == meant


ODD_PATHS = """
    / /v1 /v1/messages/../models /anthropic/api/chat /ollama/v1/messages //v1/messages /model//converse
    /v1beta/models/..:generateContent /v1beta/models/a/../b:generateContent /v1beta/models/%2e%2e/x:generateContent
    /v1beta/models/a%0d%0ab:generateContent /v1beta/models/é:generateContent
""".split()
ODD_PATHS += ["/v1/files/../x", "/v1/files/%2e%2e/x", "/v1/files/a%0d%0ab", "/v1/files/" + "x" * 300]
ODD_PATHS += ["/v1beta/models/a\nb:generateContent", f"/model/{'m' * 300}/converse", "/" + "x/" * 4000]


@pytest.mark.parametrize("path", ODD_PATHS, ids=range(len(ODD_PATHS)))
def test_other_paths_and_odd_names_are_not_found(path: str) -> None:
    assert find_entrance("POST", path) is None


@pytest.mark.parametrize(
    ("header", "dialect"), [("anthropic-version", CLAUDE), ("x-goog-api-key", GEMINI), ("x", CHAT)]
)
def test_the_list_of_models_is_told_by_headers(header: str, dialect: str) -> None:
    found = find_entrance("GET", "/v1/models", {header: "1"})
    assert found is not None
    assert found.door.dialect == dialect


@needs_shared
def test_the_requests_of_real_clients_are_found() -> None:
    missed: list[str] = []
    for path in sorted((SHARED / "clients").glob("*/*.json")):
        captured = json.loads(path.read_text())
        if find_entrance(captured["method"], captured["path"]) is None:
            missed.append(f"{captured['method']} {captured['path']}")
    assert missed == []


def test_keys_are_found_in_every_header_that_carries_one() -> None:
    headers = {"x-api-key": "a", "x-goog-api-key": "b", "api-key": "c", "authorization": "Bearer d"}
    assert find_key(headers) == ["a", "b", "c", "d"]
    assert find_key({"authorization": "bearer a", "x-api-key": "a"}) == ["a"]
    signed = (
        "AWS4-HMAC-SHA256 Credential=key-1/20261118/us-east-1/bedrock/aws4_request, SignedHeaders=host, Signature=0"
    )
    assert find_key({"authorization": signed}) == ["key-1"]
    for other in ("AWS4-HMAC-SHA256 Credential=x", "AWS4-HMAC-SHA256", "Basic a2V5", "Credential=key-1/x"):
        assert find_key({"authorization": other}) == []


# ----------------------------------------------------------------------------------------------------- lists and counts

MODELS = [Listed("a", "openai", 1000, 100), Listed("b")]


def test_lists_of_models_are_what_the_sdks_read() -> None:
    openai = pytest.importorskip("openai.types")
    anthropic = pytest.importorskip("anthropic.types")
    ollama = pytest.importorskip("ollama")
    for kind, name, key, id_key in (
        (openai.Model, CHAT, "data", "id"),
        (openai.Model, RESPONSES, "data", "id"),
        (anthropic.ModelInfo, CLAUDE, "data", "id"),
    ):
        read = [kind.model_validate(model) for model in write_models(MODELS, name)[key]]
        assert [getattr(model, id_key) for model in read] == ["a", "b"]
    assert [model["name"] for model in write_models(MODELS, GEMINI)["models"]] == ["models/a", "models/b"]
    assert [model.model for model in ollama.ListResponse.model_validate(write_models(MODELS, OLLAMA)).models] == [
        "a",
        "b",
    ]
    assert write_models([], CLAUDE) == {"data": [], "has_more": False, "first_id": None, "last_id": None}
    assert write_models(MODELS, CHAT, "client_version=0.166.0") == {"models": []}


def test_counts_are_in_each_dialects_own_answer() -> None:
    assert write_count(7, CLAUDE) == {"input_tokens": 7}
    assert write_count(7, RESPONSES) == {"object": "response.input_tokens", "input_tokens": 7}
    assert write_count(7, GEMINI) == {"totalTokens": 7}
    assert write_count(7, BEDROCK) == {"inputTokens": 7}
    assert counted_request({"contents": []}, GEMINI) == ({"contents": []}, GEMINI)
    assert counted_request({"generateContentRequest": {"contents": [1]}}, GEMINI) == ({"contents": [1]}, GEMINI)
    assert counted_request({"input": {"converse": {"messages": []}}}, BEDROCK) == ({"messages": []}, BEDROCK)
    for body, meant in ((b'{"messages":[]}', {"messages": []}), (b"{", {})):
        asked = {"input": {"invokeModel": {"body": base64.b64encode(body).decode()}}}
        assert counted_request(asked, BEDROCK) == (meant, CLAUDE)
    assert counted_request({"messages": []}, CLAUDE) == ({"messages": []}, CLAUDE)


# ------------------------------------------------------------------------------------------------------------- refusals


def refused(body: Any, name: str) -> tuple[int, Any]:
    with pytest.raises(InvalidRequestError) as caught:
        refuse_state(body, name)
    wire = dialect(name).encode_error(caught.value)
    return wire.status, json.loads(wire.body)


def test_the_usage_that_a_stream_of_messages_begins_with_is_kept() -> None:
    usage = TokenUsage(input_tokens=25, cached_input_tokens=10, output_tokens=1)
    encoder = dialect(CLAUDE).stream_encoder()
    events = (MessageStart("msg_1", "m"), UsageUpdate(usage), BlockStart(0, TextBlock("")))
    output = b"".join(map(encoder.feed, events))
    begun = json.loads(output.split(b"data: ")[1].split(b"\n")[0])["message"]
    assert (begun["usage"]["input_tokens"], begun["usage"]["cache_read_input_tokens"]) == (25, 10)
    for rest in ((BlockStart(0, TextBlock("")),), ()):
        encoder = dialect(CLAUDE).stream_encoder()
        output = b"".join(map(encoder.feed, (MessageStart("msg_1", "m"), *rest)))
        output += b"" if rest else encoder.fail(NetworkError("cut"))
        assert json.loads(output.split(b"data: ")[1].split(b"\n")[0])["message"]["usage"]["input_tokens"] == 0


def test_a_thread_is_refused_so_that_the_sdk_sends_the_whole_history() -> None:
    status, body = refused({"thread": {"id": "t"}}, CLAUDE)
    assert (status, body["type"], body["error"]["type"]) == (400, "error", "invalid_request_error")
    assert body["error"]["details"] == {"error_code": "thread_unsupported_request"}


@pytest.mark.parametrize("key", ["previous_response_id", "conversation", "prompt", "background"])
def test_stored_state_is_refused_with_its_name(key: str) -> None:
    status, body = refused({key: "x"}, RESPONSES)
    assert (status, body["error"]["param"]) == (400, key)
    refuse_state({key: None}, RESPONSES)


def test_other_requests_are_not_refused() -> None:
    for body in ({"messages": []}, {"background": False}, [], None, "x"):
        for name in DIALECTS:
            refuse_state(body, name)


# ---------------------------------------------------------------------------------------------------- frames of answers

ANSWER = Response(
    (ThinkingBlock("hm"), TextBlock("hello"), ToolUseBlock("c1", "add", input={"a": 1})),
    "tool_use",
    id="foreign",
    model="served",
    usage=TokenUsage(input_tokens=3, output_tokens=4),
)


def writer(name: str, **settings: Any) -> AnswerWriter:
    return AnswerWriter(name, Request(), id="01ABC", created=1_800_000_000, model="asked", **settings)


def streamed(answers: AnswerWriter, answer: Response = ANSWER) -> bytes:
    return b"".join(map(answers.feed, unfold(answer))) + answers.close()


@every_dialect
def test_an_answer_has_the_name_that_was_asked_for_and_an_id_of_its_own(name: str) -> None:
    whole = dialect(name).decode_response(writer(name).write_whole(ANSWER).body)
    stream = fold(decode_stream([streamed(writer(name))], dialect=name))
    for read in (whole, stream):
        assert read.model in ("asked", None)
        assert read.id in (f"{SERVED[name].id_prefix}01ABC", None)
        assert read.text == "hello"
        assert [call.input for call in read.tool_uses] == [{"a": 1}]


@pytest.mark.parametrize(("name", "key"), [(CHAT, "created"), (RESPONSES, "created_at")])
def test_an_answer_says_when_it_was_made(name: str, key: str) -> None:
    assert writer(name).write_whole(ANSWER).body[key] == 1_800_000_000
    stream = streamed(writer(name))
    assert f'"{key}":1800000000'.encode() in stream
    assert f'"{key}":0'.encode() not in stream


def test_each_line_for_ollama_says_when_its_answer_was_made() -> None:
    time = "2027-01-15T08:00:00Z"
    assert writer(OLLAMA).write_whole(ANSWER).body["created_at"] == time
    lines = [json.loads(line) for line in streamed(writer(OLLAMA)).splitlines()]
    assert [line["created_at"] for line in lines] == [time] * 4


def test_items_of_responses_have_ids_that_no_other_answer_has() -> None:
    output = writer(RESPONSES).write_whole(ANSWER).body["output"]
    assert [item["id"] for item in output] == ["rs_01ABC_0", "msg_01ABC_1", "fc_01ABC_2"]
    events = [json.loads(line[6:]) for line in streamed(writer(RESPONSES)).splitlines() if line.startswith(b"data: ")]
    ids = {event["item"]["id"] for event in events if "item" in event}
    assert ids == {"rs_01ABC_0", "msg_01ABC_1", "fc_01ABC_2"}
    assert {event["item_id"] for event in events if "item_id" in event} == ids
    assert [item["id"] for item in events[-1]["response"]["output"]] == [item["id"] for item in output]


def test_the_usage_of_a_chat_stream_is_said_if_asked_for() -> None:
    assert asks_for_usage({"stream_options": {"include_usage": True}}, CHAT)
    assert not asks_for_usage({"stream_options": None}, CHAT)
    assert asks_for_usage({}, CLAUDE)
    assert b'"usage"' in streamed(writer(CHAT))
    assert b'"usage"' not in streamed(writer(CHAT, usage=False))


def test_gemini_writes_an_array_to_clients_that_do_not_ask_for_events() -> None:
    answers = writer(GEMINI, array=True)
    assert answers.content_type == "application/json"
    assert answers.keep_alive == b""
    output = streamed(answers)
    assert [chunk["modelVersion"] for chunk in json.loads(output)] == ["asked"] * len(json.loads(output))
    assert fold(decode_stream([output], dialect=GEMINI)).text == "hello"


def test_an_array_that_failed_is_not_closed() -> None:
    answers = writer(GEMINI, array=True)
    output = b"".join(map(answers.feed, list(unfold(ANSWER))[:5])) + answers.fail(NetworkError("cut"))
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(output)
    assert b"cut" in output


# -------------------------------------------------------------------------------------------- translation, step by step


@pytest.mark.parametrize("source", DIALECTS)
@pytest.mark.parametrize("target", DIALECTS)
def test_bytes_are_translated_as_they_come(source: str, target: str) -> None:
    encoder = dialect(source).stream_encoder()
    wire = b"".join(map(encoder.feed, unfold(ANSWER))) + encoder.close()
    step = StreamTranslation(source=source, target=target)
    output = b"".join(step.feed(wire[at : at + 7]) for at in range(0, len(wire), 7)) + step.close()
    read = fold(decode_stream([output], dialect=target))
    assert step.error is None
    assert step.response is not None
    assert step.response.usage is not None
    assert (read.text, read.tool_uses[0].input, step.response.usage.output_tokens) == ("hello", {"a": 1}, 4)


@pytest.mark.parametrize("source", DIALECTS)
@pytest.mark.parametrize("target", DIALECTS)
def test_a_stream_that_breaks_ends_in_an_error_and_nothing_else(source: str, target: str) -> None:
    encoder = dialect(source).stream_encoder()
    wire = b"".join(map(encoder.feed, list(unfold(ANSWER))[:6]))
    step = StreamTranslation(source=source, target=target)
    output = step.feed(wire) + step.fail(NetworkError("the line is dead"))
    with pytest.raises(AdapterError, match="the line is dead") as caught:
        fold(decode_stream([output], dialect=target))
    assert isinstance(step.error, NetworkError)
    assert step.response is not None
    assert step.response.error is step.error
    assert caught.value.response is not None
    assert caught.value.response.tool_uses == ()
    assert step.feed(b"more") == b""
    assert step.close() == b""


def test_the_models_own_rules_hold_without_a_target() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    messages = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": None, "tool_calls": calls}]
    messages.append({"role": "tool", "tool_call_id": "c1", "content": "1"})
    body = {"model": "gemini-3-pro-preview", "messages": messages}
    output = json.dumps(translate_request(body, source=CHAT, target=GEMINI).body)
    assert "thoughtSignature" in output
    body["model"] = "gemini-2.5-pro"
    assert "thoughtSignature" not in json.dumps(translate_request(body, source=CHAT, target=GEMINI).body)


@every_dialect
def test_the_caller_may_know_who_issued_the_reasoning(name: str) -> None:
    turns = (Message("user", "hi"), Message("assistant", "x"))
    body = {dialect(name).history_key: dialect(name).encode_messages(turns).body}
    issuer = Origin("openai", RESPONSES, "gpt-5")
    assert [turn.origin for turn in dialect(name).decode_request(body, issuer=issuer).messages] == [None, issuer]
    assert dialect(name).decode_request(body).messages[1].origin == Origin(None, name)


def test_the_version_that_a_client_asks_for_goes_on() -> None:
    body = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "hi"}]}
    for version in ("2023-06-01", "2023-01-01"):
        asked = dialect(CLAUDE).decode_request(body, {"Anthropic-Version": version})
        assert dialect(CLAUDE).encode_request(asked).headers == {"anthropic-version": version}


def test_neighbouring_texts_are_parts_of_one_item_of_responses() -> None:
    """Codex shows the last item as the answer."""
    texts = Response((TextBlock("All done"), TextBlock("."), ToolUseBlock("c", "f"), TextBlock("!")), "end_turn")
    output = writer(RESPONSES).write_whole(texts).body["output"]
    assert [[part["text"] for part in item.get("content", ())] for item in output] == [["All done", "."], [], ["!"]]
    events = [json.loads(line[6:]) for line in streamed(writer(RESPONSES), texts).splitlines() if line[:5] == b"data:"]
    assert events[-1]["response"]["output"] == output
    assert len({item["id"] for item in output}) == 3

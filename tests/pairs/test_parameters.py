"""The parameters of a request, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua import DIALECTS, Message, Request, dialect
from pairs.check import check, lossy, sent


def test_max_output_tokens() -> None:
    check(
        Request(max_output_tokens=128),
        anthropic_messages={"max_tokens": 128},
        openai_chat={"max_completion_tokens": 128},
        openai_responses={"max_output_tokens": 128},
        gemini={"generationConfig": {"maxOutputTokens": 128}},
        ollama={"options": {"num_predict": 128}},
        bedrock_converse={"inferenceConfig": {"maxTokens": 128}},
    )


def test_temperature() -> None:
    check(
        Request(temperature=0.5),
        anthropic_messages={"temperature": 0.5},
        openai_chat={"temperature": 0.5},
        openai_responses={"temperature": 0.5},
        gemini={"generationConfig": {"temperature": 0.5}},
        ollama={"options": {"temperature": 0.5}},
        bedrock_converse={"inferenceConfig": {"temperature": 0.5}},
    )


def test_top_p() -> None:
    check(
        Request(top_p=0.9),
        anthropic_messages={"top_p": 0.9},
        openai_chat={"top_p": 0.9},
        openai_responses={"top_p": 0.9},
        gemini={"generationConfig": {"topP": 0.9}},
        ollama={"options": {"top_p": 0.9}},
        bedrock_converse={"inferenceConfig": {"topP": 0.9}},
    )


def test_top_k() -> None:
    check(
        Request(top_k=40),
        anthropic_messages={"top_k": 40},
        openai_chat=lossy({}, "top_k dropped"),
        openai_responses=lossy({}, "top_k dropped"),
        gemini={"generationConfig": {"topK": 40}},
        ollama={"options": {"top_k": 40}},
        bedrock_converse={"additionalModelRequestFields": {"top_k": 40}},
    )


def test_stop_sequences() -> None:
    check(
        Request(stop_sequences=("END", "STOP")),
        anthropic_messages={"stop_sequences": ["END", "STOP"]},
        openai_chat={"stop": ["END", "STOP"]},
        openai_responses=lossy({}, "stop_sequences dropped"),
        gemini={"generationConfig": {"stopSequences": ["END", "STOP"]}},
        ollama={"options": {"stop": ["END", "STOP"]}},
        bedrock_converse={"inferenceConfig": {"stopSequences": ["END", "STOP"]}},
    )


def test_seed() -> None:
    check(
        Request(seed=7),
        anthropic_messages=lossy({}, "seed dropped"),
        openai_chat={"seed": 7},
        openai_responses=lossy({}, "seed dropped"),
        gemini={"generationConfig": {"seed": 7}},
        ollama={"options": {"seed": 7}},
        bedrock_converse=lossy({}, "seed dropped"),
    )


def test_stream() -> None:
    """Streams always ask for usage, where one must ask."""
    check(
        Request(stream=True),
        anthropic_messages={"stream": True},
        openai_chat={"stream": True, "stream_options": {"include_usage": True}},
        openai_responses={"stream": True},
        gemini={},
        ollama={"stream": True},
        bedrock_converse={},
    )


def test_user_id() -> None:
    check(
        Request(metadata={"user_id": "u-1"}),
        anthropic_messages={"metadata": {"user_id": "u-1"}},
        openai_chat={"safety_identifier": "u-1"},
        openai_responses={"safety_identifier": "u-1"},
        gemini={"labels": {"user_id": "u-1"}},
        ollama=lossy({}, "metadata dropped"),
        bedrock_converse={"requestMetadata": {"user_id": "u-1"}},
    )


def test_metadata() -> None:
    check(
        Request(metadata={"team": "blue"}),
        anthropic_messages=lossy({}, "metadata/team dropped"),
        openai_chat={"metadata": {"team": "blue"}},
        openai_responses={"metadata": {"team": "blue"}},
        gemini={"labels": {"team": "blue"}},
        ollama=lossy({}, "metadata dropped"),
        bedrock_converse={"requestMetadata": {"team": "blue"}},
    )


def test_default_tier() -> None:
    check(
        Request(service_tier="default"),
        anthropic_messages={"service_tier": "standard_only"},
        openai_chat={"service_tier": "default"},
        openai_responses={"service_tier": "default"},
        gemini={"serviceTier": "standard"},
        ollama=lossy({}, "service_tier dropped"),
        bedrock_converse={"serviceTier": {"type": "default"}},
    )


def test_flexible_tier() -> None:
    check(
        Request(service_tier="flex"),
        anthropic_messages=lossy({}, "service_tier dropped"),
        openai_chat={"service_tier": "flex"},
        openai_responses={"service_tier": "flex"},
        gemini={"serviceTier": "flex"},
        ollama=lossy({}, "service_tier dropped"),
        bedrock_converse={"serviceTier": {"type": "flex"}},
    )


def test_verbosity() -> None:
    check(
        Request(verbosity="low"),
        anthropic_messages=lossy({}, "verbosity dropped"),
        openai_chat={"verbosity": "low"},
        openai_responses={"text": {"verbosity": "low"}},
        gemini=lossy({}, "verbosity dropped"),
        ollama=lossy({}, "verbosity dropped"),
        bedrock_converse=lossy({}, "verbosity dropped"),
    )


def test_penalties() -> None:
    check(
        Request(frequency_penalty=0.5, presence_penalty=-1),
        anthropic_messages=lossy({}, "frequency_penalty dropped", "presence_penalty dropped"),
        openai_chat={"frequency_penalty": 0.5, "presence_penalty": -1},
        openai_responses=lossy({}, "frequency_penalty dropped", "presence_penalty dropped"),
        gemini={"generationConfig": {"frequencyPenalty": 0.5, "presencePenalty": -1}},
        ollama={"options": {"frequency_penalty": 0.5, "presence_penalty": -1}},
        bedrock_converse=lossy({}, "frequency_penalty dropped", "presence_penalty dropped"),
    )


def test_several_answers() -> None:
    check(
        Request(n=2),
        anthropic_messages=lossy({}, "n dropped"),
        openai_chat={"n": 2},
        openai_responses=lossy({}, "n dropped"),
        gemini={"generationConfig": {"candidateCount": 2}},
        ollama=lossy({}, "n dropped"),
        bedrock_converse=lossy({}, "n dropped"),
    )


def test_log_probabilities() -> None:
    check(
        Request(logprobs=True, top_logprobs=3),
        anthropic_messages=lossy({}, "logprobs dropped", "top_logprobs dropped"),
        openai_chat={"logprobs": True, "top_logprobs": 3},
        openai_responses={"include": ["message.output_text.logprobs"], "top_logprobs": 3},
        gemini={"generationConfig": {"responseLogprobs": True, "logprobs": 3}},
        ollama={"logprobs": True, "top_logprobs": 3},
        bedrock_converse=lossy({}, "logprobs dropped", "top_logprobs dropped"),
    )


@pytest.mark.parametrize("name", ["openai-chat", "gemini", "ollama"])
def test_top_log_probabilities_need_log_probabilities(name: str) -> None:
    def lost(**fields: Any) -> list[tuple[str, str, str]]:
        losses = dialect(name).encode_request(Request([Message("user", "hi")], **fields)).losses
        return [(loss.path, loss.kind, loss.weight) for loss in losses if "logprobs" in loss.path]

    assert lost(top_logprobs=3) == [("logprobs", "added", "form")]
    assert lost(top_logprobs=3, logprobs=False) == [("top_logprobs", "dropped", "content")]
    assert lost(top_logprobs=0) == [("top_logprobs", "dropped", "form")]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("openai-chat", {"messages": [], "top_logprobs": 3}),
        ("openai-chat", {"messages": [], "logprobs": False, "top_logprobs": 0}),
        ("openai-chat", {"messages": [], "response_format": {"type": "json_object", "schema": {}}}),
        ("openai-responses", {"input": "hi", "include": ["message.output_text.logprobs", "x"]}),
        ("openai-responses", {"input": "hi", "include": ["x", "message.output_text.logprobs"]}),
        ("openai-responses", {"input": "hi", "include": None, "text": {"format": {"type": "json_object", "x": 1}}}),
        ("openai-responses", {"input": "hi", "text": {"format": {"type": "json_object"}, "verbosity": "low"}}),
        ("gemini", {"contents": [], "generationConfig": {"logprobs": 3, "responseMimeType": "application/json"}}),
        ("gemini", {"contents": [], "generationConfig": {"responseMimeType": "application/json", "responseSchema": 1}}),
        ("ollama", {"messages": [], "stream": True, "top_logprobs": 3, "format": "json"}),
    ],
)
def test_shared_parameters_are_written_back(name: str, body: dict[str, Any]) -> None:
    encoded = dialect(name).encode_request(dialect(name).decode_request(body))
    assert (encoded.body, encoded.losses) == (body, ())


def test_what_the_provider_keeps() -> None:
    check(
        Request(prompt_cache_key="agents-1", store=False),
        anthropic_messages=lossy({}, "prompt_cache_key dropped", "store dropped"),
        openai_chat={"prompt_cache_key": "agents-1", "store": False},
        openai_responses={"prompt_cache_key": "agents-1", "store": False},
        gemini=lossy({"store": False}, "prompt_cache_key dropped"),
        ollama=lossy({}, "prompt_cache_key dropped", "store dropped"),
        bedrock_converse=lossy({}, "prompt_cache_key dropped", "store dropped"),
    )


def test_user() -> None:
    check(
        Request(user="u-1"),
        anthropic_messages=lossy({}, "user dropped"),
        openai_chat={"user": "u-1"},
        openai_responses={"user": "u-1"},
        gemini=lossy({}, "user dropped"),
        ollama=lossy({}, "user dropped"),
        bedrock_converse=lossy({}, "user dropped"),
    )


def test_json_of_any_shape() -> None:
    check(
        Request(json_output=True),
        anthropic_messages=lossy({}, "json_output dropped"),
        openai_chat={"response_format": {"type": "json_object"}},
        openai_responses={"text": {"format": {"type": "json_object"}}},
        gemini={"generationConfig": {"responseMimeType": "application/json"}},
        ollama={"format": "json"},
        bedrock_converse=lossy({}, "json_output dropped"),
    )


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize(
    "default",
    [{"n": 1}, {"frequency_penalty": 0}, {"presence_penalty": 0.0}, {"logprobs": False}, {"json_output": False}],
    ids=str,
)
def test_a_default_that_is_lost_is_form(name: str, default: dict[str, Any]) -> None:
    losses = dialect(name).encode_request(Request([Message("user", "hi")], **default)).losses
    assert {loss.weight for loss in losses if loss.path in default} <= {"form"}


def test_a_schema_asks_for_json_already() -> None:
    request = Request([Message("user", "hi")], output_schema={"type": "object"}, json_output=True)
    for name in ("openai-chat", "openai-responses", "gemini", "ollama"):
        losses = dialect(name).encode_request(request).losses
        assert [(loss.kind, loss.weight) for loss in losses if loss.path == "json_output"] == [("dropped", "form")]


def test_betas() -> None:
    check(
        Request(betas=("context-1m-2025-08-07", "files-api-2025-04-14")),
        anthropic_messages=sent({}, anthropic_beta="context-1m-2025-08-07,files-api-2025-04-14"),
        openai_chat=lossy({}, "betas dropped"),
        openai_responses=lossy({}, "betas dropped"),
        gemini=lossy({}, "betas dropped"),
        ollama=lossy({}, "betas dropped"),
        bedrock_converse={
            "additionalModelRequestFields": {"anthropic_beta": ["context-1m-2025-08-07", "files-api-2025-04-14"]}
        },
    )


def test_output_schema() -> None:
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    }
    text = '{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}'
    check(
        Request(output_schema=schema),
        anthropic_messages={"output_config": {"format": {"type": "json_schema", "schema": schema}}},
        openai_chat={
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "output", "schema": schema, "strict": True},
            }
        },
        openai_responses={
            "text": {"format": {"type": "json_schema", "name": "output", "schema": schema, "strict": True}}
        },
        gemini={"generationConfig": {"responseMimeType": "application/json", "responseJsonSchema": schema}},
        ollama={"format": schema},
        # Here the schema is a string.
        bedrock_converse={
            "outputConfig": {"textFormat": {"type": "json_schema", "structure": {"jsonSchema": {"schema": text}}}}
        },
    )

"""Every official SDK on every upstream dialect, through the gateway: whole, streamed, with tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gateway.asking import BEDROCK, CALLS, CHAT, CLAUDE, GEMINI, OLLAMA, RESPONSES, TEXT
from gateway.serving_gateway import Served, served
from interlingua import DIALECTS
from interlingua.client.embedded import Script

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")
ollama = pytest.importorskip("ollama")
genai = pytest.importorskip("google.genai")
botocore = pytest.importorskip("botocore.session")

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
QUESTION: list[Any] = [{"role": "user", "content": "What is 1 + 2?"}]
clients: list[Any] = []


def opened(client: Any) -> Any:
    """A client that is closed after its test."""
    clients.append(client)
    return client


Told = tuple[str, list[tuple[str, Any]]]
"""The text, and the calls with their arguments."""


def ask_claude(base: str, stream: bool) -> Told:
    client = opened(anthropic.Anthropic(api_key="k", base_url=base, max_retries=0))
    tools = [{"name": "add", "description": "Adds.", "input_schema": SCHEMA}]
    asked: dict[str, Any] = {"model": "asked", "max_tokens": 100, "messages": QUESTION, "tools": tools}
    if stream:
        with client.messages.stream(**asked) as events:
            message = events.get_final_message()
    else:
        message = client.messages.create(**asked)
    text = "".join(block.text for block in message.content if block.type == "text")
    return text, [(block.name, block.input) for block in message.content if block.type == "tool_use"]


def ask_chat(base: str, stream: bool) -> Told:
    client = opened(openai.OpenAI(api_key="k", base_url=f"{base}/v1", max_retries=0))
    tools = [{"type": "function", "function": {"name": "add", "parameters": SCHEMA}}]
    asked: dict[str, Any] = {"model": "asked", "messages": QUESTION, "tools": tools}
    if stream:
        with client.chat.completions.stream(**asked) as events:
            for _ in events:
                pass
            answer = events.get_final_completion()
    else:
        answer = client.chat.completions.create(**asked)
    message = answer.choices[0].message
    calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()]
    return message.content or "", calls


def ask_responses(base: str, stream: bool) -> Told:
    client = opened(openai.OpenAI(api_key="k", base_url=f"{base}/v1", max_retries=0))
    tools = [{"type": "function", "name": "add", "parameters": SCHEMA, "strict": False}]
    asked: dict[str, Any] = {"model": "asked", "input": QUESTION, "tools": tools, "store": False}
    if stream:
        with client.responses.stream(**asked) as events:
            for _ in events:
                pass
            answer = events.get_final_response()
    else:
        answer = client.responses.create(**asked)
    calls = [(item.name, json.loads(item.arguments)) for item in answer.output if item.type == "function_call"]
    return answer.output_text, calls


def ask_gemini(base: str, stream: bool) -> Told:
    options = genai.types.HttpOptions(base_url=base)
    client = opened(genai.Client(api_key="k", vertexai=False, http_options=options))
    declared = [{"name": "add", "description": "Adds.", "parameters_json_schema": SCHEMA}]
    asked: Any = {
        "model": "asked",
        "contents": "What is 1 + 2?",
        "config": {"tools": [{"function_declarations": declared}]},
    }
    chunks = (
        list(client.models.generate_content_stream(**asked)) if stream else [client.models.generate_content(**asked)]
    )
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or ()]
    text = "".join(part.text for part in parts if part.text and not part.thought)
    return text, [(part.function_call.name, part.function_call.args) for part in parts if part.function_call]


def ask_ollama(base: str, stream: bool) -> Told:
    client = opened(ollama.Client(host=base, headers={"authorization": "Bearer k"}, trust_env=False))
    tools = [{"type": "function", "function": {"name": "add", "description": "Adds.", "parameters": SCHEMA}}]
    asked: dict[str, Any] = {"model": "asked", "messages": QUESTION, "tools": tools}
    chunks = list(client.chat(**asked, stream=True)) if stream else [client.chat(**asked)]
    calls = [call.function for chunk in chunks for call in chunk.message.tool_calls or ()]
    text = "".join(chunk.message.content or "" for chunk in chunks)
    return text, [(call.name, dict(call.arguments)) for call in calls]


def ask_bedrock(base: str, stream: bool) -> Told:
    session: Any = botocore.Session()
    session.set_credentials("AKIDEXAMPLE", "secret")
    config = __import__("botocore.config").config.Config(retries={"max_attempts": 0}, proxies={})
    client = opened(session.create_client("bedrock-runtime", region_name="us-east-1", endpoint_url=base, config=config))
    spec = {"name": "add", "description": "Adds.", "inputSchema": {"json": SCHEMA}}
    messages = [{"role": "user", "content": [{"text": "What is 1 + 2?"}]}]
    asked: Any = {"modelId": "asked", "messages": messages, "toolConfig": {"tools": [{"toolSpec": spec}]}}
    return _converse_stream(client, asked) if stream else _converse(client, asked)


def _converse(client: Any, asked: Any) -> Told:
    blocks = client.converse(**asked)["output"]["message"]["content"]
    calls = [block["toolUse"] for block in blocks if "toolUse" in block]
    return "".join(block.get("text", "") for block in blocks), [(call["name"], call["input"]) for call in calls]


def _converse_stream(client: Any, asked: Any) -> Told:
    text, names, inputs = "", list[str](), list[str]()
    for event in client.converse_stream(**asked)["stream"]:
        start = event.get("contentBlockStart", {}).get("start", {})
        delta = event.get("contentBlockDelta", {}).get("delta", {})
        text += delta.get("text", "")
        if "toolUse" in start:
            names.append(start["toolUse"]["name"])
            inputs.append("")
        if "toolUse" in delta:
            inputs[-1] += delta["toolUse"]["input"]
    return text, [(name, json.loads(given)) for name, given in zip(names, inputs, strict=True)]


SDKS: dict[str, Callable[[str, bool], Told]] = {
    CLAUDE: ask_claude,
    CHAT: ask_chat,
    RESPONSES: ask_responses,
    GEMINI: ask_gemini,
    OLLAMA: ask_ollama,
    BEDROCK: ask_bedrock,
}


@pytest.fixture(scope="module", params=DIALECTS)
def running(request: pytest.FixtureRequest) -> Iterator[Served]:
    with served(Script(CALLS, keep=1), dialect=request.param) as (found, _):
        yield found


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("client", DIALECTS)
def test_every_sdk_reads_text_and_calls(client: str, stream: bool, running: Served) -> None:
    try:
        text, calls = SDKS[client](running.url, stream)
    finally:
        while clients:
            clients.pop().close()
    assert text == TEXT
    assert calls == [("add", {"a": 1, "b": 2})]

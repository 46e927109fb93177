"""The official ``ollama`` client reads what we write as a server, and we read what it sends.

The client speaks HTTP to loopback. What it should see is written here by hand from the protocol sheet, as the fields of
its own models; the client joins a stream's lines by itself, as its users do: content, thinking and calls are appended.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from interlingua import (
    Base64Source,
    BlockComplete,
    BlockStart,
    Event,
    ImageBlock,
    Message,
    MessageComplete,
    MessageStart,
    RefusalBlock,
    Request,
    Response,
    TextBlock,
    TextDelta,
    Thinking,
    ThinkingBlock,
    ThinkingDelta,
    TokenUsage,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    ToolUseEnd,
    ToolUseStart,
    dialect,
    unfold,
)
from oracles.sdks import JSON, Loopback, ollama as connect, said, want

ollama = want("ollama")

NAME = "ollama"
OLLAMA = dialect(NAME)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


def answering(body: Any) -> Loopback:
    return Loopback(connect, (200, JSON, json.dumps(body).encode()))


def streaming(body: bytes) -> Loopback:
    return Loopback(connect, (200, {"content-type": "application/x-ndjson"}, body))


def chat(client: Any, **options: Any) -> Any:
    return client.chat(model="m", messages=[{"role": "user", "content": "?"}], **options)


def joined(parts: Iterable[Any]) -> dict[str, Any]:
    """What a user of the client makes of a stream."""
    whole: dict[str, Any] = {"content": "", "thinking": "", "calls": []}
    for part in parts:
        whole["content"] += part.message.content or ""
        whole["thinking"] += part.message.thinking or ""
        whole["calls"] += calls_of(part.message)
        whole |= {"done": part.done, "done_reason": part.done_reason, "model": part.model}
        whole |= {"counts": (part.prompt_eval_count, part.eval_count)}
    return whole


def calls_of(message: Any) -> list[tuple[str, Any]]:
    return [(call.function.name, dict(call.function.arguments)) for call in message.tool_calls or ()]


ANSWER = Response(
    content=(
        ThinkingBlock(text="Let me see."),
        TextBlock("Calling."),
        ToolUseBlock(id="c1", name="add", input={"a": 1, "b": [2]}),
        ToolUseBlock(id="c2", name="now"),
    ),
    stop_reason="tool_use",
    model="qwen3",
    usage=TokenUsage(input_tokens=11, output_tokens=7),
)
SEEN = {
    "content": "Calling.",
    "thinking": "Let me see.",
    "calls": [("add", {"a": 1, "b": [2]}), ("now", {})],
    "done": True,
    "done_reason": "stop",
    "model": "qwen3",
    "counts": (11, 7),
}


def test_client_reads_a_whole_answer() -> None:
    encoded = OLLAMA.encode_response(ANSWER)
    with answering(encoded.body) as client:
        assert joined([chat(client)]) == SEEN
    assert encoded.losses == ()


def test_client_reads_a_stream() -> None:
    with streaming(said(NAME, unfold(ANSWER))) as client:
        parts = list(chat(client, stream=True))
    assert joined(parts) == SEEN
    assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]


def interleaved() -> Iterator[Event]:
    """Blocks that are open together, as a stream of another protocol may have them."""
    first, second = ToolUseBlock(id="c1", name="add", input={"a": 1}), ToolUseBlock(id="c2", name="now")
    yield MessageStart(None, "m")
    yield BlockStart(0, TextBlock(""))
    yield BlockStart(1, ThinkingBlock())
    yield TextDelta(0, "On")
    yield ThinkingDelta(1, "Hm")
    yield BlockStart(2, RefusalBlock(text=""))
    yield TextDelta(2, "No")
    yield ToolUseStart(3, "c1", "add", ToolUseBlock(id="c1", name="add"))
    yield ToolUseStart(4, "c2", "now", ToolUseBlock(id="c2", name="now"))
    yield ToolUseEnd(4, {}, second)
    yield TextDelta(0, "e")
    yield BlockComplete(0, TextBlock("One"))
    yield TextDelta(2, "!")
    yield BlockComplete(2, RefusalBlock(text="No!"))
    yield ToolUseEnd(3, {"a": 1}, first)
    yield BlockComplete(1, ThinkingBlock(text="Hm"))
    content = (TextBlock("One"), ThinkingBlock(text="Hm"), RefusalBlock(text="No!"), first, second)
    yield MessageComplete(Response(content=content, stop_reason="tool_use", model="m"))


def test_client_reads_blocks_that_were_open_together() -> None:
    with streaming(said(NAME, interleaved())) as client:
        whole = joined(chat(client, stream=True))
    assert (whole["content"], whole["thinking"]) == ("OneNo!", "Hm")
    assert whole["calls"] == [("add", {"a": 1}), ("now", {})]


# ----------------------------------------------------------------------------------------------- what the client sends


def sent(call: Any) -> tuple[Request, Any]:
    """The request that a call of the client makes, decoded; re-encoding must give it back exactly."""
    server = answering({"model": "m", "created_at": "t", "message": {"role": "assistant", "content": ""}, "done": True})
    with server as client:
        call(client)
    path, body = server.asked[-1]
    request = OLLAMA.decode_request(body)
    encoded = OLLAMA.encode_request(request)
    assert (encoded.body, encoded.path, encoded.losses) == (body, path, ())
    return request, body


def test_a_plain_chat() -> None:
    request, body = sent(chat)
    assert body["stream"] is False
    assert (request.model, request.stream) == ("m", False)
    assert request.messages == (Message("user", "?"),)


def test_a_stream_is_asked_for() -> None:
    request, _ = sent(lambda client: list(chat(client, stream=True)))
    assert request.stream is True


def test_parameters() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": "x"}}}
    options = {"temperature": 0.5, "top_p": 1.0, "top_k": 3, "seed": 4, "num_predict": 5, "stop": ["x"], "num_ctx": 9}
    request, _ = sent(lambda client: chat(client, options=options, format=schema, think="high", keep_alive="5m"))
    assert (request.temperature, request.top_p, request.top_k, request.seed) == (0.5, 1.0, 3, 4)
    assert (request.max_output_tokens, request.stop_sequences) == (5, ("x",))
    assert (request.output_schema, request.thinking) == (schema, Thinking(effort="high"))
    assert request.extras == {"ollama": {"options": {"num_ctx": 9}, "keep_alive": "5m"}}


def test_pictures() -> None:
    message = {"role": "user", "content": "What is it?", "images": [PNG]}
    request, body = sent(lambda client: client.chat(model="m", messages=[message]))
    data = body["messages"][0]["images"][0]
    picture = ImageBlock(source=Base64Source("image/png", data))
    assert request.messages[0].content == (TextBlock("What is it?"), picture)


def add(a: int, b: int) -> int:
    """
    Add two numbers.

    Args:
      a: one
      b: the other
    """
    return a + b


def test_a_tool_loop_without_ids() -> None:
    """The client's own message model knows no ids: results go by name and order."""
    answer = ollama.Message(
        role="assistant",
        content="",
        tool_calls=[{"function": {"name": "add", "arguments": {"a": i, "b": 1}}} for i in (1, 2)],
    )
    results = [{"role": "tool", "tool_name": "add", "content": text} for text in ("2", "3")]
    history = [{"role": "system", "content": "Count."}, {"role": "user", "content": "Go."}, answer, *results]
    request, _ = sent(lambda client: client.chat(model="m", messages=history, tools=[add]))
    assert request.system == (TextBlock("Count."),)
    tool = request.tools[0]
    assert isinstance(tool, ToolDefinition)
    assert (tool.name, tool.description, tool.input_schema["required"]) == ("add", "Add two numbers.", ["a", "b"])
    calls, answers = request.messages[1].content, request.messages[2].content
    assert [block.id for block in calls if isinstance(block, ToolUseBlock)] == ["call_0", "call_1"]
    assert [
        (block.tool_use_id, block.name, block.content) for block in answers if isinstance(block, ToolResultBlock)
    ] == [
        ("call_0", "add", (TextBlock("2"),)),
        ("call_1", "add", (TextBlock("3"),)),
    ]


def test_a_prompt() -> None:
    def generate(client: Any) -> None:
        client.generate(model="m", prompt="Why?", system="Be brief.", context=[1, 2, 3], options={"seed": 1})

    request, _ = sent(generate)
    assert (request.system, request.messages[-1]) == ((TextBlock("Be brief."),), Message("user", "Why?"))
    answer = Response(content=(TextBlock("So."),), model="m", usage=TokenUsage(1, output_tokens=2))
    with answering(OLLAMA.encode_response(answer, request).body) as client:
        part = client.generate(model="m", prompt="Why?")
    assert (part.response, part.done_reason, part.eval_count) == ("So.", "stop", 2)
    with streaming(said(NAME, unfold(answer), request)) as client:
        assert "".join(part.response for part in client.generate(model="m", prompt="Why?", stream=True)) == "So."

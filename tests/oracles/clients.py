"""The official clients, one class each: what a client holds of an answer, whole and streamed, and what it sends.

A client is asked through its own public methods. What it holds is given as JSON (``reads`` and ``reads_stream``), and
``view`` says of that what can be compared between clients.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import reduce
from typing import Any, NamedTuple

from oracles.sdks import JSON, Answer, InMemory, Loopback, bedrock, gemini, ollama, want

__all__ = ["CLIENTS", "Anthropic", "Bedrock", "Chat", "Client", "Gemini", "Ollama", "Responses", "View"]

Json = Any
USER = [{"role": "user", "content": "?"}]
SSE = {"content-type": "text/event-stream"}


class View(NamedTuple):
    """What a client holds of an answer, in no client's own words."""

    text: str
    thoughts: str
    calls: list[tuple[str, str, Json]]
    stop: str
    usage: Json


def plain(value: Any) -> Json:
    """A value as JSON: bytes as Base64, as the wire has them."""
    return json.loads(json.dumps(value, default=lambda held: b64encode(held).decode()))


def frames_of(wire: bytes) -> list[Json]:
    """The JSON of an event stream."""
    frames = [line[6:] for line in wire.split(b"\n") if line.startswith(b"data: ")]
    return [json.loads(frame) for frame in frames if frame != b"[DONE]"]


def parsed(arguments: str) -> Json:
    """The arguments of a call; what is no object is an empty one, as with us."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


class Client:
    """What all have in common: a server that gives one answer, and remembers what it was asked."""

    name: str
    kinds: tuple[str, ...] = ("text", "thinking", "refusal", "call")
    """The blocks that may be open together in its streams."""
    streams: dict[str, str] = SSE
    connect: Callable[[str], Any]
    asks: str
    """The method that asks for an answer."""
    asked: dict[str, Any] = {"model": "m", "messages": USER}

    @contextmanager
    def calls(self, answer: Answer | str, method: str, **arguments: Any) -> Iterator[tuple[Any, Any]]:
        """What a method of the client gives, and the server that it asked; ``answer`` may be the URL of a server."""
        with ExitStack() as stack:
            if isinstance(answer, str):
                client, server = type(self).connect(answer), None
                stack.callback(client.close)
            else:
                client, server = self.connected(answer, stack)
            yield reduce(getattr, method.split("."), client)(**arguments), server

    def connected(self, answer: Answer, stack: ExitStack) -> tuple[Any, Any]:
        server = Loopback(type(self).connect, answer)
        return stack.enter_context(server), server

    def whole(self, body: Json) -> Any:
        """The client's own object for a whole answer, or for what a server answers whose URL is given."""
        answer = body if isinstance(body, str) else (200, JSON, json.dumps(body).encode())
        with self.calls(answer, self.asks, **self.asked) as (found, _):
            return found

    def streamed(self, wire: bytes | str) -> Answer | str:
        """The answer of a server that streams these bytes, or its URL."""
        return wire if isinstance(wire, str) else (200, self.streams, wire)

    def validate(self, body: Json) -> None:
        """Check a body by the client's own models, since clients construct them unchecked."""

    def validate_stream(self, wire: bytes) -> None:
        """Check the frames of a stream in the same way."""

    def reads(self, body: Json) -> Json:
        raise NotImplementedError

    def reads_stream(self, wire: bytes | str) -> Json:
        raise NotImplementedError

    def sends(self, method: str, arguments: Json, answer: Json) -> tuple[str, dict[str, str], Json]:
        """The path, headers and body that it sends."""
        streams = method.endswith("_stream") or arguments.get("stream")
        body = b"" if streams else json.dumps(answer).encode()
        with self.calls((200, self.streams if streams else JSON, body), method, **arguments) as (found, server):
            if streams:
                list(found["stream"] if isinstance(found, dict) else found)
            return self.heard(server)

    def heard(self, server: Any) -> tuple[str, dict[str, str], Json]:
        path, body = server.asked[-1]
        return path, {}, body

    def told(self, error: Any) -> tuple[int | None, str, str]:
        """Status, word and message of what it raises."""
        raise NotImplementedError

    def hears(self, wire: bytes) -> Iterator[str]:
        """The pieces of text of a stream, as they come."""
        raise NotImplementedError

    def view(self, held: Json) -> View:
        raise NotImplementedError


class Http(Client):
    """A client that takes a transport."""

    def made(self) -> Any:
        raise NotImplementedError

    def connected(self, answer: Answer, stack: ExitStack) -> tuple[Any, Any]:
        server = InMemory(self.made(), *answer)
        return server.client, server

    def heard(self, server: Any) -> tuple[str, dict[str, str], Json]:
        return server.asked[-1].url.path, dict(server.asked[-1].headers), server.body


class Anthropic(Http):
    name = "anthropic-messages"
    kinds = ("text", "thinking", "call")
    asks = "beta.messages.create"
    asked = {"model": "claude", "max_tokens": 9, "messages": USER}

    def made(self) -> Any:
        return want("anthropic").Anthropic

    @staticmethod
    def connect(url: str) -> Any:
        return want("anthropic").Anthropic(api_key="k", base_url=url, max_retries=0)

    def validate(self, body: Json) -> None:
        want("pydantic").TypeAdapter(want("anthropic").types.beta.BetaMessage).validate_python(body)

    def reads(self, body: Json) -> Json:
        return self.dumped(self.whole(body))

    def reads_stream(self, wire: bytes | str) -> Json:
        with self.calls(self.streamed(wire), "beta.messages.stream", **self.asked) as (asked, _), asked as stream:
            return self.dumped(stream.get_final_message())

    def dumped(self, message: Any) -> Json:
        held = message.model_dump(mode="json", exclude_none=True)
        for block in held["content"]:
            block.pop("parsed_output", None)
        return held

    def view(self, held: Json) -> View:
        blocks, usage = held["content"], held["usage"]
        cached = (usage.get("cache_read_input_tokens", 0), usage.get("cache_creation_input_tokens", 0))
        return View(
            "".join(block["text"] for block in blocks if block["type"] == "text"),
            "".join(block["thinking"] for block in blocks if block["type"] == "thinking"),
            [(block["id"], block["name"], block["input"]) for block in blocks if block["type"] == "tool_use"],
            held.get("stop_reason", ""),
            (usage["input_tokens"], *cached, usage["output_tokens"]),
        )

    def told(self, error: Any) -> tuple[int | None, str, str]:
        return error.status_code, error.type, error.api_message

    def hears(self, wire: bytes) -> Iterator[str]:
        with self.calls(self.streamed(wire), "beta.messages.stream", **self.asked) as (asked, _), asked as stream:
            yield from stream.text_stream


class OpenAI(Http):
    def made(self) -> Any:
        return want("openai").OpenAI

    @staticmethod
    def connect(url: str) -> Any:
        return want("openai").OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0)

    def told(self, error: Any) -> tuple[int | None, str, str]:
        status = getattr(error, "status_code", None)  # an error inside a stream has none
        return status, error.code or error.type, error.body["message"]


class Chat(OpenAI):
    name = "openai-chat"
    asks = "chat.completions.create"

    def validate(self, body: Json) -> None:
        want("pydantic").TypeAdapter(want("openai").types.chat.ChatCompletion).validate_python(body)

    def validate_stream(self, wire: bytes) -> None:
        chunk_type = want("pydantic").TypeAdapter(want("openai").types.chat.ChatCompletionChunk)
        for frame in frames_of(wire):
            if b'"custom"' not in wire:  # the client does not type the deltas of custom calls, and takes them so
                chunk_type.validate_python(frame)

    def reads(self, body: Json) -> Json:
        return self.dumped(self.whole(body))

    def reads_stream(self, wire: bytes | str) -> Json:
        """What the client's own accumulator makes of it; its last, unparsed state, for any finish reason."""
        state = want("openai.lib.streaming.chat").ChatCompletionStreamState()
        with self.calls(self.streamed(wire), self.asks, **self.asked, stream=True) as (chunks, _):
            for chunk in chunks:
                state.handle_chunk(chunk)
        return self.dumped(state.current_completion_snapshot)

    def dumped(self, completion: Any) -> Json:
        held = completion.model_dump(mode="json", exclude_none=True)
        held.pop("object", None)
        for choice in held["choices"]:
            for call in choice["message"].get("tool_calls") or []:
                call.pop("index", None)
                call.get("function", {}).pop("parsed_arguments", None)
            choice["message"] = {key: value for key, value in choice["message"].items() if value != []}
        return held

    def view(self, held: Json) -> View:
        (choice, *_) = held["choices"]
        message, usage = choice["message"], held.get("usage", {})
        calls = [self.call(call) for call in message.get("tool_calls", ())]
        details = usage.get("prompt_tokens_details", {})
        cached = (details.get("cached_tokens", 0), details.get("cache_write_tokens", 0))
        counts = (usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0), *cached)
        text = message.get("content", "")
        return View(text, message.get("reasoning_content", ""), calls, choice.get("finish_reason", ""), counts)

    def call(self, call: Json) -> tuple[str, str, Json]:
        if "custom" in call:
            return call["id"], call["custom"]["name"], call["custom"]["input"]
        return call.get("id", ""), call["function"]["name"], parsed(call["function"]["arguments"])

    def hears(self, wire: bytes) -> Iterator[str]:
        with self.calls(self.streamed(wire), self.asks, **self.asked, stream=True) as (chunks, _):
            for chunk in chunks:
                yield chunk.choices[0].delta.content or ""


class Responses(OpenAI):
    name = "openai-responses"
    asks = "responses.create"
    asked = {"model": "m", "input": "?"}

    def validate(self, body: Json) -> None:
        want("pydantic").TypeAdapter(want("openai.types.responses").Response).validate_python(body)

    def validate_stream(self, wire: bytes) -> None:
        event_type = want("pydantic").TypeAdapter(want("openai.types.responses").ResponseStreamEvent)
        frames = frames_of(wire)
        for frame in frames:
            event_type.validate_python(frame)
        assert [frame["sequence_number"] for frame in frames] == list(range(len(frames)))

    def reads(self, body: Json) -> Json:
        return self.dumped(self.whole(body))

    def reads_stream(self, wire: bytes | str) -> Json:
        with self.calls(self.streamed(wire), "responses.stream", **self.asked) as (asked, _), asked as stream:
            events = list(stream)
            last = stream.get_final_response() if events[-1].type == "response.completed" else events[-1].response
        assert [event.type for event in events[:2]] == ["response.created", "response.in_progress"]
        return self.dumped(last)

    def dumped(self, response: Any) -> Json:
        held = response.model_dump(mode="json", exclude_none=True, warnings=False)
        for item in held["output"]:
            item.pop("parsed_arguments", None)
            for part in item.get("content") or []:
                part.pop("parsed", None)
        told = ("id", "model", "status", "incomplete_details", "error", "output", "usage", "instructions", "tools")
        return {key: held[key] for key in told if held.get(key) not in (None, [])} | {"output": held["output"]}

    def view(self, held: Json) -> View:
        items, usage = held["output"], held.get("usage", {})
        parts = [part for item in items if item["type"] == "message" for part in item["content"]]
        thoughts = [part["text"] for item in items if item["type"] == "reasoning" for part in item["summary"]]
        calls = [
            (item["call_id"], item["name"], item["input"] if "input" in item else parsed(item["arguments"]))
            for item in items
            if item["type"] in ("function_call", "custom_tool_call")
        ]
        counts = (usage.get("input_tokens", 0), usage.get("output_tokens", 0))
        return View("".join(part.get("text", "") for part in parts), "".join(thoughts), calls, held["status"], counts)


class Gemini(Client):
    name = "gemini"
    connect = gemini
    asks = "models.generate_content"
    asked = {"model": "gemini-3-pro", "contents": "?"}

    def reads(self, body: Json) -> Json:
        return self.joined([self.whole(body)])

    def reads_stream(self, wire: bytes | str) -> Json:
        with self.calls(self.streamed(wire), "models.generate_content_stream", **self.asked) as (answers, _):
            return self.joined(list(answers))

    def joined(self, answers: list[Any]) -> Json:
        """What a user of the client makes of one answer, or of the answers of a stream."""
        parts: list[Json] = []
        held: Json = {}
        for answer in answers:
            wire = answer.model_dump(mode="json", exclude_none=True, by_alias=True)
            wire.pop("sdkHttpResponse", None)
            candidate = (wire.pop("candidates", None) or [{}])[0]
            held |= wire | candidate
            for part in (candidate.get("content") or {}).get("parts") or ():
                if parts and {*part, *parts[-1]} <= {"text", "thought"} and part.keys() == parts[-1].keys():
                    parts[-1]["text"] += part["text"]
                else:
                    parts.append(part)
        return plain(held | {"content": parts})

    def heard(self, server: Any) -> tuple[str, dict[str, str], Json]:
        path, body = server.asked[-1]
        return f"/v1beta{path[path.index('/models') :]}", {}, body  # whichever version the client prefers

    def view(self, held: Json) -> View:
        parts, usage = held["content"], held.get("usageMetadata", {})
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        return View(
            "".join(part["text"] for part in parts if "text" in part and not part.get("thought")),
            "".join(part["text"] for part in parts if "text" in part and part.get("thought")),
            [(call.get("id", ""), call["name"], call.get("args", {})) for call in calls],
            held.get("finishReason", ""),
            (usage.get("promptTokenCount", 0), usage.get("candidatesTokenCount", 0)),
        )

    def told(self, error: Any) -> tuple[int | None, str, str]:
        return error.code, error.status, error.message

    def hears(self, wire: bytes) -> Iterator[str]:
        with self.calls(self.streamed(wire), "models.generate_content_stream", **self.asked) as (answers, _):
            for answer in answers:
                yield answer.text or ""


class Ollama(Client):
    name = "ollama"
    connect = ollama
    streams = {"content-type": "application/x-ndjson"}
    asks = "chat"

    def reads(self, body: Json) -> Json:
        return self.joined([self.whole(body)])

    def reads_stream(self, wire: bytes | str) -> Json:
        with self.calls(self.streamed(wire), "chat", **self.asked, stream=True) as (parts, _):
            return self.joined(list(parts))

    def joined(self, parts: list[Any]) -> Json:
        """What a user of the client makes of a stream."""
        assert [part.done for part in parts] == [False] * (len(parts) - 1) + [True]
        held = parts[-1].model_dump(mode="json", exclude_none=True)
        messages = [part.model_dump(mode="json", exclude_none=True)["message"] for part in parts]
        held["message"] = {
            "content": "".join(message.get("content", "") for message in messages),
            "thinking": "".join(message.get("thinking", "") for message in messages),
            "tool_calls": [call for message in messages for call in message.get("tool_calls", ())],
        }
        return held

    def view(self, held: Json) -> View:
        message = held["message"]
        functions = [call["function"] for call in message["tool_calls"]]
        calls = [("", function["name"], function["arguments"]) for function in functions]
        counts = (held.get("prompt_eval_count", 0), held.get("eval_count", 0))
        return View(message["content"], message["thinking"], calls, held.get("done_reason", ""), counts)

    def told(self, error: Any) -> tuple[int | None, str, str]:
        return error.status_code, "", error.error

    def hears(self, wire: bytes) -> Iterator[str]:
        with self.calls(self.streamed(wire), "chat", **self.asked, stream=True) as (parts, _):
            for part in parts:
                yield part.message.content or ""


class Bedrock(Client):
    name = "bedrock-converse"
    kinds = ("text", "thinking", "call")
    connect = bedrock
    streams = {"content-type": "application/vnd.amazon.eventstream"}
    asks = "converse"
    asked = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "?"}]}]}

    def reads(self, body: Json) -> Json:
        held = self.whole(body)
        assert "SDK_UNKNOWN_MEMBER" not in str(held)
        held.pop("ResponseMetadata")
        return plain(held | {"content": held.pop("output")["message"]["content"]})

    def reads_stream(self, wire: bytes | str) -> Json:
        """The blocks that a stream adds up to, as the API reference tells clients to add them."""
        blocks: dict[int, Json] = {}
        held: Json = {}
        with self.calls(self.streamed(wire), "converse_stream", **self.asked) as (found, _):
            for event in found["stream"]:
                ((kind, told),) = event.items()
                if kind == "contentBlockStart":
                    assert told["contentBlockIndex"] not in blocks
                    blocks[told["contentBlockIndex"]] = {tag: dict(inner) for tag, inner in told["start"].items()}
                elif kind == "contentBlockDelta":
                    grow(blocks.setdefault(told["contentBlockIndex"], {}), told["delta"])
                elif kind in ("messageStop", "metadata"):
                    held |= told
        for block in blocks.values():
            if "toolUse" in block:
                block["toolUse"]["input"] = json.loads(block["toolUse"].pop("said", "") or "{}")
        return plain(held | {"content": [blocks[index] for index in sorted(blocks)]})

    def view(self, held: Json) -> View:
        blocks, usage = held["content"], held["usage"]
        calls = [block["toolUse"] for block in blocks if "toolUse" in block]
        cited = [block["citationsContent"]["content"] for block in blocks if "citationsContent" in block]
        thoughts = [block.get("reasoning", "") for block in blocks]
        thoughts += [
            block["reasoningContent"].get("reasoningText", {}).get("text", "")
            for block in blocks
            if "reasoningContent" in block
        ]
        return View(
            "".join(block.get("text", "") for block in [*blocks, *(part for parts in cited for part in parts)]),
            "".join(thoughts),
            [(call["toolUseId"], call["name"], call["input"]) for call in calls],
            held["stopReason"],
            (usage["inputTokens"], usage["outputTokens"]),
        )

    def told(self, error: Any) -> tuple[int | None, str, str]:
        told = error.response["Error"]
        return error.response["ResponseMetadata"]["HTTPStatusCode"], told["Code"], told["Message"]


def grow(block: Json, delta: Json) -> None:
    """Add a delta of Bedrock to its block."""
    match delta:
        case {"text": text}:
            block["text"] = block.get("text", "") + text
        case {"toolUse": {"input": text}}:
            block["toolUse"]["said"] = block["toolUse"].get("said", "") + text
        case {"toolResult": pieces}:
            block["toolResult"].setdefault("content", []).extend(pieces)
        case {"citation": citation}:
            block.setdefault("citations", []).append(citation)
        case {"image": image}:
            block["image"] |= image
        case {"reasoningContent": {"redactedContent": data}}:
            block["redactedContent"] = block.get("redactedContent", b"") + data
        case {"reasoningContent": {"text": text}}:
            block["reasoning"] = block.get("reasoning", "") + text
        case {"reasoningContent": {"signature": signature}}:
            block["signature"] = signature
        case _:
            raise AssertionError(f"the client could not read a delta: {delta}")


def bytes_in(value: Json) -> Any:
    """Arguments of a client, where an object ``{"base64": …}`` stands for bytes."""
    if isinstance(value, list):
        return [bytes_in(item) for item in value]
    if not isinstance(value, dict):
        return value
    return b64decode(value["base64"]) if value.keys() == {"base64"} else {k: bytes_in(v) for k, v in value.items()}


CLIENTS: dict[str, Client] = {
    client.name: client for client in (Anthropic(), Chat(), Responses(), Gemini(), Ollama(), Bedrock())
}

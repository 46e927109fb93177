"""Official clients that take a transport: Anthropic's and both of OpenAI's."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from oracles.client import USER, Client, Json, View, frames_of, parsed
from oracles.sdks import Answer, InMemory, want


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

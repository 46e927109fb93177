"""Official clients that have an HTTP client of their own: Google's, Ollama's and Amazon's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from oracles.client import Client, Json, View, plain
from oracles.sdks import bedrock, gemini, ollama


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

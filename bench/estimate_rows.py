"""The recorded prompts and answers for fitting and judging token estimates, each with its true count."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

HERE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE / "src"), str(HERE / "tests")]

from interlingua import (  # noqa: E402
    Base64Source,
    Block,
    ImageBlock,
    MessageComplete,
    ParseError,
    Request,
    Response,
    ToolResultBlock,
    dialect,
)
from interlingua.models.estimate.counting import Tally, answer_counts, counts  # noqa: E402
from interlingua.models.estimate.families import counts_thoughts, family, keeps_idle_tools, server  # noqa: E402
from shared_data import corpus, stream_bytes  # noqa: E402  # pyright: ignore[reportMissingImports]

FILES = (
    ("openai-chat", "openai-chat"), ("mistral", "openai-chat"), ("openai-responses", "openai-responses"),
    ("anthropic-messages", "anthropic-messages"), ("gemini", "gemini"), ("bedrock-converse", "bedrock-converse"),
    ("bedrock-converse-stream", "bedrock-converse"), ("ollama", "ollama"),
)  # fmt: skip
HELD_BY_SERVER = ("previous_response_id", "conversation", "prompt", "mcp_servers", "cachedContent", "documents")
OPAQUE = ("opaque", "server_tool_use", "server_tool_result")
SPEAKABLE = {"text", "refusal", "thinking", "tool_use", "json"}
# Families that start from one row.
GROUPS = (
    ("claude", r"claude"), ("gemini", r"gemini"), ("gpt", r"gpt(-[45]|$)"), ("grok", r"grok-[34]|grok$"), ("open", r""),
)  # fmt: skip


class Row(NamedTuple):
    """The features of a prompt or an answer, and its true count. ``server`` is our name for the server."""

    provider: str
    server: str
    family: str
    source: str
    tally: Tally
    true: int
    prompt: bytes = b""
    """A hash of the prompt."""

    @property
    def fitted(self) -> bool:
        """Whether the row is in the half that is fitted. Only the name of its source decides."""
        return sha256(self.source.encode()).digest()[0] % 2 == 1

    @property
    def blind(self) -> bool:
        """Whether it has files or pictures by reference: these are guessed, not fitted, and reported separately."""
        return bool(self.tally["files"] or self.tally["by_reference"])

    @property
    def group(self) -> str:
        return group_of(self.family)


def group_of(name: str) -> str:
    return next(group for group, pattern in GROUPS if re.match(pattern, name))


def rows() -> list[Row]:
    """Every recorded prompt with its count, except those with state, tools or searches on the server."""
    return [row for row, _, _ in exchanges()]


def exchanges() -> Iterator[tuple[Row, Request, str | None]]:
    """The rows, each with the prompt itself and its model."""
    for file, name in FILES:
        for record in corpus(file):
            found = read(record, name)
            if found is not None:
                yield found


def read(record: dict[str, Any], name: str) -> tuple[Row, Request, str | None] | None:
    wire, path = record.get("request"), record["url_path"]
    if record["status"] != 200 or not isinstance(wire, dict) or "count" in path or any(map(wire.get, HELD_BY_SERVER)):
        return None
    response = answer(record, name)
    if response is None or response.usage is None or response.usage.total_input_tokens <= 0:
        return None
    request = dialect(name).decode_request(wire, record.get("request_headers"), model=model_of(record))
    place, model = place_of(record["provider"], name), request.model or response.model
    tally = tally_of(request, place, family(place, model), model)
    if tally is None:
        return None
    true, prompt = response.usage.total_input_tokens, fingerprint(request)
    row = Row(record["provider"], place, family(place, model), record["source"], tally, true, prompt)
    return row, request, model


def fingerprint(request: Request) -> bytes:
    prompt = [request.system, request.messages, request.tools, request.output_schema, request.thinking]
    return sha256(msgspec.json.encode(prompt, enc_hook=repr)).digest()


def model_of(record: dict[str, Any]) -> str | None:
    """The model in the URL path; None if it is not there."""
    found = re.search(r"models?/([^/:]+)", record["url_path"])
    return found[1] if found else None


def place_of(provider: str, name: str) -> str:
    """Our name for the server. OpenAI counts differently in its older protocol; Azure counts like OpenAI in the new."""
    swapped = {("openai", "openai-chat"): "openai-chat", ("azure", "openai-responses"): "openai"}
    swapped[("vertex", "anthropic-messages")] = "vertex-anthropic"
    return swapped.get((provider, name), server(provider))


def tally_of(request: Request, place: str, kin: str, model: str | None) -> Tally | None:
    tally = counts(request, model or kin, idle_tools=keeps_idle_tools(kin), thoughts=counts_thoughts(place))
    outer = [block for message in request.messages for block in message.content]
    blocks = [*outer, *(inner for block in outer if isinstance(block, ToolResultBlock) for inner in block.content)]
    if tally["server_tools"] or {block.type for block in blocks} & set(OPAQUE):
        return None
    seen = [block.source for block in blocks if isinstance(block, ImageBlock)]
    tally["by_reference"] = sum(not isinstance(source, Base64Source) for source in seen)
    return tally


def answer(record: dict[str, Any], name: str) -> Response | None:
    if isinstance(record.get("response"), dict):
        try:
            return dialect(name).decode_response(record["response"])
        except ParseError:
            return None  # a count of tokens, for instance
    data = stream_bytes(record)
    if not data:
        return None
    decoder = dialect(name).stream_decoder()
    last = [*decoder.feed(data), *decoder.close()][-1]
    return last.response if isinstance(last, MessageComplete) else None


def answers() -> list[Row]:
    """Every recorded answer without hidden tokens."""
    return [row for row, _, _ in answered_exchanges()]


def answered_exchanges() -> Iterator[tuple[Row, tuple[Block, ...], str | None]]:
    """The rows of the answers, each with its content and its model."""
    for file, name in FILES:
        for record in corpus(file):
            found = read_answer(record, name) if record["status"] == 200 else None
            if found is not None:
                yield found


def read_answer(record: dict[str, Any], name: str) -> tuple[Row, tuple[Block, ...], str | None] | None:
    response, wire = answer(record, name), record.get("request") or {}
    usage = None if response is None else response.usage
    if response is None or usage is None or usage.output_tokens <= 0 or usage.reasoning_tokens:
        return None
    if {block.type for block in response.content} - SPEAKABLE or (wire.get("n") or 1) != 1:
        return None
    place, model = place_of(record["provider"], name), wire.get("model") or model_of(record) or response.model
    tally = answer_counts(response.content)
    row = Row(record["provider"], place, family(place, model), record["source"], tally, usage.output_tokens)
    return row, response.content, model

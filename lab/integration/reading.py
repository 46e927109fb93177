"""The official SDKs read the bytes that a server sent: a recorded answer is sent again to the vendor's client.

The expected content is in our words (texts, calls with their arguments); the stop reasons are in the vendors' words.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from typing import Any, NamedTuple

import msgspec

from .tape import Exchange

__all__ = ["STOPS", "Answer", "Readers", "read_last_event"]

Json = Any
_encode = msgspec.json.Encoder(order="deterministic").encode

# The stop reasons, in the words of each vendor's client.
STOPS = {
    # dialect             done           for calls
    "anthropic-messages": ("end_turn", "tool_use"),
    "openai-chat": ("stop", "tool_calls"),
    "openai-responses": ("completed", "completed"),
    "gemini": ("STOP", "STOP"),
    "ollama": ("stop", "stop"),
    "bedrock-converse": ("end_turn", "tool_use"),
}


class Answer(NamedTuple):
    """An answer as a client has it: texts and calls in order, stop reason, tokens; or the status of its exception."""

    content: tuple[str, ...] = ()
    stop: str | None = None
    tokens: tuple[int, int] = (0, 0)
    status: int = 200


def called(name: str, arguments: Json) -> str:
    """A call in the form of the transcripts."""
    return f"{name}{_encode(arguments).decode()}"


# --------------------------------------------------------------------------------------------------------- the clients


def read_anthropic(client: Any, streamed: bool) -> Answer:
    """``anthropic``, with its own accumulator."""
    ask: Json = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "?"}]}
    if streamed:
        with client.messages.stream(**ask) as stream:
            message = stream.get_final_message()
    else:
        message = client.messages.create(**ask)
    content = [b.text if b.type == "text" else called(b.name, b.input) for b in message.content]
    return Answer(tuple(content), message.stop_reason, (message.usage.input_tokens, message.usage.output_tokens))


def read_chat(client: Any, streamed: bool) -> Answer:
    """``openai``; a stream by the last snapshot of its own accumulator."""
    ask: Json = {"model": "m", "messages": [{"role": "user", "content": "?"}]}
    if streamed:
        state = import_module("openai.lib.streaming.chat").ChatCompletionStreamState()
        for chunk in client.chat.completions.create(**ask, stream=True):
            state.handle_chunk(chunk)
        completion = state.current_completion_snapshot
    else:
        completion = client.chat.completions.create(**ask)
    choice, usage = completion.choices[0], completion.usage
    made = [call.function for call in choice.message.tool_calls or ()]
    content = [choice.message.content] if choice.message.content else []
    content += [called(function.name, json.loads(function.arguments)) for function in made]
    return Answer(tuple(content), choice.finish_reason, (usage.prompt_tokens, usage.completion_tokens))


def read_responses(client: Any, streamed: bool) -> Answer:
    """``openai``, with its own accumulator."""
    if streamed:
        with client.responses.stream(model="m", input="?") as stream:
            response = stream.get_final_response()
    else:
        response = client.responses.create(model="m", input="?")
    return _read_output(response)


def read_last_event(client: Any, streamed: bool) -> Answer:
    """``openai`` without its accumulator: the last event has the whole answer. For servers that send no indexes."""
    *_, last = client.responses.create(model="m", input="?", stream=streamed)
    return _read_output(last.response)


def _read_output(response: Any) -> Answer:
    content: list[str] = []
    for item in response.output:
        content += [called(item.name, json.loads(item.arguments))] if item.type == "function_call" else _parts(item)
    return Answer(tuple(content), response.status, (response.usage.input_tokens, response.usage.output_tokens))


def _parts(item: Any) -> list[str]:
    return [part.text for part in item.content]


def read_gemini(client: Any, streamed: bool) -> Answer:
    """``google-genai``; a stream is joined as its users do it: texts append."""
    ask: Json = {"model": "m", "contents": "?"}
    models = client.models
    chunks = list(models.generate_content_stream(**ask)) if streamed else [models.generate_content(**ask)]
    content: list[str] = []
    open_text = False
    for part in (part for chunk in chunks for part in chunk.candidates[0].content.parts or ()):
        if part.function_call is not None:
            content.append(called(part.function_call.name, part.function_call.args))
        elif open_text:
            content[-1] += part.text
        else:
            content.append(part.text)
        open_text = part.function_call is None
    usage = chunks[-1].usage_metadata
    stop = chunks[-1].candidates[0].finish_reason
    return Answer(tuple(content), stop and stop.value, (usage.prompt_token_count, usage.candidates_token_count))


def read_ollama(client: Any, streamed: bool) -> Answer:
    """``ollama``; a stream is joined as its users do it: content and calls append."""
    found = client.chat(model="m", messages=[{"role": "user", "content": "?"}], stream=streamed)
    parts: list[Any] = list(found) if streamed else [found]
    text = "".join(part.message.content or "" for part in parts)
    made = [call.function for part in parts for call in part.message.tool_calls or ()]
    content = [text] if text else []
    content += [called(function.name, dict(function.arguments)) for function in made]
    return Answer(tuple(content), parts[-1].done_reason, (parts[-1].prompt_eval_count, parts[-1].eval_count))


def read_bedrock(client: Any, streamed: bool) -> Answer:
    """``botocore``; a stream is added up as the API reference says."""
    ask: Json = {"modelId": "m", "messages": [{"role": "user", "content": [{"text": "?"}]}]}
    if streamed:
        return _added_up(client.converse_stream(**ask)["stream"])
    found = client.converse(**ask)
    usage, content = found["usage"], found["output"]["message"]["content"]
    return Answer(tuple(map(_block, content)), found["stopReason"], (usage["inputTokens"], usage["outputTokens"]))


def _block(block: Json) -> str:
    return block["text"] if "text" in block else called(block["toolUse"]["name"], block["toolUse"]["input"])


def _added_up(events: Iterable[Json]) -> Answer:
    blocks: dict[int, Json] = {}
    stop, usage = None, dict[str, int]()
    for event in events:
        (name, wire), *_ = event.items()
        if name == "contentBlockStart":
            blocks[wire["contentBlockIndex"]] = {"toolUse": {**wire["start"]["toolUse"], "input": ""}}
        elif name == "contentBlockDelta" and "text" in wire["delta"]:
            blocks.setdefault(wire["contentBlockIndex"], {"text": ""})["text"] += wire["delta"]["text"]
        elif name == "contentBlockDelta":
            blocks[wire["contentBlockIndex"]]["toolUse"]["input"] += wire["delta"]["toolUse"]["input"]
        stop, usage = wire.get("stopReason", stop), wire.get("usage", usage)
    for block in blocks.values():
        if "toolUse" in block:
            block["toolUse"]["input"] = json.loads(block["toolUse"]["input"] or "{}")
    return Answer(tuple(map(_block, blocks.values())), stop, (usage["inputTokens"], usage["outputTokens"]))


# ------------------------------------------------------------------------------------------------------- how to reach


def _anthropic(url: str) -> Any:
    return import_module("anthropic").Anthropic(api_key="k", base_url=url, max_retries=0)


def _openai(url: str) -> Any:
    return import_module("openai").OpenAI(api_key="k", base_url=f"{url}/v1", max_retries=0)


def _genai(url: str) -> Any:
    genai = import_module("google.genai")
    return genai.Client(api_key="k", vertexai=False, http_options=genai.types.HttpOptions(base_url=url))


def _ollama(url: str) -> Any:
    return import_module("ollama").Client(host=url, trust_env=False)


def _bedrock(url: str) -> Any:
    session = import_module("botocore.session").Session()
    session.set_credentials("AKIDEXAMPLE", "secret")
    config = import_module("botocore.config").Config(retries={"max_attempts": 0}, proxies={})
    return session.create_client("bedrock-runtime", region_name="us-east-1", endpoint_url=url, config=config)


Reader = Callable[[Any, bool], Answer]
CLIENTS: dict[str, tuple[Callable[[str], Any], Reader]] = {
    # dialect             the client    how it reads
    "anthropic-messages": (_anthropic, read_anthropic),
    "openai-chat": (_openai, read_chat),
    "openai-responses": (_openai, read_responses),
    "gemini": (_genai, read_gemini),
    "ollama": (_ollama, read_ollama),
    "bedrock-converse": (_bedrock, read_bedrock),
}


class Readers:
    """All six clients, and the server that sends them recorded answers. ``with Readers() as readers: …``"""

    def __init__(self) -> None:
        self._server = _Player()
        self._clients: dict[str, Any] = {}
        self._known: dict[tuple[str, bool, bytes], Answer] = {}

    def __enter__(self) -> Readers:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._clients.values():
            client.close()
        self._server.shutdown()
        self._server.server_close()

    def read(self, dialect: str, exchange: Exchange, *, streamed: bool, by: Reader | None = None) -> Answer:
        """A recorded answer as the vendor's client reads it; equal bytes are read once. ``by``: another reader."""
        key = (dialect, streamed, exchange.body)
        if key not in self._known:
            make, usual = CLIENTS[dialect]
            read = by or usual
            if dialect not in self._clients:
                self._clients[dialect] = make(self._server.url)
            self._server.answer = exchange
            try:
                self._known[key] = read(self._clients[dialect], streamed)
            except Exception as error:
                if _status(error) != exchange.status:
                    raise
                self._known[key] = Answer(status=exchange.status)
        return self._known[key]


def _status(error: Exception) -> int | None:
    """The HTTP status of an exception that a client raised."""
    answered: Json = getattr(error, "response", None)
    if isinstance(answered, dict):
        return answered["ResponseMetadata"]["HTTPStatusCode"]  # type: ignore[no-any-return]
    return getattr(error, "status_code", None) or getattr(error, "code", None)


class _Player(ThreadingHTTPServer):
    """Answers every request with a recorded answer, in small pieces."""

    daemon_threads = True
    answer: Exchange

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        assert isinstance(self.server, _Player)
        exchange = self.server.answer
        self.send_response(exchange.status)
        self.send_header("content-type", exchange.headers["content-type"])
        self.send_header("content-length", str(len(exchange.body)))
        self.end_headers()
        for start in range(0, len(exchange.body), 97):
            self.wfile.write(exchange.body[start : start + 97])

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

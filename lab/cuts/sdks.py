"""The official SDKs read a stream from loopback, and report the calls that they consider finished.

An error that the SDK raises ends the reading: this is how a user of the SDK learns that the answer broke off.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

import anthropic
import ollama
import openai
from botocore.config import Config
from botocore.exceptions import EventStreamError
from botocore.session import Session
from google import genai
from google.genai import errors as google_errors

from lab.cuts.state import call_key, dump

__all__ = ["SdkReaders", "sdk_readers"]

Found = dict[int, str]
"""The arguments of each call by its position in the answer."""
ASK: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "?"}]}
TYPES = {"ollama": "application/x-ndjson", "bedrock-converse": "application/vnd.amazon.eventstream"}


class Server(ThreadingHTTPServer):
    """Answers every request with the same bytes, over kept-alive connections."""

    daemon_threads = True
    answer: tuple[str, bytes] = ("", b"")


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        kind, body = cast("Server", self.server).answer
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""


class SdkReaders:
    """One client of each SDK, all speaking to one server."""

    def __init__(self, server: Server) -> None:
        url = f"http://127.0.0.1:{server.server_port}"
        self._server = server
        self._anthropic: Any = anthropic.Anthropic(api_key="k", base_url=url, max_retries=0)
        self._openai: Any = openai.OpenAI(api_key="k", base_url=url, max_retries=0)
        options = genai.types.HttpOptions(base_url=url)
        self._google: Any = genai.Client(api_key="k", vertexai=False, http_options=options)
        self._ollama: Any = ollama.Client(host=url, trust_env=False)
        session: Any = Session()
        session.set_credentials("AKIDEXAMPLE", "secret")
        self._bedrock: Any = session.create_client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=url,
            config=Config(retries={"max_attempts": 0}, proxies={}),
        )

    def close(self) -> None:
        for client in (self._anthropic, self._openai, self._google, self._ollama, self._bedrock):
            client.close()

    def read(self, dialect: str, body: bytes) -> Counter[str]:
        """The calls that the SDK of a dialect reports as finished."""
        self._server.answer = (TYPES.get(dialect, "text/event-stream"), body)
        found: Found = {}
        with suppress(*ERRORS):
            READERS[dialect](self, found)
        return Counter(map(call_key, found.values()))

    # Each method stores the arguments of a call when its SDK reports the call as finished.

    def messages(self, found: Found) -> None:
        with self._anthropic.messages.stream(max_tokens=100, **ASK) as stream:
            for event in stream:
                if event.type == "content_block_stop" and event.content_block.type == "tool_use":
                    found[event.index] = dump(event.content_block.input)

    def chat(self, found: Found) -> None:
        with self._openai.chat.completions.stream(**ASK) as stream:
            for event in stream:
                if event.type == "tool_calls.function.arguments.done":
                    found[event.index] = event.arguments

    def responses(self, found: Found) -> None:
        with self._openai.responses.stream(model="m", input="?") as stream:
            for event in stream:
                if event.type == "response.function_call_arguments.done":
                    found[event.output_index] = event.arguments
                elif event.type == "response.output_item.done" and event.item.type == "function_call":
                    found[event.output_index] = event.item.arguments
                elif event.type == "response.output_item.done" and event.item.type == "custom_tool_call":
                    found[event.output_index] = dump({"input": event.item.input})

    def gemini(self, found: Found) -> None:
        for chunk in self._google.models.generate_content_stream(model="m", contents="?"):
            for call in chunk.function_calls or ():
                if not call.will_continue:
                    found[len(found)] = dump(call.args or {})

    def ollama(self, found: Found) -> None:
        for chunk in self._ollama.chat(**ASK, stream=True):
            for call in chunk.message.tool_calls or ():
                found[len(found)] = dump(dict(call.function.arguments))

    def converse(self, found: Found) -> None:
        asked = self._bedrock.converse_stream(modelId="m", messages=[{"role": "user", "content": [{"text": "?"}]}])
        calls: dict[int, str] = {}
        for event in asked["stream"]:
            if "toolUse" in event.get("contentBlockStart", {}).get("start", {}):
                calls[event["contentBlockStart"]["contentBlockIndex"]] = ""
            elif "toolUse" in event.get("contentBlockDelta", {}).get("delta", {}):
                delta = event["contentBlockDelta"]
                calls[delta["contentBlockIndex"]] += delta["delta"]["toolUse"]["input"]
            elif (index := event.get("contentBlockStop", {}).get("contentBlockIndex")) in calls:
                found[index] = calls[index]


READERS: dict[str, Callable[[SdkReaders, Found], None]] = {
    "anthropic-messages": SdkReaders.messages,
    "openai-chat": SdkReaders.chat,
    "openai-responses": SdkReaders.responses,
    "gemini": SdkReaders.gemini,
    "ollama": SdkReaders.ollama,
    "bedrock-converse": SdkReaders.converse,
}
ERRORS = (
    anthropic.AnthropicError,
    openai.OpenAIError,
    google_errors.APIError,
    ollama.ResponseError,
    EventStreamError,
)


@contextmanager
def sdk_readers() -> Generator[SdkReaders, None, None]:
    """All SDKs, with a server for them."""
    with Server(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        readers = SdkReaders(server)
        try:
            yield readers
        finally:
            readers.close()
            server.shutdown()

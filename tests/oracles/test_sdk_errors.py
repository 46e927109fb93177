"""What official clients raise of our errors: their own exception, with our message, status and word."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from interlingua import (
    AdapterError,
    BlockStart,
    ErrorClass,
    InvalidRequestError,
    MessageStart,
    NetworkError,
    RateLimitError,
    ServerError,
    TextBlock,
    TextDelta,
    dialect,
    error_type,
)
from oracles.sdks import Answer, InMemory, Loopback, bedrock, gemini, ollama, want

ASK: list[dict[str, Any]] = [{"role": "user", "content": "?"}]


class Anthropic:
    name = "anthropic-messages"

    def ask(self, answer: Answer) -> None:
        client = InMemory(want("anthropic").Anthropic, *answer).client
        client.messages.create(model="m", max_tokens=9, messages=ASK)

    def hear(self, answer: Answer) -> Iterator[str]:
        client = InMemory(want("anthropic").Anthropic, *answer).client
        with client.messages.stream(model="m", max_tokens=9, messages=ASK) as stream:
            yield from stream.text_stream

    def sees(self, error: Any) -> tuple[int, str, str]:
        return error.status_code, error.type, error.api_message


class Chat:
    name = "openai-chat"

    def ask(self, answer: Answer) -> None:
        InMemory(want("openai").OpenAI, *answer).client.chat.completions.create(model="m", messages=ASK)

    def hear(self, answer: Answer) -> Iterator[str]:
        client = InMemory(want("openai").OpenAI, *answer).client
        for chunk in client.chat.completions.create(model="m", messages=ASK, stream=True):
            yield chunk.choices[0].delta.content or ""

    def sees(self, error: Any) -> tuple[int | None, str, str]:
        status = getattr(error, "status_code", None)  # an error inside a stream has none
        return status, error.code or error.type, error.body["message"]


class Responses(Chat):
    name = "openai-responses"

    def ask(self, answer: Answer) -> None:
        InMemory(want("openai").OpenAI, *answer).client.responses.create(model="m", input="?")


class Gemini:
    name = "gemini"

    def ask(self, answer: Answer) -> None:
        with Loopback(gemini, answer) as client:
            client.models.generate_content(model="m", contents="?")

    def hear(self, answer: Answer) -> Iterator[str]:
        with Loopback(gemini, answer) as client:
            for part in client.models.generate_content_stream(model="m", contents="?"):
                yield part.text or ""

    def sees(self, error: Any) -> tuple[int, str, str]:
        return error.code, error.status, error.message


class Ollama:
    name = "ollama"

    def ask(self, answer: Answer) -> None:
        with Loopback(ollama, answer) as client:
            client.chat(model="m", messages=ASK)

    def hear(self, answer: Answer) -> Iterator[str]:
        with Loopback(ollama, answer) as client:
            for part in client.chat(model="m", messages=ASK, stream=True):
                yield part.message.content or ""

    def sees(self, error: Any) -> tuple[int, str, str]:
        return error.status_code, "", error.error


class Bedrock:
    name = "bedrock-converse"

    def ask(self, answer: Answer) -> None:
        with Loopback(bedrock, answer) as client:
            client.converse(modelId="m", messages=[{"role": "user", "content": [{"text": "?"}]}])

    def sees(self, error: Any) -> tuple[int, str, str]:
        told = error.response["Error"]
        return error.response["ResponseMetadata"]["HTTPStatusCode"], told["Code"], told["Message"]


ANTHROPIC, CHAT, RESPONSES, GEMINI, OLLAMA, BEDROCK = Anthropic(), Chat(), Responses(), Gemini(), Ollama(), Bedrock()
SPENT = "no credit"

# our class, or a message of a limit that no waiting lifts: the client, its exception, the status and its word
# fmt: off
RAISED: list[tuple[Any, ErrorClass | str, str, int, str]] = [
    (ANTHROPIC, ErrorClass.rate_limit,       "RateLimitError",        429, "rate_limit_error"),
    (ANTHROPIC, SPENT,                       "PaymentRequiredError",  402, "billing_error"),
    (ANTHROPIC, ErrorClass.auth,             "AuthenticationError",   401, "authentication_error"),
    (ANTHROPIC, ErrorClass.server_error,     "InternalServerError",   500, "api_error"),
    (ANTHROPIC, ErrorClass.network,          "InternalServerError",   500, "api_error"),
    (ANTHROPIC, ErrorClass.timeout,          "GatewayTimeoutError",   504, "timeout_error"),
    (ANTHROPIC, ErrorClass.context_overflow, "ContentTooLargeError",  413, "request_too_large"),
    (ANTHROPIC, ErrorClass.invalid_request,  "BadRequestError",       400, "invalid_request_error"),
    (ANTHROPIC, ErrorClass.tool_error,       "BadRequestError",       400, "invalid_request_error"),
    (ANTHROPIC, ErrorClass.cancelled,        "InternalServerError",   500, "api_error"),
    (ANTHROPIC, ErrorClass.other,            "InternalServerError",   500, "api_error"),
    (CHAT,      ErrorClass.rate_limit,       "RateLimitError",        429, "rate_limit_exceeded"),
    (CHAT,      SPENT,                       "RateLimitError",        429, "insufficient_quota"),
    (CHAT,      ErrorClass.auth,             "AuthenticationError",   401, "invalid_api_key"),
    (CHAT,      ErrorClass.server_error,     "InternalServerError",   500, "server_error"),
    (CHAT,      ErrorClass.network,          "InternalServerError",   500, "server_error"),
    (CHAT,      ErrorClass.timeout,          "APIStatusError",        408, "timeout"),
    (CHAT,      ErrorClass.context_overflow, "BadRequestError",       400, "context_length_exceeded"),
    (CHAT,      ErrorClass.invalid_request,  "BadRequestError",       400, "invalid_request_error"),
    (CHAT,      ErrorClass.tool_error,       "BadRequestError",       400, "invalid_request_error"),
    (CHAT,      ErrorClass.cancelled,        "InternalServerError",   500, "server_error"),
    (CHAT,      ErrorClass.other,            "InternalServerError",   500, "server_error"),
    (RESPONSES, ErrorClass.rate_limit,       "RateLimitError",        429, "rate_limit_exceeded"),
    (RESPONSES, SPENT,                       "RateLimitError",        429, "insufficient_quota"),
    (RESPONSES, ErrorClass.auth,             "AuthenticationError",   401, "invalid_api_key"),
    (RESPONSES, ErrorClass.server_error,     "InternalServerError",   500, "server_error"),
    (RESPONSES, ErrorClass.context_overflow, "BadRequestError",       400, "context_length_exceeded"),
    (RESPONSES, ErrorClass.invalid_request,  "BadRequestError",       400, "invalid_request_error"),
    (GEMINI,    ErrorClass.rate_limit,       "ClientError",           429, "RESOURCE_EXHAUSTED"),
    (GEMINI,    ErrorClass.auth,             "ClientError",           401, "UNAUTHENTICATED"),
    (GEMINI,    ErrorClass.server_error,     "ServerError",           500, "INTERNAL"),
    (GEMINI,    ErrorClass.context_overflow, "ClientError",           413, "INVALID_ARGUMENT"),
    (GEMINI,    ErrorClass.invalid_request,  "ClientError",           400, "INVALID_ARGUMENT"),
    (OLLAMA,    ErrorClass.rate_limit,       "ResponseError",         429, ""),
    (OLLAMA,    SPENT,                       "ResponseError",         402, ""),
    (OLLAMA,    ErrorClass.auth,             "ResponseError",         401, ""),
    (OLLAMA,    ErrorClass.server_error,     "ResponseError",         500, ""),
    (OLLAMA,    ErrorClass.context_overflow, "ResponseError",         413, ""),
    (OLLAMA,    ErrorClass.invalid_request,  "ResponseError",         400, ""),
    (BEDROCK,   ErrorClass.rate_limit,       "ThrottlingException",   429, "ThrottlingException"),
    (BEDROCK,   ErrorClass.auth,             "AccessDeniedException", 403, "AccessDeniedException"),
    (BEDROCK,   ErrorClass.server_error,     "InternalServerException", 500, "InternalServerException"),
    (BEDROCK,   ErrorClass.timeout,          "ModelTimeoutException", 408, "ModelTimeoutException"),
    (BEDROCK,   ErrorClass.context_overflow, "ValidationException",   400, "ValidationException"),
    (BEDROCK,   ErrorClass.invalid_request,  "ValidationException",   400, "ValidationException"),
]
# fmt: on


def raised(ask: Callable[[], object]) -> Any:
    """What a client raises, whichever its exceptions are."""
    with pytest.raises(Exception) as caught:  # noqa: PT011, the caller looks at it
        ask()
    return caught.value


@pytest.mark.parametrize(
    ("sdk", "of", "exception", "status", "word"), RAISED, ids=[f"{row[0].name}: {row[1]}" for row in RAISED]
)
def test_an_error_is_their_exception(sdk: Any, of: ErrorClass | str, exception: str, status: int, word: str) -> None:
    error: AdapterError = RateLimitError(SPENT, retryable=False)
    if isinstance(of, ErrorClass):
        words = "prompt is too long" if of is ErrorClass.context_overflow else "it broke"
        error = error_type(of)(words, request_id="req_9", retry_after=7)
    wire = dialect(sdk.name).encode_error(error)
    found = raised(lambda: sdk.ask((wire.status, wire.headers, wire.body)))
    assert type(found).__name__ == exception
    assert sdk.sees(found) == (status, word, error.message)
    if error.request_id and sdk in (ANTHROPIC, CHAT, RESPONSES):
        assert found.request_id == "req_9"
        assert found.response.headers["retry-after"] == "7"
    again = dialect(sdk.name).decode_error(wire.status, wire.headers, wire.body)
    alike = {row[1] for row in RAISED if row[0] is sdk and row[3:] == (status, word)} - {SPENT}
    assert again.error_class in (alike or {error.error_class})


# The client, what fails in the middle of its stream, and the status and word that it tells.
FAILURES: list[tuple[Any, AdapterError, int | None, str]] = [
    (ANTHROPIC, ServerError("upstream died"), 200, "api_error"),
    (ANTHROPIC, RateLimitError("slow down"), 200, "rate_limit_error"),
    (ANTHROPIC, NetworkError("the stream was cut"), 200, "api_error"),
    (CHAT, ServerError("upstream died"), None, "server_error"),
    (CHAT, RateLimitError("slow down"), None, "rate_limit_exceeded"),
    (CHAT, NetworkError("the stream was cut"), None, "server_error"),
    (GEMINI, ServerError("upstream died"), 500, "INTERNAL"),
    (GEMINI, InvalidRequestError("no"), 400, "INVALID_ARGUMENT"),
    (OLLAMA, ServerError("upstream died"), -1, ""),
]


@pytest.mark.parametrize(
    ("sdk", "failure", "status", "word"), FAILURES, ids=[f"{row[0].name}: {row[1]}" for row in FAILURES]
)
def test_a_stream_that_fails_midway_raises(sdk: Any, failure: AdapterError, status: int | None, word: str) -> None:
    encoder = dialect(sdk.name).stream_encoder()
    events = [MessageStart("msg_1", "m"), BlockStart(0, TextBlock("")), TextDelta(0, "par")]
    body = b"".join(map(encoder.feed, events)) + encoder.fail(failure) + encoder.close()
    heard: list[str] = []
    kind = "application/x-ndjson" if sdk is OLLAMA else "text/event-stream"
    found = raised(lambda: heard.extend(sdk.hear((200, {"content-type": kind}, body))))
    assert "".join(heard) == "par"
    assert sdk.sees(found) == (status, word, failure.message)
    assert b"[DONE]" not in body

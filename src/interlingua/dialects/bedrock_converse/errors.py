"""Errors, read left to right to decode and right to left to encode, and what a request must have.

The word is in the header ``x-amzn-errortype``, the body is ``{message}``. In a stream, an exception frame has
the word as ``:exception-type``, in camel case; errors that have no exception frame are sent as error frames.

Residue of an error: ``body`` and ``errortype`` as they were read.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...codec.bodies.error_bodies import Headers, WireErrors, first_header, message_of, parse_body
from ...codec.bodies.error_tables import ErrorRow
from ...codec.bodies.validate import INTEGER, NUMBER, OBJECT, OBJECTS, TEXT, Check, Complaint, Pairs, Requirements, dots
from ...codec.framing import Frame, encode_frame
from ...codec.json import Wire, is_object
from ...codec.paths import merge
from ...codec.streams.stream import dump
from ...errors import AdapterError, ContextOverflowError, OverloadedError, RateLimitError, ToolStateError
from ...types.base import Json
from ...types.loss import WireError
from ...types.words import ErrorClass
from .facts import NAME

# Classes of errors that have no word of their own: the message must contain one of these sentences.
PHRASES = {
    ErrorClass.context_overflow: "Input is too long for requested model.",
    ErrorClass.tool_error: "No tool call found.",
}
IN_STREAM = frozenset(
    {
        "InternalServerException",
        "ModelStreamErrorException",
        "ValidationException",
        "ThrottlingException",
        "ServiceUnavailableException",
    }
)
LONGEST_HEADER = 32_000  # bytes; the framing's own limit is 32,767


class BedrockErrors(WireErrors):
    def decode(
        self, status: int | None, headers: Headers | None, body: bytes | str | Json, provider: str | None
    ) -> AdapterError:
        wire = parse_body(body)
        header = first_header(headers, "x-amzn-errortype")
        rest: Wire = dict(wire) if is_object(wire) else {"text": wire}
        word = _word(header) or _word(rest.get("__type")) or _word(rest.get("code"))
        message = next((rest.pop(key) for key in ("message", "Message") if isinstance(rest.get(key), str)), None)
        residue: Wire = {"body": rest}
        if header is not None:
            residue["errortype"] = header
        if is_object(wire) and "message" not in wire and "Message" in wire:
            residue["key"] = "Message"
        if message is None:
            message = message_of(wire)
            residue["key"] = None
        error = self.make(
            status, headers, words=(word,), message=message,
            provider=provider, request_id=first_header(headers, "x-amzn-requestid"), extras={NAME: residue},
        )  # fmt: skip
        error.provider_code = word
        return error

    def body(self, error: AdapterError) -> Wire:
        residue = error.extras.get(NAME)
        if residue is None or residue["body"].keys() == {"text"}:
            return {"message": self.message(error)}
        key = residue.get("key", "message")
        body: Wire = {} if key is None else {key: error.provider_message or ""}
        return merge(body, residue["body"])

    def encode(self, error: AdapterError) -> WireError:
        residue = error.extras.get(NAME)
        kind = self.row_for(error).word if residue is None else residue.get("errortype")
        body = residue["body"] if residue is not None and residue.get("key", "") is None else None
        return self.answer(error, body, {"x-amzn-errortype": kind, "x-amzn-requestid": error.request_id})

    def message(self, error: AdapterError) -> str:
        """The message, with a phrase of ``PHRASES`` before it if it must tell the class of the error and does not."""
        message = error.provider_message or error.message
        phrase, row = PHRASES.get(error.error_class), self.row_for(error)
        if phrase is None or self.classify(row.status, (row.word,), message)[0].default_class is error.error_class:
            return message
        return f"{phrase} {message}".strip()


ERRORS = BedrockErrors(
    NAME,
    # status      wire word                      canonical, where the status does not say it
    ErrorRow(500, "InternalServerException"),
    ErrorRow(503, "ServiceUnavailableException", OverloadedError),
    ErrorRow(424, "ModelErrorException"),
    ErrorRow(424, "ModelStreamErrorException"),
    ErrorRow(400, "ValidationException"),
    ErrorRow(404, "ResourceNotFoundException"),
    ErrorRow(400, "ValidationException",         ContextOverflowError),
    ErrorRow(400, "ValidationException",         ToolStateError),
    ErrorRow(403, "AccessDeniedException"),
    ErrorRow(403, "UnrecognizedClientException"),
    ErrorRow(403, "ExpiredTokenException"),
    ErrorRow(403, "InvalidSignatureException"),
    ErrorRow(403, "MissingAuthenticationTokenException"),
    ErrorRow(403, "IncompleteSignatureException"),
    ErrorRow(429, "ThrottlingException"),
    ErrorRow(429, "ModelNotReadyException"),
    ErrorRow(400, "ServiceQuotaExceededException", RateLimitError, False),
    ErrorRow(408, "ModelTimeoutException"),
)  # fmt: skip


def _word(name: Json) -> str | None:
    """The exception's name, without the namespaces that may stand before and behind it."""
    return name.partition(":")[0].rpartition("#")[2] if isinstance(name, str) and name else None


def decode_frame_error(frame: Frame, provider: str | None) -> AdapterError:
    """Read an exception frame, or an error frame, which has its word and its message in headers."""
    headers = frame.headers
    if ":exception-type" in headers:
        word = str(headers[":exception-type"])
        return ERRORS.decode(None, {"x-amzn-errortype": word[:1].upper() + word[1:]}, frame.payload, provider)
    body = {"message": str(headers.get(":error-message", ""))}
    return ERRORS.decode(None, {"x-amzn-errortype": str(headers.get(":error-code", ""))}, body, provider)


def encode_frame_error(error: AdapterError) -> bytes:
    residue = error.extras.get(NAME, {})
    word = _word(residue.get("errortype")) or ERRORS.row_for(error).word
    if word in IN_STREAM:
        name = word[:1].lower() + word[1:]
        headers = {":exception-type": name, ":content-type": "application/json", ":message-type": "exception"}
        return encode_frame(headers, dump(ERRORS.body(error)))
    message = ERRORS.message(error).encode()[:LONGEST_HEADER].decode("utf-8", "ignore")
    return encode_frame({":error-code": word, ":error-message": message, ":message-type": "error"}, b"")


# ---------------------------------------------------------------------------------------- what a request must have

BLOCK, CONFIG = "messages.*.content.*", "inferenceConfig"


def require_messages(body: Wire) -> Iterator[Complaint]:
    """Require messages, unless a stored prompt has them."""
    if not body.get("messages") and not body.get("promptVariables"):
        yield Complaint(("messages",), "missing", OBJECTS)


REQUIREMENTS = Requirements(
    NAME,
    Check("messages",                       (OBJECTS,)),  # a stored prompt may have them
    Check("messages.*",                     (OBJECT,), needed=True),
    Check("messages.*.role",                (TEXT,), needed=True, words=("user", "assistant", "system")),
    Check("messages.*.content",             (OBJECTS,), needed=True),
    Check(BLOCK,                            (OBJECT,), needed=True),
    Check(f"{BLOCK}.text",                  (TEXT,)),
    Check(f"{BLOCK}.image",                 (OBJECT,)),
    Check(f"{BLOCK}.document",              (OBJECT,)),
    Check(f"{BLOCK}.toolUse",               (OBJECT,)),
    Check(f"{BLOCK}.toolUse.toolUseId",     (TEXT,), needed=True),
    Check(f"{BLOCK}.toolUse.name",          (TEXT,), needed=True),
    Check(f"{BLOCK}.toolResult",            (OBJECT,)),
    Check(f"{BLOCK}.toolResult.toolUseId",  (TEXT,), needed=True),
    Check(f"{BLOCK}.toolResult.content",    (OBJECTS, OBJECT), needed=True),  # an object: a server tool's
    Check("system",                         (OBJECTS,)),
    Check("system.*",                       (OBJECT,), needed=True),
    Check(CONFIG,                           (OBJECT,)),
    Check(f"{CONFIG}.maxTokens",            (INTEGER,)),
    Check(f"{CONFIG}.temperature",          (NUMBER,)),
    Check(f"{CONFIG}.topP",                 (NUMBER,)),
    Check("toolConfig",                     (OBJECT,)),
    Check("toolConfig.tools",               (OBJECTS,), needed=True),
    Check("toolConfig.tools.*",             (OBJECT,), needed=True),
    Check("toolConfig.tools.*.toolSpec",    (OBJECT,)),
    Check("toolConfig.tools.*.toolSpec.name", (TEXT,), needed=True),
    Check("toolConfig.toolChoice",          (OBJECT,)),
    Check("additionalModelRequestFields",   (OBJECT,)),
    more=require_messages,
    pairs=Pairs(
        "messages", calls=("*.content.*.toolUse.toolUseId",), results=("*.content.*.toolResult.toolUseId",),
        hosted="type",
    ),
    sentences={fault: f"The value at {{place}} is not valid: {problem}" for fault, problem in {
        "missing": "required, and expected to be {expected}",
        "type": "expected {expected}, got {got}",
        "value": "expected one of {expected}, got {got}",
        "no call": "toolResult for the toolUseId {got!r}, but no toolUse before it has that id",
        "no result": "toolUse with the toolUseId {got!r}, but no toolResult for it in the next turn",
    }.items()},
    spell=lambda path: dots(path) or "the body",
    refusal=lambda message, wrong: ({"body": {}, "errortype": "ValidationException"}, "ValidationException"),
)  # fmt: skip

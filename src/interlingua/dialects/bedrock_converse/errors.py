"""Errors: read left to right to decode, right to left to encode.

The word is in the header ``x-amzn-errortype``, the body is ``{message}``. In a stream an exception frame has it as
``:exception-type``, in camel case; what the stream's model does not name goes as an error frame.

Residue of an error: ``body`` and ``errortype`` as they were.

``validate_request`` raises what the service would answer to a request that it cannot take.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...codec.error_tables import ErrorRow, ErrorTable, first_header, make_error, parse_body, text_of, wire_error
from ...codec.framing import Frame, encode_frame
from ...codec.json import Wire, is_object
from ...codec.paths import merge
from ...codec.stream import dump
from ...codec.validate import (
    INTEGER,
    NUMBER,
    OBJECT,
    OBJECTS,
    TEXT,
    Calls,
    Complaint,
    Field,
    dots,
    first_complaint,
    refused,
    unpaired,
)
from ...errors import (
    AdapterError,
    AuthError,
    ContextOverflowError,
    InvalidRequestError,
    OverloadedError,
    RateLimitError,
    RequestTimeoutError,
    ServerError,
    ToolStateError,
)
from ...types.base import Json
from ...types.loss import WireError
from ...types.words import ErrorClass
from .facts import NAME

ERRORS = ErrorTable(
    # status      wire word                      canonical                   retry
    ErrorRow(500, "InternalServerException",     ServerError),
    ErrorRow(503, "ServiceUnavailableException", OverloadedError),
    ErrorRow(424, "ModelErrorException",         ServerError),
    ErrorRow(424, "ModelStreamErrorException",   ServerError),
    ErrorRow(400, "ValidationException",         InvalidRequestError),
    ErrorRow(404, "ResourceNotFoundException",   InvalidRequestError),
    ErrorRow(400, "ValidationException",         ContextOverflowError),
    ErrorRow(400, "ValidationException",         ToolStateError),
    ErrorRow(403, "AccessDeniedException",       AuthError),
    ErrorRow(403, "UnrecognizedClientException", AuthError),
    ErrorRow(403, "ExpiredTokenException",       AuthError),
    ErrorRow(403, "InvalidSignatureException",   AuthError),
    ErrorRow(403, "MissingAuthenticationTokenException", AuthError),
    ErrorRow(403, "IncompleteSignatureException", AuthError),
    ErrorRow(429, "ThrottlingException",         RateLimitError),
    ErrorRow(429, "ModelNotReadyException",      RateLimitError),
    ErrorRow(400, "ServiceQuotaExceededException", RateLimitError, False),
    ErrorRow(408, "ModelTimeoutException",       RequestTimeoutError),
)  # fmt: skip
# What the message must speak of, since no word does.
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


def decode_error(
    status: int | None, headers: Mapping[str, str] | None, body: Json, provider: str | None
) -> AdapterError:
    wire = parse_body(body)
    told = first_header(headers, "x-amzn-errortype")
    rest: Wire = dict(wire) if is_object(wire) else {"text": wire}
    word = _word(told) or _word(rest.get("__type")) or _word(rest.get("code"))
    message = next((rest.pop(key) for key in ("message", "Message") if isinstance(rest.get(key), str)), None)
    residue: Wire = {"body": rest}
    if told is not None:
        residue["errortype"] = told
    if is_object(wire) and "message" not in wire and "Message" in wire:
        residue["key"] = "Message"
    if message is None:
        message = text_of(wire)
        residue["key"] = None
    error = make_error(
        ERRORS, status, headers, words=(word,), message=message,
        provider=provider, request_id=first_header(headers, "x-amzn-requestid"), extras={NAME: residue},
    )  # fmt: skip
    error.provider_code = word
    return error


def _word(told: Json) -> str | None:
    """The exception's name, without the namespaces that may stand before and behind it."""
    return told.partition(":")[0].rpartition("#")[2] if isinstance(told, str) and told else None


def encode_error_body(error: AdapterError) -> Wire:
    residue = error.extras.get(NAME)
    if residue is None or residue["body"].keys() == {"text"}:
        return {"message": _message(error)}
    key = residue.get("key", "message")
    body: Wire = {} if key is None else {key: error.provider_message or ""}
    return merge(body, residue["body"])


def _message(error: AdapterError) -> str:
    """The message; where it alone can tell the class, and does not, a phrase that does stands before it."""
    message = error.provider_message or error.message
    phrase, row = PHRASES.get(error.error_class), ERRORS.row_for(error)
    if phrase is None or ERRORS.classify(row.status, (row.word,), message)[0].default_class is error.error_class:
        return message
    return f"{phrase} {message}".strip()


def encode_error(error: AdapterError) -> WireError:
    residue = error.extras.get(NAME)
    kind = ERRORS.row_for(error).word if residue is None else residue.get("errortype")
    came = residue["body"] if residue is not None and residue.get("key", "") is None else None
    return wire_error(
        ERRORS, error, NAME, came, encode_error_body,
        x_amzn_errortype=kind, x_amzn_requestid=error.request_id,
    )  # fmt: skip


def decode_frame_error(frame: Frame, provider: str | None) -> AdapterError:
    """An exception frame, or an error frame, whose word and message are headers."""
    headers = frame.headers
    if ":exception-type" in headers:
        word = str(headers[":exception-type"])
        return decode_error(None, {"x-amzn-errortype": word[:1].upper() + word[1:]}, frame.payload, provider)
    told = {"message": str(headers.get(":error-message", ""))}
    return decode_error(None, {"x-amzn-errortype": str(headers.get(":error-code", ""))}, told, provider)


def encode_frame_error(error: AdapterError) -> bytes:
    residue = error.extras.get(NAME, {})
    word = _word(residue.get("errortype")) or ERRORS.row_for(error).word
    if word in IN_STREAM:
        name = word[:1].lower() + word[1:]
        headers = {":exception-type": name, ":content-type": "application/json", ":message-type": "exception"}
        return encode_frame(headers, dump(encode_error_body(error)))
    message = _message(error).encode()[:LONGEST_HEADER].decode("utf-8", "ignore")
    return encode_frame({":error-code": word, ":error-message": message, ":message-type": "error"}, b"")


# ---------------------------------------------------------------------------------------------------------- validation

BLOCK, CONFIG = "messages.*.content.*", "inferenceConfig"
# fmt: off
FIELDS = (
    Field("messages",                       (OBJECTS,)),  # a stored prompt may have them
    Field("messages.*",                     (OBJECT,), needed=True),
    Field("messages.*.role",                (TEXT,), needed=True, words=("user", "assistant", "system")),
    Field("messages.*.content",             (OBJECTS,), needed=True),
    Field(BLOCK,                            (OBJECT,), needed=True),
    Field(f"{BLOCK}.text",                  (TEXT,)),
    Field(f"{BLOCK}.image",                 (OBJECT,)),
    Field(f"{BLOCK}.document",              (OBJECT,)),
    Field(f"{BLOCK}.toolUse",               (OBJECT,)),
    Field(f"{BLOCK}.toolUse.toolUseId",     (TEXT,), needed=True),
    Field(f"{BLOCK}.toolUse.name",          (TEXT,), needed=True),
    Field(f"{BLOCK}.toolResult",            (OBJECT,)),
    Field(f"{BLOCK}.toolResult.toolUseId",  (TEXT,), needed=True),
    Field(f"{BLOCK}.toolResult.content",    (OBJECTS, OBJECT), needed=True),  # an object: a server tool's
    Field("system",                         (OBJECTS,)),
    Field("system.*",                       (OBJECT,), needed=True),
    Field(CONFIG,                           (OBJECT,)),
    Field(f"{CONFIG}.maxTokens",            (INTEGER,)),
    Field(f"{CONFIG}.temperature",          (NUMBER,)),
    Field(f"{CONFIG}.topP",                 (NUMBER,)),
    Field("toolConfig",                     (OBJECT,)),
    Field("toolConfig.tools",               (OBJECTS,), needed=True),
    Field("toolConfig.tools.*",             (OBJECT,), needed=True),
    Field("toolConfig.tools.*.toolSpec",    (OBJECT,)),
    Field("toolConfig.tools.*.toolSpec.name", (TEXT,), needed=True),
    Field("toolConfig.toolChoice",          (OBJECT,)),
    Field("additionalModelRequestFields",   (OBJECT,)),
)
# fmt: on
ORDER = {
    "no tool call found": "toolResult for the toolUseId {!r}, but no toolUse before it has that id",
    "no tool result found": "toolUse with the toolUseId {!r}, but no toolResult for it in the next turn",
}
PAIRED = {"toolUse": 0, "toolResult": 1}


def validate_request(body: Json) -> None:
    """Raise what the vendor would answer to a body that it cannot take."""
    wrong = first_complaint(body, FIELDS, _order)
    if wrong is not None:
        raise _refusal(wrong)


def _refusal(wrong: Complaint) -> InvalidRequestError:
    said = {
        "missing": f"required, and expected to be {wrong.expected}",
        "type": f"expected {wrong.expected}, got {wrong.got}",
        "value": f"expected one of {wrong.expected}, got {wrong.got}",
        "order": ORDER.get(wrong.expected, "").format(wrong.got),
    }[wrong.fault]
    message = f"The value at {dots(wrong.path) or 'the body'} is not valid: {said}"
    # As decode_error would have read it: the message is a part of the error itself.
    return refused(NAME, message, {"body": {}, "errortype": "ValidationException"}, "ValidationException")


def _order(body: Wire) -> Iterator[Complaint]:
    messages: list[Wire] = body.get("messages") or []
    if not messages and not body.get("promptVariables"):
        yield Complaint(("messages",), "missing", OBJECTS)
    yield from unpaired(map(_turn, range(len(messages)), messages))


def _turn(index: int, message: Wire) -> Calls:
    turn = Calls({}, {})
    for place, block in enumerate(message["content"]):
        for key, side in PAIRED.items():
            if is_object(block.get(key)) and block[key].get("type") is None:  # a server's own call has one
                turn[side][block[key]["toolUseId"]] = ("messages", index, "content", place, key, "toolUseId")
    return turn

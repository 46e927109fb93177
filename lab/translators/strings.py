"""The long strings of a body that a reader of the conversation could miss, and whether another body says them."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import Any

from lab.oracles.leaves import is_array, is_object

__all__ = ["LONG", "missing", "proofs", "said", "strings"]

LONG = 12
"""Characters of a long string."""

Place = tuple[str | int, ...]

WORDS = frozenset(
    "type object include category threshold format service_tier anthropic_version detail role phase".split()
    + "mimeType mime_type media_type responseMimeType response_mime_type responseModalities $ref $schema".split()
)
"""Keys of words of a protocol, of JSON Schema and of media types: each protocol has its own for the same."""
IDS = frozenset(
    "model id call_id tool_call_id tool_use_id toolUseId previous_response_id approval_request_id responseId".split()
)
"""Keys of models, of calls and of what a server holds: rewritten where the target has another rule."""
PROOFS = frozenset({"signature", "encrypted_content", "thoughtSignature", "thought_signature", "encrypted_index"})
"""Keys of what only its issuer can read; it must not go to anybody else."""

BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")


def leaves(value: Any, place: Place = ()) -> Iterator[tuple[Place, str]]:
    """The strings of a JSON value with their places."""
    if isinstance(value, str):
        yield place, value
    elif is_object(value):
        for key in value:
            yield from leaves(value[key], (*place, key))
    elif is_array(value):
        for index, element in enumerate(value):
            yield from leaves(element, (*place, index))


def hosted_names(value: Any) -> Iterator[str]:
    """The names of hosted tools, which their types say too."""
    for tool in value.get("tools") or () if is_object(value) else ():
        name, kind = (tool.get("name"), tool.get("type")) if is_object(tool) else (None, None)
        if isinstance(name, str) and isinstance(kind, str) and kind.startswith(name):
            yield name


def key_of(place: Place) -> str:
    """The name under which a string stands; a string of an array stands under the array's."""
    return next((step for step in reversed(place) if isinstance(step, str)), "")


def strings(body: Any) -> list[tuple[Place, str]]:
    """What must be said again: long strings, but for words of the protocol, ids and proofs."""
    skipped, words = WORDS | IDS | PROOFS, {*hosted_names(body)}
    return [
        (place, text)
        for place, text in leaves(body)
        if len(text) >= LONG and key_of(place) not in skipped and text not in words
    ]


def proofs(body: Any) -> list[str]:
    """What only its issuer can read."""
    return [text for place, text in leaves(body) if len(text) >= LONG and key_of(place) in PROOFS]


def said(body: Any) -> str:
    """All that a body says, keys included; JSON within strings is opened."""
    return "\0".join(texts(body))


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
        yield from texts(opened(value)) if value[:1] in ("{", "[") else ()
    elif is_object(value):
        for key in value:
            yield str(key)
            yield from texts(value[key])
    elif is_array(value):
        for element in value:
            yield from texts(element)


def opened(text: str) -> Any:
    """The JSON array or object that a string holds, else nothing."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def missing(text: str, told: str) -> bool:
    """Whether a string is said nowhere: not as it stands, not as the JSON or the bytes that it holds."""
    if text in told or _apart(text, told):
        return False
    if text.startswith("data:") and "," in text:
        return missing(text.partition(",")[2], told)
    if text[:1] in ("{", "[") and (value := opened(text)) is not None:
        return any(missing(leaf, told) for _, leaf in leaves(value) if len(leaf) >= LONG)
    return not (BASE64.fullmatch(text) and _as_bytes(text, told))


def _apart(text: str, told: str) -> bool:
    """A text may be sent in pieces, or without blanks at its ends."""
    return text.strip() in told


def _as_bytes(text: str, told: str) -> bool:
    """Base64 has two alphabets, and the bytes may be a text."""
    plain = text.replace("-", "+").replace("_", "/").rstrip("=")
    if plain in told:
        return True
    try:
        decoded = base64.b64decode(plain + "=" * (-len(plain) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return plain in told.replace("-", "+").replace("_", "/")
    return decoded.strip() in told

"""The long strings of a body that matter to the conversation, and whether another body has them."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import Any

from lab.oracles.leaves import is_array, is_object

__all__ = ["LONG", "missing", "proofs", "all_text", "strings"]

LONG = 12
"""The least number of characters of a long string."""

Place = tuple[str | int, ...]

WORDS = frozenset(
    "type object include category threshold format service_tier anthropic_version detail role phase".split()
    + "mimeType mime_type media_type responseMimeType response_mime_type responseModalities $ref $schema".split()
)
"""Keys whose values are words of a protocol, of JSON Schema or media types: each protocol has its own words."""
IDS = frozenset(
    "model id call_id tool_call_id tool_use_id toolUseId previous_response_id approval_request_id responseId".split()
)
"""Keys whose values are ids: translators may rewrite them, because each protocol has its own rule."""
PROOFS = frozenset({"signature", "encrypted_content", "thoughtSignature", "thought_signature", "encrypted_index"})
"""Keys whose values only their issuer can read; they must not be sent to another provider."""

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
    """The names of hosted tools whose type begins with the name."""
    for tool in value.get("tools") or () if is_object(value) else ():
        name, kind = (tool.get("name"), tool.get("type")) if is_object(tool) else (None, None)
        if isinstance(name, str) and isinstance(kind, str) and kind.startswith(name):
            yield name


def key_of(place: Place) -> str:
    """The key of a string; strings of an array have the key of the array."""
    return next((step for step in reversed(place) if isinstance(step, str)), "")


def strings(body: Any) -> list[tuple[Place, str]]:
    """The strings that a translation must keep: long ones, except words of the protocol, ids and proofs."""
    skipped, words = WORDS | IDS | PROOFS, {*hosted_names(body)}
    return [
        (place, text)
        for place, text in leaves(body)
        if len(text) >= LONG and key_of(place) not in skipped and text not in words
    ]


def proofs(body: Any) -> list[str]:
    """The strings that only their issuer can read."""
    return [text for place, text in leaves(body) if len(text) >= LONG and key_of(place) in PROOFS]


def all_text(body: Any) -> str:
    """All text of a body, keys included, and that of JSON inside its strings."""
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
    """The JSON value that a string holds; None if it is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def missing(text: str, target: str) -> bool:
    """Whether a text has a string in no form: not as it is, and not as the JSON or the bytes that it holds."""
    if text in target or _apart(text, target):
        return False
    if text.startswith("data:") and "," in text:
        return missing(text.partition(",")[2], target)
    if text[:1] in ("{", "[") and (value := opened(text)) is not None:
        return any(missing(leaf, target) for _, leaf in leaves(value) if len(leaf) >= LONG)
    return not (BASE64.fullmatch(text) and _as_bytes(text, target))


def _apart(text: str, target: str) -> bool:
    """Whether the string is there without blanks at its ends."""
    return text.strip() in target


def _as_bytes(text: str, target: str) -> bool:
    """Whether base64 data are there in either alphabet, or as the text that they encode."""
    plain = text.replace("-", "+").replace("_", "/").rstrip("=")
    if plain in target:
        return True
    try:
        decoded = base64.b64decode(plain + "=" * (-len(plain) % 4)).decode()
    except (binascii.Error, UnicodeDecodeError):
        return plain in target.replace("-", "+").replace("_", "/")
    return decoded.strip() in target

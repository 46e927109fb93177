"""Removing keys from recordings. Only headers on a list of harmless ones are kept, so no new kind of key is kept."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import msgspec

from ...client.addressing import KEY_PARAMETERS, SHORTEST_KEY
from ...client.http import HttpRequest
from ...client.secrets import MASK
from ...codec.json import is_array, is_object
from ...types.base import Json

__all__ = ["Scrubber"]

HARMLESS = frozenset(
    {"content-type", "accept", "anthropic-version", "anthropic-beta", "openai-beta", "x-should-retry", "retry-after-ms"}
    | {"retry-after", "date", "x-amzn-errortype", "request-id", "x-request-id", "x-amzn-requestid"}
)
"""Headers that are recorded. Any other header of a request is masked, any other of an answer is left out."""

NOISE = frozenset({"user-agent", "content-length", "host", "connection", "accept-encoding"})
MORE_KEY_WORDS = KEY_PARAMETERS | {"sig", "signature", "secret", "password", "x-amz-signature", "x-amz-security-token"}
KEY_HEADERS = re.compile("auth|key|token|secret|cookie|signature|credential|password")
BODY_KEYS = re.compile(
    r"^(api[-_]?key|key|token|secret|password)$|(api[-_]?key|[-_](secret|password|auth|token))$", re.IGNORECASE
)
KEY_LIKE = re.compile(r"(?=.*\d)\S+")
"""Text without spaces and with a digit: any other might be a word that answers contain by chance."""


class Scrubber:
    """Learns keys from where they are sent, and masks them everywhere.

    A key is the value of a header that is not harmless, or of a field of a body that is named like a key. ``secrets``
    are further strings to mask. ``aliases`` rename hosts: ``{"http://127.0.0.1:41234": "http://llama.test"}`` keeps a
    port that changes out of the file.
    """

    def __init__(self, secrets: Iterable[str] = (), aliases: Mapping[str, str] | None = None) -> None:
        self._secrets = {secret for secret in secrets if secret}
        self._aliases = dict(aliases or {})

    def learn(self, request: HttpRequest) -> None:
        """Remember the keys of a request."""
        for name, value in request.headers.items():
            if name.lower() not in HARMLESS and name.lower() not in NOISE:
                self._secrets |= {part for part in _keys(name.lower(), value) if len(part) >= SHORTEST_KEY}
        self._secrets |= {value for value in _keys_in(_parsed(request.body)) if len(value) >= SHORTEST_KEY}
        self._secrets.discard(MASK)

    def text(self, text: str) -> str:
        """Text without keys, and with aliases."""
        for place, alias in self._aliases.items():
            text = text.replace(place, alias)
        for secret in sorted(self._secrets, key=len, reverse=True):
            text = text.replace(secret, MASK)
            if (coded := quote(secret, safe="")) != secret:
                text = text.replace(coded, MASK)
        return text

    def json(self, value: Json) -> Json:
        """A JSON value with every string scrubbed."""
        if isinstance(value, str):
            return self.text(value)
        if is_array(value):
            return [self.json(item) for item in value]
        if is_object(value):
            return {self.text(key): self.json(item) for key, item in value.items()}
        return value

    def url(self, url: str) -> str:
        """A URL without a user, and with the values of key-like parameters masked."""
        parts = urlsplit(url)
        pairs = [pair.partition("=") for pair in parts.query.split("&")] if parts.query else []
        query = "&".join(f"{name}{mark}{MASK if _is_key(name) else value}" for name, mark, value in pairs)
        return self.text(urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, query, "")))

    def request_headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The headers of a request: harmless ones with their values, the others masked."""
        kept = {name.lower(): value for name, value in headers.items() if name.lower() not in NOISE}
        return {name: self.text(value) if name in HARMLESS else MASK for name, value in sorted(kept.items())}

    def answer_headers(self, headers: Mapping[str, str]) -> dict[str, str]:
        """The harmless headers of an answer; ``date`` only beside ``retry-after``, which may be a date too."""
        kept = {name: self.text(value) for name, value in sorted(headers.items()) if name in HARMLESS}
        if "retry-after" not in kept:
            kept.pop("date", None)
        return kept

    def holds_secret(self, data: bytes) -> bool:
        """Whether bytes, which cannot be rewritten, contain a key."""
        return any(secret.encode() in data for secret in self._secrets)


def _keys(name: str, value: str) -> list[str]:
    """The value of a header if it may be a key, and for a header with a scheme, the words of it that may be keys."""
    if not KEY_HEADERS.search(name):
        return [value] if KEY_LIKE.fullmatch(value) else []
    parts = [part for part in re.split(r"[\s,=]+", value) if KEY_LIKE.fullmatch(part)]
    return [value, *parts, *(part.partition("/")[0] for part in parts)]  # AWS: key id/date/region/service


def _parsed(body: bytes) -> Json:
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _keys_in(value: Json) -> Iterator[str]:
    """The strings in a body whose field is named like a key: ``options["body"]`` may contain some."""
    if is_object(value):
        for name, item in value.items():
            if isinstance(item, str) and BODY_KEYS.search(name):
                yield item
            else:
                yield from _keys_in(item)
    elif is_array(value):
        for item in value:
            yield from _keys_in(item)


def _is_key(name: str) -> bool:
    return unquote(name).lower() in MORE_KEY_WORDS

"""Who may call: keys by their hash, and limits on requests at once and per minute, in the memory of one process."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from math import ceil
from typing import Any

from msgspec import Struct

from ..errors import AuthError, RateLimitError
from ..serving import find_key

__all__ = ["CLAUDE_NAMES", "Admission", "Key", "hash_key"]

MINUTE, ROUNDING = 60.0, 1e-6
CLAUDE_NAMES = "claude--"
"""Some clients list only models whose name contains ``claude``: others are offered to them under this prefix too."""


class Key(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A client's key, as configured: the file holds its SHA-256, never the key itself."""

    name: str
    sha256: str
    models: tuple[str, ...] = ("*",)
    concurrent: int | None = None
    per_minute: int | None = None

    def may_use(self, model: str) -> bool:
        """Whether this key may call the model of that name."""
        if "*" in self.models:
            return True
        model = model.removeprefix(CLAUDE_NAMES)
        return any(fnmatchcase(model, pattern) for pattern in self.models)


def hash_key(key: str) -> str:
    """The SHA-256 of a key, which is stored in its place."""
    return hashlib.sha256(key.encode()).hexdigest()


class Usage:
    """The current use of a key: how many requests are open, and until when its rate limit counts past requests."""

    __slots__ = ("full_until", "open")

    def __init__(self) -> None:
        self.open, self.full_until = 0, 0.0


class Admission:
    """Finds the key of a request and enforces its limits. Without configured keys every request is admitted."""

    def __init__(self, keys: Sequence[Key], clock: Callable[[], float]) -> None:
        self._clock = clock
        self._used: dict[str, Usage] = {}
        self.replace(keys)

    def replace(self, keys: Sequence[Key]) -> None:
        """Use these keys from now on. The usage of keys that stay is kept."""
        self._keys: Mapping[str, Key] = {key.sha256.lower(): key for key in keys}

    def find_once(self, headers: Mapping[str, str], cache: dict[object, Any]) -> Key | None:
        """The key of a request with these headers. ``cache`` belongs to the headers, which requests may share."""
        known: tuple[object, Key | None] | None = cache.get(Admission)
        if known is None or known[0] is not self._keys:
            known = cache[Admission] = self._keys, self.find(find_key(headers))
        return known[1]

    def find(self, given: Sequence[str]) -> Key | None:
        """The first known key among those that a request carries; None if no keys are configured."""
        if not self._keys:
            return None
        for key in given:
            known = self._keys.get(hash_key(key))  # the time this takes could reveal the hash at most, not the key
            if known is not None:
                return known
        raise AuthError(
            "this gateway does not know the key" if given else "this gateway needs a key", provider_status=401
        )

    def enter(self, key: Key | None) -> Usage | None:
        """Count a request as open, until ``leave``. Raise ``RateLimitError`` if a limit is reached."""
        if key is None or (key.concurrent is None and key.per_minute is None):
            return None
        used = self._used.setdefault(key.sha256, Usage())
        if key.concurrent is not None and used.open >= key.concurrent:
            raise RateLimitError(
                f"the key {key.name} may have {key.concurrent} requests at once", provider_status=429, retry_after=1.0
            )
        if key.per_minute is not None:
            self._count_per_minute(key, key.per_minute, used)
        used.open += 1
        return used

    def _count_per_minute(self, key: Key, per_minute: int, used: Usage) -> None:
        """Count one request against the rate. It fills an equal share of a minute; a full minute may come at once."""
        now, share = self._clock(), MINUTE / per_minute
        taken = max(used.full_until - now, 0.0) + share
        if taken > MINUTE + ROUNDING:
            raise RateLimitError(
                f"the key {key.name} may make {per_minute} requests per minute",
                provider_status=429,
                retry_after=ceil((taken - MINUTE) * 1000) / 1000,
            )
        used.full_until = now + taken

    @staticmethod
    def leave(used: Usage | None) -> None:
        """Count a request as answered."""
        if used is not None:
            used.open -= 1

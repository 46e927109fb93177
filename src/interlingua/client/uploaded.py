"""Which files were uploaded to which provider, and when they expire. Sessions store it; nothing is sent here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

__all__ = ["LONGEST_RECEIPT", "Uploaded", "Uploads"]

LONGEST_RECEIPT = 2**20
"""The most bytes of the answer to an upload that are read."""
SPARE_SECONDS = 300.0
"""A file that expires so soon is uploaded again: the answer may take a while."""


class Uploaded(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file that one account of a provider has. ``digest`` is the SHA-256 of its content, ``expires_at`` Unix time."""

    issuer: str
    digest: str
    file_id: str
    media_type: str
    expires_at: float | None = None


class Uploads:
    """The permission to upload media, and what was uploaded with it: by issuer and content."""

    def __init__(self, known: Iterable[Uploaded] = (), clock: Callable[[], float] = time.time) -> None:
        self._known = {(one.issuer, one.digest): one for one in known}
        self._clock = clock

    def __iter__(self) -> Iterator[Uploaded]:
        return iter(tuple(self._known.values()))

    def find(self, issuer: str, digest: str) -> Uploaded | None:
        """The file with this content, if the issuer has it and will have it for some minutes more."""
        found = self._known.get((issuer, digest))
        if found is None or found.expires_at is None or found.expires_at > self._clock() + SPARE_SECONDS:
            return found
        return None

    def note(self, uploaded: Uploaded) -> None:
        """Remember a file."""
        self._known[uploaded.issuer, uploaded.digest] = uploaded

    def forget_named(self, text: str) -> None:
        """Forget the files that an error names: the provider does not have them any more."""
        for key, one in tuple(self._known.items()):
            if one.file_id in text:
                del self._known[key]

"""Packed answers, unpacked in small pieces, so that whoever counts what comes can stop in time."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping

from ...errors import NetworkError

__all__ = ["ACCEPTED", "Unpacker", "unpacker_for"]

ACCEPTED = "gzip, deflate"
"""What servers are told that they may send."""
PACKED = ("gzip", "x-gzip", "deflate")
PIECE = 2**16


class Unpacker:
    """Unpacks gzip, zlib and bare deflate."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._zlib = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib, as the first bytes say
        self._begun = False

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """What a packed chunk says, in pieces of at most 64 KiB."""
        if not self._begun and chunk:
            self._begun = True
            if self._coding == "deflate" and chunk[0] & 0xF != zlib.DEFLATED:  # some servers leave the head out
                self._zlib = zlib.decompressobj(-zlib.MAX_WBITS)
        while chunk:
            words = self._zlib.decompress(chunk, PIECE)
            chunk = self._zlib.unconsumed_tail
            if self._zlib.eof and self._zlib.unused_data and self._coding != "deflate":  # one gzip file after another
                chunk = self._zlib.unused_data
                self._zlib = zlib.decompressobj(zlib.MAX_WBITS | 32)
            while words:
                yield words
                words = b"" if chunk or len(words) < PIECE else self._zlib.decompress(b"", PIECE)

    @property
    def is_cut(self) -> bool:
        """Whether the packed data broke off."""
        return self._begun and not self._zlib.eof


def unpacker_for(headers: Mapping[str, str]) -> Unpacker | None:
    """What unpacks an answer with these headers; None if it is not packed."""
    coding = headers.get("content-encoding", "").strip().lower()
    if coding in ("", "identity"):
        return None
    if coding not in PACKED:
        raise NetworkError(f"the answer is packed as {coding!r}, which was not asked for", retryable=False)
    return Unpacker(coding)

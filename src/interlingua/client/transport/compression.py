"""Compressed answers, decompressed in small pieces, so that a reader that counts bytes can stop in time."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping

from ...errors import NetworkError

__all__ = ["ACCEPTED", "Decompressor", "decompressor_for"]

ACCEPTED = "gzip, deflate"
"""The value of ``Accept-Encoding``."""
ENCODINGS = ("gzip", "x-gzip", "deflate")
PIECE = 2**16


class Decompressor:
    """Decompresses gzip, zlib and raw deflate."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._zlib = zlib.decompressobj(zlib.MAX_WBITS | 32)  # gzip or zlib, by the first bytes
        self._begun = False

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """A compressed chunk, decompressed, in pieces of at most 64 KiB."""
        if not self._begun and chunk:
            self._begun = True
            # raw deflate: some servers leave out the zlib header
            if self._coding == "deflate" and chunk[0] & 0xF != zlib.DEFLATED:
                self._zlib = zlib.decompressobj(-zlib.MAX_WBITS)
        while chunk:
            piece = self._zlib.decompress(chunk, PIECE)
            chunk = self._zlib.unconsumed_tail
            if self._zlib.eof and self._zlib.unused_data and self._coding != "deflate":  # one gzip file after another
                chunk = self._zlib.unused_data
                self._zlib = zlib.decompressobj(zlib.MAX_WBITS | 32)
            while piece:
                yield piece
                piece = b"" if chunk or len(piece) < PIECE else self._zlib.decompress(b"", PIECE)

    @property
    def is_cut(self) -> bool:
        """Whether the compressed data was cut."""
        return self._begun and not self._zlib.eof


def decompressor_for(headers: Mapping[str, str]) -> Decompressor | None:
    """The decompressor for an answer with these headers; None if it is not compressed."""
    coding = headers.get("content-encoding", "").strip().lower()
    if coding in ("", "identity"):
        return None
    if coding not in ENCODINGS:
        raise NetworkError(f"the answer is compressed with {coding!r}, which was not requested", retryable=False)
    return Decompressor(coding)

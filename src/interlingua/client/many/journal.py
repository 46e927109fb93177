"""The journal of a map: a file of JSON lines with every answer, so that a map that was interrupted can go on.

The first line names the model. Every other line is an answer or an error, with the place of its request and a digest
of its content: a journal of other requests is refused. Each line is written in one piece; an incomplete last line, left
by a process that was killed, is removed when the file is opened again.
"""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, Struct

from ...codec.saving import from_json, to_json
from ...errors import AdapterError, ParseError, StoreError
from ...types.response import Response

if sys.platform != "win32":  # on Windows, nothing prevents two processes from using one journal
    import fcntl

__all__ = ["VERSION", "Journal", "read_saved", "why_refused"]

VERSION = 1
NO_LINE = -1


class _Head(Struct, tag="interlingua-map", tag_field="format"):
    version: int
    model: str


class _Line(Struct, omit_defaults=True):
    index: int
    key: str
    response: Raw = Raw(b"null")
    error: str | None = None


def why_refused(version: int, found: str, model: str) -> str | None:
    """Why a journal cannot be continued: a newer release or another model wrote it. None if it can."""
    if version != VERSION:
        return f"has the format {version}, which is newer than this release"
    return None if found == model else f"is of the model {found!r}, and not of {model!r}: give another path"


def read_saved(
    problem: Callable[[str], StoreError], index: int, key: str, found: str, response: bytes | str | None
) -> Response | None:
    """The saved answer to a request; None if the request failed. Raises if the answer is to another request."""
    if found != key:
        raise problem(f"is of other requests: number {index} was another one; give another path")
    if response in (None, b"null"):
        return None
    try:
        return from_json(response, Response)
    except ParseError as error:
        raise problem(f"is damaged at request {index}: {error}") from None


class Journal:
    """An open journal. It remembers only the position of each line, and reads an answer when it is needed."""

    def __init__(self, path: str | os.PathLike[str], model: str) -> None:
        self.path = Path(path)
        self._places = array("q")
        try:
            self._file = self.path.open("a+b")
        except OSError as error:
            raise self._problem(f"cannot be opened: {error.strerror or error}") from None
        try:
            self._lock()
            self._read(model)
        except BaseException:
            self._file.close()
            raise

    def _problem(self, what: str) -> StoreError:
        return StoreError(f"the journal {self.path} {what}", retryable=False)

    def _lock(self) -> None:
        if sys.platform != "win32":
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise self._problem("is in use by another map") from None

    def _read(self, model: str) -> None:
        self._file.seek(0)
        head, place = self._file.readline(), 0
        if not head.endswith(b"\n"):
            if head and not b'{"format":"interlingua-map"'.startswith(head[:27]):
                raise self._problem("is a file of another kind")
            self._file.truncate(0)
            self._append(_Head(VERSION, model))
            return
        self._check(head, model)
        place = len(head)
        for number, line in enumerate(self._file, 2):
            if not line.endswith(b"\n"):
                self._file.truncate(place)
                return
            self._note(self._decoded(line, number).index, place)
            place += len(line)

    def _check(self, head: bytes, model: str) -> None:
        try:
            found = msgspec.json.decode(head, type=_Head)
        except msgspec.DecodeError:
            raise self._problem("is a file of another kind") from None
        if (why := why_refused(found.version, found.model, model)) is not None:
            raise self._problem(why)

    def _decoded(self, line: bytes, number: int) -> _Line:
        try:
            return msgspec.json.decode(line, type=_Line)
        except msgspec.DecodeError as error:
            raise self._problem(f"is damaged in line {number}: {error}") from None

    def _note(self, index: int, place: int) -> None:
        self._places.extend([NO_LINE] * (index + 1 - len(self._places)))
        self._places[index] = place

    def find(self, index: int, key: str) -> Response | None:
        """The answer to this request, if there is one. Raises if the journal is of other requests."""
        place = self._places[index] if index < len(self._places) else NO_LINE
        if place == NO_LINE:
            return None
        self._file.seek(place)
        line = self._decoded(self._file.readline(), index + 2)
        return read_saved(self._problem, index, key, line.key, bytes(line.response))

    def add(self, index: int, key: str, response: Response | None, error: AdapterError | None) -> None:
        """Write the answer or the error of a request. If writing fails, the raised error has the answer."""
        answer = Raw(b"null" if response is None else to_json(response))
        try:
            self._append(_Line(index, key, answer, None if error is None else f"{type(error).__name__}: {error}"))
        except StoreError as problem:
            problem.response = response
            raise

    def _append(self, value: Any) -> None:
        try:
            self._file.seek(0, os.SEEK_END)
            self._file.write(msgspec.json.encode(value) + b"\n")
            self._file.flush()
        except OSError as error:
            raise self._problem(f"cannot be written: {error.strerror or error}") from None

    def close(self) -> None:
        """Write it to the disk, and close it."""
        with suppress(OSError):
            os.fsync(self._file.fileno())
        with suppress(OSError):
            self._file.close()

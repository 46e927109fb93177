"""The cassette: its exchanges, which of them were played, and reading and writing the file."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Literal

import msgspec

from ...client.http import HttpRequest
from ...client.transport.base import AsyncTransport, Transport
from ...errors import AdapterError
from .matching import Difference, differences, nearest
from .recording import Asked, CassetteError, File, Problem, Recording, Told, form_of
from .scrubbing import Scrubber
from .wrapping import AsyncTapeTransport, TapeTransport

__all__ = ["Cassette", "Mode", "Take", "UnusedRecordings"]

Mode = Literal["none", "once", "all"]
"""``none`` never records; ``once`` records if there is no cassette yet; ``all`` records everything again."""
VERSION = 1
SHOWN = 5


class UnusedRecordings(UserWarning):
    """A cassette holds exchanges that were not requested."""


class Take:
    """An exchange while it is recorded: the request, the answer so far, and how it ended."""

    def __init__(self, request: Asked) -> None:
        self.request = request
        self.status, self.headers = 0, dict[str, str]()
        self.chunks: list[bytes] = []
        self.problem: AdapterError | None = None
        self.over, self.left = False, True

    def record_head(self, status: int, headers: Mapping[str, str]) -> None:
        """Record the status and the headers of the answer."""
        self.status, self.headers = status, dict(headers)

    def end(self, problem: AdapterError | None = None, *, left: bool = False) -> None:
        """End the answer. Only the first call has an effect."""
        if not self.over:
            self.over, self.left, self.problem = True, left, problem


class Cassette:
    """Recordings in a file, and transports that make or play them.

    ``once`` records if there is no file, else plays; ``none`` only plays; ``all`` records again. When playing, each
    request takes the first unused recording with its method, URL and body (as JSON; ``ignore`` names paths in it that
    are not compared, e.g. ``"metadata/user_id"`` or ``"messages/*/id"``). The file is written when the ``with`` is left
    without an error. ``secrets`` and ``aliases``: see ``Scrubber``.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        mode: Mode = "once",
        *,
        ignore: Sequence[str] = (),
        secrets: Iterable[str] = (),
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self.path, self.ignore = Path(path), tuple(ignore)
        self.records = mode == "all" or (mode == "once" and not self.path.exists())
        self._scrubber = Scrubber(secrets, aliases)
        self._lock = Lock()
        self._takes: list[Take] = []
        self.recordings: list[Recording] = [] if self.records else self._load()
        self._unused = list(range(len(self.recordings)))

    def transport(self, inner: Transport | None = None) -> TapeTransport:
        """A transport for ``Client``. Without ``inner``, recording uses the default transport."""
        return TapeTransport(self, inner)

    def async_transport(self, inner: AsyncTransport | None = None) -> AsyncTapeTransport:
        """A transport for ``AsyncClient``. Without ``inner``, recording uses the default transport."""
        return AsyncTapeTransport(self, inner)

    # -------------------------------------------------------------------------------------------------- playing

    @property
    def unused(self) -> list[Recording]:
        """The recordings that were not requested yet."""
        return [self.recordings[index] for index in self._unused]

    def play(self, request: HttpRequest) -> Told:
        """The recorded answer. Raises ``CassetteError``, which shows the nearest recording, if there is none."""
        with self._lock:
            sent = self._scrubbed(request)
            for index in self._unused:
                if not differences(self.recordings[index].request, sent, self.ignore):
                    self._unused.remove(index)
                    return self.recordings[index].response
            raise CassetteError(self._mismatch(sent))

    def _mismatch(self, sent: Asked) -> str:
        what = f"{sent.method} {sent.url} is not recorded in {self.path}"
        again = 'If the change is meant, record anew with mode="all", or without the file.'
        if not self.recordings:
            return f"{what}, which is empty. {again}"
        index, found = nearest([each.request for each in self.recordings], sent, self.ignore)
        number = f"recording {index + 1} of {len(self.recordings)}"
        if not found:
            return f"{what} once more: {number} fits, and was played already. {again}"
        if self._unused:
            place, found = nearest([each.request for each in self.unused], sent, self.ignore)
            number = f"recording {self._unused[place] + 1} of {len(self.recordings)}"
        return f"{what}. The nearest, {number}, differs at\n{_listed(found)}\n{again}"

    # ------------------------------------------------------------------------------------------------ recording

    def take(self, request: HttpRequest) -> Take:
        """Begin to record an exchange."""
        with self._lock:
            self._takes.append(Take(self._scrubbed(request)))
            return self._takes[-1]

    def save(self) -> None:
        """Write the file. An answer that is still being read is written as far as it was read."""
        self.recordings = [Recording(take.request, self._answer(take)) for take in self._takes]
        data = msgspec.json.encode(File(VERSION, self.recordings))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(msgspec.json.format(data, indent=2) + b"\n")

    def _scrubbed(self, request: HttpRequest) -> Asked:
        scrubber = self._scrubber
        scrubber.learn(request)
        kind = next((value for name, value in request.headers.items() if name.lower() == "content-type"), "json")
        return Asked(
            method=request.method,
            url=scrubber.url(request.url),
            headers=scrubber.request_headers(request.headers),
            **scrubber.json(form_of([request.body], kind)),
        )

    def _answer(self, take: Take) -> Told:
        scrubber, problem = self._scrubber, take.problem
        form = form_of(take.chunks, take.headers.get("content-type", ""))
        if "base64" in form and scrubber.holds_secret(b"".join(take.chunks)):
            raise CassetteError(f"a binary answer to {take.request.url} repeats a key; {self.path} was not written")
        return Told(
            status=take.status,
            headers=scrubber.answer_headers(take.headers),
            problem=None if problem is None else self._problem(problem),
            left=take.left,
            **scrubber.json(form),
        )

    def _problem(self, error: AdapterError) -> Problem:
        return Problem(error.error_class, self._scrubber.text(error.message), error.retryable)

    # ------------------------------------------------------------------------------------------------- the file

    def _load(self) -> list[Recording]:
        try:
            file = msgspec.json.decode(self.path.read_bytes(), type=File)
        except FileNotFoundError:
            raise CassetteError(f'there is no cassette {self.path}; mode="once" would record one') from None
        except msgspec.DecodeError as error:
            raise CassetteError(f"{self.path} is no cassette: {error}") from None
        if file.cassette != VERSION:
            raise CassetteError(f"{self.path} has format {file.cassette}, and {VERSION} is what can be read")
        return file.recordings

    def __enter__(self) -> Cassette:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            return
        if self.records:
            self.save()
        elif self._unused:
            numbers = ", ".join(str(index + 1) for index in self._unused)
            warnings.warn(
                f"{self.path}: nobody asked for recordings {numbers} of {len(self.recordings)}",
                UnusedRecordings,
                stacklevel=2,
            )


def _listed(found: list[Difference]) -> str:
    more = [f"  and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return "\n".join([*(f"  {difference}" for difference in found[:SHOWN]), *more])

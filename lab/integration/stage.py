"""Play one row in one dialect, one way, over real HTTP on loopback, and check everything about it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from interlingua.client.embedded import LoopbackServer, Script, Step
from interlingua.client.embedded.model import decide
from interlingua.client.embedded.responder import stream_bytes
from interlingua.client.manager import ProviderManager
from interlingua.dialects import dialect as find
from interlingua.types.request import Request
from interlingua.types.response import Response

from ..faults.ways import PROVIDERS
from ..oracles import problems as faults_of
from .losses import amiss
from .reading import STOPS, Answer, Readers
from .rows import Row, Turn
from .tape import Exchange, Tape
from .transcript import described, transcript
from .ways import WAYS, Scene
from .workbench import Workbench

__all__ = ["CELLS", "Seen", "play", "play_all"]

MODEL, SYSTEM = "a-model", "Be brief."
CELLS = tuple((dialect, way) for dialect in PROVIDERS for way in WAYS)


class Seen(Struct, frozen=True):
    """What was checked in one conversation, and the problems that were found.

    ``meant`` has the answers of the model as they were before strict schemas were restored and tools were run.
    """

    bodies: int
    answers: int
    problems: tuple[str, ...] = ()
    meant: tuple[str, ...] = ()


def play_all(rows: Iterable[Row]) -> tuple[dict[tuple[str, str], tuple[int, int]], list[str]]:
    """Play rows in every dialect and way: return the counts for those without problems, and all problems."""
    good: dict[tuple[str, str], tuple[int, int]] = {}
    wrong: list[str] = []
    with LoopbackServer.in_thread() as server, Readers() as readers:
        for row in rows:
            for dialect in PROVIDERS:
                seen = {way: play(row, dialect, way, server, readers) for way in WAYS}
                found = [f"{row.name}, {dialect}, {way}: {line}" for way, was in seen.items() for line in was.problems]
                if not found:
                    good[row.name, dialect] = (
                        sum(s.bodies for s in seen.values()),
                        sum(s.answers for s in seen.values()),
                    )
                wrong += found
    return good, wrong


def play(row: Row, dialect: str, way: str, server: LoopbackServer, readers: Readers) -> Seen:
    """Hold the conversation, then check it."""
    tape, model = Tape(), Model(row, dialect, streamed=way.endswith("stream"))
    server.script = model.script
    with tempfile.TemporaryDirectory() as folder:
        bench = Workbench(Path(folder))

        def make(kind: type[Any]) -> Any:
            made = manager(server.url, dialect, tape)
            return kind(f"{PROVIDERS[dialect]}:{MODEL}", row.tools(bench), SYSTEM, manager=made, messages=row.history)

        scene = Scene(make, server, row.turns)
        WAYS[way](scene)
        wrong = [*scene.problems, *_outcome(row, scene, model.streamed), *_workbench(row, bench)]
    wrong += _bodies(row, tape, dialect)
    wrong += amiss(row, dialect, scene.losses, streamed=model.streamed)
    read = [pair for pair in zip(tape.exchanges, model.decided, strict=False) if _is_whole(pair[0])]
    wrong += [line for exchange, answer in read for line in _answer(dialect, exchange, answer, readers, model.streamed)]
    meant = tuple(" + ".join(described(answer.content)) for answer in model.decided if answer is not None)
    return Seen(len(tape.exchanges), len(read), tuple(wrong), meant)


def manager(url: str, dialect: str, tape: Tape) -> ProviderManager:
    """A manager with the provider of a dialect at the server's address, through transports that record."""
    made = ProviderManager(environment={}, transport=tape.awaiting, sync_transport=tape.blocking, on_loss="allow")
    config = {"api_key": "sk-integration", "base_url": url, "max_retries": 0, "options": {"region": "loopback"}}
    made.register(PROVIDERS[dialect], None, config)
    return made


# ---------------------------------------------------------------------------------------------------- the model's part


class Model:
    """The script of a row in one dialect. ``decided`` has the answers of the model, None for an error."""

    def __init__(self, row: Row, dialect: str, *, streamed: bool) -> None:
        self._row, self._dialect, self.streamed = row, dialect, streamed
        self.decided: list[Response | None] = []
        self.script = Script(*(self._step(place) for place in range(len(row.steps))))

    def _step(self, place: int) -> Callable[[Request], Step]:
        choice = self._row.steps[place]

        def step(request: Request) -> Step:
            made = choice if isinstance(choice, Step) else choice(request)
            answer = decide(made, request)
            self.decided.append(answer if isinstance(answer, Response) else None)
            return self._broken(made, place, request)

        return step

    def _broken(self, step: Step, place: int, request: Request) -> Step:
        """The step with a fault, if the turn needs one: the stream breaks or stops after the last word of the turn."""
        turn = self._row.turns[place] if place < len(self._row.turns) else Turn("")
        if turn.end == "done":
            return step
        if not self.streamed:
            return replace(step, fault="cut" if turn.end == "broken" else "stall_first")
        answer = self.decided[-1]
        assert answer is not None
        chunks = list(stream_bytes(find(self._dialect), request, answer))
        after = 1 + next(index for index, chunk in enumerate(chunks) if turn.last.encode() in chunk)
        return replace(step, fault="cut" if turn.end == "broken" else "stall", after=after)


# ------------------------------------------------------------------------------------------------------ what came of it


def _outcome(row: Row, scene: Scene, streamed: bool) -> Iterator[str]:
    """One sentence for each difference between the canonical outcome and the table."""
    expected = row.outcome if streamed or row.whole is None else row.whole
    found = transcript(scene.session.messages)
    for place in range(max(len(expected), len(found))):
        due = expected[place] if place < len(expected) else "nothing"
        was = found[place] if place < len(found) else "nothing"
        if due != was:
            yield f"line {place}: {was!r}, and not {due!r}"
    if scene.session.report.shortened != row.shortened:
        yield f"{scene.session.report.shortened} messages were left out, and not {row.shortened}"
    last = scene.server.script.seen[-1]
    if row.sent is not None and not last.messages[0].text.startswith(row.sent):
        yield f"the last request begins with {last.messages[0].text[:20]!r}, and not with {row.sent!r}"
    if len(last.tools) != row.tool_count:
        yield f"{len(last.tools)} tools arrived, and not {row.tool_count}"


def _workbench(row: Row, bench: Workbench) -> Iterator[str]:
    """One sentence for each difference in what the tools noted and in the files that they wrote."""
    if tuple(bench.noted) != row.noted:
        yield f"the tools saw {bench.noted}, and not {list(row.noted)}"
    places = [place for place in bench.folder.rglob("*") if place.is_file()]
    files = {str(place.relative_to(bench.folder)): place.read_bytes().decode() for place in places}
    if files != row.files:
        yield f"the files are {files}, and not {row.files}"


def _bodies(row: Row, tape: Tape, dialect: str) -> Iterator[str]:
    """One sentence for each fault that the vendor's types and ordering rules find in a request body."""
    if len(tape.exchanges) != row.bodies:
        yield f"{len(tape.exchanges)} requests, and not {row.bodies}"
    for number, exchange in enumerate(tape.exchanges):
        for fault in faults_of(msgspec.json.decode(exchange.request.body), dialect):
            yield f"body {number}: {fault}"


def _is_whole(exchange: Exchange) -> bool:
    return exchange.whole or exchange.status >= 400


def _answer(
    dialect: str, exchange: Exchange, meant: Response | None, readers: Readers, streamed: bool
) -> Iterator[str]:
    """A sentence if the vendor's client does not read the answer that the model gave."""
    found = readers.read(dialect, exchange, streamed=streamed and exchange.status == 200)
    if meant is None:
        expected = Answer(status=exchange.status)
    else:
        assert meant.usage is not None
        stop = STOPS[dialect][bool(meant.tool_uses)]
        expected = Answer(tuple(described(meant.content)), stop, (meant.usage.input_tokens, meant.usage.output_tokens))
    if found != expected:
        yield f"the SDK reads {found}, and not {expected}"

"""Many requests at once: faults, order, limits, journals, cancelling, progress; in tasks and in threads."""

from __future__ import annotations

import asyncio
import gc
import io
import json
import os
import sqlite3
import subprocess
import sys
import textwrap
import time
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from client.support import CANARY
from interlingua import (
    AdapterError,
    ErrorClass,
    InvalidRequestError,
    Limiter,
    MapResult,
    Message,
    NotConfigured,
    Price,
    Pricing,
    Request,
    Response,
    Router,
    StoreError,
    TextBlock,
    TokenUsage,
    connect,
    connect_sync,
    map_requests,
    map_requests_sync,
)
from interlingua.client.embedded import LoopbackServer, Script, Step
from interlingua.client.many import progress
from interlingua.client.many.journal import Journal
from interlingua.client.many.settings import as_request
from interlingua.client.many.sqlite_journal import journal_at

KINDS = ("async", "blocking")
FAST = {"retry": {"base": 0.01, "cap": 0.02}, "max_retries": 3}


def mapped(kind: str, inputs: Any, base_url: str = "", **options: Any) -> tuple[list[MapResult], Any]:
    """All results, and the report, by either client; by the embedded model without a URL."""
    name = "openai-chat:m" if base_url else "embedded:"
    words: Any = {"base_url": base_url, "api_key": CANARY, "config": FAST} if base_url else {}
    if kind == "blocking":
        with connect_sync(name, **words) as client:
            done = client.map(inputs, **options)
            return list(done), done.report

    async def scene() -> tuple[list[MapResult], Any]:
        async with connect(name, **words) as client:
            done = client.map(inputs, **options)
            return await done, done.report

    return asyncio.run(scene())


class Moody:
    """A model that fails depending on the number in the request, mostly only at the first attempt."""

    def __init__(self) -> None:
        self.attempts: dict[int, int] = {}
        self.script = Script(self.step, keep=10)

    def step(self, request: Request) -> Step:
        number = int(request.messages[-1].text)
        attempt = self.attempts[number] = self.attempts.get(number, 0) + 1
        good = Step(text=f"answer {number}", usage=TokenUsage(3, output_tokens=2))
        if number % 50 == 7:
            return Step(act="fail", status=400, message="what is this?")
        if attempt > 1:
            return good
        return {
            1: Step(act="fail", error=ErrorClass.rate_limit, retry_after=0.02),
            2: Step(act="fail", status=500),
            3: Step(fault="cut"),
            4: Step(fault="reset_first"),
            5: Step(act="fail", status=529),
            6: Step(text=f"answer {number}", usage=TokenUsage(3, output_tokens=2), delay=0.05),
        }.get(number % 25, good)


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_five_hundred_with_faults(kind: str, ordered: bool) -> None:
    moody, total = Moody(), 500
    with LoopbackServer.in_thread(moody.script) as server:
        inputs = (str(number) for number in range(total))
        pricing = Pricing({"openai-chat:m": Price(input=1.0, output=2.0)})
        results, report = mapped(kind, inputs, server.url, concurrency=40, ordered=ordered, pricing=pricing)
        server.wait(server.idle)
    indexes = [result.index for result in results]
    assert (indexes if ordered else sorted(indexes)) == list(range(total))
    bad = {number for number in range(total) if number % 50 == 7}
    for result in results:
        assert (result.error is not None) == (result.index in bad)
        assert result.index in bad or result.text == f"answer {result.index}"
    assert max(moody.attempts.values()) == 2  # one budget: nothing was tried again on top of it
    assert all(moody.attempts[number] == 1 for number in bad)
    assert (report.done, report.failed, report.resumed) == (490, 10, 0)
    assert report.usage == TokenUsage(3 * 490, output_tokens=2 * 490)
    assert report.cost_usd == pytest.approx(490 * 7e-6)
    assert str(report) == "490 done, 10 failed, 2450 tokens, $0.0034"


@pytest.mark.parametrize("kind", KINDS)
def test_an_iterator_without_end_is_not_read_ahead(kind: str) -> None:
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield str(taken)

    def check(read: int) -> None:
        assert taken <= read + 4 * 5

    if kind == "blocking":
        with connect_sync("embedded:") as client, client.map(endless(), concurrency=4) as results:
            for read, result in enumerate(results):
                check(read + 1)
                assert result.text == f"You said: {read + 1}"
                if read == 60:
                    break
            time.sleep(0.05)
            check(61)
        return

    async def scene() -> None:
        async with connect("embedded:") as client, client.map(endless(), concurrency=4) as results:
            read = 0
            async for result in results:
                read += 1
                check(read)
                assert result.text == f"You said: {read}"
                if read == 61:
                    break
            await asyncio.sleep(0.05)
            check(61)

    asyncio.run(scene())


def test_inputs_that_come_slowly() -> None:
    async def slowly() -> AsyncIterator[str]:
        for number in range(5):
            await asyncio.sleep(0.001)
            yield str(number)

    results, _ = mapped("async", slowly(), concurrency=2)
    assert [result.text for result in results] == [f"You said: {number}" for number in range(5)]


@pytest.mark.parametrize("kind", KINDS)
def test_an_input_that_raises_ends_it(kind: str) -> None:
    def inputs() -> Iterator[str]:
        yield "1"
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        mapped(kind, inputs())
    with pytest.raises(TypeError, match=r"Message\.content"):
        mapped(kind, ["fine", 5])


@pytest.mark.parametrize("kind", KINDS)
def test_the_first_error_can_end_it(kind: str) -> None:
    moody = Moody()
    with LoopbackServer.in_thread(moody.script) as server:
        with pytest.raises(InvalidRequestError, match="what is this"):
            mapped(kind, (str(number) for number in range(7, 500)), server.url, on_error="raise", concurrency=2)
        server.wait(server.idle)
    assert len(moody.attempts) < 20


@pytest.mark.parametrize("kind", KINDS)
def test_no_inputs(kind: str) -> None:
    assert mapped(kind, [])[0] == []


@pytest.mark.parametrize("options", [{"concurrency": 0}, {"on_error": "ignore"}, {"rate": 0}, {"tokens_per_minute": 0}])
@pytest.mark.parametrize("kind", KINDS)
def test_wrong_options_are_refused_before_any_call(kind: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"must be"):
        mapped(kind, ["1"], **options)


@pytest.mark.parametrize("inputs", ["one prompt", Message("user", "hi"), None], ids=["str", "Message", "None"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_many_is_refused(kind: str, inputs: Any) -> None:
    with pytest.raises(TypeError, match=f"not one {type(inputs).__name__}"):
        mapped(kind, inputs)


@pytest.mark.parametrize("kind", KINDS)
def test_an_input_of_none_does_not_end_the_map(kind: str) -> None:
    with pytest.raises(TypeError, match="not NoneType"):
        mapped(kind, ["1", None, "2"])


@pytest.mark.parametrize("kind", KINDS)
def test_misspelt_options_are_refused(kind: str) -> None:
    with pytest.raises(TypeError, match="conurrency"):
        mapped(kind, ["1"], conurrency=3)


TALK = [Message("user", "a"), Message("assistant", "b"), Message("user", "c")]
# fmt: off
INPUTS: tuple[tuple[Any, Request], ...] = (
    ("hi",                                  Request([Message("user", "hi")])),
    (TextBlock("hi"),                       Request([Message("user", "hi")])),
    (["a", TextBlock("b")],                 Request([Message("user", ["a", "b"])])),
    (Message("user", "hi"),                 Request([Message("user", "hi")])),
    (TALK,                                  Request(TALK)),
    ([{"role": "user", "content": "hi"}],   Request([Message("user", "hi")])),
    (Request([Message("user", "hi")], "x"), Request([Message("user", "hi")], "x")),
)
# fmt: on


@pytest.mark.parametrize(("given", "request_"), INPUTS)
def test_what_may_be_an_input(given: Any, request_: Request) -> None:
    assert as_request(given) == request_


def test_defaults_fill_what_a_request_leaves_unset() -> None:
    defaults = Request(system="Be brief.", temperature=0, max_output_tokens=5)
    made = as_request(Request([Message("user", "hi")], temperature=1), defaults)
    assert made == Request([Message("user", "hi")], system="Be brief.", temperature=1, max_output_tokens=5)


# ------------------------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize("kind", KINDS)
def test_concurrency(kind: str) -> None:
    with LoopbackServer.in_thread(Step(act="echo", delay=0.02)) as server:
        mapped(kind, map(str, range(20)), server.url, concurrency=3)
        assert server.connections <= 3


@pytest.mark.parametrize("kind", KINDS)
def test_rates_hold_every_attempt(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlingua.client.limiter.MINUTE", 0.5)
    shared = Limiter(concurrency=2)
    with LoopbackServer.in_thread([Step(act="fail", status=500), *[Step(act="echo")] * 5]) as server:
        began = time.monotonic()
        results, _ = mapped(kind, map(str, range(4)), server.url, rate=4, limiter=shared)
        assert all(result.error is None for result in results)
        assert server.script.asked == 5
        assert server.connections <= 2
    assert time.monotonic() - began >= 0.5  # the fifth attempt waited for the first to be a minute old
    assert (shared._running, shared._line) == (0, [])


# --------------------------------------------------------------------------------------------------------- cancelling


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110  # nobody tells
            await asyncio.sleep(0.005)


def test_cancelling_closes_every_socket() -> None:
    with LoopbackServer.in_thread(Step(fault="stall_first")) as server:

        async def scene(leave: Callable[[Any], Any]) -> None:
            async with connect("openai-chat:m", base_url=server.url, api_key=CANARY) as client:
                results = client.map(map(str, range(500)), concurrency=20)
                task = asyncio.create_task(anext(results))
                await until(lambda: server.open == 20)
                await leave((results, task))
                with pytest.raises((asyncio.CancelledError, StopAsyncIteration)):
                    await task
                await until(lambda: server.open == 0)
            left = asyncio.all_tasks() - {asyncio.current_task()}
            assert not left

        async def cancel(found: Any) -> None:
            found[1].cancel()

        async def close(found: Any) -> None:
            found[1].cancel()
            await found[0].aclose()

        for way in (cancel, close):
            asyncio.run(scene(way))


def test_dropping_the_results_ends_the_calls() -> None:
    with LoopbackServer.in_thread(Step(act="echo", delay=5)) as server:

        async def scene() -> None:
            async with connect("openai-chat:m", base_url=server.url, api_key=CANARY) as client:
                results = client.map(map(str, range(500)), concurrency=5)
                task = asyncio.create_task(anext(results))
                await until(lambda: server.open == 5)
                task.cancel()
                await asyncio.wait([task])
                gone = weakref.ref(results)
                del results, task
                gc.collect()
                assert gone() is None
                await until(lambda: server.open == 0)

        asyncio.run(scene())


def test_leaving_ends_the_threads() -> None:
    step = Step(act="echo", delay=10)
    script = Script(lambda request: Step() if request.messages[0].text == "0" else step)
    with (
        LoopbackServer.in_thread(script) as server,
        connect_sync("openai-chat:m", base_url=server.url, api_key=CANARY) as client,
    ):
        with client.map(map(str, range(500)), concurrency=10) as results:
            assert next(results).text == "You said: 0"
        assert next(results, None) is None
        server.wait(server.idle, 5)


# ------------------------------------------------------------------------------------------------------------ journals


NAMES = ("run.jsonl", "run.db")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_map_goes_on_from_its_journal(kind: str, name: str, tmp_path: Path) -> None:
    """Answered requests are not sent again; failed and new ones are."""
    path = tmp_path / name
    moody = Moody()
    with LoopbackServer.in_thread(moody.script) as server:
        first, _ = mapped(kind, map(str, range(60)), server.url, journal=path)
        asked = dict(moody.attempts)
        second, report = mapped(kind, map(str, range(70)), server.url, journal=path)
    assert [result.response for result in second[:60]] == [result.response for result in first]
    assert {n: moody.attempts[n] - asked[n] for n in asked if moody.attempts[n] > asked[n]} == {7: 1, 57: 1}
    assert (report.done, report.failed, report.resumed) == (68, 2, 58)
    assert report.usage.total_tokens == 5 * 68  # of all of it
    assert [result.resumed for result in second[:8]] == [True] * 7 + [False]


def test_a_journal_is_readable(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    mapped("async", ["a", "b"], journal=path)
    head, *lines = map(json.loads, path.read_text().splitlines())
    assert head == {"format": "interlingua-map", "version": 1, "model": "embedded:scripted"}
    assert sorted(line["index"] for line in lines) == [0, 1]
    assert lines[0]["response"]["content"][0]["text"].startswith("You said: ")


DYING = """
import os, sys
from interlingua import connect_sync
from interlingua.embedded import Script, Step

def answer(request):
    if request.messages[0].text == "25":
        os._exit(9)
    return Step()

with connect_sync("embedded:", script=Script(answer)) as client:
    list(client.map(map(str, range(40)), concurrency=1, journal=sys.argv[1]))
"""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_process_loses_nothing(kind: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(DYING), str(path)], check=False, env=dict(os.environ))
    assert done.returncode == 9
    if name == "run.jsonl":
        with path.open("ab") as file:
            file.write(b'{"index":25,"key":"ab')  # it was killed in the middle of a line
    results, report = mapped(kind, map(str, range(40)), journal=path)
    assert report.resumed == 25
    assert [result.text for result in results] == [f"You said: {number}" for number in range(40)]
    assert mapped(kind, map(str, range(40)), journal=path)[1].resumed == 40


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_journal_of_other_requests_is_refused(kind: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    mapped(kind, ["a", "b"], journal=path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"run\.\w+ is of other requests: number 1 was another one; give another path"):
        mapped(kind, ["a", "c"], journal=path, concurrency=1)
    with pytest.raises(StoreError, match="is of other requests"):
        mapped(kind, ["a", "b"], journal=path, defaults=Request(temperature=0.5))
    with LoopbackServer.in_thread() as server, pytest.raises(StoreError, match="is of the model 'embedded:scripted'"):
        mapped(kind, ["a", "b"], server.url, journal=path)
    if name == "run.jsonl":
        assert path.read_bytes() == before
    assert mapped(kind, ["a", "b"], journal=path)[1].resumed == 2


# fmt: off
DAMAGED = (
    (b"hello\nworld\n",                                                            "is a file of another kind"),
    (b"hello",                                                                     "is a file of another kind"),
    (b'{"format":"interlingua-map","version":9,"model":"m"}\n',                    "has the format 9, which is newer"),
    (b'{"format":"interlingua-map","version":1,"model":"m"}\n{"index":0\n{}\n',    "is damaged in line 2"),
)
# fmt: on


@pytest.mark.parametrize(("content", "said"), DAMAGED)
def test_a_damaged_journal_is_refused_and_kept(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=said):
        Journal(path, "m")
    assert path.read_bytes() == content


def test_a_journal_without_a_whole_first_line_is_new(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b'{"format":"interl')
    Journal(path, "m").close()
    assert path.read_bytes() == b'{"format":"interlingua-map","version":1,"model":"m"}\n'


@pytest.mark.skipif(sys.platform == "win32", reason="two programs are not told apart there")
def test_a_journal_has_one_writer(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "run.jsonl", "m")
    with pytest.raises(StoreError, match="is in use by another map"):
        Journal(tmp_path / "run.jsonl", "m")
    journal.close()
    Journal(tmp_path / "run.jsonl", "m").close()


def test_a_folder_is_no_journal(tmp_path: Path) -> None:
    (tmp_path / "folder.db").mkdir()
    for path in (tmp_path, tmp_path / "folder.db"):
        with pytest.raises(StoreError, match=r"cannot be opened|cannot be used: unable to open"):
            journal_at(path, "m")


def test_a_journal_in_sqlite_can_be_queried(tmp_path: Path) -> None:
    path = tmp_path / "run.sqlite"
    mapped("async", ["a", "b"], journal=path)
    with closing(sqlite3.connect(path)) as file:
        found = file.execute("SELECT place, response ->> '$.content[0].text', error FROM answers ORDER BY place")
        assert found.fetchall() == [(0, "You said: a", None), (1, "You said: b", None)]


def test_a_journal_in_sqlite_has_one_writer_and_knows_its_kind(tmp_path: Path) -> None:
    journal = journal_at(tmp_path / "run.db", "m")
    with pytest.raises(StoreError, match="is in use by another map"):
        journal_at(tmp_path / "run.db", "m")
    journal.close()
    with pytest.raises(StoreError, match="is of the model 'm', and not of 'n'"):
        journal_at(tmp_path / "run.db", "n")
    journal_at(tmp_path / "run.db", "m").close()
    (tmp_path / "text.db").write_bytes(b"hello " * 1000)
    with closing(sqlite3.connect(tmp_path / "theirs.db")) as file:
        file.execute("CREATE TABLE answers (mine)")
        file.commit()
    for name in ("text.db", "theirs.db"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(StoreError, match="is a file of another kind"):
            journal_at(tmp_path / name, "m")
        assert (tmp_path / name).read_bytes() == before


def test_an_answer_that_a_journal_in_sqlite_cannot_keep_is_not_lost(tmp_path: Path) -> None:
    journal = journal_at(tmp_path / "run.db", "m")
    journal._open.execute("DROP TABLE answers")  # type: ignore[union-attr]
    with pytest.raises(StoreError, match="cannot be written") as caught:
        journal.add(0, "k", Response((TextBlock("paid"),), "end_turn"), None)
    assert caught.value.response is not None
    assert caught.value.response.text == "paid"
    journal.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full disk to try")
def test_a_full_disk_loses_no_answer(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "run.jsonl", "m")
    journal._file.close()
    with Path("/dev/full").open("a+b", buffering=0) as full:
        journal._file = full  # type: ignore[assignment]
        with pytest.raises(StoreError, match="cannot be written: No space left") as caught:
            journal.add(0, "k", Response((TextBlock("paid"),), "end_turn"), None)
    assert caught.value.response is not None
    assert caught.value.response.text == "paid"


# ------------------------------------------------------------------------------------------------------------ progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("rich", [True, False])
def test_a_progress_bar(rich: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(progress, "find_spec", lambda name: object() if rich else None)
    if rich:
        pytest.importorskip("rich")
    monkeypatch.setattr(sys, "stderr", terminal)
    mapped("async", list(map(str, range(12))), progress=True)
    shown = terminal.getvalue()
    assert "12 done, 0 failed" in shown
    assert rich or shown.endswith("\n")
    assert rich or "\r12 of 12: 12 done" in shown


def test_no_bar_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    output = io.StringIO()
    monkeypatch.setattr(sys, "stderr", output)
    mapped("async", ["1"], progress=True)
    mapped("async", ["1"])
    monkeypatch.setattr(sys, "stderr", None)
    mapped("async", ["1"], progress=True)
    assert output.getvalue() == ""


# ---------------------------------------------------------------------------------------------------------- by a name


def test_mapping_to_a_model_by_its_name(tmp_path: Path) -> None:
    with LoopbackServer.in_thread(lambda request: Step(text=request.model)) as server:
        path = tmp_path / "models.yaml"
        path.write_text(
            f"adapters:\n  work: {{type: openai-chat, base_url: '{server.url}', extra_headers: {{authorization: x}}}}\n"
            "models:\n  big: {adapter: work, price: {input: 1, output: 1}}\n"
        )
        words: Any = {"models": path, "concurrency": 2}
        found = list(map_requests_sync(["a", Request([Message("user", "b")], "work:other")], "big", **words))
        assert [result.text for result in found] == ["big", "other"]
        assert found[0].cost_usd is not None

        async def scene() -> None:
            results = map_requests(["a"] * 3, ["big", "work:b"], **words)
            assert [result.text for result in await results] == ["big"] * 3
            assert results.report.done == 3
            assert results.report.cost_usd is not None

        asyncio.run(scene())
        server.wait(server.idle)


@pytest.mark.parametrize("kind", KINDS)
def test_mapping_to_a_client_or_a_router(kind: str) -> None:
    if kind == "blocking":
        with connect_sync("embedded:") as client:
            assert [r.text for r in map_requests_sync(["a"], client)] == ["You said: a"]
            with pytest.raises(TypeError, match="a map with a client takes no api_key"):
                map_requests_sync(["a"], client, api_key="k")
        router = Router("embedded:")
        assert [r.text for r in map_requests_sync(["a"], router, rate=5)] == ["You said: a"]
        router.manager.close_sync()
        return

    async def scene() -> None:
        async with connect("embedded:") as client:
            assert [r.text for r in await map_requests(["a"], client)] == ["You said: a"]
        router = Router("embedded:")
        assert [r.text for r in await map_requests(["a"], router, rate=5)] == ["You said: a"]
        await router.close()

    asyncio.run(scene())


def test_mistakes_raise_before_any_call() -> None:
    with pytest.raises(NotConfigured, match="did you mean 'openai'"):
        map_requests_sync(["a"], "opnai:x")
    with pytest.raises(TypeError, match="a map has no conurrency; it has concurrency"):
        map_requests_sync(["a"], "embedded:", conurrency=3)  # type: ignore[call-arg]


def test_the_text_of_a_failure_is_its_error() -> None:
    (result,) = map_requests_sync(["a"], "embedded:", script=[Step(act="fail", status=400)])
    assert result.error is not None
    with pytest.raises(AdapterError):
        _ = result.text


# ------------------------------------------------------------------------------------------------------ typed answers


class Square(Struct):
    """A number and its square."""

    number: int
    square: int


def squares(request: Request) -> Step:
    number = int(request.messages[0].text)
    wrong = number == 3 and len(request.messages) == 1
    return Step(text="what?" if wrong else f'{{"number": {number}, "square": {number**2}}}')


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("to", ["client", "router"])
def test_answers_of_a_type(to: str, kind: str, tmp_path: Path) -> None:
    """An answer that does not fit is requested again; the journal keeps the text, which is parsed again."""
    script = Script(squares)
    with LoopbackServer.in_thread(script) as server:
        words: Any = {"base_url": server.url, "api_key": CANARY}
        options: Any = {"output": Square, "journal": tmp_path / "run.jsonl"}

        def blocking() -> list[MapResult[Square]]:
            if to == "router":
                return list(map_requests_sync(map(str, range(5)), "openai-chat:m", **words, **options))
            with connect_sync("openai-chat:m", **words) as client:
                return list(client.map(map(str, range(5)), **options))

        async def scene() -> list[MapResult[Square]]:
            if to == "router":
                return await map_requests(map(str, range(5)), "openai-chat:m", **words, **options)
            async with connect("openai-chat:m", **words) as client:
                return await client.map(map(str, range(5)), **options)

        for resumed in (False, True):
            results = blocking() if kind == "blocking" else asyncio.run(scene())
            assert [result.output for result in results] == [Square(number, number**2) for number in range(5)]
            assert all(result.resumed is resumed for result in results)
    assert script.asked == 6
    with pytest.raises(StoreError, match="is of other requests"), connect_sync("openai-chat:m", **words) as client:
        list(client.map(map(str, range(5)), journal=tmp_path / "run.jsonl"))


def test_the_value_of_a_failure_is_its_error() -> None:
    (result,) = map_requests_sync(["a"], "embedded:", output=Square, script=[Step(act="fail", status=400)])
    with pytest.raises(AdapterError):
        _ = result.output

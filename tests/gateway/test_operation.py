"""The gateway in operation: several processes, a changed configuration, and a stop, with 200 open streams."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import stat
import sys
from collections.abc import AsyncIterator, Generator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gateway.asking import CHAT, CLAUDE, RESPONSES, body_of
from gateway.held_upstream import HeldUpstream, Reading
from gateway.raw_http import fetch
from gateway.test_carry import ISSUED, SIGNATURE, answered, first_turn, opaque_values, second_turn
from interlingua import Loss, Message, TextBlock, ThinkingBlock, TokenUsage, dialect
from interlingua.client.embedded import LoopbackServer, Script, Step, call
from interlingua.gateway.admission import hash_key
from interlingua.gateway.carry import Vault
from interlingua.gateway.metrics import HELP, Metrics
from interlingua.gateway.receipts import Receipt, Receipts
from interlingua.gateway.shared import Shared, create

KEY = "right"
STREAMS = 200
PATIENCE = 30.0
several = pytest.mark.skipif(not hasattr(signal, "sigtimedwait"), reason="several processes need fork and sigtimedwait")

# ---------------------------------------------------------------------------------------------------- what is shared


@contextmanager
def two(tmp_path: Path, clock: Any = lambda: 0.0, **limits: tuple[int, int]) -> Generator[tuple[Shared, Shared]]:
    """The file, as two processes use it."""
    path = str(tmp_path / "shared.sqlite")
    create(path)
    both = Shared(path, 0, clock, limits=limits), Shared(path, 1, clock, limits=limits)
    yield both
    for each in both:
        each.close()


def settle(*several: Shared) -> None:
    async def wait() -> None:
        for each in several:
            await each.written()

    asyncio.run(wait())


def test_what_one_process_keeps_another_finds(tmp_path: Path) -> None:
    now = [0.0]
    with two(tmp_path, lambda: now[0]) as (one, other):
        one.put("state", "me", "a", b"1")
        one.put("state", None, "a", b"2")
        settle(one)
        assert (other.get("state", "me", "a"), other.get("state", None, "a")) == (b"1", b"2")
        assert other.get("state", "you", "a") is None
        assert other.get("receipt", "me", "a") is None
        one.put_sums(b"{}")
        other.put_sums(b"[]")
        settle(one, other)
        assert one.sums() == {0: b"{}", 1: b"[]"}
        now[0] = 3601.0
        assert other.get("state", "me", "a") is None


def test_the_file_is_private(tmp_path: Path) -> None:
    with two(tmp_path) as (one, _):
        one.put("state", None, "a", b"1")
        settle(one)
        files = list(tmp_path.iterdir())
        assert len(files) > 1
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_the_file_forgets_what_is_too_much(tmp_path: Path) -> None:
    now = [0.0]
    with two(tmp_path, lambda: now[0], state=(40, 30)) as (one, other):
        for number in range(600):
            now[0] += 1
            one.put("state", "you" if number < 20 else "me", str(number), b"x")
        for number in range(600, 1100):
            now[0] += 1
            one.put("state", "me", str(number), b"x")
            settle(one)
        mine = [number for number in range(1100) if other.get("state", "me", str(number)) is not None]
        assert len(mine) <= 30 + 500
        assert mine == list(range(mine[0], 1100))
        one.put("state", None, "large", b"x" * (2**20 + 1))
        assert one.dropped == 1


def test_receipts_and_state_are_found_by_every_process(tmp_path: Path) -> None:
    with two(tmp_path) as (one, other):
        receipts = [Receipts(lambda: 0.0) for _ in range(2)]
        vaults = [Vault(lambda: 0.0) for _ in range(2)]
        for index, shared in enumerate((one, other)):
            receipts[index].shared = vaults[index].shared = shared
        receipts[0].keep(Receipt("r", CHAT, "asked", losses=(), status=429), "me")
        state = Message("assistant", (ThinkingBlock("hm", signature="sig"),))
        vaults[0].put("me", state, (call("add", a=1),))
        asyncio.run(vaults[0].wait_until_shared())
        found = receipts[1].find("r", "me")
        assert found is not None
        assert (found.asked, found.status) == ("asked", 429)
        assert receipts[1].find("r", "you") is None
        assert vaults[1].find("you", (call("add", a=1),)) is None
        assert not vaults[1].is_empty


def test_one_key_does_not_push_out_the_state_of_another() -> None:
    vault = Vault(lambda: 0.0, most=100, per_owner=10)
    state = Message("assistant", (ThinkingBlock("hm", signature="sig"),))
    vault.put("quiet", state, (TextBlock("first"),))
    for number in range(50):
        vault.put("loud", state, (TextBlock(str(number)),))
    assert vault.find("quiet", (TextBlock("first"),)) is state
    assert len(vault) == 11
    assert vault.find("loud", (TextBlock("39"),)) is None
    assert vault.find("loud", (TextBlock("40"),)) is state


def test_sums_of_processes_are_added_and_a_successor_counts_on() -> None:
    one, other = Metrics(), Metrics()
    for each in (one, other, other):
        each.add("interlingua_requests_total", dialect=CHAT, way="passed", status="200")
        each.set("interlingua_open_requests", 3)
    line = 'interlingua_requests_total{dialect="openai-chat",way="passed",status="200"}'
    assert f"{line} 3\n" in one.text([other.sums()])
    assert "interlingua_open_requests 6\n" in one.text([other.sums()])
    successor = Metrics()
    successor.resume(other.sums())
    successor.add("interlingua_requests_total", dialect=CHAT, way="passed", status="200")
    assert f"{line} 3\n" in successor.text()
    assert "interlingua_open_requests 3" not in successor.text()


# ------------------------------------------------------------------------------------------------- the command, running


class Running:
    """A running ``interlingua serve``, its URL and its output."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self.process, self.url = process, url
        self.output = b""
        self.listening = asyncio.ensure_future(self._listen())

    async def _listen(self) -> None:
        assert self.process.stderr is not None
        while line := await self.process.stderr.readline():
            self.output += line

    async def until_said(self, words: bytes) -> None:
        await until(lambda: words in self.output, lambda: self.output)

    async def fetch(self, path: str, body: Any = None) -> Any:
        return await asyncio.to_thread(fetch, self.url, path, body, x_api_key=KEY)

    async def ended(self) -> int:
        code = await asyncio.wait_for(self.process.wait(), PATIENCE)
        await self.listening
        return code


async def until(found: Any, explain: Any = lambda: "") -> None:
    """Wait until a condition holds; if it does not in time, fail with an explanation."""
    try:
        async with asyncio.timeout(PATIENCE):
            while not (await got if asyncio.iscoroutine(got := found()) else got):  # noqa: ASYNC110  # another process
                await asyncio.sleep(0.02)
    except TimeoutError:
        raise AssertionError(explain()) from None


def write_files(folder: Path, upstream: str, *, key: str = KEY, routes: str = "", **settings: Any) -> Path:
    used = {"port": 0, "models": str(folder / "models.yaml"), "not_ready_seconds": 0, "stream_seconds": 0.2, **settings}
    (folder / "models.yaml").write_text(
        f"adapters:\n  chat: {{type: openai-chat, base_url: {upstream}/v1, api_key_env: UPSTREAM}}\n"
        f"  other: {{type: openai, base_url: {upstream}/v1, api_key_env: UPSTREAM}}\n"
    )
    path = folder / "gateway.yaml"
    path.write_text(
        "settings:\n" + "".join(f"  {name}: {value}\n" for name, value in used.items()) + "routes:\n"
        f'  short: "chat:short"\n  endless: "chat:endless"\n  reasoning: "other:reasoning"\n{routes}'
        f"keys:\n  - {{name: me, sha256: {hash_key(key)}}}\n"
    )
    return path


@asynccontextmanager
async def running(path: Path, *arguments: str) -> AsyncIterator[Running]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "interlingua", "serve", "--json", "--config", str(path), *arguments),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "UPSTREAM": "upstream-key-1234"},
    )
    found: Running | None = None
    try:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), PATIENCE)
        found = Running(process, line.decode().partition('"url": "')[2].partition('"')[0])
        await until(lambda: answers(found))
        yield found
    finally:
        if process.returncode is None:
            process.terminate()
        assert process.stdout is not None
        await asyncio.wait_for(process.stdout.read(), PATIENCE)  # all processes have ended
        await process.wait()
        if found is not None:
            await found.listening


async def answers(found: Running) -> bool:
    try:
        return (await found.fetch("/readyz")).status == 200
    except OSError:
        return False


def streams(url: str, model: str, count: int) -> list[Reading]:
    """Half of them speak the provider's dialect, so that they are passed on; the others are translated."""
    asked = [("/v1/chat/completions", CHAT), ("/v1/messages", CLAUDE)]
    return [
        Reading(url, path, {**body_of(name), "model": model, "stream": True}, x_api_key=KEY)
        for path, name in (asked * count)[:count]
    ]


CLEAN = (b"data: [DONE]", b"event: message_stop")


def test_no_stream_ends_falsely_by_a_reload_or_a_stop(tmp_path: Path) -> None:
    asyncio.run(reload_and_stop(tmp_path))


async def reload_and_stop(folder: Path) -> None:
    async with HeldUpstream() as upstream:
        path = write_files(folder, upstream.url, not_ready_seconds=1, stream_seconds=5)
        async with running(path) as found:
            short, endless = (streams(found.url, model, STREAMS // 2) for model in ("short", "endless"))
            await asyncio.gather(*(each.begin(b'"content":') for each in short))
            await asyncio.gather(*(each.begin(b"data:") for each in endless))
            assert upstream.began == STREAMS

            broken = path.read_text().replace("endless:", "endles: {too: x}\n  endless:")
            path.write_text(broken)
            line = broken[: broken.index("endles:")].count("\n") + 1
            await found.until_said(f"gateway.yaml:{line}: ".encode())
            write_files(folder, upstream.url, key="new", not_ready_seconds=1, stream_seconds=5)
            models = folder / "models.yaml"
            models.write_text(models.read_text() + "models: {new: {adapter: chat}}\n")
            await until(lambda: is_allowed(found.url, "new"))
            assert not await is_allowed(found.url, KEY)
            if hasattr(signal, "SIGHUP"):
                found.process.send_signal(signal.SIGHUP)

            found.process.send_signal(signal.SIGTERM)
            await until(lambda: is_draining(found))
            upstream.release.set()
            for each in short:
                answer = await asyncio.wait_for(each.rest(), PATIENCE)
                assert each.ended, answer
                assert any(mark in answer for mark in CLEAN)
                assert b"rror" not in answer
            for each in endless:
                answer = await asyncio.wait_for(each.rest(), PATIENCE)
                assert not each.ended
                assert not any(mark in answer for mark in CLEAN)
                assert b"shutting down" in answer
            assert await found.ended() in (0, -signal.SIGTERM)
            await asyncio.wait_for(upstream.idle.wait(), PATIENCE)


async def is_allowed(url: str, key: str) -> bool:
    return (await asyncio.to_thread(fetch, url, "/v1/models", x_api_key=key)).status == 200


async def is_draining(found: Running) -> bool:
    return (await found.fetch("/readyz")).status == 503


async def test_a_whole_answer_that_a_stop_ends_is_an_error_in_the_callers_dialect(tmp_path: Path) -> None:
    async with HeldUpstream() as upstream:
        path = write_files(tmp_path, upstream.url, not_ready_seconds=0, stream_seconds=0.2)
        async with running(path) as found:
            body = {**body_of(CLAUDE), "model": "endless"}
            asked = asyncio.ensure_future(found.fetch("/v1/messages", body))
            await until(lambda: upstream.began)
            found.process.send_signal(signal.SIGTERM)
            got = await asyncio.wait_for(asked, PATIENCE)
            assert got.status in (503, 529)
            assert got.json()["type"] == "error"
            assert "shutting down" in got.json()["error"]["message"]
            await found.ended()


async def test_a_route_to_no_model_changes_nothing_and_is_told_with_its_line(tmp_path: Path) -> None:
    async with HeldUpstream() as upstream:
        path = write_files(tmp_path, upstream.url)
        async with running(path) as found:
            write_files(tmp_path, upstream.url, key="new", routes='  wrong: "nobody:x"\n')
            line = path.read_text()[: path.read_text().index("wrong:")].count("\n") + 1
            await found.until_said(f"gateway.yaml:{line}: the route 'wrong'".encode())
            assert await is_allowed(found.url, KEY)
            write_files(tmp_path, upstream.url, key="new", host="127.0.0.2")
            await found.until_said(b"settings.host has changed")


# ------------------------------------------------------------------------------------------------- several processes


@several
def test_several_processes_serve_as_one(tmp_path: Path) -> None:
    asyncio.run(serve_together(tmp_path))


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


async def serve_together(folder: Path) -> None:
    async with HeldUpstream() as upstream:
        path = write_files(folder, upstream.url, not_ready_seconds=0, stream_seconds=1, workers=2)
        upstream.release.set()
        async with running(path) as found:
            ask = {**body_of(CHAT), "model": "short", "stream": True}
            body = {**body_of(CLAUDE), "model": "short", "stream": True}
            for _ in range(20):
                assert (await found.fetch("/v1/chat/completions", ask)).body.endswith(b"[DONE]\n\n")
            receipts = [(await found.fetch("/v1/messages", body)).headers["x-interlingua-receipt"] for _ in range(8)]
            for receipt in receipts * 3:
                await until(partial(has_receipt, found, receipt.partition(";")[0]))
            await until(partial(counts_everywhere, found, 28))

            first, second = children_of(found.process.pid)
            os.kill(first, signal.SIGKILL)
            await found.until_said(b"is started again")
            await until(lambda: len(children_of(found.process.pid)) == 2)
            assert second in children_of(found.process.pid)
            for _ in range(12):
                assert (await found.fetch("/v1/chat/completions", ask)).status == 200
            await until(lambda: counts(found, 40))

            found.process.send_signal(signal.SIGHUP)
            found.process.send_signal(signal.SIGTERM)
            assert await found.ended() == 0
            with pytest.raises(OSError, match="refused"):
                await found.fetch("/readyz")


async def has_receipt(found: Running, id: str) -> bool:
    return (await found.fetch(f"/receipts/{id}")).status == 200


async def counts_everywhere(found: Running, total: int) -> bool:
    """Whether every process answers with the sum over all processes."""
    return all([await counts(found, total) for _ in range(12)])


async def counts(found: Running, total: int) -> bool:
    text = (await found.fetch("/metrics")).body.decode()
    lines = [line for line in text.splitlines() if line.startswith("interlingua_requests_total{")]
    return sum(float(line.rpartition(" ")[2]) for line in lines) == total


@several
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
async def test_processes_end_when_their_parent_is_gone(tmp_path: Path) -> None:
    async with HeldUpstream() as upstream:
        path = write_files(tmp_path, upstream.url, not_ready_seconds=0, stream_seconds=0, workers=2)
        async with running(path) as found:
            orphans = children_of(found.process.pid)
            assert len(orphans) == 2
            found.process.kill()
            await until(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in orphans))


@several
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("client", [CLAUDE, CHAT])
def test_state_comes_home_whichever_process_is_asked(client: str, stream: bool, tmp_path: Path) -> None:
    """Clients of Messages carry the state in an envelope; for clients of Chat, processes keep it in a file."""
    script = Script(*([Step(content=ISSUED[RESPONSES]), "3"] * TURNS))
    with LoopbackServer.in_thread(script) as upstream:
        asyncio.run(two_turns(client, stream, tmp_path, upstream.url))
    for request in script.seen[1::2]:
        assert opaque_values(dialect(RESPONSES).encode_messages(request.messages).body) == [SIGNATURE]


TURNS = 8


async def two_turns(client: str, stream: bool, folder: Path, upstream: str) -> None:
    async with running(write_files(folder, upstream, workers=2)) as found:
        for _ in range(TURNS):
            path, body = first_turn(client, stream)
            body["model"] = "reasoning"
            got = await found.fetch(path, body)
            assert got.status == 200, got.body
            again = second_turn(client, body, answered(client, got.body, stream))
            assert (await found.fetch(path, again)).status == 200


# --------------------------------------------------------------------------------------------------------- the page


def test_the_page_names_every_metric() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "gateway.md").read_text()
    rows = re.findall(r"^\| `(interlingua_\w+)` \| (\w+) \| (.*) \|$", page, re.MULTILINE)
    assert {name: (kind, about) for name, kind, about in rows} == HELP


def test_old_receipts_are_found_as_new_ones_are() -> None:
    now = [0.0]
    receipts = Receipts(lambda: now[0], seconds=60, most=1_000)
    loss = Loss("messages/0", "dropped", "no word for it", "content")
    for number in range(1_200):
        now[0] += 0.01
        receipts.keep(Receipt(f"r{number}", CHAT, losses=(loss,), usage=TokenUsage(3, output_tokens=4)), "me")
    for number in range(200, 1_200):
        found = receipts.find(f"r{number}", "me")
        assert found is not None
        assert (found.losses, found.usage) == ((loss,), TokenUsage(3, output_tokens=4))
        assert found.id == f"r{number}"
        assert receipts.find(f"r{number}", "you") is None
    assert receipts.find("r199", "me") is None
    now[0] += 61
    assert receipts.find("r1199", "me") is None

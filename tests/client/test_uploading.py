"""Media that are too big for a request: uploaded first if the caller allows it, remembered, and never lost."""

from __future__ import annotations

import asyncio
import email
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from email.message import Message as Mail
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from interlingua import (
    AdapterConfig,
    AdapterError,
    Base64Source,
    Block,
    CancelledError,
    DocumentBlock,
    FileSource,
    ImageBlock,
    Message,
    ProviderManager,
    RateLimitError,
    Request,
    ServerError,
)
from interlingua.agent.session import Session, SyncSession
from interlingua.client.connect import AsyncClient, Client
from interlingua.client.embedded import Script, Step, handler
from interlingua.client.embedded.server import LoopbackServer
from interlingua.client.http import HttpRequest
from interlingua.client.transport.memory import STALL, Answer, AsyncMemoryTransport, MemoryTransport
from interlingua.client.uploaded import Uploaded, Uploads
from interlingua.client.uploading import FILES
from session.scenes import scripted

PDF = b"%PDF-1.7 " + bytes(range(256)) * 40
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40
SMALL = b"\x89PNG\r\n\x1a\n\0"
KEY = AdapterConfig(api_key="sk-1234567890", max_retries=0)


@pytest.fixture(autouse=True)
def _low_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits of two kilobytes, so that the tests need not move megabytes."""
    for provider, api in FILES.items():
        low = {
            **{name: getattr(api, name) for name in api.__struct_fields__},
            "total": 2048,
            "most": {ImageBlock: 1024},
        }
        monkeypatch.setitem(FILES, provider, type(api)(**low))


def block(data: bytes, media_type: str = "application/pdf") -> Block:
    source = Base64Source(media_type, b64encode(data).decode())
    return DocumentBlock(source, filename='a "b".pdf') if media_type == "application/pdf" else ImageBlock(source)


def asks(*blocks: Block, model: str = "m") -> Request:
    return Request([Message("user", ["what is it?", *blocks])], model)


def waited(found: Any) -> Any:
    return asyncio.run(found) if asyncio.iscoroutine(found) else found


def client_of(kind: Any, provider: str, answers: Callable[[HttpRequest], Answer], **settings: Any) -> Any:
    transport: Any = AsyncMemoryTransport(answers) if kind is AsyncClient else MemoryTransport(answers)
    waits = {"sleep": no_wait if kind is AsyncClient else (lambda _: None)}
    config = settings.pop("config", KEY)
    return kind(provider, config, transport=transport, upload=True, **waits, **settings)


async def no_wait(seconds: float) -> None:
    """A sleep that returns at once."""


def sources(request: Request) -> list[Any]:
    return [block.source for block in request.messages[0].content if isinstance(block, DocumentBlock | ImageBlock)]


@pytest.mark.parametrize("kind", [AsyncClient, Client])
@pytest.mark.parametrize("provider", ["openai", "openai-chat", "anthropic", "google"])
def test_what_is_too_big_is_uploaded_first(provider: str, kind: Any) -> None:
    script = Script("a paper", "a paper")
    client = client_of(kind, provider, handler(script))
    request = asks(block(PDF), block(SMALL, "image/png"))
    response = waited(client.complete(request))
    (stored,) = script.files.values()
    assert (stored.data, stored.media_type) == (PDF, "application/pdf")
    assert stored.name in ("a %22b%22.pdf", 'a "b".pdf')
    named, inline = sources(script.seen[0])
    assert (named.file_id.rpartition("/")[2], type(inline)) == ("file_1", Base64Source)
    assert "messages/0/content/1" not in [loss.path for loss in response.losses]
    assert sources(request)[0].data, "the caller's request is as it was"
    assert script.seen[0].betas == (("files-api-2025-04-14",) if provider == "anthropic" else ())
    waited(client.complete(request))
    assert len(script.files) == 1, "it is remembered"


@pytest.mark.parametrize("kind", [AsyncClient, Client])
def test_streams_upload_too(kind: Any) -> None:
    script = Script("a paper")
    client = client_of(kind, "openai", handler(script))

    async def read() -> None:
        async for _ in client.stream(asks(block(PDF))):
            pass

    asyncio.run(read()) if kind is AsyncClient else list(client.stream(asks(block(PDF))))
    assert isinstance(sources(script.seen[0])[0], FileSource)


def test_forms_are_as_the_providers_document_them() -> None:
    seen: list[HttpRequest] = []

    for provider in ("openai", "anthropic", "google"):
        script = Script("fine")

        def keep(http: HttpRequest, script: Script = script) -> Answer:
            seen.append(http)
            return handler(script)(http)

        client_of(Client, provider, keep).complete(asks(block(PICTURE, "image/png")))
    first = {http.url: http for http in seen if "files" in http.url and http.method == "POST"}
    openai, anthropic, google = first.values()
    assert list(first) == [
        "https://api.openai.com/v1/files",
        "https://api.anthropic.com/v1/files",
        "https://generativelanguage.googleapis.com/upload/v1beta/files",
    ]
    fields = {part.get_param("name", header="content-disposition"): part for part in parts_of(openai)}
    assert [fields[name].get_payload() for name in ("purpose", "expires_after[anchor]")] == ["vision", "created_at"]
    assert fields["file"].get_payload(decode=True) == PICTURE
    assert anthropic.headers["anthropic-beta"] == "files-api-2025-04-14"
    assert anthropic.headers["x-api-key"] == "sk-1234567890"
    assert [part.get_content_type() for part in parts_of(google)] == ["application/json", "image/png"]
    assert google.headers["x-goog-upload-protocol"] == "multipart"
    asked = [http.method for http in seen if http.url.endswith("/v1beta/files/file_1")]
    assert asked == ["GET"], "a file that is not ready is asked for again"


def parts_of(http: HttpRequest) -> list[Mail]:
    """The parts of a form, read by the standard library and not by our code."""
    head = f"Content-Type: {http.headers['content-type']}\r\n\r\n".encode()
    whole = email.message_from_bytes(head + http.body)
    found: Any = whole.get_payload()
    return list(found)


@pytest.mark.parametrize("kind", [AsyncClient, Client])
def test_a_failed_upload_is_retried_and_says_what_failed(kind: Any) -> None:
    script, failures = Script("fine"), [429, 500]

    def answers(http: HttpRequest) -> Answer:
        if "files" in http.url and failures:
            return Answer(failures.pop(0), {"content-type": "application/json"}, [b'{"error": {"message": "busy"}}'])
        return handler(script)(http)

    with pytest.raises(RateLimitError, match=r"^the upload of a document of 0\.0 MB to openai failed: busy") as caught:
        waited(client_of(kind, "openai", answers).complete(asks(block(PDF))))
    assert caught.value.provider_status == 429
    config = AdapterConfig(api_key="sk-1234567890", max_retries=1)
    response = waited(client_of(kind, "openai", answers, config=config).complete(asks(block(PDF))))
    assert (response.text, response.attempts, len(script.files)) == ("fine", 2, 1)


def test_an_answer_that_names_no_file_is_an_error() -> None:
    for body in (b"{}", b"[]", b"<html>", b'{"id": '):
        client = client_of(Client, "anthropic", lambda _, body=body: Answer(200, {}, [body]))
        with pytest.raises(AdapterError, match=r"the upload of a document .* the answer names no file"):
            client.complete(asks(block(PDF)))


def test_without_permission_the_error_says_which_option_helps() -> None:
    refused = Script(Step(act="fail", status=413), Step(act="fail", status=413))
    client = Client("openai", KEY, transport=MemoryTransport(handler(refused)))
    with pytest.raises(AdapterError, match=r"a document of 0.0 MB is more than openai takes .* give upload=True"):
        client.complete(asks(block(PDF)))
    with pytest.raises(AdapterError) as caught:
        client.complete(asks(block(SMALL, "image/png")))
    assert "upload" not in str(caught.value)
    assert not refused.files


@pytest.mark.parametrize("provider", ["openai-chat", "mistral", "ollama"])
def test_where_files_cannot_be_named_media_stay_in_the_request(provider: str) -> None:
    script = Script("fine")
    client_of(Client, provider, handler(script)).complete(asks(block(PICTURE, "image/png")))
    assert not script.files
    assert type(sources(script.seen[0])[0]) is Base64Source


def test_a_file_belongs_to_its_issuer_and_expires() -> None:
    now = [1000.0]
    uploads = Uploads(clock=lambda: now[0])
    uploads.note(Uploaded(issuer="a", digest="d", file_id="f", media_type="m", expires_at=2000.0))
    assert uploads.find("a", "d") is not None
    assert uploads.find("b", "d") is None
    now[0] = 1800.0
    assert uploads.find("a", "d") is None, "a file that is about to expire is not used any more"


def test_a_file_that_the_provider_has_lost_is_uploaded_again() -> None:
    script = Script("one", Step(act="fail", status=404, message="file_1 was not found"), "two")
    client = client_of(Client, "openai", handler(script))
    client.complete(asks(block(PDF)))
    with pytest.raises(AdapterError):
        client.complete(asks(block(PDF)))
    assert client.complete(asks(block(PDF))).text == "two"
    assert list(script.files) == ["file_1", "file_2"]


# ---------------------------------------------------------------------------------------------------------- sessions


@pytest.mark.parametrize("kind", [Session, SyncSession])
def test_a_session_remembers_what_it_uploaded(kind: Any, tmp_path: Path) -> None:
    script = Script(*["fine"] * 9)
    session = kind("openai:gpt-5", manager=scripted(script), upload=True)
    waited(session.send("what is it?", block(PDF)))
    waited(session.send("and?"))
    assert len(script.files) == 1
    assert type(session.messages[0].content[1].source) is Base64Source, "the history keeps the content"
    session.save(tmp_path / "talk.json")
    loaded = kind.load(tmp_path / "talk.json", manager=scripted(script), upload=True)
    waited(loaded.send("still?"))
    assert len(script.files) == 1, "what was uploaded is stored with the session"
    loaded.model = "anthropic:claude-sonnet-4-5"
    waited(loaded.send("and you?"))
    assert len(script.files) == 2, "another provider gets a file of its own"
    assert sources(script.seen[-1])[0].file_id == "file_2"
    fork = loaded.fork()
    waited(fork.send("the same?"))
    assert len(script.files) == 2


@pytest.mark.parametrize("kind", [Session, SyncSession])
def test_a_session_without_permission_uploads_nothing(kind: Any) -> None:
    script = Script("fine")
    waited(kind("openai:gpt-5", manager=scripted(script)).send("?", block(PDF)))
    assert not script.files


@pytest.mark.parametrize("kind", [Session, SyncSession])
def test_a_failed_upload_loses_nothing(kind: Any) -> None:
    failing = [True]
    script = Script("fine")

    def answers(http: HttpRequest) -> Answer:
        return Answer(500, {}, [b"out of disk"]) if "files" in http.url and failing else handler(script)(http)

    manager = ProviderManager(
        environment={}, transport=AsyncMemoryTransport(answers), sync_transport=MemoryTransport(answers)
    )
    manager.register("openai", None, KEY)
    session = kind("openai:gpt-5", manager=manager, upload=True)
    with pytest.raises(ServerError, match="the upload of a document"):
        waited(session.send("what is it?", block(PDF)))
    assert session.messages == ()
    failing.clear()
    assert waited(session.retry()).text == "fine"
    assert len(script.files) == 1


def test_uploads_over_real_connections() -> None:
    with LoopbackServer.in_thread(Script("fine", "fine")) as server:
        config = AdapterConfig(api_key="sk-1234567890", base_url=server.url)
        with Client("openai", config, upload=True) as client:
            assert client.complete(asks(block(PDF))).text == "fine"

        async def main() -> str:
            async with AsyncClient("google", config, upload=True, sleep=no_wait) as client:
                return (await client.complete(asks(block(PDF)))).text

        assert asyncio.run(main()) == "fine"
        assert [stored.data for stored in server.script.files.values()] == [PDF, PDF]


def stalled(http: HttpRequest) -> Answer:
    return Answer(200, {}, instead=STALL) if "files" in http.url else handler(Script("fine"))(http)


async def test_a_call_is_cancelled_while_it_uploads() -> None:
    asked = asyncio.Event()

    def answers(http: HttpRequest) -> Answer:
        asked.set()
        return stalled(http)

    transport = AsyncMemoryTransport(answers, sleep=asyncio.sleep)
    client = AsyncClient("openai", KEY, transport=transport, upload=True)
    request = replace(asks(block(PDF)), request_id="mine")
    task = asyncio.create_task(client.complete(request))
    await asked.wait()
    assert await client.cancel("mine")
    with pytest.raises(CancelledError):
        await task
    assert (transport.open, len(transport.requests)) == (0, 1)


def test_a_call_that_blocks_is_cancelled_while_it_uploads() -> None:
    transport = MemoryTransport(stalled)
    client = Client("openai", KEY, transport=transport, upload=True)
    errors: list[BaseException] = []

    def call() -> None:
        try:
            client.complete(replace(asks(block(PDF)), request_id="mine"))
        except AdapterError as error:
            errors.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    while not transport.requests:
        time.sleep(0.001)
    assert client.cancel("mine")
    thread.join(60)
    assert [type(error) for error in errors] == [CancelledError]
    assert transport.open == 0

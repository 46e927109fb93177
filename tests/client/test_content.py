"""Blocks made of paths, bytes and URLs, whose types are recognised by the content."""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interlingua import (
    AudioBlock,
    Base64Source,
    Client,
    DocumentBlock,
    ImageBlock,
    Message,
    Session,
    SyncSession,
    TextBlock,
    TextSource,
    UrlSource,
    VideoBlock,
    audio,
    document,
    file,
    image,
)
from interlingua.embedded import Script

PNG = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
WAV = b"RIFF\x24\0\0\0WAVEfmt "
PDF = b"%PDF-1.7\n"
MP4 = b"\0\0\0\x18ftypmp42"
URL = "https://example.org/red.png"


def inline(media_type: str, data: bytes) -> Base64Source:
    return Base64Source(media_type, b64encode(data).decode())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    files = {"red.png": PNG, "photo.txt": PNG, "notes.md": "# Ä".encode(), "a.pdf": PDF, "say.wav": WAV, "t": b"plain"}
    for name, data in {**files, "empty": b"", "x.docx": b"PK\3\4", "odd": b"\x80\x81\0", "red.gif": b"words"}.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


MADE: list[tuple[Callable[[], Any], Any]] = [
    (lambda: image("red.png"), ImageBlock(inline("image/png", PNG))),
    (lambda: image(Path("photo.txt"), detail="low"), ImageBlock(inline("image/png", PNG), "low")),
    (lambda: image(PNG), ImageBlock(inline("image/png", PNG))),
    (lambda: image(URL), ImageBlock(UrlSource(URL))),
    (lambda: image("data:image/png;base64," + b64encode(PNG).decode()), ImageBlock(inline("image/png", PNG))),
    (lambda: document("a.pdf", title="A"), DocumentBlock(inline("application/pdf", PDF), "A", None, "a.pdf")),
    (lambda: document(PDF), DocumentBlock(inline("application/pdf", PDF))),
    (lambda: document("notes.md"), DocumentBlock(TextSource("# Ä", "text/markdown"), None, None, "notes.md")),
    (lambda: document("data:,plain%20words"), DocumentBlock(TextSource("plain words"))),
    (lambda: audio("say.wav"), AudioBlock(inline("audio/wav", WAV))),
    (lambda: audio(b"\x01\x02", media_type="audio/pcm"), AudioBlock(inline("audio/pcm", b"\x01\x02"))),
    (lambda: file("red.png"), ImageBlock(inline("image/png", PNG))),
    (lambda: file("t"), DocumentBlock(TextSource("plain"), None, None, "t")),
    (lambda: file(MP4), VideoBlock(inline("video/mp4", MP4))),
    (lambda: file("https://example.org/film.mp4?x=1"), VideoBlock(UrlSource("https://example.org/film.mp4?x=1"))),
    (
        lambda: file("x.docx"),
        DocumentBlock(
            inline("application/vnd.openxmlformats-officedocument.wordprocessingml.document", b"PK\3\4"),
            filename="x.docx",
        ),
    ),
]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("make", "meant"), MADE, ids=[str(place) for place in range(len(MADE))])
def test_files_become_blocks(make: Callable[[], Any], meant: Any) -> None:
    assert make() == meant


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: image("notes.md"), ValueError, "notes.md is text/markdown, which cannot be sent as a picture"),
    (lambda: image("red.gif"), ValueError, "red.gif is text/plain, which cannot be sent as a picture"),
    (lambda: audio(PNG), ValueError, "the content is image/png, which cannot be sent as sound"),
    (lambda: document("say.wav"), ValueError, "say.wav is audio/wav, which cannot be sent as a document"),
    (lambda: image("empty"), ValueError, "empty is empty"),
    (
        lambda: file("odd"),
        ValueError,
        "neither the content nor the name of odd tells its type",
    ),
    (lambda: file("https://example.org/x"), ValueError, "the ending of the URL at example.org does not tell its type"),
    (lambda: image("red.png", max_bytes=10), ValueError, "red.png has 70 bytes, more than max_bytes=10"),
    (lambda: image("no.png"), FileNotFoundError, "no.png"),
    (lambda: image("/dev/zero", max_bytes=1000), ValueError, "zero has 1,001 bytes, more than max_bytes=1,000"),
    (lambda: image(5), TypeError, "expected a path, a URL or bytes, not int"),  # type: ignore[arg-type]
]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("make", "kind", "why"), REFUSED, ids=[why[:30] for _, _, why in REFUSED])
def test_what_a_file_does_not_hold_is_refused(make: Callable[[], Any], kind: type[Exception], why: str) -> None:
    with pytest.raises(kind, match=re.escape(why)):
        make()


def test_a_turn_of_several_parts(folder: Path) -> None:
    script = Script("red")
    with SyncSession("embedded:gemini", script=script) as session:
        session.send("what is this?", image("red.png"), "and this?", Path("red.png"), PNG)
        picture = ImageBlock(inline("image/png", PNG))
        parts = (TextBlock("what is this?"), picture, TextBlock("and this?"), picture, picture)
        assert session.messages[0].content == parts
        assert script.seen[0].messages[0].content == parts
        session.run(["a list", Path("notes.md")], "and more")
        assert [block.type for block in session.messages[2].content] == ["text", "document", "text"]
        with pytest.raises(FileNotFoundError):
            session.send("and this?", Path("no.png"))
        assert len(session.messages) == 4
        with pytest.raises(TypeError, match="one Message, or the parts of one"):
            session.send(Message("user", "hi"), "and more")


def test_short_forms_of_options() -> None:
    def weather(city: str) -> str:
        return city

    script = Script("hi")
    with SyncSession("embedded:openai-chat", weather, script=script, thinking="high", stop_sequences="END") as session:  # type: ignore[arg-type]
        session.send("hi", tool_choice="weather")
    asked = script.seen[0]
    assert asked.stop_sequences == ("END",)
    assert asked.thinking is not None
    assert asked.thinking.effort == "high"
    assert asked.tool_choice is not None
    assert asked.tool_choice.name == "weather"


def test_a_system_prompt_in_second_place_is_refused() -> None:
    with pytest.raises(TypeError, match="a system prompt is given as system="):
        SyncSession("embedded:", "Be brief.")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a system prompt is given as system="):
        Session("embedded:", "Be brief.")  # type: ignore[arg-type]


def test_a_client_takes_its_settings_as_a_dict() -> None:
    with Client("openai", {"api_key": "sk-1", "retry": {"cap": 3.0}, "timeout_seconds": 5}) as client:
        assert (client.config.timeout_seconds, client.config.retry.cap) == (5, 3.0)
        assert "sk-1" not in repr(client.config)
    with pytest.raises(ValueError, match="AdapterConfig has no key; it has api_key"):
        Client("openai", {"key": "sk-1"})
    with pytest.raises(TypeError, match="second argument") as caught:
        Client("openai", "sk-secret")  # type: ignore[arg-type]
    assert "sk-secret" not in str(caught.value)


def test_a_path_in_a_message_raises_advice() -> None:
    with pytest.raises(TypeError, match=r"file\(path\)"):
        Message("user", ["look:", Path("red.png")])  # type: ignore[list-item]


async def test_an_async_session_takes_parts_too(folder: Path) -> None:
    async with Session("embedded:", script=["red"]) as session:
        assert (await session.send("what is this?", folder / "red.png")).text == "red"

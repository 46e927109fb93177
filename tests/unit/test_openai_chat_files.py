"""Files and sound in Chat: data have a name, if a made-up one; what is stored needs no more than its id."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from interlingua import AudioBlock, DocumentBlock, FileSource, Message, Request, dialect
from interlingua.testing.conformance import check_request

CHAT = dialect("openai-chat")
SOURCES: tuple[dict[str, Any], ...] = (
    {"file_id": "file-1"},
    {"file_data": "data:application/pdf;base64,JVBERg=="},
    {"file_data": "https://example.com/a.pdf"},
)
NAMES: tuple[dict[str, Any], ...] = ({}, {"filename": None}, {"filename": ""}, {"filename": "a.pdf"})


def test_a_stored_file_needs_no_name() -> None:
    stored = DocumentBlock(FileSource("file-1", dialect=CHAT.name))
    encoded = check_request(CHAT, Request((Message("user", (stored,)),)))  # and no form mark tells of it
    assert encoded.body["messages"][0]["content"] == [{"type": "file", "file": {"file_id": "file-1"}}]
    assert encoded.losses == ()


@pytest.mark.parametrize(("source", "name"), [*product(SOURCES, NAMES)])
def test_a_file_is_written_as_it_was_read(source: dict[str, Any], name: dict[str, Any]) -> None:
    body = {"messages": [{"role": "user", "content": [{"type": "file", "file": {**source, **name}}]}]}
    encoded = CHAT.encode_request(CHAT.decode_request(body))
    assert encoded.body == body
    assert encoded.losses == ()


def test_audio_by_its_id_is_a_turn_without_words() -> None:
    heard = AudioBlock(FileSource("audio-1", dialect=CHAT.name))
    history = (Message("user", "?"), Message("assistant", (heard,)), Message("user", "!"))
    encoded = check_request(CHAT, Request(history))  # and no form mark tells of it
    assert encoded.body["messages"][1] == {"role": "assistant", "content": None, "audio": {"id": "audio-1"}}
    del encoded.body["messages"][1]["content"]
    assert CHAT.encode_request(CHAT.decode_request(encoded.body)).body == encoded.body

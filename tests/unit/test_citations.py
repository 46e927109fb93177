"""Citations of Chat and Anthropic Messages are written as they were read, also with missing or empty fields."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from interlingua import (
    dialect,
)

CHAT, RESPONSES, CLAUDE = map(dialect, ("openai-chat", "openai-responses", "anthropic-messages"))
Wire = dict[str, Any]


# ---------------------------------------------------------------------------------------------------------------- chat

MISSING: Any = object()
URLS: tuple[Any, ...] = (MISSING, None, "", "https://example.com")
TITLES: tuple[Any, ...] = (MISSING, None, "", "t")
PLACES: tuple[Any, ...] = (MISSING, None, 0, 3)


@pytest.mark.parametrize(("url", "title"), [*product(URLS, TITLES)])
def test_chat_annotations_are_written_as_they_were_read(url: Any, title: Any) -> None:
    for start, end in product(PLACES, PLACES):
        fields = {"url": url, "title": title, "start_index": start, "end_index": end}
        citation = {key: value for key, value in fields.items() if value is not MISSING}
        message = {"role": "assistant", "content": "hello"}
        message["annotations"] = [{"type": "url_citation", "url_citation": citation}]  # type: ignore[assignment]
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        read = CHAT.decode_response(body)
        assert len(read.content[0].citations) == 1  # type: ignore[union-attr]
        encoded = CHAT.encode_response(read)
        assert encoded.body == body
        assert encoded.losses == ()


# ----------------------------------------------------------------------------------------------------------- anthropic

PLACED = {"document_index": 0, "cited_text": "x", "start_char_index": 0, "end_char_index": 2}
FOUND = {"search_result_index": 0, "source": "s", "cited_text": "x", "start_block_index": 0, "end_block_index": 1}
SEARCHED = {"url": "u", "cited_text": "x", "encrypted_index": "e"}


@pytest.mark.parametrize("title", TITLES)
@pytest.mark.parametrize(
    ("tag", "key", "fields"),
    [
        ("char_location", "document_title", PLACED),
        ("search_result_location", "title", FOUND),
        ("web_search_result_location", "title", SEARCHED),
        ("of_tomorrow", "title", {"x": 1}),
    ],
)
def test_claude_citations_are_written_as_they_were_read(tag: str, key: str, fields: Wire, title: Any) -> None:
    """Also without a field that the protocol requires."""
    for missing in (None, *fields):
        citation = {"type": tag, **{name: value for name, value in fields.items() if name != missing}}
        if title is not MISSING:
            citation[key] = title
        content = [{"type": "text", "text": "hello", "citations": [citation]}]
        ends = {"stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
        body = {"id": "r", "type": "message", "role": "assistant", "model": "m", "content": content, **ends}
        encoded = CLAUDE.encode_response(CLAUDE.decode_response(body))
        assert encoded.body == body
        assert encoded.losses == ()

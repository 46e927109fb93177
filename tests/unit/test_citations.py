"""Citations where a protocol has no place for them, or another one than ours."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from interlingua import (
    Citation,
    Loss,
    OpaqueBlock,
    Response,
    TextBlock,
    dialect,
    unfold,
)
from interlingua.testing.conformance import check_events, check_response, check_stream_is_whole, encode_events

CHAT, RESPONSES, CLAUDE = map(dialect, ("openai-chat", "openai-responses", "anthropic-messages"))
GEMINI, BEDROCK = map(dialect, ("gemini", "bedrock-converse"))
WEB = Citation("url", url="https://example.com", title="t", start=0, end=1)
PART = OpaqueBlock("openai-chat", {"type": "x_block"})
Wire = dict[str, Any]


def told(losses: Any) -> set[tuple[str, str]]:
    return {(loss.path, loss.kind) for loss in losses if isinstance(loss, Loss) and loss.kind != "added"}


# ---------------------------------------------------------------------------------------------------------------- chat

MISSING: Any = object()
URLS: tuple[Any, ...] = (MISSING, None, "", "https://example.com")
TITLES: tuple[Any, ...] = (MISSING, None, "", "t")
PLACES: tuple[Any, ...] = (MISSING, None, 0, 3)


@pytest.mark.parametrize(("url", "title"), [*product(URLS, TITLES)])
def test_chat_annotations_are_written_as_they_were_read(url: Any, title: Any) -> None:
    for start, end in product(PLACES, PLACES):
        fields = {"url": url, "title": title, "start_index": start, "end_index": end}
        said = {key: value for key, value in fields.items() if value is not MISSING}
        message = {"role": "assistant", "content": "hello"}
        message["annotations"] = [{"type": "url_citation", "url_citation": said}]  # type: ignore[assignment]
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        read = CHAT.decode_response(body)
        assert len(read.content[0].citations) == 1  # type: ignore[union-attr]
        encoded = CHAT.encode_response(read)
        assert encoded.body == body
        assert encoded.losses == ()


@pytest.mark.parametrize("more", [(), (PART,), (TextBlock("a"), PART)])
def test_an_empty_chat_text_cites_nothing(more: tuple[Any, ...]) -> None:
    said = Response((TextBlock("", (WEB,)), *more), model="m")
    encoded = check_response(CHAT, said)
    assert "annotations" not in encoded.body["choices"][0]["message"]
    assert ("content/0/citations", "dropped") in told(encoded.losses)
    check_events(CHAT, list(unfold(said)))
    check_stream_is_whole(CHAT, said)


def test_an_empty_chat_text_that_was_read_with_citations_keeps_them() -> None:
    annotations = [
        {"type": "url_citation", "url_citation": {"url": "u", "title": "t", "start_index": 0, "end_index": 0}}
    ]
    message = {"role": "assistant", "content": [{"type": "text", "text": ""}, PART.raw], "annotations": annotations}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": "r", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    assert CHAT.encode_response(CHAT.decode_response(body)).body == body


@pytest.mark.parametrize(
    "content", [(TextBlock("0"), PART, TextBlock("1", (WEB,))), (TextBlock("0", (WEB,)), TextBlock("1"), PART)]
)
def test_annotations_of_several_chat_texts_stand_on_the_turn(content: tuple[Any, ...]) -> None:
    said = Response(content, model="m")
    cited = next(index for index, block in enumerate(content) if getattr(block, "citations", ()))
    encoded = check_response(CHAT, said)
    assert told(encoded.losses) == {(f"content/{cited}/citations", "moved")}
    read = CHAT.decode_response(encoded.body)
    check_stream_is_whole(CHAT, said)
    _, losses = encode_events(CHAT, unfold(read))
    assert ("extras/openai-chat/choices/0/message/annotations", "moved") in told(losses)


# ----------------------------------------------------------------------------------------------------------- responses


def test_a_responses_citation_that_came_without_its_url_goes_back_so() -> None:
    said = Response((TextBlock("ab", (WEB,)),), id="r", model="m")
    body = RESPONSES.encode_response(said).body
    del body["output"][0]["content"][0]["annotations"][0]["url"]
    assert RESPONSES.encode_response(RESPONSES.decode_response(body)).body == body


# -------------------------------------------------------------------------------------------------------------- gemini


# ------------------------------------------------------------------------------------------------------------- bedrock


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
    """Also where something is missing that the protocol demands."""
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


def test_a_responses_annotation_of_tomorrow_goes_back() -> None:
    said = Response((TextBlock("ab", (WEB,)),), id="r", model="m")
    body = RESPONSES.encode_response(said).body
    for annotation in ({"type": "of_tomorrow"}, {"type": "file_path", "index": 1}):
        body["output"][0]["content"][0]["annotations"] = [annotation]
        encoded = RESPONSES.encode_response(RESPONSES.decode_response(body))
        assert encoded.body == body
        assert encoded.losses == ()

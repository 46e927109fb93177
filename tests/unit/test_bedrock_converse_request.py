"""Base64 in requests of Bedrock Converse. All other tests are lines of ``tests/cases/bedrock-converse.jsonl``."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua import (
    Base64Source,
    Encoded,
    ImageBlock,
    Message,
    TextBlock,
    dialect,
)

NAME = "bedrock-converse"
BEDROCK = dialect(NAME)
Wire = dict[str, Any]


def user(*content: Wire) -> Wire:
    return {"role": "user", "content": list(content)}


def losses(encoded: Encoded) -> list[tuple[str, str]]:
    return [(loss.kind, loss.path) for loss in encoded.losses]


LONG = "az09" * 5000
NOT_BASE64 = ["", "AAA", "AB=", "A===", "====", "AB==AB==", "AA-_", "AAA\n", "AAAé", "A\udc80AA"]
BAD_END = [LONG + odd for odd in NOT_BASE64 if odd]
BAD_MIDDLE = [LONG + odd + LONG for odd in ("AA-_", "AAA\n", "AAAé")]


@pytest.mark.parametrize("text", [*NOT_BASE64, *BAD_END, *BAD_MIDDLE])
def test_other_base64_is_changed_or_dropped_unless_it_was_read(text: str) -> None:
    encoded = BEDROCK.encode_messages([Message("user", (TextBlock("x"), ImageBlock(Base64Source("image/png", text))))])
    assert losses(encoded)[0][1].startswith("messages/0/content/1")
    read = BEDROCK.decode_request({"messages": [user({"image": {"format": "png", "source": {"bytes": text}}})]})
    assert BEDROCK.encode_request(read).body["messages"][0]["content"][0]["image"]["source"]["bytes"] == text


@pytest.mark.parametrize("text", ["AB==", "ABC=", "az09", "+/+/AA==", LONG, LONG + "AB=="])
def test_standard_base64_is_written_as_it_is(text: str) -> None:
    encoded = BEDROCK.encode_messages([Message("user", (TextBlock("x"), ImageBlock(Base64Source("image/png", text))))])
    assert losses(encoded) == []
    assert encoded.body[0]["content"][1]["image"]["source"]["bytes"] == text

"""The reasons of losses are plain sentences about the target, and no reason is false."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from interlingua import DIALECTS, Message, OpaqueBlock, Request, dialect

SOURCE = Path(__file__).resolve().parents[2] / "src" / "interlingua"

# what reasons must not say: claims on all other protocols, and English that has to be deciphered
BANNED = re.compile(
    r"\bonly (?:anthropic|openai|gemini|ollama|bedrock|\{(?:name|dialect|tool\.dialect|block\.dialect)\})"
    r"|no word for|a word for it|understands this|\bgoes as\b|\bgo as\b|\bstands? (?:in|on|right|behind|together|for)\b"
    r"|\bput in\b|turns alternate|nobody else|the protocol demands|\bhere$"
)

# which argument is the reason
PLACES = {"lose": 1, "lose_form": 1, "Loss": 2, "lost": 0, "drop": 0, "as_text": 0, "as_json_text": 0}


def reasons(text: str) -> Iterator[tuple[int, str]]:
    """The line and the text of the reason of every declared loss that has its reason as a literal."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            place = PLACES.get(name)
            if place is not None and len(node.args) > place:
                yield node.lineno, ast.unparse(node.args[place]).strip("f'\"")


def test_reasons_are_plain() -> None:
    files = [*(SOURCE / "codec").rglob("*.py"), *(SOURCE / "dialects").rglob("*.py"), SOURCE / "client" / "media.py"]
    found = [(file.name, line, why) for file in files for line, why in reasons(file.read_text(encoding="utf-8"))]
    assert len(found) > 300, "the check is blind"
    assert [row for row in found if BANNED.search(row[2])] == []


@pytest.mark.parametrize("why", ["only openai-chat has a word for it", "free text goes as the object {input: text}"])
def test_a_reason_of_the_old_kind_is_found(why: str) -> None:
    ((_, found),) = reasons(f"ledger.lose('dropped', {why!r}, 'x')")
    assert BANNED.search(found)


SHARED_KEYS = ("n", "logprobs", "user", "store", "prompt_cache_key", "presence_penalty", "response_format")


@pytest.mark.parametrize("key", SHARED_KEYS)
def test_a_parameter_that_is_not_translated_is_said_to_be_just_that(key: str) -> None:
    # several protocols have these, so nothing may be said of who has them
    request = Request([Message("user", "hi")], "m", extras={"openai-chat": {key: {"type": "x"}}})
    for name in DIALECTS:
        losses = [loss for loss in dialect(name).encode_request(request).losses if loss.path.startswith("extras/")]
        assert [loss.kind for loss in losses] == ([] if name == "openai-chat" else ["dropped"])
        for loss in losses:
            assert (
                loss.reason
                == f"`{key}.type` is a field of openai-chat that interlingua does not translate; it was left out"
            )


# residue of a request, and how much its loss matters
WEIGHTS = [
    ("previous_response_id", "resp_1", "state"),
    ("conversation", "conv_1", "state"),
    ("prompt", {"id": "pmpt_1"}, "state"),
    ("thread", "thread_1", "state"),
    ("store", True, "state"),
    ("container", "c_1", "state"),
    ("cachedContent", "cachedContents/1", "state"),
    ("n", 1, "form"),
    ("n", 2, "content"),
    ("presence_penalty", 0.0, "form"),
    ("generationConfig", {"candidateCount": 1}, "form"),
    ("generationConfig", {"candidateCount": 1, "responseModalities": ["IMAGE"]}, "content"),
    ("id", "x", "content"),
]


@pytest.mark.parametrize(("key", "value", "weight"), WEIGHTS)
def test_the_weight_of_what_is_not_translated(key: str, value: object, weight: str) -> None:
    # a thread or a stored response is no trifle
    request = Request([Message("user", "hi")], "m", extras={"elsewhere": {key: value}})
    for name in DIALECTS:
        (loss,) = [loss for loss in dialect(name).encode_request(request).losses if loss.path.startswith("extras/")]
        assert (loss.path, loss.weight) == (f"extras/elsewhere/{key}", weight)


# blocks that another dialect carried whole
CARRIED = [
    ({"type": "additional_tools", "role": "developer"}, "form"),  # its tools came through
    ({"type": "item_reference", "id": "msg_1"}, "state"),
    ({"type": "compaction", "encrypted_content": "x"}, "state"),
    ({"type": "novelty", "text": "hi"}, "content"),
    ({"type": ["odd"]}, "form"),
    ("odd", "content"),
]


@pytest.mark.parametrize(("raw", "weight"), CARRIED)
def test_the_weight_of_a_block_that_another_dialect_carried(raw: object, weight: str) -> None:
    request = Request([Message("user", (OpaqueBlock("elsewhere", raw),))], "m")
    for name in DIALECTS:
        found = [loss.weight for loss in dialect(name).encode_request(request).losses if "elsewhere" in loss.reason]
        assert found == [weight], name


def test_additional_tools_are_no_loss_of_content() -> None:
    # the item is dropped, its tools come through
    tool = {"type": "function", "name": "add", "parameters": {"type": "object", "properties": {}}, "strict": False}
    items = [{"type": "additional_tools", "role": "developer", "tools": [tool]}, {"role": "user", "content": "hi"}]
    request = dialect("openai-responses").decode_request({"model": "m", "input": items})
    for name in DIALECTS:
        if name != "openai-responses":
            encoded = dialect(name).encode_request(request)
            assert "add" in msgspec.json.encode(encoded.body).decode()
            assert [loss for loss in encoded.losses if loss.kind != "added" and loss.weight != "form"] == []

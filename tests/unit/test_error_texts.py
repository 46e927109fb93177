"""What messages of errors tell: spent quotas, overflows, complaints of validators; and that no message takes long."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from typing import Any

import pytest

import interlingua
from interlingua import (
    AdapterError,
    ContextOverflowError,
    InvalidRequestError,
    dialect,
)
from interlingua.codec.bodies import error_tables as _errors
from interlingua.codec.limits import ERROR_TEXT, Limits
from interlingua.models.catalogue.families import family_facts
from interlingua.models.estimate.families import family as estimate_family
from interlingua.models.estimate.pictures import picture_tokens
from lab.recorded_errors import recorded
from shared_data import CORPUS, needs_shared

CHAT, RESPONSES, CLAUDE, GEMINI = "openai-chat", "openai-responses", "anthropic-messages", "gemini"


def oops(message: Any, **fields: Any) -> Any:
    return {"error": {"message": message, **fields}}


def fail(kind: str, message: str, **fields: Any) -> Any:
    return {"type": "error", "error": {"type": kind, "message": message, **fields}}


def read(name: str, status: int, body: Any, **headers: str) -> AdapterError:
    told = {key.replace("_", "-"): value for key, value in headers.items()}
    return dialect(name).decode_error(status, told, json.dumps(body).encode())


# ---------------------------------------------------------------------------------------------------------- sentences

# fmt: off
# fmt: on


MISSING = [{"type": "missing", "loc": ["body", "messages", 0, "content"], "msg": "Field required", "input": {}}]
# fmt: off
# fmt: on


def test_a_page_of_html_is_cut_in_the_message_and_whole_in_the_providers_words() -> None:
    page = "<p>" * 100_000
    error = dialect(CHAT).decode_error(502, {}, page.encode())
    assert len(str(error)) == ERROR_TEXT
    assert error.provider_message == page
    assert dialect(CHAT).encode_error(error).body == page.encode()


# ---------------------------------------------------------------------------------------------------- nothing is slow

ATTACKS = (
    "input token count", "exceeded your current quota", "context", "invalid", "rate", "billing", "no tool ", "tokens ",
    "try again in ", "a", "/", "{", " ", "exceeded your current quota billing", "\\", "é",
)  # fmt: skip

FEED = """
import json, resource, sys
from interlingua import DIALECTS, dialect
resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
for attack in json.load(sys.stdin):
    text = attack * (1_000_000 // len(attack))
    for body in (text.encode(), json.dumps({"error": {"message": text, "type": text, "code": text}}).encode()):
        for name in DIALECTS:
            for status in (400, 429):
                dialect(name).decode_error(status, {}, body)
"""


def test_a_megabyte_of_any_text_is_classified_at_once() -> None:
    """384 bodies in 30 seconds of CPU, a fifth of which they need; a seventh of one text alone took nine before."""
    subprocess.run([sys.executable, "-c", FEED], input=json.dumps(ATTACKS).encode(), check=True)


PATTERNS = {name: value for name, value in vars(_errors).items() if type(value) is str and name.strip("_").isupper()}


@pytest.mark.parametrize("name", PATTERNS)
def test_no_pattern_over_error_texts_looks_ahead_without_a_limit(name: str) -> None:
    """A repetition without a limit that is followed by more makes a search quadratic."""
    assert re.search(r"[+*](?=.)|,\}", PATTERNS[name]) is None


def test_long_names_of_models_are_told_at_once() -> None:
    for name in ("qwen." * 200_000, "gemini-." * 100_000, "deepseek-" * 100_000, "gpt." * 200_000):
        assert isinstance(estimate_family("openai", name), str)
        family_facts(name)
        picture_tokens(10, 10, name)


def test_only_the_head_of_a_text_decides() -> None:
    late = "x" * ERROR_TEXT + " maximum context length"
    assert type(read(CHAT, 400, oops(late))) is InvalidRequestError
    assert type(read(CHAT, 400, oops(late[100:]))) is ContextOverflowError
    assert Limits().error_text == ERROR_TEXT


# ------------------------------------------------------------------------------------------------------- only our own

ODD: tuple[Any, ...] = (
    None, True, 0, -1, 1e300, "", "²", "٣", "4²9", "9" * 5000, [], {}, [[]], {"a": {}}, ["x"], {"message": []},
)  # fmt: skip
SEEDS: tuple[Any, ...] = (
    fail("overloaded_error", "x", details={"error_code": "enforced_spend_limit_reached"}),
    oops("x", type="t", code="c", param=None),
    {"error": {"code": 429, "message": "x", "status": "RESOURCE_EXHAUSTED", "details": [
        {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3s"}]}},
    {"message": "x", "__type": "a#ThrottlingException:b", "code": "c"},
    {"error": "x"}, [{"error": {"message": "x"}}], {"detail": MISSING}, {"message": {"detail": MISSING}},
)  # fmt: skip


def mutated(wire: Any, chance: random.Random) -> Any:
    """The same value with something odd in one or several places."""
    if chance.random() < 0.12:
        return chance.choice(ODD)
    if isinstance(wire, dict):
        return {key: mutated(value, chance) for key, value in wire.items() if chance.random() < 0.95}
    return [mutated(item, chance) for item in wire] if isinstance(wire, list) else wire


def check_only_our_own(body: bytes, headers: dict[str, str], chance: random.Random) -> None:
    for name in interlingua.DIALECTS:
        status = chance.choice((200, 400, 422, 429, 500, 503, 529, 302, 999))
        error = dialect(name).decode_error(status, headers, body)
        assert isinstance(error, AdapterError)
        assert isinstance(error.message, str)
        assert isinstance(error.provider_code, str | int | None)
        assert isinstance(error.request_id, str | None)
        for target in interlingua.DIALECTS:
            told = dialect(target).encode_error(error)
            assert isinstance(dialect(target).decode_error(told.status, told.headers, told.body), AdapterError)
            dialect(target).stream_encoder().fail(error)


@pytest.mark.parametrize("seed", range(40))
def test_ill_typed_error_bodies_give_our_errors(seed: int) -> None:
    chance = random.Random(seed)
    for wire in SEEDS:
        check_only_our_own(
            json.dumps(mutated(wire, chance)).encode(), {"retry-after": chance.choice(("3", "²"))}, chance
        )


@needs_shared
def test_recorded_errors_with_something_odd_in_them_give_our_errors() -> None:
    chance = random.Random(1)
    bodies = {re.sub(rb"[0-9]", b"0", failure.body): failure for failure in recorded(CORPUS)}
    for failure in bodies.values():
        try:
            wire = json.loads(failure.body)
        except ValueError:
            wire = failure.body.decode("utf-8", "replace")
        check_only_our_own(json.dumps(mutated(wire, chance)).encode(), failure.headers, chance)

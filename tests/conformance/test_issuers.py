"""Which opaque state is sent to whom: by dialect, by provider, by model, through saving and loading."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from conformance.matrix import SPOKEN
from interlingua import (
    Message,
    Origin,
    Request,
    Role,
    Target,
    TextBlock,
    ThinkingBlock,
    dialect,
)
from interlingua.testing.conformance import check_home

PROOF = "cHJvb2Y="
ASKED = Message(Role.user, (TextBlock("hi"),))
SIGNERS = tuple(name for name in SPOKEN if name not in ("openai-chat", "ollama"))  # who can carry a proof at all


@pytest.mark.parametrize(("home", "away"), list(itertools.permutations(SPOKEN, 2)))
def test_a_conversation_comes_home(home: str, away: str) -> None:
    check_home(home, away)


def said_to(name: str, origin: Origin | None, target: Target | None) -> str:
    turn = Message(Role.assistant, (ThinkingBlock("hm", signature=PROOF), TextBlock("so")), origin=origin)
    request = Request(model="m", max_output_tokens=64, messages=(ASKED, turn, ASKED))
    return msgspec.json.encode(dialect(name).encode_request(request, target).body).decode()


@pytest.mark.parametrize("name", SIGNERS)
@pytest.mark.parametrize(
    ("provider", "model", "told"),
    [
        (None, None, True),  # nobody knows better
        ("home", None, True),
        ("home", "m", True),
        ("elsewhere", "m", False),  # the same protocol, another issuer: it would refuse the whole session
        ("home", "n", False),  # signatures are bound to the model, too
    ],
)
def test_a_proof_goes_to_its_issuer_only(name: str, provider: str | None, model: str | None, told: bool) -> None:
    said = said_to(name, Origin(provider, name, model), Target("home", "m"))
    assert (PROOF in said) is told


@pytest.mark.parametrize("name", SPOKEN)
def test_a_foreign_thought_is_not_turned_into_prose(name: str) -> None:
    assert '"hm"' not in said_to(name, Origin(dialect="some-other-dialect"), None)


@pytest.mark.parametrize("name", SPOKEN)
def test_a_foreign_thought_is_declared_lost(name: str) -> None:
    turn = Message(
        Role.assistant, (ThinkingBlock("hm", signature=PROOF), TextBlock("so")), origin=Origin(dialect="other")
    )
    encoded = dialect(name).encode_request(Request(model="m", max_output_tokens=64, messages=(ASKED, turn, ASKED)))
    assert ("messages/1/content/0", "dropped") in {(loss.path, loss.kind) for loss in encoded.losses}


CLAUDE = {"anthropic-messages": "claude-sonnet-5", "bedrock-converse": "eu.anthropic.claude-sonnet-5-v1:0"}
PAIRS = [("anthropic-messages", "bedrock-converse"), ("bedrock-converse", "anthropic-messages")]


def moved(source: str, target: str, origin_model: str | None, model: str | None, to: Target | None) -> bool:
    """Whether a signed thought of one protocol is written in the other."""
    thought = ThinkingBlock("hm", signature=PROOF)
    turn = Message(Role.assistant, (thought, TextBlock("so")), origin=Origin(None, source, origin_model))
    request = Request(model=model, max_output_tokens=64, messages=(ASKED, turn, ASKED))
    encoded = dialect(target).encode_request(request, to)
    said = PROOF in msgspec.json.encode(encoded.body).decode()
    assert said is not any(loss.path == "messages/1/content/0" for loss in encoded.losses), "said or declared"
    return said


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_claudes_thoughts_are_good_in_both_of_its_protocols(source: str, target: str) -> None:
    # both models are known to be Claude
    ours, theirs = CLAUDE[source], CLAUDE[target]
    assert moved(source, target, ours, "m", Target(None, theirs))
    assert moved(source, target, ours, theirs, None)
    assert moved(source, target, None, ours, Target(None, theirs)), "the request names the model of its history"
    assert moved(source, target, None, ours, Target("bedrock", theirs)), "only one provider is known"


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_nobody_elses_thoughts_are(source: str, target: str) -> None:
    ours, theirs = CLAUDE[source], CLAUDE[target]
    assert not moved(source, target, ours, "m", Target(None, "amazon.nova-pro-v1:0"))
    assert not moved(source, target, "deepseek-v3", ours, Target(None, theirs))
    assert not moved(source, target, ours, None, None), "nobody says who reads it"
    assert not moved(source, target, None, None, Target(None, theirs)), "nobody says who wrote it"


def test_claudes_thoughts_go_nowhere_else() -> None:
    for name in set(SPOKEN) - set(CLAUDE):
        assert not moved("anthropic-messages", name, "claude-sonnet-5", "claude-sonnet-5", None)


@pytest.mark.parametrize(("source", "target"), PAIRS)
def test_an_unsigned_thought_stays(source: str, target: str) -> None:
    # Claude refuses it
    turn = Message(Role.assistant, (ThinkingBlock("hm"), TextBlock("so")), origin=Origin(None, source, CLAUDE[source]))
    request = Request(model=CLAUDE[target], max_output_tokens=64, messages=(ASKED, turn, ASKED))
    assert '"hm"' not in msgspec.json.encode(dialect(target).encode_request(request).body).decode()

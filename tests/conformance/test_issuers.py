"""Whose opaque state goes to whom: by dialect, by provider, by model, through saving and loading."""

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

"""Signatures and encrypted reasoning with a client of another dialect: the second turn returns them to their issuer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.asking import ADD, BEDROCK, CLAUDE, GEMINI, RESPONSES
from gateway.raw_http import fetch
from gateway.serving_gateway import MODEL, UPSTREAMS, served
from gateway.test_gateway import IN_URL, PATHS
from interlingua import (
    DIALECTS,
    Message,
    Origin,
    RedactedThinkingBlock,
    Request,
    Response,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    decode_stream,
    dialect,
    fold,
)
from interlingua.client.embedded import Script, Step
from interlingua.gateway.carry import ENVELOPE, Envelopes, Vault, restore, state_of
from interlingua.gateway.config import Route, Snapshot
from interlingua.types.request import Thinking

SIGNATURE = "c2lnbmVkIGJ5IHRoZSBpc3N1ZXI="
CALL = ToolUseBlock("call_1", "add", input={"a": 1, "b": 2})
THOUGHT = ThinkingBlock("Adding is easy.", signature=SIGNATURE)
ISSUED: dict[str, tuple[Any, ...]] = {
    # what each provider signs or encrypts in one turn with a call of a tool
    CLAUDE: (THOUGHT, RedactedThinkingBlock("ZW5jcnlwdGVk"), CALL),
    RESPONSES: (THOUGHT, CALL),
    GEMINI: (
        ThinkingBlock("Adding is easy."),
        ToolUseBlock("call_1", "add", input={"a": 1, "b": 2}, signature=SIGNATURE),
    ),
    BEDROCK: (THOUGHT, CALL),
}
OPAQUE = (SIGNATURE, "ZW5jcnlwdGVk")


def first_turn(client: str, stream: bool) -> tuple[str, Any]:
    request = Request(
        (Message("user", "What is 1 + 2?"),),
        tools=(ADD,),
        max_output_tokens=2000,
        thinking=Thinking(mode="enabled", budget=1024),
    )
    body = dialect(client).encode_request(request).body
    return PATHS[client][stream], body if client in IN_URL else {**body, "model": "asked", "stream": stream}


def answered(client: str, body: bytes, stream: bool) -> Response:
    """The answer as a client reads it that does not know about envelopes."""
    if stream:
        return fold(decode_stream([body], dialect=client))
    return dialect(client).decode_response(json.loads(body))


def second_turn(client: str, sent: Any, answer: Response) -> Any:
    """The next request: the client returns the answer as it came, and the result of the call."""
    asked = dialect(client).decode_request(sent)
    result = Message("tool", (ToolResultBlock(answer.tool_uses[0].id, "3", "add"),))
    turn = dialect(client).as_turn(answer)
    messages = dialect(client).encode_messages((*asked.messages, turn, result)).body
    return {**sent, dialect(client).history_key: messages}


def opaque_values(wire: Any) -> list[str]:
    """Every opaque text in a body."""
    if isinstance(wire, dict):
        return [found for value in wire.values() for found in opaque_values(value)]
    if isinstance(wire, list):
        return [found for value in wire for found in opaque_values(value)]
    return [wire] if wire in OPAQUE else []


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("client", DIALECTS)
@pytest.mark.parametrize("issuer", ISSUED)
def test_the_second_turn_brings_the_issuers_own_state(client: str, issuer: str, stream: bool) -> None:
    script = Script(Step(content=ISSUED[issuer]), "3")
    with served(script, dialect=issuer) as (running, _):
        path, body = first_turn(client, stream)
        first = fetch(running.url, path, body)
        assert first.status == 200
        if client != issuer:
            assert SIGNATURE not in first.body.decode("latin-1")
        answer = answered(client, first.body, stream)
        second = fetch(running.url, path, second_turn(client, body, answer))
        assert second.status == 200, second.body
    turn = next(message for message in script.seen[1].messages if message.role == "assistant")
    wire = dialect(issuer).encode_messages(script.seen[1].messages).body
    signed = [block.data if isinstance(block, RedactedThinkingBlock) else block.signature for block in ISSUED[issuer]]
    assert opaque_values(wire) == [value for value in signed if value]
    assert ENVELOPE not in json.dumps(wire)
    assert [block.input for block in turn.content if isinstance(block, ToolUseBlock)] == [{"a": 1, "b": 2}]


ENVELOPES = Envelopes(b"a secret of sixteen")
ORIGIN = Origin("openai", RESPONSES, "gpt-5")


def carried(text: str) -> Request:
    return Request((Message("user", "hi"), Message("assistant", (ThinkingBlock("hm", signature=text), TextBlock("x")))))


def test_an_envelope_brings_its_blocks_and_their_issuer() -> None:
    whole, losses = restore(carried(ENVELOPES.seal(state_of([THOUGHT], ORIGIN))), ENVELOPES)
    assert losses == ()
    assert whole.messages[1].content == (THOUGHT, TextBlock("x"))
    assert whole.messages[1].origin == ORIGIN


def test_a_broken_or_foreign_envelope_is_left_out_with_a_loss() -> None:
    good = ENVELOPES.seal(state_of([THOUGHT], ORIGIN))
    other = Envelopes(b"another secret of ours").seal(state_of([THOUGHT], ORIGIN))
    for bad in (other, good[:-8], good[:40] + ("A" if good[40] != "A" else "B") + good[41:], ENVELOPE, ENVELOPE + "!!"):
        read, losses = restore(carried(bad), ENVELOPES)
        assert [(loss.kind, loss.weight) for loss in losses] == [("dropped", "state")]
        assert read.messages[1].content == (ThinkingBlock("hm"), TextBlock("x"))
        assert read.messages[1].origin is None


def test_what_is_no_envelope_stays_as_it_is() -> None:
    request = carried(SIGNATURE)
    assert restore(request, ENVELOPES) == (request, ())


def test_envelopes_of_one_secret_are_read_by_every_process() -> None:
    again = Envelopes(b"a secret of sixteen")
    assert again.open(ENVELOPES.seal(state_of([THOUGHT], ORIGIN))) == state_of([THOUGHT], ORIGIN)


def test_the_vault_forgets_and_keeps_owners_apart() -> None:
    now: list[float] = [0.0]
    vault = Vault(lambda: now[0], seconds=10, most=2)
    state = state_of([THOUGHT], ORIGIN)
    vault.put("me", state, (CALL,))
    assert vault.find("me", (CALL,)) == state
    assert vault.find("you", (CALL,)) is None
    now[0] = 11.0
    assert vault.find("me", (CALL,)) is None
    for number in range(5):
        vault.put("me", state, (TextBlock(str(number)),))
    assert len(vault) == 2


def test_the_issuer_answers_first_where_a_route_has_several() -> None:
    names = (f"openai-chat:{MODEL}", f"{UPSTREAMS[RESPONSES]}:{MODEL}")
    with served(Script("hi"), snapshot=Snapshot(routes={"*": Route(names)})) as (running, _):
        origin = Origin(UPSTREAMS[RESPONSES], RESPONSES, MODEL)
        envelope = running.state.envelopes.seal(state_of([THOUGHT], origin))
        turns = [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": envelope},
                    {"type": "text", "text": "x"},
                ],
            },
        ]
        body = {"model": "m", "max_tokens": 9, "messages": [*turns, {"role": "user", "content": "and?"}]}
        got = fetch(running.url, "/v1/messages", body)
        assert got.headers["x-interlingua-model"] == names[1]
        body["messages"] = turns[:1]
        assert fetch(running.url, "/v1/messages", body).headers["x-interlingua-model"] == names[0]


def test_a_body_with_an_envelope_is_never_passed_on_as_it_is() -> None:
    with served(Script("hi"), dialect=CLAUDE) as (running, upstream):
        envelope = running.state.envelopes.seal(state_of([THOUGHT], ORIGIN))
        turn = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": envelope}]}
        body = {
            "model": "m",
            "max_tokens": 9,
            "messages": [{"role": "user", "content": "a"}, turn, {"role": "user", "content": "b"}],
        }
        assert fetch(running.url, "/v1/messages", body).status == 200
        assert ENVELOPE not in str(upstream.script.seen[0])
        assert SIGNATURE not in str(upstream.script.seen[0])

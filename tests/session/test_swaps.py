"""A conversation of twelve turns that moves at every turn, between every ordered pair of dialects.

It has single and parallel calls, failures, signed reasoning, and pictures from the user and from tools. The types and
ordering rules of each provider accept every body; the losses are exactly those that the rules of ``travels.py``
predict; what a provider issued goes back to it byte for byte.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from interlingua import (
    DIALECTS as KNOWN,
    ImageBlock,
    Message,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    dialect as find,
    validate_tool_results,
)
from interlingua.agent.session import SyncSession
from lab.integration import transcript
from lab.oracles import problems
from session.scenes import DIALECTS
from session.travels import SHARED, TOOLS, TURNS, VOICES, Said, World, expected, model_of, proof

TESTS = Path(__file__).resolve().parents[1]
PAIRS = list(permutations(DIALECTS, 2))
ANTHROPIC, CHAT, RESPONSES, GEMINI, OLLAMA, BEDROCK = DIALECTS

every_pair = pytest.mark.parametrize(("home", "away"), PAIRS)


class Journey(NamedTuple):
    """A finished conversation. ``lost`` has the losses of each turn; ``sent`` each body and answer with its dialect."""

    session: SyncSession
    world: World
    lost: list[Counter[tuple[str, str]]]
    lengths: list[int]

    @property
    def sent(self) -> list[tuple[str, Any, bytes]]:
        return [(name, json.loads(body), answer) for name, body, answer in self.world.sent]

    def bodies(self, name: str) -> list[Any]:
        """The bodies that were sent in one dialect, in order."""
        return [body for spoken, body, _ in self.sent if spoken == name]

    def signed(self, name: str) -> list[str]:
        """The signatures that one dialect gave, in order, as they were on the wire."""
        proofs = [(proof(name, number), answer) for number, (_, _, answer) in enumerate(self.sent)]
        return [secret for secret, answer in proofs if secret.encode() in answer]


@cache
def journey(home: str, away: str) -> Journey:
    """Begin at ``home``, move at every turn, and end at ``home``. Answers are whole at home and streamed elsewhere."""
    world = World()
    session = SyncSession(model_of(home), TOOLS, "Be brief.", manager=world.manager)
    lost: list[Counter[tuple[str, str]]] = []
    lengths: list[int] = []
    for number, turn in enumerate((*TURNS, TURNS[-1])):
        world.next = list(turn.answers)
        session.model = model_of(away if number % 2 else home)
        if number % 2:
            list(session.run_stream(turn.user))
        else:
            session.run(turn.user)
        lost.append(Counter((loss.kind, loss.path) for loss in session.report.losses))
        lengths.append(len(session.messages))
    return Journey(session, world, lost, lengths)


def test_the_conversation_has_what_it_should() -> None:
    """Every ordered pair of dialects is tested."""
    assert len(PAIRS) == 30
    assert set(DIALECTS) == set(KNOWN)
    said = [answer for turn in TURNS for answer in turn.answers]
    assert len(TURNS) == 12
    assert sorted({len(answer.calls) for answer in said}) == [0, 1, 2, 3]
    assert sum(bool(answer.thought) for answer in said) == 12
    assert {call.name for answer in said for call in answer.calls} == {"add", "look", "fail"}
    session = journey(*PAIRS[0]).session
    shown = [block for message in session.messages for block in message.content if isinstance(block, ImageBlock)]
    results = [block for message in session.messages for block in message.content if isinstance(block, ToolResultBlock)]
    assert len(shown) == 3
    assert sum(isinstance(part, ImageBlock) for result in results for part in result.content) == 2
    assert sum(result.is_error is True for result in results) == 2


# ----------------------------------------------------------------------------------------------------------- validity


@every_pair
def test_every_body_is_one_that_its_reader_accepts(home: str, away: str) -> None:
    sent = journey(home, away).sent
    assert len(sent) == 21
    assert {name for name, _, _ in sent} == {home, away}
    for name, body, _ in sent:
        assert problems(body, name) == []


@every_pair
def test_the_history_is_legal_and_says_what_was_said(home: str, away: str) -> None:
    session = journey(home, away).session
    for name in DIALECTS:
        assert validate_tool_results(session.messages, dialect=name) == []
    spoken = [message for message in session.messages if message.origin is not None]
    meant = [answer for turn in (*TURNS, TURNS[-1]) for answer in turn.answers]
    assert [message.text for message in spoken] == [answer.text for answer in meant]
    calls = [[(call.name, call.input) for call in _calls(message)] for message in spoken]
    assert calls == [[(call.name, call.input) for call in answer.calls] for answer in meant]
    told = [message.metadata for message in spoken]
    assert all({"usage", "cost_usd", "stop_reason", "routing"} <= set(facts) for facts in told)


@every_pair
def test_the_reader_hears_the_whole_history(home: str, away: str) -> None:
    """Read as a server reads it: each call with its arguments, and its own result, in the order of the calls."""
    told = journey(home, away)
    for name in (home, away):
        body = told.bodies(name)[-1]
        heard = find(name).decode_request(body, None, "m", False).messages
        sent = told.session.messages[: told.lengths[-1] - (1 if name == home else 3)]
        assert _exchanges(heard) == _exchanges(sent)


def _exchanges(messages: Sequence[Message]) -> list[Any]:
    """Calls with the results of their tools, without ids."""
    found: list[Any] = []
    waiting: list[ToolUseBlock] = []
    for message in messages:
        for block in message.content:
            if isinstance(block, ToolUseBlock):
                waiting.append(block)
            elif isinstance(block, ToolResultBlock):
                call = waiting.pop(0)
                assert block.tool_use_id == call.id
                assert block.name in (None, call.name)
                texts = [part.text for part in block.content if isinstance(part, TextBlock)]
                found.append((call.name, call.input, [text.removeprefix("Error: ") for text in texts]))
    assert waiting == []
    return found


# ---------------------------------------------------------------------------------------------------------------- ids


def _calls(message: Message) -> list[ToolUseBlock]:
    return [block for block in message.content if isinstance(block, ToolUseBlock)]


def _issued(messages: Sequence[Message], name: str) -> list[ToolUseBlock]:
    by = [message for message in messages if message.origin is not None and message.origin.dialect == name]
    return [call for message in by for call in _calls(message)]


@every_pair
def test_ids_are_the_conversations_own_and_stay(home: str, away: str) -> None:
    told = journey(home, away)
    calls = [call for message in told.session.messages for call in _calls(message)]
    assert all(call.id.startswith("tu_") for call in calls)
    assert len({call.id for call in calls}) == len(calls) == 12
    for name in (home, away):
        prefix = VOICES[name].prefix or "call_"
        for call in _issued(told.session.messages, name):
            assert list(call.native_ids) == [name]
            assert call.native_ids[name].startswith(prefix)


@every_pair
def test_each_gets_the_ids_that_it_issued_and_never_the_others(home: str, away: str) -> None:
    told = journey(home, away)
    for name, other in ((home, away), (away, home)):
        last = json.dumps(told.bodies(name)[-1])
        for call in _issued(told.session.messages, name):
            assert call.id not in last, "the issuer knows its own id only"
            if VOICES[name].prefix is not None:
                assert last.count(f'"{call.native_ids[name]}"') == 2, "on the call and on its result"
        for call in _issued(told.session.messages, other):
            if told.lengths[-2] > told.session.messages.index(_holder(told.session.messages, call)):
                assert last.count(f'"{call.id}"') == 2
            if VOICES[other].prefix is not None:
                assert call.native_ids[other] not in last


def _holder(messages: Sequence[Message], call: ToolUseBlock) -> Message:
    return next(message for message in messages if call in message.content)


# ------------------------------------------------------------------------------------------------------------- losses


@every_pair
def test_what_is_lost_is_what_the_rules_say(home: str, away: str) -> None:
    told = journey(home, away)
    messages = told.session.messages
    for number, (begin, end) in enumerate(pairwise([0, *told.lengths])):
        target = away if number % 2 else home
        asked = [place for place in range(begin, end) if messages[place].origin is not None]
        due = Counter(loss for place in asked for loss in expected(messages[:place], target))
        assert told.lost[number] == due, f"turn {number}, to {target}"


def _said_by(name: str, home: str, away: str) -> list[Said]:
    """The answers of one of the two dialects, turn by turn."""
    own = [turn for number, turn in enumerate((*TURNS, TURNS[-1])) if (away if number % 2 else home) == name]
    return [answer for turn in own for answer in turn.answers]


STRANGERS = [(home, away) for home, away in PAIRS if {home, away} not in SHARED]


@pytest.mark.parametrize(("home", "away"), STRANGERS)
def test_what_is_signed_goes_to_nobody_else(home: str, away: str) -> None:
    """Neither signatures nor reasoning reach the other provider, not even as text."""
    told = journey(home, away)
    for name, other in ((home, away), (away, home)):
        thoughts = {answer.thought for answer in _said_by(other, home, away) if answer.thought}
        assert len(thoughts) == (4 if other == away else 9)
        secrets = {proof(other, number) for number in range(len(told.sent))}
        for body in told.bodies(name):
            text = json.dumps(body, ensure_ascii=False)
            assert [secret for secret in secrets | thoughts if secret in text] == []


@pytest.mark.parametrize(("home", "away"), [(ANTHROPIC, BEDROCK), (BEDROCK, ANTHROPIC)])
def test_what_is_signed_goes_to_the_same_vendor_behind_another_door(home: str, away: str) -> None:
    told = journey(home, away)
    text = json.dumps(told.bodies(home)[-1])
    assert [secret for secret in told.signed(away) if text.count(secret) != 1] == []


# -------------------------------------------------------------------------------------------------------- law 9: home


def _answer_of(name: str, answer: bytes) -> list[Any]:
    """An answer of a provider, in the pieces that its protocol puts into a history."""
    wire = json.loads(answer)
    return ANSWERS[name](wire)


def _chat(message: Any) -> list[Any]:
    return [message.get("content"), *message.get("tool_calls", [])]


def _ollama(message: Any) -> list[Any]:
    """An answer numbers its calls; in a request its client's types have no word for that."""
    for call in message.get("tool_calls", []):
        call["function"].pop("index", None)
    return [message.get("thinking"), *_chat(message)]


ANSWERS: dict[str, Any] = {
    # dialect    where the pieces of an answer are
    ANTHROPIC: lambda wire: wire["content"],
    CHAT: lambda wire: _chat(wire["choices"][0]["message"]),
    RESPONSES: lambda wire: wire["output"],
    GEMINI: lambda wire: wire["candidates"][0]["content"]["parts"],
    OLLAMA: lambda wire: _ollama(wire["message"]),
    BEDROCK: lambda wire: wire["output"]["message"]["content"],
}
HISTORY: dict[str, Any] = {
    # dialect    where the pieces of a history are, turn by turn
    ANTHROPIC: lambda body: [turn["content"] for turn in body["messages"] if turn["role"] == "assistant"],
    CHAT: lambda body: [_chat(turn) for turn in body["messages"] if turn["role"] == "assistant"],
    RESPONSES: lambda body: [body["input"][begin:] for begin in range(len(body["input"]))],
    GEMINI: lambda body: [turn["parts"] for turn in body["contents"] if turn["role"] == "model"],
    OLLAMA: lambda body: [_ollama(turn) for turn in body["messages"] if turn["role"] == "assistant"],
    BEDROCK: lambda body: [turn["content"] for turn in body["messages"] if turn["role"] == "assistant"],
}


@every_pair
def test_home_gets_back_what_it_said_byte_for_byte(home: str, away: str) -> None:
    """Every answer of the home provider, as it was on the wire, is in the last body, after eleven moves."""
    told = journey(home, away)
    answers = [_answer_of(home, answer) for name, _, answer in told.sent[:-1] if name == home]
    turns = [json.dumps(turn) for turn in HISTORY[home](told.bodies(home)[-1])]
    for answer in answers:
        said = json.dumps(answer)
        assert any(turn.startswith(said[:-1]) for turn in turns), said


@every_pair
def test_what_either_signed_comes_back_to_it(home: str, away: str) -> None:
    """Signatures that came in streams go back too, each on the block that it signs."""
    told = journey(home, away)
    for name in (home, away):
        said, signs = _said_by(name, home, away), VOICES[name].signs
        due = {"nothing": 0, "words": len(said), "thoughts": sum(bool(answer.thought) for answer in said)}
        signed, last = told.signed(name), json.dumps(told.bodies(name)[-1])
        assert len(signed) == due[signs]
        # The last is in the answer to this body.
        assert [last.count(secret) for secret in signed] == [1] * (len(signed) - 1) + [0] * bool(signed)


@every_pair
def test_what_was_told_is_told_the_same_again(home: str, away: str) -> None:
    """Each body's history begins with the whole history of the body before it: prompt caches stay warm."""
    told = journey(home, away)
    for name in (home, away):
        key = find(name).history_key
        for before, after in pairwise(told.bodies(name)):
            said = json.dumps(before[key])
            assert json.dumps(after[key]).startswith(said[:-1])


# ------------------------------------------------------------------------------------------------- saved and reloaded

CONTINUE = r"""
import sys
sys.path.insert(0, sys.argv[1])
from interlingua import SyncSession
from session.travels import TOOLS, TURNS, World, model_of

for path in sys.argv[3:]:
    world = World()
    session = SyncSession.load(path, tools=TOOLS, manager=world.manager)
    session.model = model_of(sys.argv[2])
    world.next = list(TURNS[2].answers)
    session.run("And once more?")
    for _, body, _ in world.sent:
        sys.stdout.buffer.write(body + b"\n")
    session.save(path)
"""


@pytest.mark.parametrize("target", DIALECTS)
def test_saved_and_continued_in_another_process(target: str, tmp_path: Path) -> None:
    """From every pair that began at ``target``: a turn with three calls, whose bodies are byte for byte what they would
    have been here, and whose outcome is there when it is loaded again."""
    sessions = {away: journey(home, away).session for home, away in PAIRS if home == target}
    paths = {tmp_path / f"{away}.{suffix}": away for away in sessions for suffix in ("json", "db")}
    for path, away in paths.items():
        sessions[away].save(path)
    command = [sys.executable, "-c", CONTINUE, str(TESTS), target, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    here = {away: _continued(session, target) for away, session in sessions.items()}
    assert done.stdout.splitlines() == [body for away in paths.values() for body in here[away][1]]
    for path, away in paths.items():
        there, before = SyncSession.load(path, tools=TOOLS, manager=World().manager), sessions[away].messages
        assert there.messages[: len(before)] == before
        assert transcript(there.messages) == transcript(here[away][0].messages)
        assert validate_tool_results(there.messages, dialect=target) == []
        ids = [call.id for message in there.messages for call in _calls(message)]
        assert len(set(ids)) == len(ids) == 12 + 3


def _continued(session: SyncSession, target: str) -> tuple[SyncSession, list[bytes]]:
    """What the session would send and reach in one more turn; a fork runs it, so the session does not change."""
    world = World()
    fork = session.fork()
    fork.manager = world.manager
    fork.model = model_of(target)
    world.next = list(TURNS[2].answers)
    fork.run("And once more?")
    return fork, [body for _, body, _ in world.sent]

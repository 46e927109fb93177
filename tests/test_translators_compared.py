"""The comparison of translators: its rules see what is guilty, and our program answers."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from lab.translators.judge import judge
from lab.translators.page import BEGIN, END, write_page
from lab.translators.peers import OURS, PEERS, PROGRAMS, Install, ask
from lab.translators.sample import Task
from lab.translators.stops import why_stopped
from lab.translators.strings import all_text, missing, strings

LONG = "a long enough text"
CHAT = {"model": "m", "messages": [{"role": "user", "content": LONG}]}
MESSAGES = {"max_tokens": 9, "messages": [{"role": "user", "content": LONG}]}
ASKED = Task("id", "request", "openai-chat", CHAT, "m")
CUT = 'data: {"choices": [{"index": 0, "delta": {"content": "Hel"}}]}\n\n'
ENDED = 'data: {"candidates": [{"content": {"parts": [{"text": "Hel"}]}, "finishReason": "STOP"}]}\n\n'


@pytest.mark.parametrize(
    ("done", "found"),
    [
        ({"body": MESSAGES}, {}),
        ({"body": {**MESSAGES, "oops": 1}}, {"not valid": 1}),
        ({"body": {**MESSAGES, "messages": []}}, {"out of order": 1, "lost": 1, "lost silently": 1}),
        ({"body": {**MESSAGES, "messages": []}, "told": ["a loss"]}, {"out of order": 1, "lost": 1}),
        ({"error": "KeyError: x"}, {"exceptions": 1}),
        ({"refused": "Unsupported"}, {"refused": 1}),
    ],
)
def test_a_request_is_judged(done: dict[str, Any], found: dict[str, int]) -> None:
    counted = +judge(ASKED, "anthropic-messages", done)
    assert {key: counted[key] for key in counted if key not in ("asked", "judged", "strings")} == found


def test_proofs_of_another_issuer_are_seen() -> None:
    body = {"contents": [{"role": "model", "parts": [{"text": "x", "thoughtSignature": "c2lnbmF0dXJlIQ=="}]}]}
    told = {"messages": [{"role": "assistant", "content": "x", "signature": "c2lnbmF0dXJlIQ=="}]}
    task = ASKED._replace(source="gemini", body=body)
    assert judge(task, "openai-chat", {"body": told})["proofs sent on"] == 1
    assert judge(task, "openai-chat", {"body": CHAT})["proofs sent on"] == 0


def test_a_cut_stream_that_looks_finished_is_seen() -> None:
    task = ASKED._replace(verb="stream", body=CUT)
    assert judge(task, "gemini", {"body": ENDED})["looks finished"] == 1
    assert judge(task, "gemini", {"body": ENDED.replace(', "finishReason": "STOP"', "")})["looks finished"] == 0


def test_an_answer_that_stops_otherwise_is_seen() -> None:
    body = {"choices": [{"finish_reason": "length", "message": {"role": "assistant", "content": LONG}}]}
    task = ASKED._replace(verb="answer", body=body)
    told = {"content": [{"type": "text", "text": LONG}], "stop_reason": "max_tokens"}
    assert judge(task, "anthropic-messages", {"body": told})["wrong stop"] == 0
    assert judge(task, "anthropic-messages", {"body": {**told, "stop_reason": "end_turn"}})["wrong stop"] == 1
    call = {"candidates": [{"finishReason": "STOP", "content": {"parts": [{"functionCall": {"name": "f"}}]}}]}
    assert why_stopped(call, "gemini") == "calls"
    refusal = {"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "refusal": "No."}}]}
    assert why_stopped(refusal, "openai-chat") is None


@pytest.mark.parametrize(
    ("text", "body"),
    [
        (LONG, {"a": [{"b": f"before {LONG} after"}]}),
        ('{"a": "a long enough text"}', {"input": {"a": LONG}}),
        (LONG, {"arguments": '{"a": "a long enough text"}'}),
        ("data:text/plain;base64,YSBsb25nIGVub3VnaCB0ZXh0", {"data": "YSBsb25nIGVub3VnaCB0ZXh0"}),
        ("YSBsb25nIGVub3VnaCB0ZXh0", {"text": LONG}),
        ("_9j_4AAQSkZJRgAB", {"data": "/9j/4AAQSkZJRgAB"}),
    ],
)
def test_what_is_said_in_another_way_is_not_missing(text: str, body: Any) -> None:
    assert not missing(text, all_text(body))
    assert missing(text, all_text({"other": "nothing of the kind"}))


def test_words_ids_and_proofs_are_no_long_strings() -> None:
    tool = {"type": "web_search_tool_20250305", "name": "web_search_tool"}
    block = {"type": "function_call", "call_id": "call_0123456789", "signature": "c2lnbmF0dXJl", "text": LONG}
    assert strings({"tools": [tool], "input": [block]}) == [(("input", 0, "text"), LONG)]


def test_our_program_translates() -> None:
    install = Install(Path("nowhere"))
    command = install.command(OURS)
    assert command is not None
    version, done = ask(command, [(ASKED, "anthropic-messages")])
    assert version["version"].startswith("interlingua ")
    assert done["body"]["messages"][0]["content"] == [{"type": "text", "text": LONG}]


def test_a_program_that_ends_is_started_anew() -> None:
    ends = 'import sys; print(\'{"version": "1"}\', flush=True); sys.stdin.readline()'
    with pytest.raises(RuntimeError, match="does not run"):
        list(ask([sys.executable, "-c", ""], [(ASKED, "gemini")]))
    told = list(ask([sys.executable, "-c", ends], [(ASKED, "gemini"), (ASKED, "gemini")]))
    assert [answer.get("error") for answer in told] == [None, "the program ended", "the program ended"]


def test_every_program_is_there_and_the_page_has_a_place_for_the_tables(tmp_path: Path) -> None:
    assert all((PROGRAMS / peer.program).exists() for peer in PEERS)
    page = tmp_path / "page.md"
    page.write_text(f"a\n{BEGIN}\nOLD\n{END}\nb\n")
    counts = Counter({"asked": 4, "strings": 8, "lost": 2})
    write_page(
        page,
        {("interlingua", "request", ("openai-chat", "gemini")): counts},
        {"interlingua": "i 1"},
        "Four.",
        {"x": "gone"},
    )
    text = page.read_text()
    assert "2 of 8 (25.0 %)" in text
    assert "Not measured: x, gone." in text
    assert "OLD" not in text
    assert text.endswith(f"{END}\nb\n")

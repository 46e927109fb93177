"""What older releases saved says the same on the wire today. The release before rows wrote ``old_marks.jsonl``.

Each line has a request as it came (``wire``), and as that release saved it after reading it (``saved``).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from interlingua import Message, Request, TextBlock, dialect, from_json
from interlingua.agent.session.saved import read_saved
from interlingua.codec.old_marks import upgraded

SAMPLES: list[dict[str, Any]] = [
    json.loads(line) for line in (Path(__file__).parent / "old_marks.jsonl").read_text().splitlines()
]
named = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample['dialect']}: {sample['what']}")
HISTORY = ("messages", "input", "contents", "system", "tools", "tool_choice")


def shown(wire: Any) -> dict[str, Any]:
    return {key: wire[key] for key in HISTORY if key in wire}


@named
def test_a_saved_request_is_written_as_it_came(sample: dict[str, Any]) -> None:
    request = from_json(json.dumps(sample["saved"]), Request)
    assert shown(dialect(sample["dialect"]).encode_request(request).body) == shown(sample["wire"])


@named
def test_a_saved_session_says_the_same(sample: dict[str, Any]) -> None:
    head = {"format": "interlingua.session", "version": 1, "id": "ses_1", "system": sample["saved"].get("system", [])}
    saved = read_saved(json.dumps({**head, "messages": sample["saved"]["messages"]}), "here")
    request = from_json(json.dumps(sample["saved"]), Request)
    assert not saved.problems
    assert (saved.head.system, [m.content for m in saved.messages]) == (
        request.system,
        [m.content for m in request.messages],
    )


@named
def test_marks_of_today_are_left_as_they_are(sample: dict[str, Any]) -> None:
    request = from_json(json.dumps(sample["saved"]), Request)
    assert upgraded(request) == request


@pytest.mark.parametrize("name", sorted({sample["dialect"] for sample in SAMPLES}))
@pytest.mark.parametrize("held", [7, None, "absent", [[]], {"": [None]}, True])
def test_marks_that_no_release_wrote_do_no_harm(name: str, held: Any) -> None:
    marks = dict.fromkeys(("blank", "absent", "thinking", "item", "message", "part", "verbatim", "role"), held)
    message = Message("assistant", (TextBlock("hi", forms={name: marks}),), forms={name: marks})
    assert upgraded(message).content[0].text == "hi"

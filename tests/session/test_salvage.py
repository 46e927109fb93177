"""A stored session is read as far as it can be read; what cannot be read is told, and not lost."""

from __future__ import annotations

import copy
import json
import logging
import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interlingua import (
    AdapterError,
    Message,
    ParseError,
    SqliteStore,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    validate_tool_results,
)
from interlingua.agent.session import JsonStore, SyncSession
from session.scenes import DIALECTS, PROVIDERS, scripted

HERE = Path(__file__).parent
STORES = ("talk.json", "talk.db")
V2: dict[str, Any] = json.loads((HERE / "saved-v2.json").read_text())


def put(told: dict[str, Any], path: Path) -> Path:
    """A stored session with these very values, whatever their types."""
    if path.suffix == ".json":
        path.write_text(json.dumps(told))
        return path
    head = {name: value for name, value in told.items() if name != "messages"}
    SqliteStore(path).save(JsonStore(HERE / "saved-v2.json").load())
    with sqlite3.connect(path) as open_:
        open_.execute("UPDATE sessions SET head = ?", (json.dumps(head),))
        open_.execute("DELETE FROM messages")
        rows = [(head["id"], n, json.dumps(message)) for n, message in enumerate(told["messages"])]
        open_.executemany("INSERT INTO messages VALUES (?, ?, ?)", rows)
    open_.close()
    return path


def load(path: Path, **settings: Any) -> SyncSession:
    return SyncSession.load(path, manager=scripted(), **settings)


def changed(**at: Any) -> dict[str, Any]:
    """The second version's file with other values at places such as ``messages_3_content_0_text``."""
    told = copy.deepcopy(V2)
    for place, value in at.items():
        *way, last = place.split("__")
        found: Any = told
        for step in way:
            found = found[int(step)] if step.isdigit() else found[step]
        found[int(last) if last.isdigit() else last] = value
    return told


# ------------------------------------------------------------------------------------------------------ the versions


def test_files_of_the_second_version_load_and_are_written_again_as_they_are(tmp_path: Path) -> None:
    """States of calls and incomplete blocks are part of the format."""
    session = load(HERE / "saved-v2.json")
    calls = [block for message in session.messages for block in message.content if isinstance(block, ToolUseBlock)]
    assert [call.incomplete for call in calls] == [False, True, False]
    assert session.messages[1].metadata["calls"] == {calls[0].id: {"state": "finished"}}
    assert session.messages[3].metadata["calls"] == {calls[2].id: {"state": "started"}}
    session.save(tmp_path / "again.json")
    again = json.loads((tmp_path / "again.json").read_text())
    assert {**again, "writer": V2["writer"]} == V2


def test_a_newer_version_says_so(tmp_path: Path) -> None:
    for name in STORES:
        with pytest.raises(ParseError, match=r"newer release.*version 3 .*reads versions up to 2"):
            load(put(changed(version=3), tmp_path / name))


# ------------------------------------------------------------------------------------------------- message by message

HI = {"type": "text", "text": "hi"}

# fmt: off
BAD_MESSAGES = {
    # what is wrong               the message in the file                                what of it is kept as it is
    "a number":                   (7,                                                    7),
    "null":                       (None,                                                 None),
    "a role that nobody knows":   ({"role": "wizard"},                                   {"role": "wizard"}),
    "an id that is no text":      ({"role": "user", "content": [HI], "id": 7},           7),
    "content that is no list":    ({"role": "user", "content": HI},                      HI),
    "a block that nobody knows":  ({"role": "user", "content": [{"type": "film"}, HI]},  {"type": "film"}),
    "a text that is none":        ({"role": "user", "content": [{**HI, "text": None}]},  {**HI, "text": None}),
    "metadata that is no object": ({"role": "user", "content": [HI], "metadata": [1]},   [1]),
}
# fmt: on


@pytest.mark.parametrize("name", STORES)
@pytest.mark.parametrize("kind", BAD_MESSAGES)
def test_one_unreadable_message_does_not_lose_the_others(
    kind: str, name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bad, raw = BAD_MESSAGES[kind]
    told = copy.deepcopy(V2)
    told["messages"].insert(1, bad)
    path = put(told, tmp_path / name)
    with caplog.at_level(logging.WARNING, "interlingua"):
        session = load(path, store=path)
    good = [message for n, message in enumerate(session.messages) if n != 1]
    assert good[:4] == [*load(HERE / "saved-v2.json").messages][:4]
    (warning,) = session.report.warnings
    assert "message 1 (" in warning
    assert session.messages[1].id is not None
    assert session.messages[1].id in warning
    assert warning in caplog.text
    session.send("go on")  # what could not be read is not sent, and does not stand in the way
    for _ in range(2):
        assert [record["raw"] for record in load(path).messages[1].metadata["unreadable"]] == [raw]
        load(path).save(tmp_path / f"copy-{name}", overwrite=True)
        path = tmp_path / f"copy-{name}"


def test_what_can_be_read_of_a_block_is_read(tmp_path: Path) -> None:
    told = changed(messages__3__content__0__citations__0__start="0")
    session = load(put(told, tmp_path / "talk.json"))
    text = session.messages[3].content[0]
    assert text == TextBlock("three")
    (record,) = session.messages[3].metadata["unreadable"]
    assert record == {"at": "content/0", "raw": told["messages"][3]["content"][0]}
    assert "messages[" not in session.report.warnings[0]
    assert "citations[0].start" in session.report.warnings[0]


@pytest.mark.parametrize("field", ["input", "kind", "native_ids", "input_text"])
def test_a_call_of_which_something_is_missing_is_never_run(field: str, tmp_path: Path) -> None:  # law 7
    ran: list[Any] = []

    def pay(euro: int = 0) -> str:
        """Pay."""
        ran.append(euro)
        return "paid"

    session = load(put(changed(**{f"messages__3__content__1__{field}": 7}), tmp_path / "talk.json"), tools=[pay])
    call = session.messages[3].content[1]
    assert isinstance(call, ToolUseBlock)
    assert call.incomplete


def test_results_keep_what_can_be_read(tmp_path: Path) -> None:
    told = changed(messages__2__content__0__is_error="no", messages__2__content__1__content__0__text=None)
    session = load(put(told, tmp_path / "talk.json"))
    first, second = session.messages[2].content
    assert isinstance(first, ToolResultBlock)
    assert isinstance(second, ToolResultBlock)
    assert (first.content, first.is_error) == ((TextBlock("3"),), None)
    assert (second.content, second.is_error) == ((), True)


SETTINGS = {"system": 7, "metadata": [], "wishes": {"temperature": "hot", "top_k": 3}, "omitted": [1], "model": 1.5}


@pytest.mark.parametrize(
    ("name", "store"), [*((name, store) for name in SETTINGS for store in STORES), ("messages", "talk.json")]
)
def test_a_setting_that_cannot_be_read_is_told_and_kept(name: str, store: str, tmp_path: Path) -> None:
    bad = SETTINGS.get(name, "gone")
    path = put(changed(**{name: bad}), tmp_path / store)
    session = SyncSession.load(path, manager=scripted(), model="anthropic:m", store=path)
    field = "temperature" if name == "wishes" else name
    assert any(f" {field} " in warning for warning in session.report.warnings)
    assert len(session.messages) >= (0 if name == "messages" else 4)
    session.send("go on")
    again = JsonStore(path).load() if store == "talk.json" else SqliteStore(path).load()
    assert again.head.unreadable == ({"temperature": "hot"} if name == "wishes" else {name: bad})
    if name == "wishes":
        assert again.head.options == {"top_k": 3}


# ----------------------------------------------------------------------------------------------------- every near miss


def leaves(value: Any, way: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The place of every value, containers included."""
    if way:
        yield way
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, below in inner:
        yield from leaves(below, (*way, key))


def retyped(way: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    told = copy.deepcopy(V2)
    found: Any = told
    for step in way[:-1]:
        found = found[step]
    found[way[-1]] = value
    return told


def loaded(path: Path) -> SyncSession | AdapterError:
    try:
        return load(path)
    except AdapterError as error:
        return error


ODD = (None, True, -1, 1.5, "odd", [], {}, [[]], {"type": "text"}, 10**30)


def test_any_value_of_another_type_loads_or_says_why(tmp_path: Path) -> None:
    """Every value of a stored session, replaced by others: no message is lost for another one's fault, nothing but our
    own errors, and what was loaded can be saved and sent."""  # law 11
    chance = random.Random(11)
    before = load(HERE / "saved-v2.json").messages
    for way in leaves(V2):
        odd = chance.choice(ODD)
        path = put(retyped(way, odd), tmp_path / "talk.json")
        session = loaded(path)
        if isinstance(session, AdapterError):
            assert way[0] in ("model", "format", "version", "id"), (way, odd)
            assert way[0] == "model" or str(path) in str(session)
            continue
        if way[0] == "messages" and len(way) > 1:
            others = [n for n in range(4) if n != way[1]]
            said = [message for message in session.messages if message.id in {before[n].id for n in others}]
            assert said == [before[n] for n in others], (way, odd)
        session.save(tmp_path / "copy.json", overwrite=True)
        session.model = f"{PROVIDERS[chance.choice(DIALECTS)]}:m"
        session.send("go on")
        assert validate_tool_results(session.messages, dialect="openai-chat") == []


def test_rows_that_hold_no_json_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "talk.db"
    SqliteStore(path).save(JsonStore(HERE / "saved-v2.json").load())
    rows = {0: '{"role": "us', 2: b"\xff\xfe", 3: 7}
    with sqlite3.connect(path) as open_:
        for place, body in rows.items():
            open_.execute("UPDATE messages SET body = ? WHERE place = ?", (body, place))
    open_.close()
    session = load(path, store=path)
    assert session.messages[1].content == load(HERE / "saved-v2.json").messages[1].content
    raws = [m.metadata["unreadable"][0]["raw"] for m in session.messages if "unreadable" in m.metadata]
    assert raws == ['{"role": "us', {"base64": "//4="}, 7]
    session.send("go on")
    again = load(path).messages
    assert [m.metadata["unreadable"][0]["raw"] for m in again if "unreadable" in m.metadata] == raws


@pytest.mark.parametrize("depth", [120, 140, 600])
@pytest.mark.parametrize("place", ["messages__3__content__1__input", "metadata", "messages__1__extras"])
def test_what_is_nested_too_deeply_is_kept_as_text(place: str, depth: int, tmp_path: Path) -> None:
    """``Limits.depth`` is 128. What is deeper would stop an encoder later on."""
    deep: Any = {"openai-chat": {"deep": json.loads("[" * depth + "]" * depth)}}
    path = put(changed(**{place: deep}), tmp_path / "talk.json")
    session = load(path, store=path)
    assert bool(session.report.warnings) == (depth > 128)
    session.send("go on")
    again = load(path)
    if depth < 128:
        return
    kept: Any = JsonStore(path).load().head.unreadable.get("metadata")
    if place != "metadata":
        kept = again.messages[int(place.split("__")[1])].metadata["unreadable"][0]["raw"]
    assert "[" * depth in kept


def test_an_ordinary_message_has_no_mark() -> None:
    assert all("unreadable" not in message.metadata for message in load(HERE / "saved-v2.json").messages)
    assert isinstance(load(HERE / "saved-v1.json").messages[0], Message)

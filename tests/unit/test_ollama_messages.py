"""Turns, results and ids of Ollama histories, as tables."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from interlingua import (
    AudioBlock,
    Base64Source,
    Block,
    CacheMark,
    DocumentBlock,
    Encoded,
    ImageBlock,
    JsonBlock,
    Message,
    OpaqueBlock,
    Origin,
    ParseError,
    RedactedThinkingBlock,
    RefusalBlock,
    Request,
    ServerToolUseBlock,
    TextBlock,
    TextSource,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
    dialect,
)

OLLAMA = dialect("ollama")
Turn = dict[str, Any]
PNG = ImageBlock(source=Base64Source("image/png", "iVBORw0KGgoAAAA"))


def decode(*turns: Turn) -> Request:
    return OLLAMA.decode_request({"model": "m", "stream": True, "messages": list(turns)})


def encode(*messages: Message) -> Encoded:
    return OLLAMA.encode_messages(messages)


def losses(encoded: Encoded) -> list[tuple[str, str]]:
    return [(loss.kind, loss.path) for loss in encoded.losses]


def call(name: str, id: str | None = None, **arguments: Any) -> Turn:
    wire: Turn = {"function": {"name": name, "arguments": arguments}}
    return wire if id is None else {"id": id, **wire}


# ----------------------------------------------------------------------------------------------------- what a turn says


def test_every_kind_has_its_place() -> None:
    wire = {
        "role": "assistant",
        "content": "text",
        "thinking": "thought",
        "images": ["iVBORw0KGgoAAAA"],
        "tool_calls": [call("f", "c1", a=1)],
    }
    use = ToolUseBlock(id="c1", name="f", input={"a": 1})
    message = Message("assistant", (ThinkingBlock(text="thought"), TextBlock("text"), PNG, use))
    assert decode(wire).messages == (message,)
    assert encode(message) == Encoded([wire])


def test_other_orders_are_moved() -> None:
    encoded = encode(Message("user", (PNG, TextBlock("What is it?"))))
    assert encoded.body == [{"role": "user", "content": "What is it?", "images": ["iVBORw0KGgoAAAA"]}]
    assert losses(encoded) == [("moved", "messages/0/content/0"), ("moved", "messages/0/content/1")]


def test_texts_are_joined_and_it_is_said() -> None:
    encoded = encode(Message("user", (TextBlock("a"), TextBlock(""), TextBlock("b"))))
    assert encoded.body == [{"role": "user", "content": "a\n\nb"}]
    assert losses(encoded) == [
        ("dropped", "messages/0/content/1"),
        ("approximated", "messages/0/content/0"),
        ("approximated", "messages/0/content/2"),
    ]


@pytest.mark.parametrize(
    ("block", "said", "lost"),
    [
        (TextBlock("t", cache=CacheMark()), {"content": "t"}, [("dropped", "/cache")]),
        (TextBlock("t", signature="s"), {"content": "t"}, [("dropped", "/signature")]),
        (JsonBlock(value={"a": 1}), {"content": '{"a":1}'}, [("approximated", "")]),
        (RefusalBlock(text="no"), {"content": "no"}, [("approximated", "")]),
        (DocumentBlock(source=TextSource("doc")), {"content": "doc"}, [("approximated", "")]),
        (DocumentBlock(source=UrlSource("u")), {"content": ""}, [("dropped", "")]),
        (ImageBlock(source=UrlSource("u")), {"content": ""}, [("dropped", "")]),
        (
            ImageBlock(source=Base64Source("image/png", "AAAA"), detail="low"),
            {"content": "", "images": ["AAAA"]},
            [("dropped", "/source/media_type"), ("dropped", "/detail")],
        ),
        (AudioBlock(source=UrlSource("u")), {"content": ""}, [("dropped", "")]),
        (RedactedThinkingBlock(data="d"), {"content": ""}, [("dropped", "")]),
        (ServerToolUseBlock(id="s", name="n"), {"content": ""}, [("dropped", "")]),
        (OpaqueBlock(dialect="gemini", raw={}), {"content": ""}, [("dropped", "")]),
        (
            ToolUseBlock(id="c", name="f", kind="text", input_text="x"),
            {"content": "", "tool_calls": [call("f", "c", input="x")]},
            [("approximated", "/input_text"), ("approximated", "/kind"), ("added", "/input")],
        ),
        (
            ToolUseBlock(id="c", name="f", input={"a": 1}, input_text='{ "a": 1 }'),
            {"content": "", "tool_calls": [call("f", "c", a=1)]},
            [("dropped", "/input_text")],
        ),
    ],
)
def test_what_a_block_becomes(block: Block, said: Turn, lost: list[tuple[str, str]]) -> None:
    encoded = encode(Message("assistant", (block,)))
    assert encoded.body == [{"role": "assistant", **said}]
    assert losses(encoded) == [(kind, f"messages/0/content/0{path}") for kind, path in lost]


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ("iVBORw0KGgo", "image/png"),
        ("/9j/4AAQ", "image/jpeg"),
        ("R0lGODlh", "image/gif"),
        ("UklGRiQA", "image/webp"),
        ("AAAA", "application/octet-stream"),
    ],
)
def test_a_picture_tells_what_it_is(data: str, kind: str) -> None:
    message = decode({"role": "user", "content": "", "images": [data]}).messages[0]
    assert message.content == (ImageBlock(source=Base64Source(kind, data)),)


def test_reasoning_goes_back_to_its_issuer_only() -> None:
    thought = (ThinkingBlock(text="t"), TextBlock("x"))
    at_home = encode(Message("assistant", thought, origin=Origin(None, "ollama")))
    assert at_home.body[0]["thinking"] == "t"
    abroad = encode(Message("assistant", thought, origin=Origin(None, "anthropic-messages")))
    assert abroad.body == [{"role": "assistant", "content": "x"}]
    assert losses(abroad) == [("dropped", "messages/0/content/0")]


# ---------------------------------------------------------------------------------------------------- system and roles


def test_leading_system_turns_are_the_system_prompt_each_a_block() -> None:
    turns = [{"role": "system", "content": "a"}, {"role": "developer", "content": ""}, {"role": "user", "content": "u"}]
    request = decode(*turns)
    assert [block.text for block in request.system if isinstance(block, TextBlock)] == ["a", ""]
    assert OLLAMA.encode_request(request).body["messages"] == turns
    late = decode({"role": "user", "content": "u"}, {"role": "system", "content": "s"})
    assert [message.role for message in late.messages] == ["user", "system"]


def test_a_leading_system_message_joins_the_prompt() -> None:
    request = Request(system=(TextBlock("a"),), messages=(Message("system", "b"), Message("user", "u")), stream=True)
    encoded = OLLAMA.encode_request(request)
    assert [turn["content"] for turn in encoded.body["messages"]] == ["a", "b", "u"]
    assert losses(encoded) == [("moved", "messages/0")]


@pytest.mark.parametrize(
    "turn",
    [
        {"role": "User", "content": "u"},
        {"role": "control", "content": "thinking"},
        {"content": "no role"},
        {"role": "user"},
        {"role": "user", "content": None},
        {"role": "user", "content": ["a", "part"]},
        {"role": "user", "content": "u", "images": [], "name": "x"},
        {"role": "user", "content": "u", "images": ["data:image/png;base64,AA", 5]},
        {"role": "assistant", "content": "", "thinking": "", "tool_calls": []},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f"}}, {"odd": 1}, "odd"]},
        {"role": "assistant", "content": "", "tool_calls": [{"type": "function", **call("f", a=1)}]},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "", "function": {"name": "f", "arguments": None}}]},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": '{"a": 1}'}}]},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"index": 0, "name": "f", "arguments": {}}}]},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"index": 7, "name": "f", "arguments": {}}}]},
        {"role": "system", "content": "s", "images": ["iVBORw0KGgo"]},
        {"role": "tool", "content": "r"},
        {"role": "tool", "content": "", "tool_name": "f", "tool_call_id": "c", "images": ["iVBORw0KGgo"]},
    ],
)
def test_odd_turns_are_written_as_they_came(turn: Turn) -> None:
    request = decode(turn)
    encoded = OLLAMA.encode_request(request)
    assert (encoded.body["messages"], encoded.losses) == ([turn], ())
    saved = msgspec.json.decode(msgspec.json.encode(request), type=Request)
    assert OLLAMA.encode_request(saved).body["messages"] == [turn]


def test_a_turn_is_an_object() -> None:
    with pytest.raises(ParseError, match=r"messages\[1\]"):
        OLLAMA.decode_request({"messages": [{"role": "user", "content": "u"}, "no"]})


# ----------------------------------------------------------------------------------------------- results and their ids


def test_a_run_of_results_is_one_message() -> None:
    turns = [
        {"role": "assistant", "content": "", "tool_calls": [call("f", "c1"), call("g", "c2")]},
        {"role": "tool", "content": "1", "tool_name": "f", "tool_call_id": "c1"},
        {"role": "tool", "content": "2", "tool_name": "g", "tool_call_id": "c2"},
    ]
    messages = (
        Message("assistant", (ToolUseBlock(id="c1", name="f"), ToolUseBlock(id="c2", name="g"))),
        Message(
            "tool",
            (
                ToolResultBlock(tool_use_id="c1", name="f", content=(TextBlock("1"),)),
                ToolResultBlock(tool_use_id="c2", name="g", content=(TextBlock("2"),)),
            ),
        ),
    )
    assert decode(*turns).messages == messages
    assert encode(*messages) == Encoded(turns)


def ids(request: Request) -> list[list[str]]:
    found: list[list[str]] = []
    for message in request.messages:
        calls = [block.id for block in message.content if isinstance(block, ToolUseBlock)]
        results = [block.tool_use_id for block in message.content if isinstance(block, ToolResultBlock)]
        found.append(calls + results)
    return found


def result(content: str, **fields: Any) -> Turn:
    return {"role": "tool", "content": content, **fields}


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        # by order
        (([call("f"), call("f")], result("1"), result("2")), [["call_0", "call_1"], ["call_0", "call_1"]]),
        # by name, then by order
        (
            ([call("f"), call("g"), call("f")], result("g", tool_name="g"), result("f", tool_name="f"), result("x")),
            [["call_0", "call_1", "call_2"], ["call_1", "call_0", "call_2"]],
        ),
        # the call has an id and the result none
        (([call("f", "c1")], result("1", tool_name="f")), [["c1"], ["c1"]]),
        # the result has an id that no call has
        (([call("f")], result("1", tool_call_id="x")), [["call_0"], ["call_0"]]),
        # nobody asked
        (([], result("1"), result("2", tool_call_id="x")), [[], ["call_0", "x"]]),
        # a second turn has names of its own
        (
            ([call("f")], result("1"), {"role": "assistant", "content": "", "tool_calls": [call("f")]}, result("2")),
            [["call_0"], ["call_0"], ["call_2_0"], ["call_2_0"]],
        ),
    ],
)
def test_ids_that_nobody_sent(turns: Any, expected: list[list[str]]) -> None:
    calls, *rest = turns
    wire = [{"role": "assistant", "content": "", "tool_calls": calls}, *rest]
    request = decode(*wire)
    assert ids(request) == expected
    encoded = OLLAMA.encode_request(request)
    assert (encoded.body["messages"], encoded.losses) == (wire, ())


def test_a_made_up_id_is_never_sent_back() -> None:
    """Results for calls that had no id go by name, in the order of the calls."""
    wire = {"role": "assistant", "content": "", "tool_calls": [call("f"), call("g")]}
    (answer,) = decode(wire).messages
    results = tuple(ToolResultBlock(tool_use_id=id, content=(TextBlock(id),)) for id in ("call_1", "call_0"))
    encoded = encode(answer, Message("tool", results))
    assert encoded.body == [wire, result("call_0", tool_name="f"), result("call_1", tool_name="g")]
    assert losses(encoded) == [
        ("moved", "messages/1/content/0"),
        ("moved", "messages/1/content/1"),
        ("added", "messages/1/content/1/name"),
        ("added", "messages/1/content/0/name"),
    ]


def test_an_id_that_was_given_since_is_sent() -> None:
    (answer,) = decode({"role": "assistant", "content": "", "tool_calls": [call("f")]}).messages
    named = msgspec.structs.replace(answer, content=(msgspec.structs.replace(answer.content[0], id="tu_1"),))
    assert encode(named).body[0]["tool_calls"] == [call("f", "tu_1")]


@pytest.mark.parametrize(
    ("block", "said", "lost"),
    [
        (ToolResultBlock(tool_use_id="c", name="f", is_error=True, content=(TextBlock("x"),)), "Error: x", 2),
        (ToolResultBlock(tool_use_id="c", name="f", is_error=True), "Error: ", 2),
        (ToolResultBlock(tool_use_id="c", name="f", is_error=False, content=(TextBlock("x"),)), "x", 1),
        (ToolResultBlock(tool_use_id="c", name="f", content=(JsonBlock(value=[1]), TextBlock("x"))), "[1]\n\nx", 3),
    ],
)
def test_results(block: ToolResultBlock, said: str, lost: int) -> None:
    encoded = encode(Message("tool", (block,)))
    assert encoded.body == [result(said, tool_name="f", tool_call_id="c")]
    assert len(encoded.losses) == lost


def test_pictures_in_a_result() -> None:
    block = ToolResultBlock(tool_use_id="c", name="f", content=(TextBlock("see"), PNG))
    wire = result("see", tool_name="f", tool_call_id="c", images=["iVBORw0KGgoAAAA"])
    assert encode(Message("tool", (block,))) == Encoded([wire])
    assert decode(wire).messages[0].content == (block,)


def test_a_user_turn_with_results_is_parted() -> None:
    use = Message("assistant", (ToolUseBlock(id="c", name="f"),))
    both = Message("user", (ToolResultBlock(tool_use_id="c", name="f"), TextBlock("go on")))
    encoded = encode(use, both)
    assert [turn["role"] for turn in encoded.body] == ["assistant", "tool", "user"]
    assert losses(encoded) == []


def test_calls_of_two_turns_in_a_row_become_one_turn() -> None:
    """The server joins the texts of such turns and keeps the calls of the first."""
    turns = [
        {"role": "assistant", "content": "a", "tool_calls": [call("f", "c1")]},
        {"role": "assistant", "content": "", "tool_calls": [call("g", "c2")]},
    ]
    read = decode(*turns)
    assert OLLAMA.encode_request(read).body["messages"] == turns
    first = Message("assistant", (TextBlock("a"), ToolUseBlock(id="c1", name="f")))
    second = Message("assistant", (ToolUseBlock(id="c2", name="g"),))
    encoded = encode(first, second)
    assert encoded.body == [{"role": "assistant", "content": "a", "tool_calls": [call("f", "c1"), call("g", "c2")]}]
    assert losses(encoded) == [("moved", "messages/1")]


def test_results_that_stand_elsewhere_stay_there() -> None:
    turns = [
        {"role": "assistant", "content": "", "tool_calls": [call("f", "c1")]},
        {"role": "user", "content": "wait"},
        result("1", tool_name="f", tool_call_id="c1"),
    ]
    encoded = OLLAMA.encode_request(decode(*turns))
    assert (encoded.body["messages"], encoded.losses) == (turns, ())

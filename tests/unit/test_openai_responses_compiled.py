"""The compiled rows of OpenAI Responses mean what their interpreter means: without them, everything is the same."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
from msgspec.structs import replace

from interlingua import (
    AudioBlock,
    Base64Source,
    CacheMark,
    Citation,
    FileSource,
    ImageBlock,
    Message,
    OpaqueBlock,
    Origin,
    RefusalBlock,
    Request,
    TextBlock,
    ThinkingBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
    dialect,
)
from interlingua.codec.rows.table import Frame, Table
from interlingua.dialects.openai_responses import rows
from shared_data import corpus, needs_shared

NAME = "openai-responses"
speaker = dialect(NAME)
SCHEMA = {"type": "object", "properties": {}}


def tables() -> list[Table | Frame]:
    found = [value for value in vars(rows).values() if isinstance(value, Table | Frame)]
    return [*found, *rows.RESULTS.values()]


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Switch compiled code off."""

    def switch() -> None:
        for table in tables():
            if isinstance(table, Frame):
                monkeypatch.setattr(table, "take", table.interpret_take)
                monkeypatch.setattr(table, "_put_usual", gives_up)
            else:
                monkeypatch.setattr(table, "read", table.interpret_read)
                monkeypatch.setattr(table, "write_usual", gives_up)
                monkeypatch.setattr(table, "writers", defaultdict(lambda: gives_up))

    return switch


def gives_up(value: Any) -> None:
    """What compiled code gives where something is unusual."""


def both_ways(bodies: list[Any], requests: list[Request], switch: Any) -> None:
    read = [speaker.decode_request(body) for body in bodies]
    written = [speaker.encode_request(request) for request in [*read, *requests]]
    assert [encoded.body for encoded in written[: len(bodies)]] == bodies
    switch()
    assert [speaker.decode_request(body) for body in bodies] == read
    assert [speaker.encode_request(request) for request in [*read, *requests]] == written


def own(**residue: Any) -> dict[str, Any]:
    return {NAME: residue}


CALL, RESULT = ToolUseBlock("c", "f"), ToolResultBlock("c", "x")
TWO_CALLS = Message("assistant", (CALL, ToolUseBlock("d", "f")))
SIGNED, THOUGHT = ThinkingBlock("h", signature="gAAA"), ThinkingBlock("h")
NAMED = ThinkingBlock("", extras=own(item={"id": "rs_1"}))
UNTYPED = TextBlock("a", forms=own(item={"spelling": {"=type": []}}))
TEXT = {"type": "output_text", "text": "a", "annotations": [], "logprobs": []}
TYPED = {"?type": ["message"]}
SUMMARY = {"type": "summary_text", "text": "h"}
ITEM = {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}
ITEMS: list[Any] = [
    *({"type": "reasoning", "summary": summary, **more} for summary in ([], [SUMMARY], [SUMMARY, SUMMARY], None,
        [{**SUMMARY, "text": ""}], [{**SUMMARY, "x": 1}], [{"type": "x", "text": "h"}], "x")
      for more in ({}, {"id": "rs_1"}, {"encrypted_content": "g"}, {"id": "rs_1", "encrypted_content": None},
                   {"id": "rs_1", "encrypted_content": "g"}, {"id": None, "encrypted_content": "g"}, {"id": 1})),
    *({"type": "message", "role": "assistant", "content": content, **more}
      for content in ([TEXT], [TEXT, TEXT], "a", [], [{"type": "output_text", "text": "a"}], [{**TEXT, "text": 1}])
      for more in ({}, {"id": "msg_1"}, {"id": "msg_1", "status": "completed"}, {"id": "msg_1", "status": "incomplete"},
                   {"id": None, "status": "completed"}, {"id": "msg_1", "status": "completed", "phase": "x"})),
    *({**ITEM, "call_id": "d", **more} for more in (
        {"id": "fc_1"}, {"id": "fc_1", "status": "completed"}, {"id": 1, "status": "completed"},
        {"id": "fc_1", "status": "incomplete"}, {"arguments": "{ }"}, {"arguments": {}},
        {"call_id": ""}, {"call_id": "c"})),
    *({"type": "function_call_output", "call_id": "c", "output": "x", **more} for more in (
        {"name": "f"}, {"name": None}, {"status": "completed"}, {"output": ""}, {"output": []}, {"call_id": "e"})),
    *({"role": role, **more, "content": content} for role in ("user", "assistant", "developer", "odd")
      for more in ({}, {"type": "message"}, {"id": "msg_1"})
      for content in ("x", "", None, [], [{"type": "input_text", "text": "x"}],
                      [{"type": "input_text", "text": 1}], 1)),
]  # fmt: skip
REQUESTS = [
    Request((Message("user", "?"), Message("assistant", (TextBlock("a"), CALL)), Message("tool", (RESULT,)))),
    Request((Message("assistant", "a"), Message("assistant", "b"), Message("user", ()))),
    *(Request((Message("user", "?"), before, Message("assistant", (block, block, CALL), origin=origin)))
      for before in (
          Message("user", "?"), Message("assistant", "a"), Message("assistant", (ToolUseBlock("d", "f"),)),
          Message("user", ()), Message("assistant", (OpaqueBlock(NAME, {"role": "odd", "content": 1}),)))
      for origin in (None, Origin("other", "gemini"))
      for block in (
          TextBlock("a"), UNTYPED, replace(UNTYPED, cache=CacheMark()), replace(UNTYPED, signature="s"),
          replace(UNTYPED, citations=(Citation("url", url="u"),)), replace(UNTYPED, extras=own(item={"phase": "x"})),
          replace(UNTYPED, forms={**UNTYPED.forms, "gemini": {}}), RefusalBlock("no", forms=UNTYPED.forms),
          TextBlock("a", forms=own(item={"content": "list"})),
      )),
    Request((Message("assistant", (CALL,)), Message("tool", (RESULT,))) * 2),
    Request((Message("assistant", (CALL, CALL)), Message("tool", (RESULT, RESULT)))),
    Request((Message("tool", (RESULT,)), Message("assistant", (ThinkingBlock("h"), TextBlock("a"))))),
    Request((Message("assistant", (ToolUseBlock("c", "p", "text", input_text="x"),)), Message("tool", (RESULT,)))),
    Request(tools=(ToolDefinition("f", "f", SCHEMA, strict=False), ToolDefinition("a.b", "f", SCHEMA, strict=False))),
    Request((Message("user", (TextBlock(""), TextBlock("x"))),)),
    *(Request((Message("assistant", content, origin=origin), Message("tool", (RESULT,)), Message("assistant", "b")))
      for origin in (None, Origin("openai", NAME), Origin("other", "gemini"))
      for content in (
          (SIGNED, CALL), (NAMED, CALL), (THOUGHT, CALL), (SIGNED,), (CALL, SIGNED), (SIGNED, NAMED, TextBlock("a")),
          (SIGNED, replace(CALL, extras=own(id="fc_1"))), (replace(CALL, extras=own(id="fc_1", x=1)),),
          (TextBlock("a", extras=own(item={"id": "msg_1"})), CALL), (TextBlock("a", signature="s"), CALL),
          (TextBlock("a", extras={"gemini": {"x": 1}}), CALL), (TextBlock("a", forms={"gemini": {"x": 1}}), CALL),
          (CALL, ThinkingBlock("", signature="", extras=own(item={"id": "rs_1"})), TextBlock("a")),
          (CALL, TextBlock("a", (Citation("url", url="u"),))), (CALL, RefusalBlock("no")),
          (replace(CALL, id="i" * 65),),
          (replace(CALL, native_ids={NAME: "call_9"}),), (replace(CALL, native_ids={"gemini": "call_9"}),),
          (ToolUseBlock("call_9", "f"), replace(CALL, native_ids={NAME: "call_9"})),
          (replace(CALL, native_ids={NAME: "call_9"}), ToolUseBlock("call_9", "f"), AudioBlock(UrlSource("u"))),
          (replace(CALL, native_ids={NAME: "i" * 65}), RefusalBlock("no")), (replace(CALL, input_text='{ }'),),
      )),
    *(Request((TWO_CALLS, Message("tool", (result, ToolResultBlock("d", "y")))))
      for result in (
          RESULT, ToolResultBlock("c", "x", "f"), ToolResultBlock("c", "x", is_error=False), ToolResultBlock("c", ""),
          ToolResultBlock("c", "x", is_error=True), ToolResultBlock("c", (TextBlock("x"), TextBlock("y"))),
          ToolResultBlock("c", (TextBlock("x", cache=CacheMark()),)), ToolResultBlock("d", "x"),
          ToolResultBlock("e", "x"),
          ToolResultBlock("c", "x", cache=CacheMark()), ToolResultBlock("c", "x", extras=own(status="completed")),
      )),
    *(Request((TWO_CALLS, Message("tool", (ToolResultBlock("d", "y", is_error=False), result))))
      for result in (RESULT, ToolResultBlock("c", ()))),
    *(Request((Message("user", (TextBlock("x"), block, ImageBlock(UrlSource("u"))), forms=forms),))
      for forms in ({}, {"gemini": {}}, {NAME: {"content": "string"}}) for block in (
          TextBlock("y"), TextBlock("y", cache=CacheMark()), ImageBlock(UrlSource("u"), "low"),
          ImageBlock(UrlSource("u"), ""),
          ImageBlock(Base64Source("image/png", "AAAA")), ImageBlock(FileSource("file_1")), AudioBlock(UrlSource("u")),
          ImageBlock(UrlSource("u", "image/png")), ImageBlock(UrlSource("u"), forms={NAME: {"verbatim": ["detail"]}}),
          ImageBlock(UrlSource("u"), "low", forms={NAME: {"verbatim": ["detail"]}}),
      )),
    *(Request((Message("user", content, forms={NAME: forms}),))
      for content in ("x", "", (TextBlock("x", cache=CacheMark()),))
      for forms in (
          {"content": "string"}, {"content": "string", "spelling": TYPED}, {"spelling": TYPED}, {"content": []})),
    *(Request(tools=(ToolDefinition("g", "g", SCHEMA), ToolDefinition("f", about, schema, strict=strict, forms=forms)))
      for about in ("f", None) for strict in (None, False, True)
      for forms in ({}, {NAME: {"verbatim": ["strict"]}}, {"gemini": {}})
      for schema in (SCHEMA, {}, {"type": "object"}, {"type": "object", "properties": {"a": {"type": "object"}}},
                     {"type": "object", "properties": {"a": {"type": "string"}}})),
]  # fmt: skip
BODIES: list[Any] = [
    {"input": [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}]},
    {"input": [{"role": "odd", "content": 1}, {"role": "assistant", "content": "b"}]},
    {"input": [{"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
               {"role": "assistant", "content": "b"}]},
    {"input": [{"type": "compaction_trigger"}, {"role": "user", "content": [{"type": "input_text", "text": "x"}]}]},
    {"input": [{"type": "function_call_output", "call_id": "c", "output": "x"}]},
    {"input": [{"type": [], "role": {}}]},
    *({"input": [{"type": "compaction_trigger"}, item, ITEM]} for item in ITEMS),
    *({"input": [{"role": "user", "content": "?"}, ITEM, item, {"type": "message", "role": "user", "content": "!"}]}
      for item in ITEMS),
    *({"tools": [{"type": "function", "name": "f", "parameters": SCHEMA, **more}]} for more in (
        {}, {"description": "f"}, {"description": "f", "strict": None}, {"description": "f", "strict": True},
        {"description": "", "strict": False}, {"description": "f", "defer_loading": True})),
]  # fmt: skip


def test_by_hand(interpreted: Any) -> None:
    both_ways(BODIES, REQUESTS, interpreted)


@needs_shared
def test_recorded(interpreted: Any) -> None:
    bodies = [record["request"] for record in corpus(NAME) if isinstance(record.get("request"), dict)]
    foreign = [r["request"] for r in list(corpus("anthropic-messages"))[::5] if isinstance(r.get("request"), dict)]
    both_ways(bodies, [dialect("anthropic-messages").decode_request(body) for body in foreign], interpreted)

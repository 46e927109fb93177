"""Items of OpenAI Responses in a history: what goes back to whom, and what an older release saved."""

from __future__ import annotations

from typing import Any

from interlingua import (
    Block,
    Message,
    Origin,
    Request,
    Response,
    Role,
    ServerToolUseBlock,
    Target,
    dialect,
)
from interlingua.codec.saving import from_json
from interlingua.testing.conformance import check_response

NAME = "openai-responses"
Json = Any
speaker = dialect(NAME)


SUMMARY = [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}]
TEXT = {"type": "output_text", "text": "so", "annotations": [], "logprobs": []}


def history(*content: Block, origin: Origin | None = None) -> Request:
    turn = Message("assistant", content, origin=origin)
    return Request((Message("user", "?"), turn, Message("user", "!")))


def items(request: Request, target: Target | None = None) -> list[Json]:
    return speaker.encode_request(request, target).body["input"][1:-1]


def test_a_replayed_answer_is_what_was_answered() -> None:
    output = [
        {"type": "reasoning", "id": "rs_a", "summary": SUMMARY, "encrypted_content": "gAAA"},
        {"type": "message", "id": "msg_a", "role": "assistant", "status": "completed", "content": [TEXT]},
        {"type": "function_call", "id": "fc_a", "call_id": "call_1", "name": "f", "arguments": '{"a": 1}',
         "status": "completed", "namespace": "n"},
    ]  # fmt: skip
    response = speaker.decode_response({"status": "completed", "output": output})
    turn = speaker.as_turn(response)
    assert turn.role is Role.assistant
    assert speaker.encode_messages([turn]).body == output


def test_a_replayed_answer_keeps_the_ids_that_we_would_have_made() -> None:
    """What an answer leaves unsaid since it is usual there, a history has to say."""
    output = [
        {"type": "reasoning", "id": "rs_0", "summary": SUMMARY},
        {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [TEXT]},
        {"type": "web_search_call", "id": "ws_2", "status": "completed", "action": {"type": "search", "query": "q"}},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{", "id": "fc_3", "status": "incomplete"},
    ]
    body = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": output}
    encoded = speaker.encode_messages([speaker.as_turn(speaker.decode_response(body))])
    assert encoded.body == output[:3]
    assert [(loss.path, loss.kind, loss.weight) for loss in encoded.losses] == [
        ("messages/0/content/4", "dropped", "content")  # the call was cut off: it is never sent as one that was made
    ]


def test_the_input_of_a_hosted_call_does_not_speak_for_its_item() -> None:
    input: dict[str, Json] = {"query": "q", "type": "x", "id": "y", "status": "z", "created_by": {}}
    call = ServerToolUseBlock("ws_1", "web_search", input, NAME)
    encoded = check_response(NAME, Response((call,), id="r", model="m"))
    assert encoded.body["output"] == [{"type": "web_search_call", "id": "ws_1", "query": "q", "status": "completed"}]
    lost = {loss.path for loss in encoded.losses if loss.kind == "dropped"}
    assert lost == {f"content/0/input/{key}" for key in ("type", "id", "status", "created_by")}


# ------------------------------------------------------------------------------------------------- saved by version 1

SAVED = """{"messages":[
{"role":"user","content":[{"type":"text","text":"go"}],"forms":{"openai-responses":{"content":"string"}}},
{"role":"assistant","content":[
  {"type":"thinking","text":"a","extras":{"openai-responses":{"item":{"id":"rs_1","status":null}}}},
  {"type":"thinking","text":"b","forms":{"openai-responses":{"joined":true}},"signature":"gAAA"},
  {"type":"text","text":"x","extras":{"openai-responses":{"item":{"id":"msg_1"}}},
   "forms":{"openai-responses":{"absent":["logprobs"]}}},
  {"type":"text","text":"y","forms":{"openai-responses":{"joined":true}}},
  {"type":"thinking","extras":{"openai-responses":{"item":{"id":"rs_2"}}}},
  {"type":"tool_use","id":"call_1","name":"f","extras":{"openai-responses":{"id":"fc_1"}},
   "forms":{"openai-responses":{"absent":["status"]}}}],"origin":{"dialect":"openai-responses"}},
{"role":"tool","content":[{"type":"tool_result","tool_use_id":"call_1","content":[{"type":"text","text":"ok"}],
  "forms":{"openai-responses":{"output":"list"}}}]},
{"role":"assistant","content":[
  {"type":"thinking","forms":{"openai-responses":{"part":"reasoning_text","item":{"unproved":true}}}},
  {"type":"tool_use","id":"call_2","name":"g","kind":"text","input_text":"z",
   "extras":{"openai-responses":{"id":"ctc_1","status":"incomplete"}}}],"origin":{"dialect":"openai-responses"}},
{"role":"tool","content":[{"type":"tool_result","tool_use_id":"call_2","content":[{"type":"text","text":"ok"}]}]},
{"role":"assistant","content":[{"type":"text","text":"one","forms":{"openai-responses":{"item":{"type":false}}}}],
 "origin":{"dialect":"openai-responses"}},
{"role":"assistant","content":[{"type":"text","text":"two"}],"origin":{"dialect":"openai-responses"}}]}"""


def test_a_history_that_was_saved_with_other_marks_keeps_its_items_together() -> None:
    encoded = speaker.encode_request(from_json(SAVED, Request))
    items = [(item.get("type", "message"), item.get("id") or item.get("call_id")) for item in encoded.body["input"]]
    assert items == [
        ("message", None), ("reasoning", "rs_1"), ("message", "msg_1"), ("reasoning", "rs_2"),
        ("function_call", "fc_1"), ("function_call_output", "call_1"), ("reasoning", None),
        ("custom_tool_call", "ctc_1"),
        ("custom_tool_call_output", "call_2"), ("message", None), ("message", None),
    ]  # fmt: skip
    assert [part["text"] for part in encoded.body["input"][1]["summary"]] == ["a", "b"]
    assert len(encoded.body["input"][2]["content"]) == 2
    assert encoded.losses == ()

"""The items of OpenAI Responses: what each becomes, in a request and in an answer, and that it is written back."""

from __future__ import annotations

from typing import Any

import pytest

from interlingua import (
    Base64Source,
    Block,
    Citation,
    ImageBlock,
    Message,
    OpaqueBlock,
    Origin,
    RefusalBlock,
    Request,
    Response,
    Role,
    ServerToolResultBlock,
    ServerToolUseBlock,
    StopReason,
    Target,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
    dialect,
)
from interlingua.codec.saving import from_json
from interlingua.testing.conformance import check_response
from interlingua.testing.differences import plain

NAME = "openai-responses"
Json = Any
speaker = dialect(NAME)


def own(**residue: Json) -> dict[str, Json]:
    return {NAME: residue}


def server(id: str, name: str, **input: Json) -> ServerToolUseBlock:
    return ServerToolUseBlock(id, name, input, NAME)


SUMMARY = [{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}]
TEXT = {"type": "output_text", "text": "so", "annotations": [], "logprobs": []}
CITED = {"type": "file_citation", "file_id": "file_1", "filename": "a.pdf", "index": 4}
TOOLS = [{"type": "function", "name": "f", "parameters": {}}]

# name: an item, the blocks it becomes (without marks)
ITEMS: dict[str, tuple[Json, list[Block]]] = {
    "message": (
        {"type": "message", "id": "msg_a", "role": "assistant", "status": "completed", "phase": "commentary",
         "content": [{"type": "output_text", "text": "hi", "annotations": [], "logprobs": []}]},
        [TextBlock("hi", extras=own(item={"id": "msg_a", "phase": "commentary"}))],
    ),
    "message of several parts": (
        {"type": "message", "id": "msg_a", "role": "assistant", "status": "completed", "content": [
            {"type": "output_text", "text": "a", "annotations": [CITED]}, {"type": "refusal", "refusal": "b"},
            {"type": "output_audio", "data": "AAAA"}]},
        [TextBlock("a", (Citation("file", title="a.pdf", index=4, extras=own(file_id="file_1")),),
                   extras=own(item={"id": "msg_a"})),
         RefusalBlock("b"), OpaqueBlock(NAME, {"type": "output_audio", "data": "AAAA"})],
    ),
    "reasoning": (
        {"type": "reasoning", "id": "rs_a", "summary": SUMMARY, "encrypted_content": "gAAA"},
        [ThinkingBlock("one", extras=own(item={"id": "rs_a"})), ThinkingBlock("two", signature="gAAA")],
    ),
    "reasoning in full": (
        {"type": "reasoning", "id": "rs_a", "summary": [], "content": [{"type": "reasoning_text", "text": "raw"}]},
        [ThinkingBlock("raw", extras=own(item={"id": "rs_a"}))],
    ),
    "reasoning that only its issuer can read": (
        {"type": "reasoning", "id": "rs_a", "summary": [], "encrypted_content": "gAAA"},
        [ThinkingBlock("", signature="gAAA", extras=own(item={"id": "rs_a"}))],
    ),
    "reasoning that says nothing": (
        {"type": "reasoning", "id": "rs_a", "summary": [], "encrypted_content": None},
        [ThinkingBlock("", extras=own(item={"id": "rs_a"}))],
    ),
    "call": (
        {"type": "function_call", "id": "fc_a", "call_id": "call_1", "name": "f", "arguments": '{"a": 1}',
         "status": "completed", "namespace": "n", "caller": {"type": "direct"}},
        [ToolUseBlock("call_1", "f", input={"a": 1}, input_text='{"a": 1}',
                      extras=own(id="fc_a", namespace="n", caller={"type": "direct"}))],
    ),
    "custom call": (
        {"type": "custom_tool_call", "id": "ctc_a", "call_id": "call_1", "name": "patch", "input": "*** x",
         "status": "completed"},
        [ToolUseBlock("call_1", "patch", "text", input_text="*** x", extras=own(id="ctc_a"))],
    ),
    "web search": (
        {"type": "web_search_call", "id": "ws_a", "status": "completed", "action": {"type": "search", "query": "q"}},
        [server("ws_a", "web_search", action={"type": "search", "query": "q"})],
    ),
    "file search": (
        {"type": "file_search_call", "id": "fs_a", "status": "completed", "queries": ["q"], "results": [{"score": 1}]},
        [server("fs_a", "file_search", queries=["q"]),
         ServerToolResultBlock("fs_a", "file_search", [{"score": 1}], NAME)],
    ),
    "code": (
        {"type": "code_interpreter_call", "id": "ci_a", "status": "completed", "code": "1", "container_id": "c",
         "outputs": [{"type": "logs", "logs": "1"}]},
        [server("ci_a", "code_interpreter", code="1", container_id="c"),
         ServerToolResultBlock("ci_a", "code_interpreter", [{"type": "logs", "logs": "1"}], NAME)],
    ),
    "MCP call": (
        {"type": "mcp_call", "id": "mcp_a", "status": "completed", "name": "ask", "arguments": '{"q":1}',
         "server_label": "s", "output": "42"},
        [ServerToolUseBlock("mcp_a", "ask", {"q": 1}, NAME, extras=own(server_label="s")),
         ServerToolResultBlock("mcp_a", "ask", "42", NAME)],
    ),
    "MCP call that failed": (
        {"type": "mcp_call", "id": "mcp_a", "name": "ask", "arguments": "{}", "server_label": "s",
         "error": {"type": "http_error"}},
        [ServerToolUseBlock("mcp_a", "ask", {}, NAME, extras=own(server_label="s")),
         ServerToolResultBlock("mcp_a", "ask", {"type": "http_error"}, NAME, True)],
    ),
    "picture": (
        {"type": "image_generation_call", "id": "ig_a", "status": "completed", "result": "AAAA",
         "output_format": "png", "revised_prompt": "a cat"},
        [ImageBlock(Base64Source("image/png", "AAAA"), extras=own(id="ig_a", revised_prompt="a cat"))],
    ),
    "computer": (
        {"type": "computer_call", "id": "cu_a", "call_id": "call_1", "status": "completed",
         "action": {"type": "wait"}, "pending_safety_checks": []},
        [ServerToolUseBlock("call_1", "computer", {"action": {"type": "wait"}, "pending_safety_checks": []}, NAME,
                            extras=own(id="cu_a"))],
    ),
    "computer output": (
        {"type": "computer_call_output", "call_id": "call_1", "output": {"type": "computer_screenshot"}},
        [ServerToolResultBlock("call_1", "computer", {"type": "computer_screenshot"}, NAME)],
    ),
    "shell": (
        {"type": "shell_call", "call_id": "call_1", "action": {"commands": ["ls"]}, "status": "completed"},
        [server("call_1", "shell", action={"commands": ["ls"]})],
    ),
    "patch": (
        {"type": "apply_patch_call", "call_id": "call_1", "operation": {"type": "delete_file"}, "status": "completed"},
        [server("call_1", "apply_patch", operation={"type": "delete_file"})],
    ),
    "tool search": (
        {"type": "tool_search_call", "id": "ts_a", "call_id": None, "execution": "server", "arguments": {"q": 1},
         "status": "completed"},
        [ServerToolUseBlock("ts_a", "tool_search", {"execution": "server", "arguments": {"q": 1}}, NAME,
                            extras=own(call_id=None))],
    ),
    "tool search output": (
        {"type": "tool_search_output", "call_id": "call_1", "execution": "client", "status": "completed",
         "tools": TOOLS},
        [ServerToolResultBlock("call_1", "tool_search", TOOLS, NAME,
                               extras=own(execution="client", status="completed"))],
    ),
    "program": (
        {"type": "program", "call_id": "call_1", "code": "f()", "fingerprint": "fp", "status": "completed"},
        [server("call_1", "program", code="f()", fingerprint="fp")],
    ),
    "program output": (
        {"type": "program_output", "call_id": "call_1", "result": "42", "status": "completed"},
        [ServerToolResultBlock("call_1", "program", "42", NAME, extras=own(status="completed"))],
    ),
    "something newer": (
        {"type": "dream_call", "id": "dr_a", "about": "sheep", "status": "completed"},
        [server("dr_a", "dream", about="sheep")],
    ),
    "compaction": (
        {"type": "compaction", "id": "cmp_a", "encrypted_content": "gAAA"},
        [OpaqueBlock(NAME, {"type": "compaction", "id": "cmp_a", "encrypted_content": "gAAA"})],
    ),
    "MCP tools": (
        {"type": "mcp_list_tools", "id": "mcpl_a", "server_label": "s", "tools": TOOLS},
        [OpaqueBlock(NAME, {"type": "mcp_list_tools", "id": "mcpl_a", "server_label": "s", "tools": TOOLS})],
    ),
    "approval wanted": (
        {"type": "mcp_approval_request", "id": "mcpr_a", "name": "f", "arguments": "{}", "server_label": "s"},
        [OpaqueBlock(NAME, {"type": "mcp_approval_request", "id": "mcpr_a", "name": "f", "arguments": "{}",
                            "server_label": "s"})],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ITEMS)
def test_an_item_of_an_answer(name: str) -> None:
    item, blocks = ITEMS[name]
    body = {"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": [item]}
    response = speaker.decode_response(body)
    assert plain(response.content) == plain(tuple(blocks))
    assert speaker.encode_response(response).body == body
    assert speaker.encode_response(response).losses == ()


@pytest.mark.parametrize("name", ITEMS)
def test_an_item_of_a_history(name: str) -> None:
    item, blocks = ITEMS[name]
    body = {"input": [{"role": "user", "content": "?"}, item, {"role": "user", "content": "!"}]}
    request = speaker.decode_request(body)
    assert [message.role for message in request.messages] == ["user", "assistant", "user"]
    assert plain(request.messages[1].content) == plain(tuple(blocks))
    encoded = speaker.encode_request(request)
    assert (encoded.body, encoded.losses) == (body, ())


CALLS_OF_THE_CALLER = ("call", "custom call", "computer", "shell", "patch")


@pytest.mark.parametrize("name", ITEMS)
def test_what_an_answer_ends_in(name: str) -> None:
    item, blocks = ITEMS[name]
    body = {"status": "completed", "output": [item]}
    refused = any(isinstance(block, RefusalBlock) for block in blocks)
    expected = "tool_use" if name in CALLS_OF_THE_CALLER else "refusal" if refused else "end_turn"
    assert speaker.decode_response(body).stop_reason == expected


STOPS = [
    # status       details                      ours                    and back
    ("completed", None, StopReason.end_turn),
    ("incomplete", {"reason": "max_output_tokens"}, StopReason.max_tokens),
    ("incomplete", {"reason": "content_filter"}, StopReason.refusal),
    ("incomplete", {"reason": "steered"}, StopReason.pause_turn),
    ("incomplete", None, StopReason.end_turn),
    ("cancelled", None, StopReason.cancelled),
    ("queued", None, StopReason.pause_turn),
    ("in_progress", None, StopReason.pause_turn),
    ("complete", None, StopReason.end_turn),
]


@pytest.mark.parametrize(("status", "details", "stop"), STOPS)
def test_stop_reasons(status: str, details: Json, stop: StopReason) -> None:
    body = {"id": "resp_1", "status": status, "incomplete_details": details, "output": []}
    response = speaker.decode_response(body)
    assert response.stop_reason is stop
    assert response.raw_stop_reason == (details or {}).get("reason", status)
    assert speaker.encode_response(response).body == body


def test_usage_in_disjoint_buckets() -> None:
    usage = {
        "input_tokens": 100, "input_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 30},
        "output_tokens": 50, "output_tokens_details": {"reasoning_tokens": 20}, "total_tokens": 150,
    }  # fmt: skip
    body = {"status": "completed", "output": [], "usage": usage}
    read = speaker.decode_response(body).usage
    assert read is not None
    assert (read.input_tokens, read.cached_input_tokens, read.cache_creation_input_tokens) == (10, 60, 30)
    assert (read.output_tokens, read.reasoning_tokens, read.total_tokens) == (50, 20, 150)
    assert speaker.encode_response(speaker.decode_response(body)).body == body


# ----------------------------------------------------------------------------------------- turns of the assistant


def history(*content: Block, origin: Origin | None = None) -> Request:
    turn = Message("assistant", content, origin=origin)
    return Request((Message("user", "?"), turn, Message("user", "!")))


def items(request: Request, target: Target | None = None) -> list[Json]:
    return speaker.encode_request(request, target).body["input"][1:-1]


def test_foreign_text_has_no_invented_id() -> None:
    said = items(history(TextBlock("a"), TextBlock("b")))
    assert said == [
        {"type": "message", "role": "assistant", "content": "a"},
        {"type": "message", "role": "assistant", "content": "b"},
    ]


def test_two_turns_stay_two() -> None:
    request = Request((Message("user", "?"), Message("assistant", "a"), Message("assistant", "b")))
    encoded = speaker.encode_request(request)
    assert encoded.losses == ()
    assert ["type" in item for item in encoded.body["input"]] == [False, True, False]
    assert speaker.decode_request(encoded.body).messages == request.messages


EASY = {"role": "assistant", "content": "a"}
TYPED = {"type": "message", **EASY}


@pytest.mark.parametrize(
    ("said", "turns"),
    [([EASY], 1), ([TYPED], 1), ([EASY, EASY], 2), ([TYPED, EASY], 2), ([EASY, TYPED], 1), ([TYPED, TYPED], 1),
     ([EASY, ITEMS["call"][0], EASY], 1), ([{**EASY, "phase": "commentary"}, EASY], 2),
     ([EASY, {**EASY, "id": "msg_a"}], 2)],
)  # fmt: skip
def test_a_type_that_was_left_out_stays_out(said: list[Json], turns: int) -> None:
    """The protocol says that it may be; recorded clients do both."""
    body = {"input": [{"role": "user", "content": "?"}, *said, {"role": "user", "content": "!"}]}
    request = speaker.decode_request(body)
    assert len(request.messages) == turns + 2
    assert speaker.encode_request(request).body == body


def test_turns_without_a_border_are_declared() -> None:
    call = ToolUseBlock("call_1", "f")
    turns = (Message("user", "?"), Message("assistant", "a"), Message("assistant", (call,)))
    encoded = speaker.encode_request(Request((*turns, Message("tool", (ToolResultBlock("call_1", "x"),)))))
    assert ("messages/2", "moved") in [(loss.path, loss.kind) for loss in encoded.losses]


THOUGHT = ThinkingBlock("hm", signature="gAAA", extras=own(item={"id": "rs_a"}))
CALL = ToolUseBlock("call_1", "f", extras=own(id="fc_a"))


def test_reasoning_goes_home_with_its_follower() -> None:
    said = items(history(THOUGHT, CALL, origin=Origin("openai", NAME, "m")), Target("openai", "m"))
    assert [(item["type"], item["id"]) for item in said] == [("reasoning", "rs_a"), ("function_call", "fc_a")]


@pytest.mark.parametrize("target", [Target("xai", "grok"), Target("openai", "another")])
def test_reasoning_of_another_issuer_stays_behind_with_the_ids(target: Target) -> None:
    request = history(THOUGHT, CALL, origin=Origin("openai", NAME, "m"))
    assert items(request, target) == [{"type": "function_call", "call_id": "call_1", "name": "f", "arguments": "{}"}]
    paths = {loss.path for loss in speaker.encode_request(request, target).losses}
    assert paths == {"messages/1/content/0", f"messages/1/content/1/extras/{NAME}"}


def test_reasoning_that_nothing_follows() -> None:
    encoded = speaker.encode_request(history(TextBlock("a"), ThinkingBlock("hm", signature="gAAA")))
    assert [loss.path for loss in encoded.losses] == ["messages/1/content/1"]
    assert encoded.body["input"][1:-1] == [{"type": "message", "role": "assistant", "content": "a"}]


def test_an_id_is_given_once() -> None:
    turns: list[Message] = [Message("user", "?")]
    for answer in ("x", "y"):
        turns += [
            Message("assistant", (ToolUseBlock("call_0", "f"),)),
            Message("tool", (ToolResultBlock("call_0", answer),)),
        ]
    said = speaker.encode_request(Request(tuple(turns))).body["input"][1:]
    ids = [item["call_id"] for item in said]
    assert ids[0] == ids[1] == "call_0"
    assert ids[2] == ids[3] != "call_0"
    assert [item.get("output") for item in said] == [None, "x", None, "y"]


def test_names_and_ids_that_the_provider_refuses() -> None:
    call = ToolUseBlock("x" * 80, "a.b/c")
    turns = (Message("user", "?"), Message("assistant", (call,)), Message("tool", (ToolResultBlock("x" * 80, "r"),)))
    encoded = speaker.encode_request(Request(turns))
    said = encoded.body["input"]
    assert said[1]["name"] == "a_b_c"
    assert said[1]["call_id"] == said[2]["call_id"]
    assert len(said[1]["call_id"]) <= 64
    assert {loss.kind for loss in encoded.losses} == {"approximated"}


def test_a_replayed_answer_is_what_was_answered() -> None:
    output = [ITEMS["reasoning"][0], ITEMS["message"][0], ITEMS["call"][0]]
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


def test_an_item_that_was_cut() -> None:
    """The answer tells it of its last item; anywhere else it is kept."""
    cut = {"type": "message", "id": "msg_a", "role": "assistant", "status": "incomplete", "content": [TEXT]}
    whole = {**cut, "id": "msg_b", "status": "completed"}
    for output in ([cut], [whole, cut], [cut, whole], [whole], [cut, cut]):
        for status in ("completed", "incomplete"):
            body = {"id": "resp_1", "model": "m", "object": "response", "status": status, "output": output}
            response = speaker.decode_response(body)
            assert {key for block in response.content for key in block.extras[NAME]["item"]} == {"id"}
            assert speaker.encode_response(response).body == body
        asked = {"input": [{"role": "user", "content": "?"}, *output, {"role": "user", "content": "!"}]}
        assert speaker.encode_request(speaker.decode_request(asked)).body == asked


def test_a_failed_answer() -> None:
    body = {
        "id": "resp_1", "object": "response", "status": "failed", "output": [],
        "error": {"code": "rate_limit_exceeded", "message": "slow down"},
    }  # fmt: skip
    response: Response = speaker.decode_response(body)
    assert (response.stop_reason, response.error.error_class) == ("error", "rate_limit")
    assert speaker.encode_response(response).body == body
    bare = {"error": {"message": "slow down", "type": "tokens", "param": None, "code": "rate_limit_exceeded"}}
    assert speaker.decode_response(bare).error.error_class == "rate_limit"
    assert speaker.encode_response(speaker.decode_response(bare)).body == bare


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

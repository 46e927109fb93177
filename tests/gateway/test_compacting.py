"""Compaction for clients of Responses: exactly one item, and the summary in its place afterwards."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gateway.asking import BEDROCK, CHAT, CLAUDE, GEMINI, OLLAMA, RESPONSES
from gateway.raw_http import fetch, recorder
from gateway.serving_gateway import MODEL, UPSTREAMS, gateway, manager_for, served
from interlingua import OpaqueBlock, StopReason, TextBlock, decode_stream, fold
from interlingua.client.embedded import Script, Step, call
from interlingua.gateway.carry import ENVELOPE
from interlingua.gateway.config import Route, Snapshot
from interlingua.gateway.state import State
from shared_data import SHARED, needs_shared

SUMMARY = "They want a parser. src/a.py is half done."
TOOL = {"type": "function", "name": "shell", "parameters": {"type": "object", "properties": {}}, "strict": False}
HISTORY: list[Any] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Write a parser."}]},
    {"type": "function_call", "call_id": "c1", "name": "shell", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "c1", "output": "ok"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Half done."}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Go on."}]},
]
TRIGGER = {"type": "compaction_trigger"}
ELSEWHERE = [CLAUDE, CHAT, GEMINI, OLLAMA, BEDROCK]


def asked(items: list[Any], **more: Any) -> dict[str, Any]:
    return {"model": "asked", "instructions": "Be brief.", "input": items, "tools": [TOOL], "store": False, **more}


@pytest.mark.parametrize("upstream", ELSEWHERE)
def test_a_trigger_gives_exactly_one_compaction_item(upstream: str) -> None:
    """Codex refuses an answer without a ``compaction`` item or with two."""
    with served(Script(SUMMARY, SUMMARY), dialect=upstream) as (running, provider):
        for stream in (False, True):
            got = fetch(running.url, "/v1/responses", asked([*HISTORY, TRIGGER], stream=stream))
            assert got.status == 200, got.body
            if stream:
                answer = fold(decode_stream([got.body], dialect=RESPONSES))
                items = [block.raw for block in answer.content if isinstance(block, OpaqueBlock)]
                assert len(items) == len(answer.content)
                assert got.body.count(b"event: response.output_item.done") == 1
            else:
                items = got.json()["output"]
            assert [item["type"] for item in items] == ["compaction"]
            assert items[0]["encrypted_content"].startswith(ENVELOPE)
            assert SUMMARY not in got.body.decode()
        request = provider.script.seen[-1]
        assert request.tool_choice is None or request.tool_choice.mode == "none"
        assert "summary" in request.messages[-1].text
        assert "compaction_trigger" not in str(request)


@pytest.mark.parametrize("upstream", ELSEWHERE)
def test_the_endpoint_gives_what_the_user_said_and_one_item(upstream: str) -> None:
    openai = pytest.importorskip("openai")
    with served(Script(SUMMARY, "Done."), dialect=upstream) as (running, provider):
        with openai.OpenAI(api_key="k", base_url=f"{running.url}/v1", max_retries=0) as client:
            compacted = client.responses.compact(model="asked", input=HISTORY, instructions="Be brief.")
            assert compacted.object == "response.compaction"
            assert [item.type for item in compacted.output] == ["message", "message", "compaction"]
            assert compacted.usage.output_tokens > 0
            items = [item.model_dump(exclude_none=True, warnings=False) for item in compacted.output]
            later = [*items, {"role": "user", "content": "And now?"}]
            assert client.responses.create(model="asked", input=later).output_text == "Done."
        history = provider.script.seen[-1].messages
        texts = "\n".join(message.text for message in history)
        assert SUMMARY in texts
        assert "And now?" in history[-1].text
        assert ENVELOPE not in str(history)


def test_a_summary_that_somebody_changed_is_left_out_with_a_loss() -> None:
    with served(Script("ok"), dialect=CHAT) as (running, provider):
        item = {"type": "compaction", "id": "cmp_1", "encrypted_content": f"{ENVELOPE}AAAA"}
        got = fetch(running.url, "/v1/responses", asked([item, *HISTORY]))
        assert got.status == 200
        id = got.headers["x-interlingua-receipt"].partition(";")[0]
        losses = fetch(running.url, f"/receipts/{id}").json()["losses"]
        assert any("envelope" in loss["reason"] and loss["weight"] == "state" for loss in losses)
        assert ENVELOPE not in str(provider.script.seen[0])


@pytest.mark.parametrize(
    "step",
    [
        Step(content=(call("shell"),)),
        Step(act="refuse"),
        Step(content=(TextBlock("a long"),), stop=StopReason.max_tokens),
        Step(act="fail", status=400),
        Step(content=(TextBlock("a long summary"),), fault="cut", after=3),
    ],
)
def test_what_is_no_whole_summary_is_an_error(step: Step) -> None:
    with served(Script(step, step, step, step), dialect=CHAT) as (running, _):
        for path, items in (("/v1/responses/compact", HISTORY), ("/v1/responses", [*HISTORY, TRIGGER])):
            got = fetch(running.url, path, asked(items))
            assert got.status >= 400
            assert got.json()["error"]["message"]


def test_a_provider_that_compacts_itself_gets_the_clients_bytes() -> None:
    with recorder() as upstream:
        manager: Any = manager_for(upstream)  # type: ignore[arg-type]
        snapshot = Snapshot(routes={"*": Route(f"{UPSTREAMS[RESPONSES]}:{MODEL}")})
        with gateway(State(snapshot, manager=manager)) as running:
            for path, items in (("/v1/responses/compact", HISTORY), ("/v1/responses", [*HISTORY, TRIGGER])):
                sent = json.dumps(asked(items)).encode()
                assert fetch(running.url, path, sent).status == 200
                assert upstream.asked[-1].path == path
                assert upstream.asked[-1].body == sent.replace(b'"asked"', f'"{MODEL}"'.encode(), 1)


@needs_shared
def test_codex_compacts_on_another_provider() -> None:
    captured = json.loads((SHARED / "clients/codex-responses/002-POST-v1_responses.json").read_text())["body"]
    body = {**captured, "input": [*captured["input"], TRIGGER]}
    with served(Script(SUMMARY, "Done."), dialect=CLAUDE) as (running, provider):
        first = fetch(running.url, "/v1/responses", body)
        answer = fold(decode_stream([first.body], dialect=RESPONSES))
        (item,) = (block.raw for block in answer.content if isinstance(block, OpaqueBlock))
        kept = [item for item in captured["input"] if item.get("role") == "user"]
        again = fetch(running.url, "/v1/responses", {**captured, "input": [*kept, item]})
        assert fold(decode_stream([again.body], dialect=RESPONSES)).text == "Done."
        assert SUMMARY in "\n".join(message.text for message in provider.script.seen[-1].messages)

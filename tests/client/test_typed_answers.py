"""``output=``: the schema is sent in each protocol's form; an answer that does not fit the type is requested again."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

import pytest
from msgspec.structs import replace
from pydantic import BaseModel

from client.support import DIALECTS, PROVIDERS, ask, config
from interlingua import (
    AdapterCapabilities,
    AdapterError,
    AsyncClient,
    Client,
    InvalidRequestError,
    LossyTranslation,
    Message,
    OutputError,
    RefusalBlock,
    Request,
    Response,
    StopReason,
    Target,
    TextBlock,
    ToolDefinition,
    dialect,
    from_json,
    to_json,
)
from interlingua.client.asking import Asking
from interlingua.client.connect import connect_sync
from interlingua.client.embedded import Script, Step, call, handler
from interlingua.client.transport.memory import AsyncMemoryTransport, MemoryTransport
from interlingua.codec.tools.output import OUTPUT_TOOL
from interlingua.codec.typed import output_of
from lab.oracles import problems


@dataclass
class Verdict:
    """What a review says.

    Args:
        stars: One to five.
    """

    good: bool
    stars: int
    reason: str = "none given"


class Opinion(BaseModel):
    good: bool
    by: str | None = None


GOOD = '{"good": true, "stars": 5, "reason": null}'
FIVE = Verdict(True, 5)
WORDS = {"type": "array", "items": {"type": "string"}}
KINDS: list[Any] = [Verdict, Opinion, list[Verdict], Verdict | Opinion, int, WORDS]


def clients(name: str, script: Script) -> tuple[Client, AsyncClient]:
    row = PROVIDERS[name]
    return (
        Client(row, config(), transport=MemoryTransport(handler(script))),
        AsyncClient(row, config(), transport=AsyncMemoryTransport(handler(script))),
    )


@pytest.mark.parametrize("name", DIALECTS)
def test_every_client_gives_the_type(name: str) -> None:
    sync, client = clients(name, Script(GOOD))

    async def awaited() -> Response[Verdict]:
        return await client.complete(ask(), output=Verdict)

    assert sync.complete(ask(), output=Verdict).output == FIVE
    assert asyncio.run(awaited()).output == FIVE


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_the_official_types_accept_what_goes_out(name: str, kind: Any) -> None:
    asked = Asking(ask(), kind).request
    wire = dialect(name).encode_request(asked)
    assert problems(wire.body, name) == []
    assert [loss for loss in wire.losses if loss.path == "output_schema" and loss.weight != "form"] == []


@pytest.mark.parametrize("name", DIALECTS)
def test_an_answer_that_does_not_fit_goes_back_with_the_reason(name: str) -> None:
    script = Script('{"good": true}', "no idea", GOOD)
    sync, _ = clients(name, script)
    response = sync.complete(ask(), output=Verdict)
    assert (response.output, response.attempts, len(script.seen)) == (FIVE, 3, 3)
    told = [message.text for message in script.seen[2].messages]
    assert told[1] == '{"good": true}'
    assert "- `stars` is missing" in told[2]
    assert told[3] == "no idea"
    each = [sync.complete(replace(request, output_schema=None)).usage for request in script.seen[:1]]
    assert response.usage is not None
    assert each[0] is not None
    assert response.usage.total_tokens > each[0].total_tokens


def test_retries_are_limited() -> None:
    script = Script("no idea")
    sync, _ = clients("openai-chat", script)
    with pytest.raises(OutputError, match="it is not JSON") as caught:
        sync.complete(ask(), output=Verdict, output_retries=1)
    assert len(script.seen) == 2
    assert caught.value.response is not None
    assert caught.value.response.text == "no idea"
    assert caught.value.reason.startswith("- it is not JSON")
    assert caught.value.provider == "openai-chat"


@pytest.mark.parametrize(
    ("step", "why"),
    [
        (Step(text='{"good"', stop=StopReason.max_tokens), "raise max_output_tokens"),
        (Step(content=(RefusalBlock("no"),), stop=StopReason.refusal), "the model refused"),
    ],
)
def test_it_is_not_asked_again_where_that_would_not_help(step: Step, why: str) -> None:
    script = Script(step)
    with pytest.raises(OutputError, match=why):
        clients("openai-responses", script)[0].complete(ask(), output=Verdict)
    assert len(script.seen) == 1


def test_an_answer_that_calls_a_tool_has_no_output_yet() -> None:
    tool = ToolDefinition("look", input_schema={"type": "object", "properties": {}})
    response = clients("openai-chat", Script(call("look")))[0].complete(ask(tools=[tool]), output=Verdict)
    assert response.output is None
    assert response.tool_uses


def test_a_model_without_structured_output_is_forced_to_call_a_tool() -> None:
    row = dialect("anthropic-messages")
    script = Script(call(OUTPUT_TOOL, good=True, stars=5, reason=None))
    target = Target("anthropic", "m", AdapterCapabilities(tools=True, structured_output=False))
    body = row.encode_request(Asking(ask(), Verdict).request, target).body
    assert body["tool_choice"]["name"] == OUTPUT_TOOL
    assert problems(body, "anthropic-messages") == []
    sync, _ = clients("anthropic-messages", script)
    assert sync.complete(ask(), output=Verdict).output == FIVE  # the call is read as the text of the answer


def test_words_before_the_answer_do_not_matter() -> None:
    step = Step(content=(TextBlock("Let me see."), TextBlock(GOOD)))
    assert clients("anthropic-messages", Script(step))[0].complete(ask(), output=Verdict).output == FIVE


def test_forced_nulls_are_no_loss() -> None:
    """They are removed from the answer, so a client that refuses losses can still use typed answers."""
    with connect_sync("embedded:openai-chat", script=[GOOD], on_loss="raise") as client:
        assert client.complete(Request([Message("user", "?")]), output=Verdict).output == FIVE
        with pytest.raises(LossyTranslation):
            client.complete(Request([Message("user", "?")], top_k=3))


def test_output_and_output_schema_exclude_each_other() -> None:
    with pytest.raises(InvalidRequestError, match="either that or output="):
        clients("openai-chat", Script(GOOD))[0].complete(ask(output_schema={"type": "object"}), output=Verdict)


def test_a_saved_response_is_saved_without_the_type() -> None:
    response = clients("openai-chat", Script(GOOD))[0].complete(ask(), output=Verdict)
    assert from_json(to_json(response), Response) == replace(response, output=None)


# ------------------------------------------------------------------------------------------------------------- streams


@pytest.mark.parametrize("name", DIALECTS)
def test_a_stream_shows_the_value_so_far(name: str) -> None:
    sync, client = clients(name, Script(Step(text='{"good": true, "stars": 5, "reason": "well made"}')))

    async def awaited() -> tuple[list[Any], Any]:
        async with client.stream(ask(), output=Verdict) as stream:
            shown = [json.dumps(stream.partial_output) async for _ in stream]
            assert stream.response is not None
            return shown, stream.response.output

    with sync.stream(ask(), output=Verdict) as stream:
        assert stream.partial_output is None
        shown = [json.dumps(stream.partial_output) for _ in stream]
    assert stream.response is not None
    assert stream.response.output == Verdict(True, 5, "well made")
    assert shown[-1] == '{"good": true, "stars": 5, "reason": "well made"}'
    assert '{"good": true, "stars": 5, "reason": "well "}' in shown
    assert asyncio.run(awaited()) == (shown, stream.response.output)


def test_a_list_grows_unwrapped() -> None:
    sync, _ = clients("gemini", Script(Step(text='{"result": [1, 2, 3]}')))
    with sync.stream(ask(), output=list[int]) as stream:
        shown = [str(stream.partial_output) for _ in stream]
    assert list(dict.fromkeys(shown)) == ["None", "[1]", "[1, 2]", "[1, 2, 3]"]


def test_a_stream_that_does_not_fit_raises_at_its_end() -> None:
    sync, client = clients("openai-chat", Script('{"good": true}'))

    async def awaited() -> None:
        stream = client.stream(ask(), output=Verdict)
        while (await anext(stream)).type != "message.complete":
            pass
        with pytest.raises(OutputError, match="`stars` is missing"):
            await anext(stream)

    asyncio.run(awaited())
    with pytest.raises(OutputError, match="`stars` is missing"), sync.stream(ask(), output=Verdict) as stream:
        list(stream)


def test_a_cut_stream_raises_its_own_error() -> None:
    sync, _ = clients("openai-chat", Script(Step(text=GOOD, fault="cut", after=4)))
    with pytest.raises(AdapterError) as caught, sync.stream(ask(), output=Verdict) as stream:
        list(stream)
    assert not isinstance(caught.value, OutputError)
    assert stream.response is not None
    assert stream.response.output is None


# -------------------------------------------------------------------------------------------- roots that are references

BY_NAME: dict[str, Any] = {
    "$ref": "#/$defs/Node",
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {"next": {"$ref": "#/$defs/Node"}, "city": {"$ref": "#/$defs/City"}},
            "required": ["city"],
        },
        "City": {"type": "string"},
    },
}
ONCE: dict[str, Any] = {"$ref": "#/$defs/A", "$defs": {"A": {"type": "object", "properties": {}}}}


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("schema", [BY_NAME, ONCE], ids=["recursive", "once"])
def test_no_provider_sees_a_tool_whose_root_is_a_reference(name: str, schema: dict[str, Any]) -> None:
    script = Script(Step(act="call"))
    request = ask(tools=[ToolDefinition("look", "Looks.", schema)])
    response = clients(name, script)[0].complete(request)
    seen = script.seen[0].tools[0]
    assert isinstance(seen, ToolDefinition)
    assert seen.input_schema["type"] == "object"
    assert "$ref" not in seen.input_schema
    assert ("$defs" in seen.input_schema) is (schema is BY_NAME) or name in ("gemini", "ollama")
    assert [loss.weight for loss in response.losses if "copied to the root" in loss.reason] == ["form"]
    assert response.tool_uses[0].name == "look"


def test_a_reference_that_cannot_be_followed_goes_out_as_it_is() -> None:
    dangling = {"$ref": "#/$defs/Gone", "type": "object"}
    script = Script("hi")
    clients("openai-chat", script)[0].complete(ask(tools=[ToolDefinition("look", input_schema=dangling)]))
    assert script.seen[0].tools[0] == ToolDefinition("look", input_schema=dangling)


def test_the_schema_of_a_type_is_made_once() -> None:
    assert output_of(Verdict) is output_of(Verdict)

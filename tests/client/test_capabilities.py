"""Capabilities are true: declared content is sent, and undeclared content raises before a byte is sent.

Each ability is declared by a layer of the catalogue, first as there and then as absent, for a model of every dialect.
What the server received is what the embedded provider decoded from the wire with the same dialect.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from client.support import DIALECTS, PROVIDERS, WAYS, Outcome, ask, call
from interlingua import (
    AudioBlock,
    Base64Source,
    Block,
    CacheMark,
    DocumentBlock,
    ImageBlock,
    InvalidRequestError,
    Message,
    Request,
    TextBlock,
    Thinking,
    ThinkingBlock,
    ThinkingDelta,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    ToolUseEnd,
    ToolUseStart,
    VideoBlock,
)
from interlingua.client.embedded import Script, Step
from interlingua.dialects.openai_chat import QUIRKS
from interlingua.models.catalogue import Catalogue, Facts
from interlingua.models.catalogue.facts import CEILINGS, MARKING
from interlingua.models.providers import PROVIDERS as ROWS

MODEL = "some-model"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
WEATHER = ToolDefinition("weather", "The weather in a city.", SCHEMA)
CLOCK = ToolDefinition("clock", "The time in a city.", SCHEMA)


class Told:
    """A layer with the same facts about every model."""

    name = "told"

    def __init__(self, **facts: Any) -> None:
        self._facts = Facts(**facts)

    def facts(self, provider: str, model: str) -> Facts:
        return self._facts


def knowing(**facts: Any) -> Catalogue:
    return Catalogue([Told(**facts)])


def made(dialect: str, request: Request, way: str = "complete", step: Step | None = None, **more: Any) -> Outcome:
    """One call to a model of that dialect; ``seen`` is what its server decoded."""
    script = Script(step or Step(act="echo"))
    outcome = call(way, PROVIDERS[dialect], script, request, **more)
    outcome.seen = script.seen  # type: ignore[attr-defined]
    return outcome


def only(outcome: Any) -> Request:
    (request,) = outcome.seen
    return request


def refused(outcome: Outcome, *words: str) -> None:
    """Check that nothing was sent, and that the error names the content and the model."""
    assert isinstance(outcome.error, InvalidRequestError)
    assert outcome.transport.requests == []
    for word in (*words, MODEL):
        assert word in outcome.error.message
    assert outcome.error.provider is not None


# ------------------------------------------------------------------------------------------------------------- content


def of(kind: str) -> Base64Source:
    return Base64Source(media_type=kind, data="aGVsbG8=")


def showing(block: Block, **fields: Any) -> Request:
    return Request([Message("user", (TextBlock("look"), block))], model=MODEL, max_output_tokens=100, **fields)


def blocks(request: Request) -> list[Block]:
    return [block for message in request.messages for block in message.content]


def data(request: Request, kind: type[Any]) -> list[str]:
    found: list[Any] = [block for block in blocks(request) if isinstance(block, kind)]
    return [block.source.data for block in found]


def named(tool: Any) -> str:
    return tool.name


class Content(NamedTuple):
    request: Request
    seen: Callable[[Request], Any]
    told: str
    """The end of the error for a model that cannot read it."""


# fmt: off
CONTENT = {
    "images":        Content(showing(ImageBlock(of("image/png"))),
                             lambda r: data(r, ImageBlock) == ["aGVsbG8="], "takes no images"),
    "documents":     Content(showing(DocumentBlock(of("application/pdf"), title="a")),
                             lambda r: data(r, DocumentBlock) == ["aGVsbG8="], "takes no documents"),
    "audio":         Content(showing(AudioBlock(of("audio/wav"))),
                             lambda r: data(r, AudioBlock) == ["aGVsbG8="], "takes no audio"),
    "video":         Content(showing(VideoBlock(of("video/mp4"))),
                             lambda r: data(r, VideoBlock) == ["aGVsbG8="], "takes no video"),
    "tools":         Content(ask(tools=(WEATHER,)),
                             lambda r: [named(t) for t in r.tools] == ["weather"], "calls no tools"),
    "system_prompt": Content(ask(system="Be brief."),
                             lambda r: "Be brief." in str((r.system, r.messages)), "takes no system prompt"),
}
# What each dialect cannot express, even if the model could read it.
MUTE = {
    "anthropic-messages": {"audio", "video"},
    "openai-chat":        {"video"},
    "openai-responses":   {"audio", "video"},
    "gemini":             set[str](),
    "ollama":             {"documents", "audio", "video"},
    "bedrock-converse":   set[str](),
}
# fmt: on


@pytest.mark.parametrize("ability", CONTENT)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_declared_content_gets_through(dialect: str, ability: str) -> None:
    row, catalogue = CONTENT[ability], knowing(**{ability: True})
    declared = getattr(catalogue.capabilities_for(PROVIDERS[dialect], MODEL), ability)
    assert declared == (ability not in MUTE[dialect])
    outcome = made(dialect, row.request, catalogue=catalogue)
    if declared:
        assert outcome.response is not None
        assert row.seen(only(outcome))
    else:
        refused(outcome, row.told)


@pytest.mark.parametrize("unsupported", [None, "refuse"])
@pytest.mark.parametrize("ability", CONTENT)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_undeclared_content_is_always_refused(dialect: str, ability: str, unsupported: str) -> None:
    catalogue = knowing(**{ability: False})
    assert not getattr(catalogue.capabilities_for(PROVIDERS[dialect], MODEL), ability)
    outcome = made(dialect, CONTENT[ability].request, catalogue=catalogue, unsupported=unsupported)
    refused(outcome, CONTENT[ability].told)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ability", CONTENT)
def test_every_way_refuses(way: str, ability: str) -> None:
    catalogue = knowing(**{ability: False})
    refused(made("gemini", CONTENT[ability].request, way, catalogue=catalogue), CONTENT[ability].told)


def test_all_problems_are_in_one_error() -> None:
    request = showing(ImageBlock(of("image/png")), tools=(WEATHER,), system="Be brief.")
    outcome = made("gemini", request, catalogue=knowing(images=False, tools=False, system_prompt=False))
    refused(outcome, "takes no images", "calls no tools", "takes no system prompt")


def tool(result: ToolResultBlock) -> Message:
    return Message("tool", (result,))


# fmt: off
HIDDEN = (
    # ability        where it may hide                                                            what is said
    ("images",        tool(ToolResultBlock("c", (ImageBlock(of("image/png")),), name="f")),       "messages/2"),
    ("tools",         Message("assistant", (ToolUseBlock("d", "f", input={}),)),                  "messages/2"),
    ("tools",         tool(ToolResultBlock("c", (TextBlock("x"),), name="f")),                    "messages/2"),
    ("system_prompt", Message("system", "Be brief."),                                             "system"),
)
# fmt: on


@pytest.mark.parametrize(("ability", "hidden", "place"), HIDDEN)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_unreadable_content_is_found_anywhere_in_the_history(
    dialect: str, ability: str, hidden: Message, place: str
) -> None:
    asked = Message("user", "go on")
    request = Request([asked, Message("assistant", "yes"), hidden, asked], model=MODEL, max_output_tokens=9)
    refused(made(dialect, request, catalogue=knowing(**{ability: False})), f"{place}: {MODEL} ")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_only_accepted_kinds_of_pictures(dialect: str) -> None:
    catalogue = knowing(images=True, image_types=("image/png",))
    assert catalogue.capabilities_for(PROVIDERS[dialect], MODEL).image_types == ("image/png",)
    assert made(dialect, showing(ImageBlock(of("image/png"))), catalogue=catalogue).response is not None
    outcome = made(dialect, showing(ImageBlock(of("image/webp"))), catalogue=catalogue)
    refused(outcome, "takes no image/webp, only image/png")


@pytest.mark.parametrize("kind", ["image/bmp", "image/heic", "image/tiff"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_pictures_that_a_dialect_cannot_name_are_refused(dialect: str, kind: str) -> None:
    """Two dialects have a closed list; in the others an unknown model is sent everything."""
    outcome = made(dialect, showing(ImageBlock(of(kind))), catalogue=knowing())
    if dialect in ("anthropic-messages", "bedrock-converse"):
        refused(outcome, f"takes no {kind}, only image/jpeg, image/png, image/gif, image/webp")
    else:
        assert data(only(outcome), ImageBlock) == ["aGVsbG8="]


# ------------------------------------------------------------------------------------------------- structured output


@pytest.mark.parametrize("way", ["complete", "async-stream"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_structured_output_is_asked_for_natively(dialect: str, way: str) -> None:
    outcome = made(dialect, ask(output_schema=SCHEMA), way, catalogue=knowing(structured_output=True))
    assert only(outcome).output_schema == SCHEMA
    assert only(outcome).tools == ()
    assert outcome.response is not None
    assert outcome.response.text == '{"city":"example"}'


@pytest.mark.parametrize("way", ["complete", "async-stream"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_model_without_it_answers_by_a_forced_tool(dialect: str, way: str) -> None:
    request, catalogue = ask(output_schema=SCHEMA), knowing(structured_output=False)
    outcome = made(dialect, request, way, Step(act="call"), catalogue=catalogue)
    seen = only(outcome)
    assert seen.output_schema is None
    assert len(seen.tools) == 1
    assert outcome.response is not None
    assert outcome.response.text == '{"city":"example"}'
    assert not any(isinstance(block, ToolUseBlock) for block in outcome.response.content)
    assert ("output_schema", "approximated") in [(loss.path, loss.kind) for loss in outcome.response.losses]
    refused(made(dialect, request, way, catalogue=catalogue, unsupported="refuse"), "has no structured output")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_structured_output_without_tools_is_refused(dialect: str) -> None:
    outcome = made(dialect, ask(output_schema=SCHEMA), catalogue=knowing(structured_output=False, tools=False))
    refused(outcome, "has no structured output, and no tools to approximate it with")


# --------------------------------------------------------------------------------------------------------- streaming


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_model_that_does_not_stream(dialect: str, way: str) -> None:
    outcome = made(dialect, ask(), way, catalogue=knowing(streaming=False))
    if "stream" in way:
        refused(outcome, "stream: ", "does not stream; ask for the whole answer")
    else:
        assert outcome.response is not None


@pytest.mark.parametrize("way", ["stream", "async-stream"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_calls_stream(dialect: str, way: str) -> None:
    request, catalogue = ask(tools=(WEATHER,)), knowing(streaming_tool_calls=True)
    outcome = made(dialect, request, way, Step(act="call"), catalogue=catalogue)
    outcome.check_grammar()
    (start,) = [event for event in outcome.events if isinstance(event, ToolUseStart)]
    (end,) = [event for event in outcome.events if isinstance(event, ToolUseEnd)]
    assert (start.name, end.final_input) == ("weather", {"city": "example"})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_model_whose_calls_do_not_stream(dialect: str, way: str) -> None:
    catalogue = knowing(streaming_tool_calls=False)
    outcome = made(dialect, ask(tools=(WEATHER,)), way, Step(act="call"), catalogue=catalogue)
    if "stream" in way:
        refused(outcome, "stream: ", "calls no tools in a stream; ask for the whole answer")
    else:
        assert outcome.response is not None
    assert made(dialect, ask(), way, catalogue=catalogue).response is not None  # without tools it streams


# ---------------------------------------------------------------------------------------------------- parallel calls


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_model_that_makes_one_call_at_a_time(dialect: str) -> None:
    request, catalogue = (
        ask(tools=(WEATHER,), tool_choice=ToolChoice(parallel=True)),
        knowing(parallel_tool_calls=False),
    )
    outcome = made(dialect, request, catalogue=catalogue)
    choice = only(outcome).tool_choice
    assert choice is None or choice.parallel is None
    assert lost(outcome) == [("tool_choice/parallel", "dropped", f"{MODEL} makes one call at a time")]
    refused(made(dialect, request, catalogue=catalogue, unsupported="refuse"), "makes one call at a time")
    alone = ask(tools=(WEATHER,), tool_choice=ToolChoice(parallel=False))
    assert lost(made(dialect, alone, catalogue=catalogue, unsupported="refuse")) == []  # it does so anyway


def lost(outcome: Outcome) -> list[tuple[str, str, str]]:
    """The losses of what the caller set. Losses of schemas, which the dialects cause, are left out."""
    assert outcome.response is not None
    losses = [loss for loss in outcome.response.losses if loss.kind != "added" and "schema" not in loss.path]
    return [(loss.path, loss.kind, loss.reason) for loss in losses]


# ---------------------------------------------------------------------------------------------------------- thinking


@pytest.mark.parametrize("dialect", DIALECTS)
def test_thinking_is_requested(dialect: str) -> None:
    outcome = made(dialect, ask(thinking=Thinking(effort="high")), catalogue=knowing(thinking=True))
    asked = only(outcome).thinking
    assert asked is not None
    assert asked.effort == "high"
    assert lost(outcome) == []


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_model_that_does_not_think(dialect: str) -> None:
    request, catalogue = ask(thinking=Thinking(effort="high")), knowing(thinking=False)
    outcome = made(dialect, request, catalogue=catalogue)
    assert only(outcome).thinking is None
    assert lost(outcome) == [("thinking", "dropped", f"{MODEL} does not think")]
    refused(made(dialect, request, catalogue=catalogue, unsupported="refuse"), "thinking: ", "does not think")
    quiet = made(dialect, ask(thinking=Thinking(mode="disabled")), catalogue=catalogue, unsupported="refuse")
    assert only(quiet).thinking is None  # it does not think anyway
    assert lost(quiet) == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_thinking_is_received(dialect: str, way: str) -> None:
    outcome = made(dialect, ask(), way, Step(act="think"), catalogue=knowing(thinking=True))
    assert outcome.response is not None
    thoughts = [block.text for block in outcome.response.content if isinstance(block, ThinkingBlock)]
    assert thoughts == ["Let me think."]
    if "stream" in way:
        said = "".join(event.text for event in outcome.events if isinstance(event, ThinkingDelta))
        assert said == "Let me think."


# ------------------------------------------------------------------------------------------------------- cache marks

MARKED = Request(
    [Message("user", (TextBlock("long", cache=CacheMark()), TextBlock("short")))], model=MODEL, max_output_tokens=9
)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_cache_marks_get_through_or_are_dropped(dialect: str) -> None:
    catalogue = knowing(prompt_caching=True)
    declared = catalogue.capabilities_for(PROVIDERS[dialect], MODEL).prompt_caching
    assert declared == (dialect not in ("gemini", "ollama"))
    outcome = made(dialect, MARKED, catalogue=catalogue)
    if declared:
        assert [block.cache is not None for block in blocks(only(outcome))] == [True, False]
        assert lost(outcome) == []
    else:
        unmarked(outcome, made(dialect, MARKED, catalogue=catalogue, unsupported="refuse"))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_model_without_cache_marks(dialect: str) -> None:
    catalogue = knowing(prompt_caching=False)
    outcome = made(dialect, MARKED, catalogue=catalogue)
    unmarked(outcome, made(dialect, MARKED, catalogue=catalogue, unsupported="refuse"))


def unmarked(dropped: Outcome, refusal: Outcome) -> None:
    assert not any(block.cache for block in blocks(only(dropped)))
    assert lost(dropped)[:1] == [("messages/0/content/0/cache", "dropped", f"{MODEL} takes no cache marks")]
    refused(refusal, "takes no cache marks")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_marks_are_found_wherever_they_stand(dialect: str) -> None:
    mark = CacheMark()
    result = ToolResultBlock("c1", (TextBlock("fine", cache=mark),), name="weather", cache=mark)
    request = Request(
        [
            Message("user", "go"),
            Message("assistant", (ToolUseBlock("c1", "weather", input={"city": "Rome"}),)),
            Message("tool", (result,)),
        ],
        model=MODEL,
        system=(TextBlock("Be brief.", cache=mark),),
        tools=(ToolDefinition("weather", "The weather.", SCHEMA, cache=mark), CLOCK),
        max_output_tokens=9,
    )
    outcome = made(dialect, request, catalogue=knowing(prompt_caching=False))
    assert [path for path, _, why in lost(outcome) if "cache marks" in why] == [
        "tools/0/cache",
        "system/0/cache",
        "messages/2/content/0/cache",
        "messages/2/content/0/content/0/cache",
    ]


def test_which_chat_providers_take_cache_marks() -> None:
    """They agree with the dialect's table of quirks."""
    chat = {name for name, row in ROWS.items() if row.dialect == "openai-chat"}
    assert MARKING["openai-chat"] & chat == {n for n in chat if n not in QUIRKS or QUIRKS[n].cache_key is not None}
    assert set(CEILINGS) == set(DIALECTS)
    for name in chat:
        able = knowing(prompt_caching=True).capabilities_for(name, MODEL)
        assert able.prompt_caching == (name in MARKING["openai-chat"])


# --------------------------------------------------------------------------------------------------- numbers and others


@pytest.mark.parametrize("dialect", DIALECTS)
def test_max_output_tokens_is_lowered_to_the_models_limit(dialect: str) -> None:
    request, catalogue = ask(max_output_tokens=100), knowing(max_output_tokens=64)
    outcome = made(dialect, request, catalogue=catalogue)
    assert only(outcome).max_output_tokens == 64
    assert lost(outcome) == [("max_output_tokens", "approximated", f"{MODEL} writes at most 64 tokens")]
    refused(made(dialect, request, catalogue=catalogue, unsupported="refuse"), "writes at most 64 tokens")
    assert only(made(dialect, ask(max_output_tokens=64), catalogue=catalogue)).max_output_tokens == 64


@pytest.mark.parametrize(
    ("field", "value"),
    [("temperature", 0.5), ("top_p", 0.5), ("stop_sequences", ("stop",)), ("metadata", {"user_id": "u"})],
)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_parameter_that_the_model_refuses(dialect: str, field: str, value: Any) -> None:
    request, catalogue = ask(**{field: value}), knowing(rejects=(field,))
    outcome = made(dialect, request, catalogue=catalogue)
    assert getattr(only(outcome), field) == getattr(Request(), field)
    assert lost(outcome) == [(field, "dropped", f"{MODEL} does not take this parameter")]
    refused(
        made(dialect, request, catalogue=catalogue, unsupported="refuse"), f"{field}: ", "does not take this parameter"
    )

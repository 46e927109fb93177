"""A conversation moved to a model that takes less: content left out, or described by a note; declared either way."""

from __future__ import annotations

import struct
from base64 import b64encode
from typing import Any

import pytest

from client.support import CANARY, DIALECTS, PROVIDERS, ask, call
from interlingua import (
    AudioBlock,
    Base64Source,
    Block,
    Catalogue,
    DocumentBlock,
    FileSource,
    ImageBlock,
    InvalidRequestError,
    LossyTranslation,
    Message,
    ProviderManager,
    Request,
    Router,
    SyncSession,
    TextBlock,
    TextSource,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
    VideoBlock,
)
from interlingua.client.embedded import LoopbackServer, Script, Step
from interlingua.client.fitting import fit_request, unreadable_parts
from interlingua.models.catalogue.facts import Facts, capabilities

PNG = b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 640, 480) + bytes(11_976)).decode()
PICTURE = ImageBlock(Base64Source("image/png", PNG))
TOOL = ToolDefinition("weather", "The weather.", {"type": "object", "properties": {}})
CALL = ToolUseBlock("c1", "weather", input={"city": "Oslo"})
NOTHING = Facts(images=False, documents=False, audio=False, video=False, tools=False, system_prompt=False)
WHY = "left out because m takes no"


def fitted(request: Request, unsupported: Any, **facts: Any) -> tuple[Request, list[tuple[str, str, str]]]:
    known = Facts(**facts) if facts else NOTHING
    able = capabilities(known, "openai-chat")
    found, losses = fit_request(request, known, able, unsupported)
    assert list(unreadable_parts(found, able)) == []
    return found, [(loss.path, loss.kind, loss.reason) for loss in losses]


def said(*blocks: Block | str) -> Request:
    return Request([Message("user", ["look", *blocks])], "m")


# fmt: off
NOTES: tuple[tuple[Block, str], ...] = (
    (PICTURE,                                                      f"[image, 640x480 PNG, 12 kB: {WHY} images]"),
    (ImageBlock(Base64Source("image/webp", "aGk=")),               f"[image, WEBP, 3 bytes: {WHY} images]"),
    (ImageBlock(UrlSource("https://me:pw@x.example/red.png?sig=secret")),
        f"[image at https://**********@x.example/red.png: {WHY} images]"),
    (ImageBlock(FileSource("file-7")),                             f"[image, file file-7: {WHY} images]"),
    (DocumentBlock(Base64Source("application/pdf", "A" * 2_000_000), filename="report.pdf"),
        f"[document report.pdf, PDF, 1.5 MB: {WHY} documents]"),
    (DocumentBlock(TextSource("It rains."), title="Notes"),        "[document Notes]\nIt rains."),
    (AudioBlock(Base64Source("audio/wav", "aGk="), "Good day."),   f'[audio, WAV, 3 bytes, "Good day.": {WHY} audio]'),
    (VideoBlock(UrlSource("https://x.example/v.mp4")),             f"[video at https://x.example/v.mp4: {WHY} video]"),
)
# fmt: on


@pytest.mark.parametrize(("block", "note"), NOTES)
def test_a_note_names_what_was_there(block: Block, note: str) -> None:
    found, losses = fitted(said(block), "describe")
    assert found.messages[0].content == (TextBlock("look"), TextBlock(note))
    ((path, kind, reason),) = losses
    assert (path, kind) == ("messages/0/content/1", "approximated")
    assert reason.startswith("m takes no ")
    assert reason.endswith("; a note says what was there")


@pytest.mark.parametrize(("block", "note"), NOTES)
def test_it_can_be_left_out(block: Block, note: str) -> None:
    found, losses = fitted(said(block), "drop")
    assert found.messages[0].content == (TextBlock("look"),)
    assert [(path, kind) for path, kind, _ in losses] == [("messages/0/content/1", "dropped")]
    alone, _ = fitted(Request([Message("user", [block])], "m"), "drop")
    assert alone.messages[0].content == (TextBlock(note),)  # no message may be empty


@pytest.mark.parametrize("unsupported", [None, "refuse"])
@pytest.mark.parametrize(("block", "note"), NOTES)
def test_it_is_refused_by_default(block: Block, note: str, unsupported: Any) -> None:
    with pytest.raises(InvalidRequestError, match="messages/0: m takes no "):
        fitted(said(block), unsupported)


def test_only_pictures_of_another_type_are_left_out() -> None:
    heic = ImageBlock(Base64Source("image/heic", "aGk="))
    found, _ = fitted(said(PICTURE, heic), "describe", images=True, image_types=("image/png",))
    assert found.messages[0].content[1] == PICTURE
    assert found.messages[0].content[2] == TextBlock(
        "[image, HEIC, 3 bytes: left out because m takes no image/heic, only image/png]"
    )


TALK = Request(
    [
        Message("user", "How is the weather?"),
        Message("assistant", [CALL]),
        Message("user", [ToolResultBlock("c1", ["rain", PICTURE])]),
        Message("assistant", "It rains."),
        Message("user", "And now?"),
    ],
    "m",
    tools=[TOOL],
    tool_choice=ToolChoice(mode="any"),
)


def test_calls_and_results_become_text() -> None:
    found, losses = fitted(TALK, "describe")
    assert [message.text for message in found.messages] == [
        "How is the weather?",
        '[call of the tool weather: {"city":"Oslo"}]',
        f"[result of weather: rain][image, 640x480 PNG, 12 kB: {WHY} images]",
        "It rains.",
        "And now?",
    ]
    assert (found.tools, found.tool_choice) == ((), None)
    assert [path for path, *_ in losses] == ["messages/1/content/0", "messages/2/content/0", "tools"]


def test_calls_and_results_can_be_left_out_together() -> None:
    found, _ = fitted(TALK, "drop")
    assert [message.text for message in found.messages] == ["How is the weather?", "It rains.", "And now?"]
    cut, _ = fitted(Request(TALK.messages[:3], "m"), "drop")
    assert cut.messages[-1].text.startswith("[result of weather: rain]")  # the last message stays


def test_a_picture_in_a_result_is_left_out_alone() -> None:
    found, losses = fitted(TALK, "describe", images=False, tools=True)
    result = found.messages[2].content[0]
    assert isinstance(result, ToolResultBlock)
    assert result.content == (TextBlock("rain"), TextBlock(f"[image, 640x480 PNG, 12 kB: {WHY} images]"))
    assert losses[0][0] == "messages/2/content/0/content/1"


SYSTEM = Request(
    [Message("user", "hi"), Message("system", "Be kind."), Message("user", "so?")], "m", system="Be brief."
)


def test_a_system_prompt_becomes_a_user_message() -> None:
    found, losses = fitted(SYSTEM, "describe")
    assert found.system == ()
    assert [(m.role, m.text) for m in found.messages] == [
        ("user", "Be brief.hi"),
        ("user", "Be kind."),
        ("user", "so?"),
    ]
    assert [(path, kind) for path, kind, _ in losses] == [("system", "moved"), ("messages/1", "moved")]
    dropped, losses = fitted(SYSTEM, "drop")
    assert [m.text for m in dropped.messages] == ["hi", "so?"]
    assert [kind for _, kind, _ in losses] == ["dropped", "dropped"]


# ------------------------------------------------------------------------------------------------------ in all dialects


class Told:
    name = "told"

    def facts(self, provider: str, model: str) -> Facts:
        return NOTHING


@pytest.mark.parametrize("way", ["complete", "async-stream"])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_the_model_sees_the_note(dialect: str, way: str) -> None:
    script = Script(Step(act="echo"))
    request = ask("x", max_output_tokens=100)
    request = Request([*TALK.messages[:-1], *said(PICTURE).messages], "m", max_output_tokens=100, tools=[TOOL])
    outcome = call(way, PROVIDERS[dialect], script, request, catalogue=Catalogue([Told()]), unsupported="describe")
    assert outcome.response is not None
    (seen,) = script.seen
    assert f"[image, 640x480 PNG, 12 kB: {WHY} images]" in seen.messages[-1].text
    assert seen.tools == ()
    assert "messages/4/content/1" in [loss.path for loss in outcome.response.losses]
    refused = call(
        way, PROVIDERS[dialect], script, request, catalogue=Catalogue([Told()]), unsupported="drop", on_loss="raise"
    )
    assert isinstance(refused.error, LossyTranslation)


# ----------------------------------------------------------------------------------------------- sessions and routers


def test_a_session_moves_to_a_model_without_pictures() -> None:
    with LoopbackServer.in_thread() as server:
        words: Any = {"base_url": server.url, "api_key": CANARY}
        history = [Message("user", ["What is this?", PICTURE]), Message("assistant", "Red.")]
        with SyncSession("deepseek:deepseek-v3", messages=history, **words) as strict:
            plan = strict.plan_swap("deepseek:deepseek-v3")
            assert not plan.legal
            with pytest.raises(InvalidRequestError, match="takes no images"):
                strict.send("Are you sure?")
        with SyncSession("deepseek:deepseek-v3", messages=history, unsupported="describe", **words) as session:
            plan = session.plan_swap("deepseek:deepseek-v3")
            assert plan.legal
            assert [(loss.path, loss.kind) for loss in plan.losses] == [("messages/0/content/1", "approximated")]
            session.send("Are you sure?")
            assert session.report.losses[0].reason == "deepseek-v3 takes no images; a note says what was there"
            assert session.messages[0].content[1] == PICTURE  # the history keeps it
    assert "[image, 640x480 PNG, 12 kB" in server.script.seen[0].messages[0].text


def managing(server: LoopbackServer, **settings: Any) -> ProviderManager:
    manager = ProviderManager(environment={}, **settings)
    for id in ("deepseek", "anthropic", "openai-chat"):
        manager.register(id, base_url=server.url, api_key=CANARY)
    return manager


def test_a_router_prefers_a_model_that_can() -> None:
    """Even if the first one could continue with a note; it is used if no other model answers."""
    names = ["deepseek:deepseek-v3", "anthropic:claude-sonnet-5"]
    with LoopbackServer.in_thread() as server, managing(server, unsupported="describe") as manager:
        router = Router(names, manager)
        request = Request([Message("user", ["look", PICTURE])], request_id="r", max_output_tokens=9)
        assert router.complete_sync(request).losses == ()
        assert [choice.model for choice in router.record("r")] == ["anthropic:claude-sonnet-5"]
        assert router.complete_sync(ask(model=None, request_id="r2"))
        assert [choice.model for choice in router.record("r2")] == ["deepseek:deepseek-v3"]
    fail = Script(lambda request: Step() if request.model == "deepseek-v3" else Step(act="fail", status=401))
    with LoopbackServer.in_thread(fail) as server, managing(server, unsupported="describe") as manager:
        router = Router(names, manager)
        assert "[image" in router.complete_sync(request).text
        assert [(c.model, c.outcome) for c in router.record("r")] == [(names[1], "failed"), (names[0], "answered")]


def test_a_router_knows_context_windows() -> None:
    """A model that is too small by the estimate is skipped while another fits; if none fits, the first is called."""
    long = Request([Message("user", "word " * 20_000)], request_id="r", max_output_tokens=9)
    small, large = "openai-chat:gpt-3.5-turbo", "anthropic:claude-sonnet-5"
    with LoopbackServer.in_thread(Step(text="ok")) as server, managing(server) as manager:
        router = Router([small, large], manager)
        router.complete_sync(long)
        skipped, answered = router.record("r")
        assert (skipped.model, skipped.outcome, answered.model) == (small, "skipped", large)
        assert skipped.reason is not None
        assert skipped.reason.startswith("the conversation has about 19")
        assert skipped.reason.endswith(", and its context window 16385")
        router.complete_sync(ask(model=None, request_id="r2"))
        assert [choice.model for choice in router.record("r2")] == [small]
        tiny = Router([small, "openai-chat:gpt-3.5-turbo-0125"], manager)
        tiny.complete_sync(long)
        assert [(choice.model, choice.outcome) for choice in tiny.record("r")] == [(small, "answered")]
    assert len(server.script.seen) == 3

"""Values built by hand are checked where they are built: a wrong one is a ``TypeError`` that says what was expected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import fields, replace

from interlingua import (
    AdapterConfig,
    AudioBlock,
    Base64Source,
    CacheMark,
    Citation,
    DocumentBlock,
    FileSource,
    ImageBlock,
    Message,
    OpaqueBlock,
    Origin,
    RedactedThinkingBlock,
    RefusalBlock,
    Request,
    Response,
    ServerToolResultBlock,
    ServerToolUseBlock,
    Target,
    TextBlock,
    TextSource,
    Thinking,
    ThinkingBlock,
    TokenUsage,
    ToolAnnotations,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
    VideoBlock,
    from_json,
    to_json,
)
from interlingua.types.checking import check

PICTURE = ImageBlock(UrlSource("https://example.org/red.png"))
ANY: Any = None

# each of these was accepted, and ended the session when it was sent, saved or loaded.
WRONG: list[tuple[Callable[[], object], str]] = [
    (lambda: TextBlock(ANY), "TextBlock.text must be a string, not NoneType"),
    (lambda: TextBlock(b"x"), "TextBlock.text must be a string, not bytes"),  # type: ignore[arg-type]
    (lambda: Message("user", ANY), "Message.content must be a string or a list of blocks, not NoneType"),
    (lambda: Message("user", b"bytes"), "Message.content must be a string or a list of blocks, not bytes"),  # type: ignore[arg-type]
    (lambda: Message("user", {"type": "text"}), "Message.content must be a string or a list of blocks, not dict"),  # type: ignore[arg-type]
    (lambda: Message("user", Path("red.png")), "Message.content must be a string or a list of blocks, not PosixPath"),  # type: ignore[arg-type]
    (lambda: Message("user", [{"type": "text"}]), "Message.content[0] must be a block"),  # type: ignore[list-item]
    (lambda: Message("user", (Path("red.png"),)), "Message.content[0] must be a block"),  # type: ignore[arg-type]
    (lambda: Message("user", [PICTURE, 5]), "Message.content[1] must be a block"),  # type: ignore[list-item]
    (lambda: ImageBlock("red.png"), "ImageBlock.source must be a Base64Source or a UrlSource"),  # type: ignore[arg-type]
    (lambda: DocumentBlock("a.pdf"), "DocumentBlock.source must be"),  # type: ignore[arg-type]
    (lambda: AudioBlock(ANY), "AudioBlock.source must be"),
    (lambda: VideoBlock(ANY), "VideoBlock.source must be"),
    (lambda: Base64Source("image/png", b"AAAA"), "Base64Source.data must be a string, not bytes"),  # type: ignore[arg-type]
    (lambda: UrlSource(ANY), "UrlSource.url must be a string"),
    (lambda: FileSource(ANY), "FileSource.file_id must be a string"),
    (lambda: TextSource(ANY), "TextSource.text must be a string"),
    (lambda: ToolUseBlock(ANY, "f"), "ToolUseBlock.id must be a string"),
    (lambda: ToolUseBlock("1", "f", input="{}"), "ToolUseBlock.input must be a dict with string keys, not str"),  # type: ignore[arg-type]
    (lambda: ToolUseBlock("1", "f", "xml"), "ToolUseBlock.kind must be 'json' or 'text'"),  # type: ignore[arg-type]
    (lambda: ToolResultBlock(ANY, "x"), "ToolResultBlock.tool_use_id must be a string"),
    (lambda: ToolResultBlock("1", 5), "ToolResultBlock.content must be a string or a list of blocks"),  # type: ignore[arg-type]
    (lambda: ToolResultBlock("1", "x", is_error="no"), "ToolResultBlock.is_error must be True or False or None"),  # type: ignore[arg-type]
    (lambda: ThinkingBlock(ANY), "ThinkingBlock.text must be a string"),
    (lambda: ThinkingBlock(signature=5), "ThinkingBlock.signature must be a string or None"),  # type: ignore[arg-type]
    (lambda: RedactedThinkingBlock(ANY), "RedactedThinkingBlock.data must be a string"),
    (lambda: RefusalBlock(ANY), "RefusalBlock.text must be a string"),
    (lambda: OpaqueBlock(ANY, {}), "OpaqueBlock.dialect must be a string"),
    (lambda: ServerToolUseBlock("1", ANY), "ServerToolUseBlock.name must be a string"),
    (lambda: ServerToolResultBlock(ANY, "n"), "ServerToolResultBlock.tool_use_id must be a string"),
    (lambda: Citation("url", start="0"), "Citation.start must be an integer or None"),  # type: ignore[arg-type]
    (lambda: CacheMark(5), "CacheMark.ttl must be a string or None"),  # type: ignore[arg-type]
    (lambda: ToolDefinition(ANY), "ToolDefinition.name must be a string"),
    (lambda: ToolDefinition("f", input_schema=[]), "ToolDefinition.input_schema must be a dict"),  # type: ignore[arg-type]
    (lambda: ToolChoice("required"), "ToolChoice.mode must be 'auto' or 'any'"),  # type: ignore[arg-type]
    (lambda: Thinking(effort=4), "Thinking.effort must be a string or None"),  # type: ignore[arg-type]
    (lambda: Request([{"role": "user"}]), "a message as a dict has a role, and content that is text"),
    (lambda: Request(({"role": "user", "content": [{"image": 1}]},)), "a message as a dict has a role"),
    (lambda: Request([5]), "Request.messages[0] must be a Message, not int"),  # type: ignore[list-item]
    (lambda: Request(ANY), "Request.messages must be a list or tuple, each item a Message, not NoneType"),
    (lambda: Request(tools=5), "Request.tools must be a list or tuple"),  # type: ignore[arg-type]
    (lambda: Request(tools=(print,)), "Request.tools[0] must be a ToolDefinition or a ServerTool"),  # type: ignore[arg-type]
    (lambda: Request(system=(5,)), "Request.system[0] must be a block"),  # type: ignore[arg-type]
    (lambda: Request(stop_sequences=[5]), "Request.stop_sequences[0] must be a string"),  # type: ignore[list-item]
    (lambda: Request(thinking=4.5), "Request.thinking must be a Thinking or None"),  # type: ignore[arg-type]
    (lambda: Request(tool_choice="weather"), "tool_choice is one of 'auto', 'any', 'required', 'none', the name of"),
    (lambda: Request(tool_choice={"type": "auto"}), "Request.tool_choice must be a ToolChoice or None, not dict"),  # type: ignore[arg-type]
    (lambda: Request(output_schema="{}"), "Request.output_schema must be a dict with string keys or None"),  # type: ignore[arg-type]
    (lambda: Request(metadata=None), "Request.metadata must be a dict with string keys"),  # type: ignore[arg-type]
    (lambda: Request("hi", "You are a helpful bot."), "Request.model must be the name of a model, not 'You are a"),
    (lambda: TextBlock("x", cache="5m"), "TextBlock.cache must be a CacheMark or None, not str"),  # type: ignore[arg-type]
    (lambda: Request(temperature="hot"), "Request.temperature must be an integer or a number or None"),  # type: ignore[arg-type]
    (lambda: Request(max_output_tokens="10"), "Request.max_output_tokens must be an integer or None"),  # type: ignore[arg-type]
    (lambda: Request(model=5), "Request.model must be a string or None"),  # type: ignore[arg-type]
    (lambda: Response((5,)), "Response.content[0] must be a block"),  # type: ignore[arg-type]
    (lambda: Response(usage={}), "Response.usage must be a TokenUsage or None"),  # type: ignore[arg-type]
    (lambda: Response(model=5), "Response.model must be a string or None"),  # type: ignore[arg-type]
    (lambda: TokenUsage("7"), "TokenUsage.input_tokens must be an integer"),  # type: ignore[arg-type]
    (lambda: ToolAnnotations(destructive="yes"), "ToolAnnotations.destructive must be True or False or None"),  # type: ignore[arg-type]
    (lambda: ToolDefinition("f", cache="5m"), "ToolDefinition.cache must be a CacheMark or None"),  # type: ignore[arg-type]
    (lambda: ImageBlock(PICTURE.source, cache="5m"), "ImageBlock.cache must be a CacheMark or None"),  # type: ignore[arg-type]
    (lambda: RefusalBlock("no", signature=5), "RefusalBlock.signature must be a string or None"),  # type: ignore[arg-type]
    (lambda: ToolUseBlock("1", "f", cache="5m"), "ToolUseBlock.cache must be a CacheMark or None"),  # type: ignore[arg-type]
    (lambda: ThinkingBlock("hm", cache="5m"), "ThinkingBlock.cache must be a CacheMark or None"),  # type: ignore[arg-type]
    (lambda: Message("user", "x", id=5), "Message.id must be a string or None"),  # type: ignore[arg-type]
    (lambda: Message("user", "x", origin="me"), "Message.origin must be an Origin or None"),  # type: ignore[arg-type]
    (lambda: Origin(5), "Origin.provider must be a string or None"),  # type: ignore[arg-type]
    (lambda: Target("openai", 5), "Target.model must be a string or None"),  # type: ignore[arg-type]
    (lambda: AdapterConfig(timeout_seconds="9"), "AdapterConfig.timeout_seconds must be a number, not str"),  # type: ignore[arg-type]
    (lambda: AdapterConfig(retry={"base": 1}), "AdapterConfig.retry must be a Retry, not dict"),  # type: ignore[arg-type]
    (lambda: AdapterConfig(extra_headers={"a": 1}), "AdapterConfig: header 'a' must be a string, not int"),  # type: ignore[dict-item]
    (lambda: AdapterConfig(client_cert=("me.pem", "me.key")), "AdapterConfig.client_cert must be a string or None"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("build", "sentence"), WRONG, ids=[sentence[:48] for _, sentence in WRONG])
def test_a_wrong_value_says_what_was_expected(build: Callable[[], object], sentence: str) -> None:
    with pytest.raises(TypeError) as caught:
        build()
    assert str(caught.value).startswith(sentence)


def test_a_key_of_the_wrong_type_is_not_quoted() -> None:
    with pytest.raises(TypeError, match=r"AdapterConfig: api_key must be a string, not bytes$"):
        AdapterConfig(b"sk-secret")  # type: ignore[arg-type]


def test_a_copy_is_checked_too() -> None:
    with pytest.raises(TypeError, match=r"TextBlock\.text must be a string"):
        replace(TextBlock("x"), text=5)


def test_what_is_meant_plainly_is_accepted() -> None:
    assert Message("user", "hi").content == (TextBlock("hi"),)
    assert Message("user", ["look:", PICTURE]).content == (TextBlock("look:"), PICTURE)
    assert Message("user", PICTURE).content == (PICTURE,)
    assert ToolResultBlock("1", ["a", PICTURE]).content == (TextBlock("a"), PICTURE)
    assert Request([Message("user", "hi")], system=["be terse"]).system == (TextBlock("be terse"),)
    assert ToolChoice(allowed=["a", "b"]).allowed == ("a", "b")  # type: ignore[arg-type]


WEATHER = ToolDefinition("weather")
HI = (Message("user", "hi"),)

# what people write who have used other libraries.
MEANT: list[tuple[Request, Request]] = [
    (Request("hi"), Request(HI)),
    (Request(HI[0]), Request(HI)),
    (Request([{"role": "user", "content": "hi"}]), Request(HI)),
    (Request({"role": "user", "content": "hi"}), Request(HI)),  # type: ignore[arg-type]
    (Request([{"role": "user", "content": [{"type": "text", "text": "hi"}]}]), Request(HI)),
    (Request(({"role": "user", "content": ["hi"]},)), Request(HI)),
    (Request(HI, stop_sequences="END"), Request(HI, stop_sequences=("END",))),
    (Request(HI, betas="one"), Request(HI, betas=("one",))),
    (Request(HI, tools=WEATHER), Request(HI, tools=(WEATHER,))),
    (Request(HI, thinking="high"), Request(HI, thinking=Thinking(effort="high"))),
    (Request(HI, thinking="adaptive"), Request(HI, thinking=Thinking("adaptive"))),
    (Request(HI, thinking=2000), Request(HI, thinking=Thinking(budget=2000))),
    (Request(HI, thinking=True), Request(HI, thinking=Thinking("enabled"))),
    (Request(HI, thinking=False), Request(HI, thinking=Thinking("disabled"))),
    (Request(HI, tool_choice="required"), Request(HI, tool_choice=ToolChoice.any())),
    (Request(HI, tool_choice="none"), Request(HI, tool_choice=ToolChoice.none())),
    (
        Request(HI, tools=[WEATHER], tool_choice="weather"),
        Request(HI, tools=(WEATHER,), tool_choice=ToolChoice.specific("weather")),
    ),
]


@pytest.mark.parametrize(("written", "meant"), MEANT, ids=[str(place) for place in range(len(MEANT))])
def test_what_is_written_shortly_is_what_is_meant(written: Request, meant: Request) -> None:
    assert written == meant
    assert from_json(to_json(written), Request) == meant


@pytest.mark.parametrize("name", ["my model", "/models/My Own Model.gguf", "gpt-5"])
def test_names_of_models_may_have_spaces(name: str) -> None:
    assert Request("hi", name).model == name


def test_an_unknown_word_is_told_the_known_ones() -> None:
    with pytest.raises(ValueError, match="'bot' is not a Role; use one of system, user, assistant, tool"):
        Message("bot", "hi")  # type: ignore[arg-type]


def test_a_wrong_value_is_quoted_only_in_part() -> None:
    with pytest.raises(TypeError) as caught:
        TextBlock(["x" * 10_000])  # type: ignore[arg-type]
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("wrong", [5, b"x", [], {}, object()], ids=lambda value: type(value).__name__)
def test_what_a_guard_lets_through_loads_again(wrong: Any) -> None:
    """No field of a block that callers set may hold what ``from_json`` would refuse (T10)."""
    samples = (TextBlock("x"), ToolUseBlock("1", "f"), ToolResultBlock("1"), ThinkingBlock(), Citation("url"))
    for sample in samples:
        for field in fields(sample):
            if field.name in ("extras", "forms", "cache", "incomplete", "native_ids"):
                continue  # filled by dialects and sessions, not by hand
            try:
                built = replace(sample, **{field.name: wrong})
            except TypeError:
                continue
            check(built)
            assert from_json(to_json(built), type(built)) == built

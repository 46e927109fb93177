"""Token estimates: what is counted, and their errors on recordings that they were not fitted on."""

from __future__ import annotations

import base64
import statistics
import struct
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from interlingua import (
    Base64Source,
    Block,
    DocumentBlock,
    ImageBlock,
    JsonBlock,
    Message,
    Request,
    TextBlock,
    TextSource,
    ThinkingBlock,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
)
from interlingua.dialects import DIALECTS
from interlingua.models.estimate import estimate_input_tokens, estimate_output, estimate_request, tokenizer
from interlingua.models.estimate.counting import FEATURES, counts
from interlingua.models.estimate.families import MODELS, SERVERS
from interlingua.models.estimate.media import media_tokens
from interlingua.models.estimate.pictures import USUAL_SIZE, picture_size, picture_tokens
from interlingua.models.estimate.text import TEXT, add_text
from interlingua.models.estimate.weights import ANSWERS, WEIGHTS
from interlingua.models.providers import PROVIDERS
from interlingua.types.request import Thinking
from shared_data import needs_shared

ASK = (Message(role="user", content="What is the capital of France?"),)
TOOL = ToolDefinition(
    name="get_weather",
    description="The weather of a city today.",
    input_schema={"type": "object", "properties": {"city": {"type": "string", "enum": ["Paris", "Rome"]}}},
)


def test_every_tokenizer_has_its_weights() -> None:
    named = {name for _, name in MODELS} | set(SERVERS.values()) | {"open"}
    assert named <= set(WEIGHTS)
    assert {name.partition("@")[0] for name in WEIGHTS} == set(ANSWERS)
    assert {len(row) for row in WEIGHTS.values()} == {len(FEATURES)}
    assert min(min(row) for row in WEIGHTS.values()) >= 0
    assert FEATURES[: len(TEXT)] == TEXT


@pytest.mark.parametrize("name", [*PROVIDERS, *DIALECTS, "nobody"])
def test_any_provider_or_dialect_will_do(name: str) -> None:
    alone = estimate_input_tokens(ASK, provider=name)
    assert 5 <= alone <= 400
    assert estimate_input_tokens(ASK, (TOOL,), "Be brief.", provider=name) > alone
    assert 1 <= estimate_output((TextBlock(text="Paris."),), name) <= 12


@pytest.mark.parametrize(
    ("provider", "model", "row"),
    [
        ("anthropic", "claude-opus-5-5", "claude-5"),
        ("bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-4-5"),
        ("anthropic", "claude-sonnet-4-20250514", "claude-4"),
        ("anthropic", "claude-3-7-sonnet-latest", "claude-3-5"),
        ("openrouter", "openai/gpt-4o-mini", "gpt-4o"),
        ("openai", "gpt-5.5", "gpt-5"),
        ("openai-chat", "gpt-5.5", "gpt-5"),
        ("groq", "openai/gpt-oss-120b", "gpt-oss"),
        ("google", "gemini-2.5-flash", "gemini-2-5"),
        ("vertex", "gemini-2.5-flash", "gemini-2-5"),
        ("xai", "grok-4.3", "grok-4-3"),
        ("azure", "grok-4.3", "grok-4-3-elsewhere"),  # the hidden prompt is xAI's
        ("azure", "my-deployment", "gpt"),
        ("vllm", "my-own-finetune", "open"),
        ("anthropic", None, "claude-5"),
        ("anthropic-messages", None, "claude-5"),
    ],
)
def test_which_weights_hold(provider: str, model: str | None, row: str) -> None:
    """Those of the model's family, or of the family at this server if recordings show that it counts differently."""
    found = tokenizer(provider, model)
    assert found.partition("@")[0] == row
    assert found == row or found.endswith(f"@{provider.removesuffix('-messages')}")


def test_a_server_may_count_otherwise() -> None:
    rows = {tokenizer(name, "gpt-5-mini") for name in ("openai", "openai-chat", "azure", "nobody")}
    assert len(rows) == 4
    with_tool = {name: estimate_input_tokens(ASK, (TOOL,), provider=name, model="gpt-5-mini") for name in PROVIDERS}
    assert with_tool["openai-chat"] - with_tool["openai"] == pytest.approx(82, abs=25)  # as recorded of one prompt


@pytest.mark.parametrize(
    ("provider", "model", "tokens"),
    [
        ("openai-chat", "gpt-4o", 14),  # 7 of text, 7 of framing
        ("anthropic", "claude-sonnet-4-5", 14),
        ("google", "gemini-2.5-flash", 7),  # text alone
        ("groq", "llama-3.3-70b-versatile", 42),  # a system turn with dates
    ],
)
def test_known_counts_of_a_plain_prompt(provider: str, model: str, tokens: int) -> None:
    assert estimate_input_tokens(ASK, provider=provider, model=model) == pytest.approx(tokens, abs=2)


def test_what_is_counted() -> None:
    messages = (
        Message(role="user", content="Look: 12345\n\nnaïve"),
        Message(
            role="assistant", content=(ThinkingBlock(text="hm hm", signature="x" * 40), ToolUseBlock(id="1", name="f"))
        ),
        Message(role="tool", content=(ToolResultBlock(tool_use_id="1", content=(JsonBlock(value={"a": 1}),)),)),
    )
    tally = counts(Request(messages=messages, system="Be brief.", tools=(TOOL,), output_schema={"type": "object"}))
    assert (tally["user_turns"], tally["assistant_turns"], tally["calls"], tally["results"]) == (1, 1, 1, 1)
    assert (tally["thoughts"], tally["thought_words"], tally["sealed"]) == (1, 2, 40)
    assert (tally["tools"], tally["tool_properties"], tally["output"], tally["accents"]) == (1, 1, 1, 1)
    assert (tally["system"], tally["systemless"], tally["unstated"]) == (1, 0, 1)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Hello, world!", {"words": 2, "signs": 2}),
        ("get_weather(city)", {"words": 3, "signs": 3}),
        ("internationally", {"words": 1, "long": 1}),
        ("getHTTPResponse", {"words": 1, "upper": 3, "long": 1}),
        ("a 1 22 333 4444 55555", {"words": 1, "digits": 7, "numerals": 15, "spaced": 5}),
        ("one\n\ntwo\n    three", {"words": 3, "breaks": 2, "gaps": 1}),
        ("naïve café", {"words": 2, "accents": 2}),
        ("привет 你好 – 🎉", {"script": 6, "wide": 2, "marks": 3}),
        ("", {}),
    ],
)
def test_how_text_is_cut(text: str, found: dict[str, int]) -> None:
    tally: Counter[str] = Counter()
    add_text(tally, text)
    assert {kind: count for kind, count in tally.items() if count} == found


def test_thinking_and_the_choice_of_tools_count() -> None:
    def tokens(provider: str, model: str, **more: object) -> int:
        return estimate_request(Request(messages=ASK, **more), provider, model)  # type: ignore[arg-type]

    plain = tokens("anthropic", "claude-sonnet-4-5")
    assert tokens("anthropic", "claude-sonnet-4-5", thinking=Thinking(budget=2048)) - plain == pytest.approx(28, abs=5)
    none = {"tools": (TOOL,), "tool_choice": ToolChoice.none()}
    assert tokens("mistral", "mistral-small-latest", **none) == tokens("mistral", "mistral-small-latest")
    assert tokens("openai", "gpt-5", **none) > tokens("openai", "gpt-5")


def test_a_request_says_its_own_model() -> None:
    request = Request(messages=ASK, model="gpt-4o")
    assert estimate_request(request, "openai") == estimate_input_tokens(ASK, provider="openai", model="gpt-4o")


def test_answers() -> None:
    text = (TextBlock(text="The capital of France is Paris."),)
    call = ToolUseBlock(id="1", name="get_weather", input={"city": "Paris"})
    assert estimate_output(text, "openai-chat", "gpt-4o") == pytest.approx(8, abs=2)
    assert estimate_output((call,), "anthropic", "claude-sonnet-4-5") > 30  # it writes its calls at length
    assert estimate_output((), "openai", "gpt-4o") == 1


# ----------------------------------------------------------------------------------------------------------- pictures

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + struct.pack(">II", 640, 480)
GIF = b"GIF89a" + struct.pack("<HH", 20, 10)
WEBP = b"RIFF\0\0\0\0WEBPVP8 " + b"\0" * 10 + struct.pack("<HH", 300, 200)
FRAME = b"\xff\xc0\x00\x11\x08" + struct.pack(">HH", 150, 100) + b"\0" * 10
JPEG = b"\xff\xd8\xff\xe0\x00\x10" + b"\0" * 14 + FRAME
WITH_PROFILE = b"\xff\xd8\xff\xe2" + struct.pack(">H", 40_002) + b"\0" * 40_000 + FRAME + b"\0" * 60_000


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (PNG, (640, 480)),
        (GIF, (20, 10)),
        (WEBP, (300, 200)),
        (JPEG, (100, 150)),
        (WITH_PROFILE, (100, 150)),
        (PNG[:10], USUAL_SIZE),
        (b"\xff\xd8\xff", USUAL_SIZE),
        (b"hello", USUAL_SIZE),
    ],
)
def test_picture_size(data: bytes, size: tuple[int, int]) -> None:
    assert picture_size(base64.b64encode(data).decode()) == size


def test_what_is_not_base64_has_a_usual_size() -> None:
    assert picture_size("a") == USUAL_SIZE


@pytest.mark.parametrize(
    ("model", "size", "tokens"),
    [
        ("claude-opus-5-5", (640, 480), 410),  # width x height / 750
        ("claude-opus-5-5", (4000, 4000), 1568),
        ("gpt-4o", (1024, 1024), 765),  # 85 and 4 tiles of 170
        ("gpt-4o", (512, 512), 255),
        ("gpt-4o-mini", (512, 512), 8500),
        ("gpt-4.1-mini", (640, 480), 486),  # 300 patches, times 1.62
        ("gpt-4.1-nano", (540, 360), 502),
        ("gemini-2.5-flash", (640, 480), 258),
        ("gemini-2.0-flash", (640, 480), 1290),  # the whole and 4 crops
        ("gemini-2.0-flash", (300, 200), 258),
        ("pixtral-12b", (597, 566), 1368),  # squares of 16
        ("claude-opus-5-5", (0, 0), 0),
    ],
)
def test_pictures_by_published_rules(model: str, size: tuple[int, int], tokens: int) -> None:
    assert picture_tokens(*size, model) == tokens


def test_a_picture_seen_roughly_costs_less() -> None:
    assert picture_tokens(2048, 2048, "gpt-4o", low=True) == 85


def test_pictures_are_in_the_estimate() -> None:
    source = Base64Source(media_type="image/png", data=base64.b64encode(PNG).decode())
    seen = (Message(role="user", content=(TextBlock(text="What is it?"), ImageBlock(source=source))),)
    bare = (Message(role="user", content="What is it?"),)
    more = estimate_input_tokens(seen, provider="anthropic") - estimate_input_tokens(bare, provider="anthropic")
    assert more == pytest.approx(410, abs=15)
    there = (Message(role="user", content=(ImageBlock(source=UrlSource(url="https://x.example/a.png")),)),)
    assert estimate_input_tokens(there, provider="anthropic") > 1000


# -------------------------------------------------------------------------------------------------------------- files

PDF = b"%PDF-1.4 /Type /Pages /Count 2 ... /Type /Page ... /Type/Page ..."
WAV = b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0" + struct.pack("<II", 8_000, 16_000) + b"\0" * 31_968
MP4 = b"\0\0\0\x6cmoov\0\0\0\x64mvhd" + b"\0" * 12 + struct.pack(">II", 1_000, 4_000) + b"\0" * 40


@pytest.mark.parametrize(
    ("kind", "data", "model", "tokens"),
    [
        ("document", PDF, "gemini-2.5-flash", 2 * 258),
        ("document", b"no page marks", "claude-opus-5-5", 1_600),
        ("audio", WAV, "gemini-2.5-flash", 2 * 32),
        ("audio", b"\0" * 48_000, "gemini-2.5-flash", 3 * 32),
        ("video", MP4, "gemini-2.5-flash", 4 * 263),
        ("audio", WAV, "claude-opus-5-5", 0),  # Claude does not accept audio
    ],
)
def test_pages_and_seconds(kind: str, data: bytes, model: str, tokens: int) -> None:
    assert media_tokens(kind, base64.b64encode(data).decode(), model) == tokens


def test_files_that_cannot_be_read_have_a_usual_length() -> None:
    assert media_tokens("document", None, "gemini-2.5-flash") == 3 * 258
    assert media_tokens("document", "a", "gemini-2.5-flash") == 258


def test_documents_of_text_are_text() -> None:
    words = "word " * 100
    plain = DocumentBlock(source=TextSource(text=words))
    coded = DocumentBlock(source=Base64Source(media_type="text/plain", data=base64.b64encode(words.encode()).decode()))
    pages = DocumentBlock(source=Base64Source(media_type="application/pdf", data=base64.b64encode(PDF).decode()))

    def tokens(block: Block) -> int:
        return estimate_input_tokens((Message(role="user", content=(block,)),), provider="google")

    assert tokens(plain) == tokens(coded) == pytest.approx(105, abs=10)
    assert tokens(pages) > 2 * 258


# ----------------------------------------------------------------------------------------------------------- measured

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

# Every provider with ten recordings or more in the half that nothing was fitted on. docs/estimates.md says why these
# three are above ten per cent; their errors must not grow either.
ABOVE = {"xai": 0.25, "azure": 0.20, "gpustack": 0.20}
FEW = 10


@needs_shared
def test_the_median_error_on_unseen_sources() -> None:
    from estimate_rows import exchanges  # pyright: ignore

    errors: dict[str, list[float]] = defaultdict(list)
    for row, request, model in exchanges():
        if not row.fitted and not row.blind:
            errors[row.provider].append(abs(estimate_request(request, row.server, model) - row.true) / row.true)
    stated = {name: statistics.median(some) for name, some in errors.items() if len(some) >= FEW}
    assert {name: error for name, error in stated.items() if error > ABOVE.get(name, 0.10)} == {}
    assert len(stated) >= 15
    assert set(ABOVE) <= set(stated)


@needs_shared
def test_the_median_error_of_answers_on_unseen_sources() -> None:
    from estimate_rows import answered_exchanges  # pyright: ignore

    errors: dict[str, list[float]] = defaultdict(list)
    for row, content, model in answered_exchanges():
        if not row.fitted:
            errors[row.provider].append(abs(estimate_output(content, row.server, model) - row.true) / row.true)
    for name in ("openai", "anthropic", "google", "bedrock", "mistral", "deepseek", "openrouter", "groq", "ollama"):
        assert statistics.median(errors[name]) <= 0.10, name


@pytest.mark.parametrize("times", [6_000, 60_000])
def test_a_very_long_text_is_estimated_by_samples(times: int) -> None:
    """Its estimate is the sum of the estimates of its parts."""
    part = "The quick brown fox, aged 12345, jumps over the lazy dog.\n\n    An indent, an ünïcode 漢字. "
    some = estimate_output((TextBlock(part * 1_000),), "openai", "gpt-4o")
    long = estimate_output((TextBlock(part * times),), "openai", "gpt-4o")
    assert long == pytest.approx(some * times / 1_000, rel=0.01)

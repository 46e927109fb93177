"""Facts by the model's name, which need no extra package.

Rows apply from top to bottom and the later wins, so a family begins with the facts of its newest models (which future
models inherit), and its older models follow as exceptions. Sources: the protocol sheets, and recorded refusals
(``Unsupported parameter: 'stop'``, ``does not support effort level 'xhigh'``, ``does not support assistant message
prefill``). Rules of the protocol (ids, signatures) belong to the dialect.
"""

from __future__ import annotations

import re
from functools import lru_cache

from msgspec import Struct

from ...types.request import Parameter
from .facts import Facts, merged

__all__ = ["FAMILIES", "Family", "Recorded", "family_facts", "home"]

SAMPLING: tuple[Parameter, ...] = ("temperature", "top_p", "top_k")
FIXED: tuple[Parameter, ...] = ("temperature", "top_p", "stop_sequences")
CLAUDE_EFFORTS = ("low", "medium", "high", "xhigh", "max")
OPENAI_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
PICTURES = ("image/jpeg", "image/png", "image/gif", "image/webp")
GEMINI_PICTURES = ("image/jpeg", "image/png", "image/webp", "image/heic", "image/heif")


class Family(Struct, frozen=True):
    """Models whose plain name matches ``pattern``, their facts, and the provider that makes them (``home``)."""

    pattern: str
    facts: Facts
    home: str | None = None


TEXT = Facts(images=False, documents=False, audio=False, video=False, thinking=False, prompt_caching=False)

# fmt: off
FAMILIES: tuple[Family, ...] = (
    # ------------------------------------------------------------------------------------------------------ Anthropic
    Family(r"claude", Facts(
        images=True, documents=True, audio=False, video=False, thinking=True, structured_output=True,
        prompt_caching=True, max_context_tokens=1_000_000, rejects=SAMPLING, prefill=False, image_types=PICTURES,
        thinking_forms=("adaptive", "effort"), efforts=CLAUDE_EFFORTS), "anthropic"),
    Family(r"claude-opus-4-[78]", Facts(max_output_tokens=128_000)),
    Family(r"claude-(opus|sonnet)-4-6", Facts(
        rejects=(), rejects_while_thinking=("temperature", "top_k"), max_output_tokens=64_000,
        thinking_forms=("adaptive", "effort", "budget"), efforts=("low", "medium", "high", "max"))),
    Family(r"claude-opus-4-6", Facts(max_output_tokens=128_000)),
    Family(r"claude-(opus|sonnet|haiku)-4(-[015])?(-\d{8})?(-v\d.*)?(@.*)?$", Facts(
        rejects=(), rejects_while_thinking=("temperature", "top_k"), thinking_forms=("budget",), efforts=(),
        forces_while_thinking=False, prefill=True, max_context_tokens=200_000, max_output_tokens=64_000)),
    Family(r"claude-opus-4-5", Facts(thinking_forms=("budget", "effort"), efforts=("low", "medium", "high"))),
    Family(r"claude-opus-4(-[01])?(-\d{8})?(-v\d.*)?(@.*)?$", Facts(max_output_tokens=32_000)),
    Family(r"claude-(opus|sonnet)-4(-0)?(-\d{8})?(-v\d.*)?(@.*)?$", Facts(structured_output=False)),
    Family(r"claude-([123]|v\d|instant)", Facts(
        rejects=(), thinking=False, structured_output=False, thinking_forms=(), efforts=(), prefill=True,
        max_context_tokens=200_000, max_output_tokens=8_192)),
    Family(r"claude-3-7", Facts(
        thinking=True, rejects_while_thinking=("temperature", "top_k"), thinking_forms=("budget",),
        forces_while_thinking=False, max_output_tokens=64_000)),
    Family(r"claude-3-(haiku|opus|sonnet)", Facts(max_output_tokens=4_096)),
    Family(r"claude-3-haiku|claude-3-sonnet", Facts(documents=False)),
    Family(r"claude-(2|v\d|instant)", Facts(
        images=False, documents=False, tools=False, prompt_caching=False)),

    # --------------------------------------------------------------------------------------------------------- OpenAI
    Family(r"^(gpt-(?!oss)|chatgpt|codex|o\d)", Facts(
        images=True, documents=True, audio=False, video=False, thinking=True, structured_output=True,
        prompt_caching=True, rejects=(), rejects_while_thinking=("temperature", "top_p"), image_types=PICTURES,
        thinking_forms=("effort",), efforts=OPENAI_EFFORTS), "openai"),
    Family(r"^(gpt-5(-[1-5])?(-[a-z].*|-\d{4}.*)?$|o\d|gpt-[34]|chatgpt-4|codex)", Facts(prompt_caching=False)),
    Family(r"^gpt-5-[1-3]|^gpt-5-[45]-(mini|nano)", Facts(max_context_tokens=400_000, max_output_tokens=128_000)),
    Family(r"^gpt-5-[45](-pro)?(-\d{4}.*)?$", Facts(max_context_tokens=1_050_000, max_output_tokens=128_000)),
    Family(r"^gpt-5-1", Facts(efforts=("none", "low", "medium", "high"))),
    Family(r"^gpt-5-[2-5]", Facts(efforts=("none", "low", "medium", "high", "xhigh"))),
    Family(r"^gpt-5-[24]-pro", Facts(structured_output=False)),
    Family(r"codex-spark", Facts(max_context_tokens=128_000, max_output_tokens=32_000)),
    Family(r"^gpt-5(-(mini|nano|pro|codex))?(-\d{4}.*)?$", Facts(
        rejects=FIXED, efforts=("minimal", "low", "medium", "high"),
        max_context_tokens=400_000, max_output_tokens=128_000)),
    Family(r"^o\d", Facts(
        rejects=FIXED, efforts=("low", "medium", "high"),
        max_context_tokens=200_000, max_output_tokens=100_000)),
    Family(r"^o1-(mini|preview)", Facts(
        images=False, documents=False, tools=False, system_prompt=False, structured_output=False,
        thinking_forms=(), efforts=(), max_context_tokens=128_000, max_output_tokens=65_536)),
    Family(r"^o3-mini", Facts(images=False, documents=False)),
    Family(r"chat-latest$|^gpt-[34]|^chatgpt-4", Facts(
        thinking=False, rejects_while_thinking=(), thinking_forms=(), efforts=(), max_context_tokens=128_000,
        max_output_tokens=16_384)),
    Family(r"^gpt-4-1", Facts(max_context_tokens=1_047_576, max_output_tokens=32_768)),
    Family(r"^gpt-4o.*audio|^gpt-audio", Facts(
        images=False, documents=False, audio=True, thinking=False, structured_output=False)),
    Family(r"^gpt-(4-turbo|4-vision)", Facts(documents=False, structured_output=False, max_output_tokens=4_096)),
    Family(r"^gpt-4(-\d{4}.*|-32k.*)?$|^gpt-3", merged(TEXT, Facts(
        structured_output=False, prompt_caching=False, max_context_tokens=8_192, max_output_tokens=4_096))),
    Family(r"^gpt-3-5|^gpt-35", Facts(max_context_tokens=16_385)),
    Family(r"gpt-oss", merged(TEXT, Facts(
        thinking=True, structured_output=True, rejects=(), rejects_while_thinking=(), thinking_forms=("effort",),
        efforts=("low", "medium", "high"), max_context_tokens=131_072))),

    # --------------------------------------------------------------------------------------------------------- Google
    Family(r"gemini", Facts(
        images=True, documents=True, audio=True, video=True, thinking=True, structured_output=True,
        prompt_caching=False, rejects=(), thinking_forms=("level",), efforts=("low", "medium", "high"),
        image_types=GEMINI_PICTURES, max_context_tokens=1_048_576, max_output_tokens=65_536), "google"),
    Family(r"gemini-3(-[15])?-flash|gemini-.*flash-lite", Facts(efforts=("minimal", "low", "medium", "high"))),
    Family(r"gemini-3-pro", Facts(efforts=("low", "high"))),
    Family(r"gemini-2-5", Facts(thinking_forms=("adaptive", "budget"), efforts=(), budgets=(0, 24_576))),
    Family(r"gemini-2-5-pro", Facts(budgets=(128, 32_768))),  # its thinking cannot be disabled
    Family(r"gemini-(1|2-0|pro$|flash$)", Facts(
        thinking=False, thinking_forms=(), efforts=(), max_output_tokens=8_192)),
    Family(r"gemini-.*(image|tts|live)", Facts(
        tools=False, thinking=False, thinking_forms=(), efforts=(), max_context_tokens=32_768,
        max_output_tokens=32_768)),
    Family(r"gemma", merged(TEXT, Facts(images=True, thinking=True, thinking_forms=("toggle",)))),
    Family(r"gemma-?[123]", Facts(thinking=False, thinking_forms=())),
    Family(r"gemma-?[12]", Facts(images=False, tools=False)),

    # --------------------------------------------------------------------------------------- others, newest facts first
    Family(r"mistral|ministral|codestral|devstral|pixtral|magistral|voxtral|mixtral", Facts(
        images=True, documents=True, audio=False, video=False, thinking=True, structured_output=True,
        prompt_caching=False, thinking_forms=("effort",)), "mistral"),
    Family(r"codestral|devstral|mixtral|open-mistral|mistral-7b|ministral-.*-24\d\d", Facts(
        images=False, documents=False, thinking=False, thinking_forms=())),
    Family(r"mistral-(small|medium|large)-2[345]\d\d|pixtral", Facts(thinking=False, thinking_forms=())),
    Family(r"voxtral", Facts(audio=True, images=False, documents=False, thinking=False)),
    Family(r"deepseek", merged(TEXT, Facts(
        thinking=True, structured_output=False, thinking_forms=("toggle", "effort"), forces_while_thinking=False,
        efforts=("minimal", "low", "medium", "high", "xhigh", "max"), max_context_tokens=1_000_000)), "deepseek"),
    Family(r"deepseek-(r1|v[123]|coder|prover)", Facts(max_context_tokens=128_000, efforts=(), thinking_forms=())),
    Family(r"deepseek-(v3|chat|coder)", Facts(thinking=False)),
    Family(r"grok", Facts(
        images=True, documents=False, audio=False, video=False, thinking=True, structured_output=True,
        prompt_caching=False, thinking_forms=("effort",), efforts=("none", "low", "medium", "high", "xhigh")), "xai"),
    Family(r"grok-[123]|grok-code|non-reasoning", Facts(thinking=False, thinking_forms=(), efforts=())),
    Family(r"grok-(1|2-1|3|code)", Facts(images=False)),
    Family(r"grok-3-mini", Facts(thinking=True, thinking_forms=("effort",), efforts=("low", "high"))),
    Family(r"kimi|moonshot", Facts(
        images=True, documents=False, audio=False, video=False, thinking=True, structured_output=True,
        prompt_caching=False, thinking_forms=("toggle",)), "moonshot"),
    Family(r"kimi-k2(-\d{4}|-turbo|-thinking|-instruct|$)", Facts(images=False, max_context_tokens=262_144)),
    Family(r"glm|zai", merged(TEXT, Facts(
        thinking=True, structured_output=True, thinking_forms=("toggle", "effort"))), "zai"),
    Family(r"glm-\d(-\d)?v", Facts(images=True, video=True)),
    Family(r"minimax", merged(TEXT, Facts(thinking=True, thinking_forms=("toggle",))), "minimax"),
    Family(r"qwen|qwq", merged(TEXT, Facts(
        thinking=True, structured_output=True, thinking_forms=("toggle", "effort")))),
    Family(r"qwen.*(vl|omni)|qwen3-[5-9]|qwen-?[4-9]", Facts(images=True)),
    Family(r"qwen-?[12]|qwen3.*(instruct|coder)", Facts(thinking=False, thinking_forms=())),
    Family(r"llama(?!-?cpp)", merged(TEXT, Facts(structured_output=True, max_context_tokens=131_072))),
    Family(r"llama-?4|llama-guard-4|llama-?3-2.*(vision|11b|90b)|llava", Facts(images=True)),
    Family(r"nova", Facts(
        images=True, documents=True, audio=False, video=True, thinking=False, structured_output=False,
        prompt_caching=True, image_types=PICTURES)),
    Family(r"nova-micro", merged(TEXT, Facts(prompt_caching=True))),
    Family(r"nova-2", Facts(
        thinking=True, thinking_forms=("toggle", "effort"), efforts=("low", "medium", "high"))),
    Family(r"^command|^c4ai", merged(TEXT, Facts(structured_output=True)), "cohere"),
    Family(r"command-a-vision|aya-vision", Facts(images=True)),
    Family(r"command-a-reasoning", Facts(thinking=True, thinking_forms=("toggle", "budget"))),
    Family(r"^sonar", Facts(
        images=True, documents=True, audio=False, video=False, thinking=False, tools=False, structured_output=True,
        prompt_caching=False), "perplexity"),
    Family(r"^sonar-(reasoning|deep)", Facts(thinking=True)),
)

# What a provider adds to the models that it serves, and corrections of the packaged data; all from recorded traffic.
RECORDED: tuple[tuple[str | None, str, Facts], ...] = (
    # provider     pattern               facts
    (None,         r"^gpt-3-5|^gpt-35",  Facts(tools=True)),
    (None,         r"gpt-oss",           Facts(tools=True, thinking=True)),
    ("bedrock",    r"claude|llama",      Facts(documents=True)),  # Bedrock reads them and gives the model their text
    ("openrouter", r"",                  Facts(  # one way to request reasoning, converted for each model
        rejects=(), rejects_while_thinking=(), thinking_forms=("level", "budget"), efforts=OPENAI_EFFORTS,
        prompt_caching=True)),
)
# fmt: on

_COMPILED = tuple((re.compile(row.pattern), row) for row in FAMILIES)
_PREFIXES = re.compile(r"^([a-z-]{2,8}\.)?(anthropic|openai|meta|mistral|amazon|deepseek|qwen|zai|moonshotai)\.")
LONGEST_NAME = 200  # characters that patterns match: a name may come from outside, and some patterns look far ahead
_NUMBER_FIRST = re.compile(r"claude-([4-9])(-\d)?-(haiku|sonnet|opus)")  # some providers write claude-4-opus


@lru_cache(maxsize=512)
def plain(model: str) -> str:
    """The name that patterns match: no provider, no vendor, lower case, hyphens for dots.

    ``us.anthropic.claude-opus-4-7-v1:0``, ``anthropic/claude-opus-4.7`` and ``claude-opus-4-7`` are one family.
    """
    name = _PREFIXES.sub("", model.lower().rsplit("/", 1)[-1][:LONGEST_NAME]).replace(".", "-")
    return _NUMBER_FIRST.sub(r"claude-\3-\1\2", name)


@lru_cache(maxsize=512)
def family_facts(model: str) -> Facts | None:
    """The facts of all rows that match this name; None if no row matches."""
    name = plain(model)
    found = [row.facts for pattern, row in _COMPILED if pattern.search(name)]
    return merged(*found) if found else None


def home(model: str) -> str | None:
    """The provider that makes models of this name; None if no row names it."""
    name = plain(model)
    return next((row.home for pattern, row in _COMPILED if row.home and pattern.search(name)), None)


class Recorded:
    """A layer above the packaged data, with facts from recorded traffic about models of known families."""

    name = "recorded"

    def facts(self, provider: str, model: str) -> Facts | None:
        """The recorded facts of this model at this provider."""
        name = plain(model)
        rows = [row for where, pattern, row in RECORDED if where in (None, provider) and re.search(pattern, name)]
        return merged(*rows) if rows and family_facts(model) is not None else None

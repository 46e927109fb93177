"""Facts of OpenAI Chat that no row states: its name, what its servers accept, what compatible servers do otherwise.

How audio, reasoning and content are read and written stands at the end.

Quirks are data and a closed list. Reading needs none of them: the decoder accepts all spellings and marks the one that
it saw. Quirks decide what is *written* to a server that is named, by ``dialect("openai-chat", provider=…)`` or by
``Target``. Each field is read in exactly one place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ...codec.history.rules import PLACEHOLDER
from ...codec.json import is_array, is_object
from ...codec.ledger import Ledger
from ...codec.rows.kinds import OMIT, REFUSED, Each, Texts
from ...codec.rows.table import Table
from ...codec.tools.ids import IdRule
from ...codec.tools.tool_names import NameRule
from ...types.base import Json
from ...types.blocks import Base64Source, TextBlock
from ...types.capabilities import Target

if TYPE_CHECKING:
    from ...codec.rows.source import Source

__all__ = ["OPENAI", "QUIRKS", "Quirks"]

NAME = "openai-chat"
NAMES = NameRule("a-zA-Z0-9_-", 64)
PATH = "/v1/chat/completions"
EMPTY = f"{NAME} accepts no empty message; a placeholder was added"
TIERS = ("auto", "default", "flex", "scale", "priority", "fast")
CACHE_TIMES = ("30m", "12h")
AUDIO_TYPES = {"wav": "audio/wav", "mp3": "audio/mpeg"}
AUDIO_WORDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
THINKING_KEYS = ("reasoning_content", "reasoning")
"""The fields in which servers show reasoning. The first one is written unless another one was read."""
DERIVED_ID = re.compile(r"call_\d+(?:_\d+)?")
"""An id that we made for a call without one. It is not sent; an edited id is."""

UP_TO_40 = IdRule(re.compile(r"(?s).{1,40}"))
EXACTLY_9 = IdRule(re.compile(r"[a-zA-Z0-9]{9}"), prefix="", length=9)


class Quirks(Struct, frozen=True, kw_only=True):
    """What one compatible server does otherwise. The defaults are what OpenAI does, or what most servers do."""

    max_tokens_key: str = "max_completion_tokens"
    seed_key: str = "seed"
    top_k: bool = False
    """Takes ``top_k``."""
    thinking_key: str | None = None
    """The message field in which reasoning is sent back; None if the server takes none."""
    replay_thinking: bool = False
    """Assistant turns with tool calls must include their reasoning, if only as an empty string."""
    thinking_param: str = "reasoning_effort"
    """The parameter that requests thinking: ``reasoning_effort``, or an object ``thinking`` or ``reasoning``."""
    cache_key: str | None = "prompt_cache_breakpoint"
    """The key that marks a cache point on a content part; None if the server has no cache points."""
    ids: IdRule = UP_TO_40
    """Which call ids the server takes."""
    any_word: str = "required"
    """The tool choice that means "some tool must be called"."""
    developer_role: bool = True
    """Knows the role ``developer``."""
    stream_usage: bool = True
    """Takes ``stream_options``; other servers always send usage."""
    parallel: bool = True
    """Takes ``parallel_tool_calls``."""
    strict: bool = True
    """Takes ``strict`` on tools."""
    free_text: bool = False
    """Takes free-text tools, ``custom``: only OpenAI does, llama.cpp answers 500."""
    list_content: bool = False
    """Takes documents by URL and reasoning as content parts."""


OPENAI = Quirks(free_text=True)


def _compatible(thinking_key: str | None = None, **more: Any) -> Quirks:
    """The quirks of most servers: they take the older names, and nothing that OpenAI added later."""
    usual: dict[str, Any] = {"max_tokens_key": "max_tokens", "cache_key": None, "developer_role": False}
    return Quirks(thinking_key=thinking_key, **usual | more)


NEW_KEY: dict[str, Any] = {"max_tokens_key": "max_completion_tokens"}
CONTENT, REASONING = THINKING_KEYS
# fmt: off
QUIRKS: dict[str, Quirks] = {
    "openai":         OPENAI,
    "azure":          OPENAI,
    "mistral":        _compatible(seed_key="random_seed", top_k=True, ids=EXACTLY_9, any_word="any", stream_usage=False,
                                  list_content=True),
    "deepseek":       _compatible(CONTENT, replay_thinking=True, thinking_param="thinking", parallel=False),
    "groq":           _compatible(REASONING, **NEW_KEY),
    "xai":            _compatible(**NEW_KEY),
    "together":       _compatible(REASONING, top_k=True),
    "fireworks":      _compatible(CONTENT, top_k=True, any_word="any"),
    "openrouter":     _compatible(REASONING, top_k=True, cache_key="cache_control", thinking_param="reasoning"),
    "cerebras":       _compatible(REASONING, **NEW_KEY),
    "perplexity":     _compatible(stream_usage=False, parallel=False, strict=False),
    "vllm":           _compatible(REASONING, top_k=True),
    "llamacpp":       _compatible(CONTENT, top_k=True),
    "local":          _compatible(CONTENT, top_k=True),
    "lmstudio":       _compatible(CONTENT, top_k=True),
    "ollama":         _compatible(REASONING),
    "cohere":         _compatible(developer_role=True, parallel=False),
    "google":         _compatible(),
    "github-copilot": _compatible(),
    "huggingface":    _compatible(),
    "venice":         _compatible(),
    "zai":            _compatible(CONTENT, thinking_param="thinking"),
    "moonshot":       _compatible(CONTENT, thinking_param="thinking"),
}
# fmt: on


def quirks_of(provider: str | None, target: Target | None) -> tuple[Quirks, bool]:
    """The quirks of the server that is written to, and whether it is named: then its quirks win over marks."""
    if target is not None and isinstance(target.quirks, Quirks):
        return target.quirks, True
    name = target.provider if target is not None and target.provider is not None else provider
    return (QUIRKS[name], True) if name in QUIRKS else (OPENAI, False)


# ------------------------------------------------------------------------------------------------ audio and reasoning


def read_format(wire: Json) -> Any:
    """Read a format of audio as a media type. Formats of other servers are put behind ``audio/``."""
    return AUDIO_TYPES.get(wire, f"audio/{wire}") if type(wire) is str else REFUSED


def write_format(media_type: str, ledger: Ledger) -> Json:
    word = AUDIO_WORDS.get(media_type)
    if word is None:
        ledger.lose("dropped", f"{NAME} takes audio as {' or '.join(AUDIO_TYPES)}, not {media_type}")
        return OMIT
    if AUDIO_TYPES[word] != media_type:
        ledger.lose_form("approximated", f"{NAME} calls {media_type} {word}")
    return word


def read_sound(wire: Json) -> Any:
    """Read the audio of an answer, which is data only: the request chose its type."""
    return Base64Source("audio/wav", wire) if type(wire) is str and wire else REFUSED


def write_sound(source: Base64Source, ledger: Ledger) -> Json:
    return source.data


def read_thought(wire: Json) -> Any:
    """Read reasoning that is a list of text parts; ``REFUSED`` unless it is a single part."""
    return wire[0]["text"] if holds_one_text(wire) else REFUSED


def write_thought(text: str, ledger: Ledger) -> Json:
    return [{"type": "text", "text": text}]


def holds_one_text(wire: Json) -> bool:
    """Whether a list holds one text part and nothing else."""
    if not is_array(wire) or len(wire) != 1 or not is_object(part := wire[0]):
        return False
    return part.keys() == {"type", "text"} and part["type"] == "text" and type(part["text"]) is str


# ------------------------------------------------------------------------------------------------- kinds of content


class MessageContent(Texts):
    """The content of a message that is not the assistant's. It may not be empty."""

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        written = super().write(value, ledger, marks)
        if written is OMIT:
            ledger.lose("added", EMPTY)
            return PLACEHOLDER
        return written


class MixedContent(Texts):
    """The content of an assistant's or a tool's message. It is marked if it has anything but texts."""

    def list_mark(self, values: Sequence[Any]) -> str | None:
        return super().list_mark(values) if {TextBlock}.issuperset(map(type, values)) else "parts"


class ResultContent(MixedContent):
    """The content of a tool's message: text, unless it had other parts when it was read."""

    def __init__(self, parts: Table, texts: Table) -> None:
        super().__init__(parts, "string")
        self.texts = Texts(texts, "string")

    def write(self, value: Any, ledger: Ledger, marks: Mapping[str, Json]) -> Json:
        if marks.get(self.mark) == "parts":
            return Each(self.table).write(value, ledger, marks)
        written = self.texts.write(value, ledger, marks)
        texts = [block.text for block in value if type(block) is TextBlock and block.text]
        is_one = len(texts) == 1 and written == [{"type": "text", "text": texts[0]}]
        return texts[0] if is_one and self.mark not in marks else "" if written is OMIT else written

    def emit_write(self, source: Source, var: str) -> None:
        self.texts.emit_write(source, var)

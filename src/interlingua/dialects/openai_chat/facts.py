"""Facts of OpenAI Chat that are no phrases: its name, what its servers accept, what compatible ones do otherwise.

How sound and thoughts are spelled stands at the end.

Quirks are a closed list, as data. Reading needs none of them: the decoder accepts the union of all spellings and marks
which one it saw. They steer what is *written* to a server that was named, by ``dialect("openai-chat", provider=…)`` or
by ``Target``. Each field is read in exactly one place.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from ...codec.json import is_array, is_object
from ...codec.ledger import Ledger
from ...codec.rows.kinds import OMIT, REFUSED
from ...codec.tools.ids import IdRule
from ...types.base import Json
from ...types.blocks import Base64Source
from ...types.capabilities import Target

__all__ = ["OPENAI", "QUIRKS", "Quirks"]

NAME = "openai-chat"
PATH = "/v1/chat/completions"
TIERS = ("auto", "default", "flex", "scale", "priority", "fast")
EFFORTS = ("minimal", "low", "medium", "high", "xhigh", "max")
CACHE_TIMES = ("30m", "12h")
AUDIO_TYPES = {"wav": "audio/wav", "mp3": "audio/mpeg"}
AUDIO_WORDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
"""Of the names that are made up for documents: data need one."""
THINKING_KEYS = ("reasoning_content", "reasoning")
"""The fields in which servers show reasoning; the first is written where none was read."""
DERIVED_ID = re.compile(r"call_\d+(?:_\d+)?")
"""An id that stands for none on the wire; an edited one is sent."""

FORTY = IdRule(re.compile(r"(?s).{1,40}"))
NINE = IdRule(re.compile(r"[a-zA-Z0-9]{9}"), prefix="", length=9)


class Quirks(Struct, frozen=True, kw_only=True):
    """How one compatible server wants to be spoken to. The defaults are OpenAI's, or what all others do."""

    max_tokens_key: str = "max_completion_tokens"
    seed_key: str = "seed"
    top_k: bool = False
    """Takes ``top_k``."""
    thinking_key: str | None = None
    """The message field in which reasoning goes back; None where there is none."""
    replay_thinking: bool = False
    """Turns with tool calls must bring their reasoning back, if only as an empty string."""
    thinking_param: str = "reasoning_effort"
    """How thinking is asked for: ``reasoning_effort``, or an object ``thinking`` or ``reasoning``."""
    cache_key: str | None = "prompt_cache_breakpoint"
    """The attribute of a content part that marks a cache point."""
    ids: IdRule = FORTY
    """Which call ids the server takes."""
    any_word: str = "required"
    """The word for: some tool must be called."""
    developer_role: bool = True
    """Knows the role ``developer``."""
    stream_usage: bool = True
    """Takes ``stream_options``; the others send usage unasked."""
    parallel: bool = True
    """Takes ``parallel_tool_calls``."""
    strict: bool = True
    """Takes ``strict`` on tools."""
    free_text: bool = False
    """Takes tools of free text, ``custom``: OpenAI's alone does, llama.cpp answers 500."""
    list_content: bool = False
    """Takes documents by URL and reasoning as parts of the content."""


OPENAI = Quirks(free_text=True)
_PLAIN = Quirks(max_tokens_key="max_tokens", cache_key=None, developer_role=False)

QUIRKS: dict[str, Quirks] = {
    "openai": OPENAI,
    "azure": OPENAI,
    "mistral": Quirks(
        max_tokens_key="max_tokens", seed_key="random_seed", top_k=True, cache_key=None, ids=NINE, any_word="any",
        developer_role=False, stream_usage=False, list_content=True,
    ),
    "deepseek": Quirks(
        max_tokens_key="max_tokens", cache_key=None, developer_role=False, thinking_key="reasoning_content",
        replay_thinking=True, thinking_param="thinking", parallel=False,
    ),
    "groq": Quirks(cache_key=None, developer_role=False, thinking_key="reasoning"),
    "xai": Quirks(cache_key=None, developer_role=False),
    "together": Quirks(
        max_tokens_key="max_tokens", top_k=True, cache_key=None, developer_role=False, thinking_key="reasoning",
    ),
    "fireworks": Quirks(
        max_tokens_key="max_tokens", top_k=True, cache_key=None, developer_role=False,
        thinking_key="reasoning_content", any_word="any",
    ),
    "openrouter": Quirks(
        max_tokens_key="max_tokens", top_k=True, cache_key="cache_control", developer_role=False,
        thinking_key="reasoning", thinking_param="reasoning",
    ),
    "cerebras": Quirks(cache_key=None, developer_role=False, thinking_key="reasoning"),
    "perplexity": Quirks(
        max_tokens_key="max_tokens", cache_key=None, developer_role=False, stream_usage=False, parallel=False,
        strict=False,
    ),
    "vllm": Quirks(
        max_tokens_key="max_tokens", top_k=True, cache_key=None, developer_role=False, thinking_key="reasoning",
    ),
    "llamacpp": Quirks(
        max_tokens_key="max_tokens", top_k=True, cache_key=None, developer_role=False,
        thinking_key="reasoning_content",
    ),
    "local": Quirks(
        max_tokens_key="max_tokens", top_k=True, cache_key=None, developer_role=False,
        thinking_key="reasoning_content",
    ),
    "lmstudio": Quirks(
        max_tokens_key="max_tokens", top_k=True, cache_key=None, developer_role=False,
        thinking_key="reasoning_content",
    ),
    "ollama": Quirks(max_tokens_key="max_tokens", cache_key=None, developer_role=False, thinking_key="reasoning"),
    "cohere": Quirks(max_tokens_key="max_tokens", cache_key=None, parallel=False),
    "google": _PLAIN,
    "github-copilot": _PLAIN,
    "huggingface": _PLAIN,
    "venice": _PLAIN,
    "zai": Quirks(
        max_tokens_key="max_tokens", cache_key=None, developer_role=False, thinking_key="reasoning_content",
        thinking_param="thinking",
    ),
    "moonshot": Quirks(
        max_tokens_key="max_tokens", cache_key=None, developer_role=False, thinking_key="reasoning_content",
        thinking_param="thinking",
    ),
}  # fmt: skip


def quirks_of(provider: str | None, target: Target | None) -> tuple[Quirks, bool]:
    """The quirks to write by, and whether they are a named server's, which win over marks."""
    if target is not None and isinstance(target.quirks, Quirks):
        return target.quirks, True
    name = target.provider if target is not None and target.provider is not None else provider
    return (QUIRKS[name], True) if name in QUIRKS else (OPENAI, False)


# --------------------------------------------------------------------------------- how sound and thoughts are spelled


def read_format(wire: Json) -> Any:
    """The type of sound. Servers that take further formats say theirs behind ``audio/``."""
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
    """The sound of an answer: data alone, whose type the request chose."""
    return Base64Source("audio/wav", wire) if type(wire) is str and wire else REFUSED


def write_sound(source: Base64Source, ledger: Ledger) -> Json:
    return source.data


def read_thought(wire: Json) -> Any:
    """Reasoning as a part: a list of text parts, of which a single one is ours."""
    return wire[0]["text"] if holds_one_text(wire) else REFUSED


def write_thought(text: str, ledger: Ledger) -> Json:
    return [{"type": "text", "text": text}]


def holds_one_text(wire: Json) -> bool:
    """Whether a list holds one text part and nothing else."""
    if not is_array(wire) or len(wire) != 1 or not is_object(part := wire[0]):
        return False
    return part.keys() == {"type", "text"} and part["type"] == "text" and type(part["text"]) is str

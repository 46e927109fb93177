"""A language model of a few kilobytes in llama.cpp's own file format, made on the spot.

It recites. Attention and feed-forward weights are zero, so the next token depends on the last one alone; each token of
a script has a dimension of its own, and the output matrix says which token follows. Which script is recited is decided
by the last token of the prompt, which the chat template writes. The format: docs/gguf.md in the ggml repository.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["ANSWER", "CALL", "TICKS", "write_model"]

WIDTH, INNER, CONTEXT = 64, 32, 65536
ALIGNMENT = 32

# What is recited. Within all scripts no token stands twice, or it would not be known what follows it.
ANSWER = ("A", " small", " machine", " speaks", ".")
TICKS = (" tick", " tock")
CALL = ("<tool_call>", '\n{"name":', ' "add",', ' "arguments":', ' {"a":', " 2,", ' "b":', " 3", "}}\n", "</tool_call>")

SAY, ACT, RUN, END = "<|say|>", "<|act|>", "<|run|>", "<|im_end|>"
FOLLOWS = dict(
    (
        *zip((SAY, *ANSWER), (*ANSWER, END), strict=True),
        *zip((ACT, *CALL), (*CALL, END), strict=True),
        *zip((RUN, *TICKS), (*TICKS, TICKS[0]), strict=True),
    )
)
SURE, NEVER = 30.0, -30.0
"""The scores of the token that follows and of all others."""

UNKNOWN, NORMAL, CONTROL, USER, BYTE = 2, 1, 3, 4, 6  # kinds of tokens
"""``UNKNOWN`` is the vocabulary's own word for what it cannot spell."""

TEMPLATE = """\
{%- if messages[0].role == 'system' %}{% set first = messages[0].content %}{% endif -%}
{%- if tools or first %}<|im_start|>system
{{ first or '' }}
{%- if tools %}
To call a function, write <tool_call>{"name": ..., "arguments": {...}}</tool_call>. The functions:
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
{%- endif %}<|im_end|>
{% endif -%}
{%- for message in messages -%}
{%- if message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% elif message.role == 'assistant' %}<|im_start|>assistant
{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% elif message.role == 'user' %}<|im_start|>user
{{ message.content }}<|im_end|>
{% endif -%}
{%- endfor -%}
{%- if add_generation_prompt %}<|im_start|>assistant
{% if tools and messages[-1].role == 'user' %}<|act|>
{%- elif 'for ever' in messages[-1].content %}<|run|>
{%- else %}<|say|>
{%- endif %}
{%- endif -%}
"""


class Token(NamedTuple):
    text: str
    kind: int


def vocabulary() -> list[Token]:
    """Every byte, so that any text can be said; the letters, so that it is not too long; and the scripts."""
    control = ("<s>", "</s>", "<|im_start|>", END, SAY, ACT, RUN)
    recited = [text.replace(" ", "▁") for text in (*ANSWER, *TICKS, *CALL[1:-1])]
    letters = ["▁", *(chr(code) for code in range(33, 127))]
    return [
        Token("<unk>", UNKNOWN),
        *(Token(text, CONTROL) for text in control),
        *(Token(text, USER) for text in (CALL[0], CALL[-1])),
        *(Token(f"<0x{code:02X}>", BYTE) for code in range(256)),
        *(Token(text, NORMAL) for text in dict.fromkeys((*letters, *recited))),
    ]


def weights(tokens: Sequence[Token]) -> Iterator[tuple[str, tuple[int, ...], array[float]]]:
    """Name, shape (the fastest dimension first) and values of each tensor."""
    place = {token.text: number for number, token in enumerate(tokens)}
    state = {text.replace(" ", "▁"): number + 1 for number, text in enumerate(FOLLOWS)}
    embedding, output = (array("f", [0.0]) * (len(tokens) * WIDTH) for _ in range(2))
    for token in tokens:
        embedding[place[token.text] * WIDTH + state.get(token.text, 0)] = 1.0
    scale = WIDTH**-0.5  # the norm before the output makes 1.0 the root of the width
    for index in range(len(output)):
        output[index] = NEVER * scale
    for text, follower in FOLLOWS.items():
        row, column = place[follower.replace(" ", "▁")], state[text.replace(" ", "▁")]
        output[row * WIDTH + column] = SURE * scale
    for column in (0, *range(len(FOLLOWS) + 1, WIDTH)):  # after anything else: stop
        output[place[END] * WIDTH + column] = SURE * scale
    yield "token_embd.weight", (WIDTH, len(tokens)), embedding
    yield "output.weight", (WIDTH, len(tokens)), output
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        yield f"{name}.weight", (WIDTH,), array("f", [1.0]) * WIDTH
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        yield f"blk.0.{name}.weight", (WIDTH, WIDTH), array("f", [0.0]) * WIDTH**2
    for name, shape in (("gate", (WIDTH, INNER)), ("up", (WIDTH, INNER)), ("down", (INNER, WIDTH))):
        yield f"blk.0.ffn_{name}.weight", shape, array("f", [0.0]) * (WIDTH * INNER)


def facts(tokens: Sequence[Token]) -> dict[str, Any]:
    """The header's keys and values."""
    texts = [token.text for token in tokens]
    return {
        "general.architecture": "llama",
        "general.name": "recites",
        "llama.context_length": CONTEXT,
        "llama.embedding_length": WIDTH,
        "llama.block_count": 1,
        "llama.feed_forward_length": INNER,
        "llama.attention.head_count": 1,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "llama.rope.dimension_count": WIDTH,
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": texts,
        "tokenizer.ggml.scores": [-float(len(text)) for text in texts],
        "tokenizer.ggml.token_type": [token.kind for token in tokens],
        "tokenizer.ggml.bos_token_id": texts.index("<s>"),
        "tokenizer.ggml.eos_token_id": texts.index(END),
        "tokenizer.ggml.unknown_token_id": 0,
        "tokenizer.ggml.add_bos_token": False,
        "tokenizer.ggml.add_space_prefix": False,
        "tokenizer.chat_template": TEMPLATE,
    }


# ------------------------------------------------------------------------------------------------------ the file


def string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


# type of Python   its number in the format, and how a value is written
WRITERS: dict[type, tuple[int, Any]] = {
    bool: (7, lambda value: struct.pack("<?", value)),
    int: (4, lambda value: struct.pack("<I", value)),
    float: (6, lambda value: struct.pack("<f", value)),
    str: (8, string),
}
LIST = 9
SIGNED = 5
"""Kinds of tokens are signed integers."""


def value(thing: Any) -> bytes:
    """A value with its type before it."""
    if isinstance(thing, list):
        number, write = WRITERS[type(thing[0])]
        number = SIGNED if type(thing[0]) is int else number
        return struct.pack("<IIQ", LIST, number, len(thing)) + b"".join(map(write, thing))
    number, write = WRITERS[type(thing)]
    return struct.pack("<I", number) + write(thing)


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % ALIGNMENT)


def write_model(path: Path) -> Path:
    """Write the model; returns its path."""
    tokens = vocabulary()
    tensors, known = list(weights(tokens)), facts(tokens)
    head = [b"GGUF", struct.pack("<IQQ", 3, len(tensors), len(known))]
    head += [string(key) + value(thing) for key, thing in known.items()]
    offset = 0
    for name, shape, values in tensors:
        dimensions = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        head.append(string(name) + dimensions + struct.pack("<IQ", 0, offset))  # 0: 32-bit floats
        offset += len(padded(values.tobytes()))
    data = [padded(values.tobytes()) for _, _, values in tensors]
    path.write_bytes(padded(b"".join(head)) + b"".join(data))
    return path

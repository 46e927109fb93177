"""``python -m lab.phrasebook``: writes docs/dialects.md, which shows how each dialect expresses each concept.

Only the concepts are written here: each cell is the output of the dialect's own encoder, without what it writes for
any request, or the loss that it declares.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from interlingua import (
    DIALECTS,
    AudioBlock,
    Base64Source,
    Block,
    CacheMark,
    DocumentBlock,
    Encoded,
    ImageBlock,
    JsonBlock,
    Message,
    Origin,
    RedactedThinkingBlock,
    RefusalBlock,
    Request,
    TextBlock,
    Thinking,
    ThinkingBlock,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
    VideoBlock,
    dialect,
)
from interlingua.codec.json import is_dict, is_list
from interlingua.testing.examples import PARAMETERS

PIXEL = Base64Source("image/png", "iVBORw0KGgo=")
PDF = Base64Source("application/pdf", "JVBERi0=")
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CLOSED: dict[str, Any] = {**SCHEMA, "additionalProperties": False}
TOOL = ToolDefinition("weather", "Current weather", SCHEMA)
CALL = ToolUseBlock("call_1", "weather", input={"city": "Oslo"})
BASE = Request(messages=(Message("user", "hi"),), model="m", max_output_tokens=9)
Concept = Callable[[str], Request]


def user(*blocks: Block) -> Concept:
    return lambda _: replace(BASE, messages=(Message("user", blocks),))


def assistant(*blocks: Block, answer: Block | None = None) -> Concept:
    def request(name: str) -> Request:
        turns = [*BASE.messages, Message("assistant", blocks, origin=Origin(dialect=name))]
        calls = any(isinstance(block, ToolUseBlock) for block in blocks)
        turns.append(Message("tool", (answer or ToolResultBlock("call_1", "snow"),)) if calls else BASE.messages[0])
        return replace(BASE, messages=tuple(turns), tools=(TOOL,) if calls else ())

    return request


def setting(**fields: Any) -> Concept:
    return lambda _: replace(BASE, **fields)


def offered(**fields: Any) -> Concept:
    return lambda _: replace(BASE, tools=(TOOL,), **fields)


CONCEPTS: dict[str, dict[str, Concept]] = {
    "Content": {
        "text": user(TextBlock("hi")),
        "image, inline": user(ImageBlock(PIXEL)),
        "image, by URL": user(ImageBlock(UrlSource("https://e.org/a.png"))),
        "image with detail": user(ImageBlock(PIXEL, detail="low")),
        "document, inline": user(DocumentBlock(PDF, filename="a.pdf")),
        "document, by URL": user(DocumentBlock(UrlSource("https://e.org/a.pdf"))),
        "audio": user(AudioBlock(Base64Source("audio/wav", "UklGRg=="))),
        "video": user(VideoBlock(Base64Source("video/mp4", "AAAA"))),
        "cache mark": user(TextBlock("hi", cache=CacheMark())),
    },
    "Turns": {
        "system": setting(system=(TextBlock("Be terse."),)),
        "later system text": setting(messages=(Message("user", "hi"), Message("assistant", "yes"),
                                               Message("user", "go"), Message("system", "Be brief."))),
        "own reasoning": assistant(ThinkingBlock("Hm.", signature="c2ln"), TextBlock("yes")),
        "own redacted reasoning": assistant(RedactedThinkingBlock("ZGF0YQ=="), TextBlock("yes")),
        "refusal": assistant(RefusalBlock("No.")),
        "call and result": assistant(CALL),
        "failed result": assistant(CALL, answer=ToolResultBlock("call_1", "no such city", is_error=True)),
        "structured result": assistant(CALL, answer=ToolResultBlock("call_1", (JsonBlock({"c": -3}),))),
        "result with an image": assistant(CALL, answer=ToolResultBlock("call_1", (ImageBlock(PIXEL),))),
        "free-text call": assistant(ToolUseBlock("call_1", "weather", "text", {}, "Oslo")),
    },
    "Tools": {
        "tool": offered(),
        "strict tool": setting(tools=(replace(TOOL, strict=True),)),
        "free-text tool": setting(tools=(ToolDefinition("grep", "A pattern", kind="text"),)),
        "cached tool": setting(tools=(replace(TOOL, cache=CacheMark()),)),
        "choice: auto": offered(tool_choice=ToolChoice.auto()),
        "choice: any": offered(tool_choice=ToolChoice.any()),
        "choice: this one": offered(tool_choice=ToolChoice.specific("weather")),
        "choice: none": offered(tool_choice=ToolChoice.none()),
        "choice: allowed": offered(tool_choice=ToolChoice(mode="any", allowed=("weather",))),
        "one call at a time": offered(tool_choice=ToolChoice(parallel=False)),
    },
    "Parameters": {
        "no limit given": setting(max_output_tokens=None),
        **{name.replace("_", " "): setting(**{name: values[0]}) for name, values in PARAMETERS.items()},
        "top logprobs": setting(logprobs=True, top_logprobs=3),
        "output schema": setting(output_schema=CLOSED),
        "output name": setting(output_schema=CLOSED, output_name="city"),
        "output description": setting(output_schema=CLOSED, output_description="A city."),
        "effort": setting(thinking=Thinking(effort="low")),
        "thinking budget": setting(thinking=Thinking(mode="enabled", budget=2048)),
        "thinking off": setting(thinking=Thinking(mode="disabled")),
        "user id": setting(metadata={"user_id": "u1"}),
    },
}  # fmt: skip


def only(body: Any, anyway: Any) -> Any:
    """The parts of a body that another body (``anyway``) does not have."""
    if is_dict(body) and is_dict(anyway):
        return {k: only(v, anyway[k]) if k in anyway else v for k, v in body.items() if anyway.get(k, _NO) != v}
    if is_list(body) and is_list(anyway):
        rest = [item for index, item in enumerate(body) if index >= len(anyway) or item != anyway[index]]
        return rest or body
    return body


_NO = object()


def cell(name: str, concept: Concept, anyway: Encoded, basis: Encoded) -> str:
    speaker = dialect(name)
    try:
        encoded = speaker.encode_request(concept(name))
    except Exception as error:  # noqa: BLE001 - whatever a dialect raises is shown in the cell
        return f"refused: {error}"
    losses = [loss for loss in encoded.losses if loss not in basis.losses]
    body = only(encoded.body, anyway.body) if encoded.body != anyway.body else encoded.body
    parts = [f"`{json.dumps(body, ensure_ascii=False)}`"] if body and encoded.body != anyway.body else []
    if encoded.headers != anyway.headers:
        parts.append(f"header `{', '.join(encoded.headers.keys() - anyway.headers.keys())}`")
    if encoded.path != anyway.path:
        parts.append(f"`{encoded.path}`")
    parts += [f"*{loss.kind}* `{loss.path}`: {loss.reason}" for loss in losses]
    return "<br>".join(part.replace("|", "\\|") for part in parts) or "as always"


def page() -> Iterator[str]:
    yield "# How each concept is said in each dialect\n"
    generator = "`python -m lab.phrasebook`"
    yield f"Generated by {generator} from the encoders themselves. A cell shows what is said"
    yield "beyond a plain request, and the losses declared for it.\n"
    for chapter, concepts in CONCEPTS.items():
        yield f"\n## {chapter}\n"
        for title, concept in concepts.items():
            yield f"\n**{title}**\n\n| dialect | wire |\n|---|---|"
            for name in DIALECTS:
                anyway = dialect(name).encode_request(BASE)
                yield f"| {name} | {cell(name, concept, anyway, anyway)} |"


def main() -> None:
    text = "\n".join(page()) + "\n"
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text)
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main()

"""Samples for the measurements: a request of about 30 kB as a coding agent sends it, one with media, and streams."""

from __future__ import annotations

import base64
import random

from interlingua import (
    Base64Source,
    DocumentBlock,
    Event,
    ImageBlock,
    Message,
    Request,
    Response,
    TextBlock,
    TextDelta,
    TokenUsage,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    unfold,
)

TOOLS = ("Read", "Write", "Edit", "Bash", "Glob", "Grep", "TodoWrite", "WebFetch", "WebSearch", "Task", "Ask", "Skill")


def tool(name: str, edition: str = "") -> ToolDefinition:
    """A tool with a schema and a description of usual length. Each edition has another schema."""
    text = {"type": "string", "description": f"What {name}{edition} is to work on, as an absolute path or a pattern."}
    number = {"type": "integer", "description": "The line to start from; leave out to start at the top.", "minimum": 0}
    edit = {"type": "object", "properties": {"old": text, "new": text}, "required": ["old", "new"]}
    properties = {
        "path": text,
        "offset": number,
        "limit": number,
        "mode": {"type": "string", "enum": ["content", "files", "count"], "description": "What to return."},
        "edits": {"type": "array", "items": edit, "description": "Edits, applied in order."},
    }
    about = f"{name} does one thing and does it well. " * 6
    return ToolDefinition(name, about, {"type": "object", "properties": properties, "required": ["path"]})


def conversation(turns: int = 12, edition: str = "") -> Request:
    """A history of calls and results under a long system prompt."""
    messages = [Message("user", "Find out why the tests of the parser fail and fix it. " * 4)]
    for turn in range(turns):
        call = ToolUseBlock(f"toolu_{turn:04d}", TOOLS[turn % 6], input={"path": f"/src/parser_{turn}.py", "limit": 40})
        lines = "".join(f"{n:>5}  def step_{n}(self, value): return self.next(value, {n})\n" for n in range(9))
        messages.append(Message("assistant", (TextBlock(f"Step {turn}: I look at the next file."), call)))
        messages.append(Message("tool", (ToolResultBlock(call.id, (TextBlock(lines),)),)))
    return Request(
        tuple(messages),
        model="some-model",
        system=(TextBlock("You are a careful engineer. Say little, test much. " * 40),),
        tools=tuple(tool(name, edition) for name in TOOLS),
        max_output_tokens=4096,
        stream=True,
    )


def with_media(size: int = 750_000) -> Request:
    """Three pictures and a document of ``size`` bytes each, and a question about them."""
    data = base64.b64encode(random.Random(size).randbytes(size)).decode()
    pictures = [ImageBlock(Base64Source("image/png", data)) for _ in range(3)]
    paper = DocumentBlock(Base64Source("application/pdf", data), title="paper.pdf")
    content = (*pictures, paper, TextBlock("What do these pictures show, and does the paper say the same?"))
    return Request((Message("user", content),), model="some-model", max_output_tokens=4096, stream=True)


def answer(words: int = 200) -> list[Event]:
    """The events of a streamed answer, a few words at a time."""
    text = "The parser drops the last token because the loop ends one step early. " * (words // 13)
    whole = Response((TextBlock(text),), id="msg_1", model="some-model", usage=TokenUsage(900, output_tokens=words))
    events: list[Event] = []
    for event in unfold(whole):
        if isinstance(event, TextDelta):
            events += [TextDelta(event.index, text[at : at + 9]) for at in range(0, len(text), 9)]
        else:
            events.append(event)
    return events

"""What a tool returned, or raised, as the model gets it."""

from __future__ import annotations

import base64
import datetime
import enum
import uuid
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pydantic
import pytest

from interlingua import (
    DIALECTS,
    Base64Source,
    DocumentBlock,
    ImageBlock,
    JsonBlock,
    Message,
    Request,
    Secret,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    dialect,
)
from interlingua.agent.tools import Toolbox, tool
from interlingua.agent.tools.results import failure_of, result_of
from tools.tool_support import refused

CALL = ToolUseBlock(id="c1", name="t")
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
IMAGE = ImageBlock(source=Base64Source(media_type="image/png", data=base64.b64encode(PNG).decode()))


class Colour(str, enum.Enum):  # noqa: UP042 - its str() says something else than its value
    RED = "red"


@dataclass
class Row:
    name: str
    when: datetime.date


class Point(msgspec.Struct):
    x: float


class Pet(pydantic.BaseModel):
    name: str
    home: Path


def text(said: str) -> tuple[TextBlock, ...]:
    return (TextBlock(text=said),)


@pytest.mark.parametrize(
    ("value", "content"),
    [
        ("hello", text("hello")),
        ("", ()),
        (Secret("sk-1234567890"), text("**********")),
        (None, text("null")),
        (True, text("true")),
        (1.5, text("1.5")),
        ([1, "a", None], text('[1,"a",null]')),
        ([], text("[]")),
        ({"a": {"b": 1}}, text('{"a":{"b":1}}')),
        (Colour.RED, text('"red"')),
        (Row("a", datetime.date(2024, 1, 2)), text('{"name":"a","when":"2024-01-02"}')),
        ([Point(1.0)], text('[{"x":1.0}]')),
        (Pet(name="a", home=Path("b")), text('{"name":"a","home":"b"}')),
        ({"pets": [Pet(name="a", home=Path("b"))]}, text('{"pets":[{"name":"a","home":"b"}]}')),
        (Path("a/b"), text('"a/b"')),
        ({"key": Secret("sk-1234567890")}, text('{"key":"**********"}')),
        (uuid.UUID(int=0), text('"00000000-0000-0000-0000-000000000000"')),
        ({"b"}, text('["b"]')),
        (TextBlock(text="x"), text("x")),
        (IMAGE, (IMAGE,)),
        ([IMAGE, TextBlock(text="x")], (IMAGE, TextBlock(text="x"))),
        (("see", IMAGE, {"a": 1}), (TextBlock(text="see"), IMAGE, TextBlock(text='{"a":1}'))),
        (JsonBlock(value={"a": 1}), (JsonBlock(value={"a": 1}),)),
        (PNG, (IMAGE,)),
        (bytearray(PNG), (IMAGE,)),
        (b"%PDF-1.7", (DocumentBlock(source=Base64Source(media_type="application/pdf", data="JVBERi0xLjc=")),)),
    ],
)
def test_a_value_as_blocks(value, content):
    assert result_of(CALL, value) == ToolResultBlock(tool_use_id="c1", content=content)


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"GIF89a...", "image/gif"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
def test_pictures_are_known_by_their_first_bytes(data, media_type):
    (block,) = result_of(CALL, data).content
    assert isinstance(block, ImageBlock)
    assert isinstance(block.source, Base64Source)
    assert block.source.media_type == media_type
    assert base64.b64decode(block.source.data) == data


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (object(), "(object) cannot be sent: "),
        ({"a": print}, "(dict) cannot be sent: "),
        (b"\0\1\2", "(bytes) cannot be sent: bytes are sent only if"),
        (b"RIFF\0\0\0\0WAVE", "(bytes) cannot be sent: bytes are sent only if"),
        ((n for n in ()), "(generator) cannot be sent: "),
    ],
)
def test_what_cannot_be_said_is_an_error_that_says_so(value, says):
    result = result_of(CALL, value)
    assert says in refused(result)


def test_a_handler_may_write_the_result_itself():
    own = ToolResultBlock(tool_use_id="whatever", content=(IMAGE,), is_error=True)
    assert result_of(CALL, own) == ToolResultBlock(tool_use_id="c1", content=(IMAGE,), is_error=True)


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ValueError("no such file"), "ValueError: no such file"),
        (KeyError("x"), "KeyError: 'x'"),
        (RuntimeError(), "RuntimeError"),
        (OSError(2, "No such file", "a"), "FileNotFoundError: [Errno 2] No such file: 'a'"),
        (ValueError("unexpected token: ','"), "ValueError: unexpected token: ','"),
        (ValueError("GET /?api_key=abcdefgh12345 401"), "ValueError: GET /?api_key=********** 401"),
        (ValueError("Authorization: Bearer abc.def-ghi123"), "ValueError: Authorization: Bearer **********"),
        (ValueError("https://me:hunter2hunter2@host/"), "ValueError: https://me:**********@host/"),
        (ValueError("key sk-abcdefghijklmnop1234 refused"), "ValueError: key ********** refused"),
    ],
)
def test_an_error_is_its_type_and_its_words(error, says):
    assert failure_of(CALL, error) == ToolResultBlock(tool_use_id="c1", content=says, is_error=True)


@pytest.mark.parametrize("name", sorted(DIALECTS))
@pytest.mark.parametrize("value", ["done", None, {"a": [1]}, ""])
def test_nothing_of_a_plain_result_is_dropped_in_any_dialect(name, value):
    """Were results named, or successes marked, protocols without a word for that would drop it at each turn."""

    @tool
    def t() -> object:
        return value

    box = Toolbox([t])
    results = box.run_sync([CALL])
    request = Request(
        model="m",
        max_output_tokens=9,
        stream=False,
        tools=box.definitions,
        messages=(Message("user", "go"), Message("assistant", (CALL,)), Message("tool", results)),
    )
    lost = dialect(name).encode_request(request).losses
    assert [loss for loss in lost if loss.path.startswith("messages/2") and loss.kind in ("dropped", "moved")] == []

"""The usage of answers that are passed on is what the whole answer says, however its bytes are split."""

from __future__ import annotations

import msgspec
import pytest

from interlingua import DIALECTS, Response, TextBlock, TokenUsage, dialect, unfold
from interlingua.gateway.usage import UsageReader

ANSWER = Response(
    (TextBlock("a" * 50),), "end_turn", id="r", model="m", usage=TokenUsage(30, cached_input_tokens=4, output_tokens=5)
)


@pytest.mark.parametrize("size", [1, 7, 64, 100_000])
@pytest.mark.parametrize("name", DIALECTS)
def test_the_usage_of_a_stream_is_read_on_the_way(name: str, size: int) -> None:
    encoder = dialect(name).stream_encoder()
    wire = b"".join(map(encoder.feed, unfold(ANSWER))) + encoder.close()
    reader = UsageReader(name, stream=True)
    for at in range(0, len(wire), size):
        reader.feed(wire[at : at + size])
    usage = reader.usage()
    assert usage is not None
    assert (usage.total_input_tokens, usage.output_tokens) == (34, 5)


@pytest.mark.parametrize("name", DIALECTS)
def test_the_usage_of_a_whole_answer_is_read_on_the_way(name: str) -> None:
    reader = UsageReader(name, stream=False)
    for byte in msgspec.json.encode(dialect(name).encode_response(ANSWER).body):
        reader.feed(bytes([byte]))
    usage = reader.usage()
    assert usage is not None
    assert usage.output_tokens == 5


def test_what_cannot_be_read_has_no_usage() -> None:
    for stream in (False, True):
        reader = UsageReader("openai-chat", stream=stream)
        reader.feed(b"<html>")
        assert reader.usage() is None

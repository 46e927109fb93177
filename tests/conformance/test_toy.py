"""A small dialect passes the conformance suite, and the suite finds each way of breaking it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec.structs import replace

import interlingua
from conformance import toy
from conformance.toy import Toy
from interlingua import (
    DIALECTS,
    AdapterError,
    Encoded,
    Event,
    Message,
    MessageComplete,
    Request,
    Response,
    StopReason,
    TokenUsage,
    WireError,
    register_dialect,
)
from interlingua.codec.framing import NdjsonDecoder
from interlingua.codec.registry import _registered
from interlingua.testing import conformance


@pytest.fixture
def registered() -> Iterator[str]:
    register_dialect(Toy.name, Toy)
    yield Toy.name
    del DIALECTS[Toy.name]
    del _registered[Toy.name]


def test_a_toy_dialect_passes_the_suite(registered: str) -> None:
    conformance.run(registered)


def test_a_registered_dialect_is_one_of_ours(registered: str) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
    said = interlingua.translate_request(body, source="anthropic-messages", target=registered)
    assert said.body["messages"] == [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]


class SilentLoss(Toy):
    """Drops a field without declaring a loss."""

    def encode_request(self, request: Request, target: Any = None) -> Encoded:
        return super().encode_request(replace(request, top_k=None), target)


class AddsFields(Toy):
    """Adds a field that the request does not have."""

    def decode_request(self, body: Any, headers: Any = None, model: Any = None, stream: Any = None) -> Request:
        return replace(super().decode_request(body), temperature=1)


class NeedlessMarks(Toy):
    """Leaves form marks on values in its own spelling."""

    def decode_response(self, body: Any, headers: Any = None, request: Any = None) -> Response:
        return replace(super().decode_response(body), forms={"toy": {"usual": True}})


class Inconsistent(Toy):
    """Writes the same value differently the second time."""

    answers = 0

    def encode_request(self, request: Request, target: Any = None) -> Encoded:
        said = super().encode_request(request, target)
        self.answers += 1
        return Encoded({**said.body, "x": self.answers}, losses=said.losses)


class NoStreamUsage(Toy):
    """Drops the usage in streams, but not in whole answers."""

    def stream_decoder(self, request: Any = None) -> toy.Decoder:
        class Decoder(toy.Decoder):
            def response(self, *, finished: bool) -> Response:
                return replace(self.whole, usage=TokenUsage())

        return Decoder(NdjsonDecoder())


class DeltaPerChunk(Toy):
    """Emits a delta for each chunk of bytes."""

    def stream_decoder(self, request: Any = None) -> toy.Decoder:
        class Decoder(toy.Decoder):
            def feed(self, chunk: bytes) -> list[Event]:
                out = super().feed(chunk)
                if out and self.fold.open_indexes and not self.done:
                    self.unknown("chunk", out)
                return out

        return Decoder(NdjsonDecoder())


class NeverCut(Toy):
    """Takes the end of the bytes as the end of the answer."""

    def stream_decoder(self, request: Any = None) -> toy.Decoder:
        class Decoder(toy.Decoder):
            def is_finished(self) -> bool:
                return True

        return Decoder(NdjsonDecoder())


class CompletesFailures(Toy):
    """Writes a failed stream as if it had been completed."""

    def stream_encoder(self, request: Any = None) -> toy.Encoder:
        class Encoder(toy.Encoder):
            def write_cut_block(self, event: Any) -> bytes:
                return super().write_cut_block(replace(event, block=replace(event.block, incomplete=False)))

            def write_event(self, event: Any) -> bytes:
                if isinstance(event, MessageComplete) and event.error is not None:
                    event = MessageComplete(Response(stop_reason=StopReason.end_turn))
                return super().write_event(event)

        return Encoder()


class LeaksSignatures(Toy):
    """Writes signatures of other issuers."""

    def encode_request(self, request: Request, target: Any = None) -> Encoded:
        return super().encode_request(replace(request, messages=self.forgetful(request.messages)), target)

    def forgetful(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return tuple(replace(message, origin=None) for message in messages)


class IgnoresEdits(Toy):
    """Writes what it read before, even if the value was edited."""

    def encode_request(self, request: Request, target: Any = None) -> Encoded:
        kept = request.extras.get("toy", {}).get("kept")
        said = super().encode_request(request, target)
        return Encoded({**said.body, "messages": kept}, losses=said.losses) if kept else said

    def decode_request(self, body: Any, headers: Any = None, model: Any = None, stream: Any = None) -> Request:
        read = super().decode_request(body)
        return replace(read, extras={"toy": {**read.extras.get("toy", {}), "kept": body["messages"]}})


class OneErrorClass(Toy):
    """Writes every error as the same class."""

    def encode_error(self, error: AdapterError) -> WireError:
        return super().encode_error(AdapterError(error.message))


class OneStopReason(Toy):
    """Writes every answer with the same stop reason."""

    def encode_response(self, response: Response, request: Any = None) -> Encoded:
        return super().encode_response(replace(response, stop_reason=StopReason.end_turn), request)


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (SilentLoss, "law 1, request"),
        (AddsFields, "law 1, request"),
        (NeedlessMarks, "form marks on what is written as we write it"),
        (Inconsistent, "law 1, request"),
        (NoStreamUsage, "law 3"),
        (DeltaPerChunk, "law 4"),
        (NoStreamUsage, "law 5, stream"),
        (NeverCut, "law 7"),
        (CompletesFailures, "law 7, written"),
        (LeaksSignatures, "law 9"),
        (IgnoresEdits, "law 10"),
        (OneErrorClass, "law 1, error"),
        (OneStopReason, "law 1, response"),
    ],
)
def test_a_broken_dialect_is_caught(broken: type[Toy], law: str) -> None:
    with pytest.raises(AssertionError) as caught:
        conformance.run(broken())
    assert law in str(caught.value)

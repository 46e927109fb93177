"""Adding a dialect is small, and the suite judges it: a toy passes, and each way of breaking it is caught."""

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
    """Forgets, and tells nobody."""

    def encode_request(self, request: Request, target: Any = None) -> Encoded:
        return super().encode_request(replace(request, top_k=None), target)


class Meddler(Toy):
    """Adds what nobody asked for."""

    def decode_request(self, body: Any, headers: Any = None, model: Any = None, stream: Any = None) -> Request:
        return replace(super().decode_request(body), temperature=1)


class Marker(Toy):
    """Marks what is written as it would write it."""

    def decode_response(self, body: Any, headers: Any = None, request: Any = None) -> Response:
        return replace(super().decode_response(body), forms={"toy": {"usual": True}})


class Drunkard(Toy):
    """Its second answer is not its first."""

    answers = 0

    def encode_request(self, request: Request, target: Any = None) -> Encoded:
        said = super().encode_request(request, target)
        self.answers += 1
        return Encoded({**said.body, "x": self.answers}, losses=said.losses)


class Deaf(Toy):
    """Its streams drop the usage that its wholes have."""

    def stream_decoder(self, request: Any = None) -> toy.Decoder:
        class Decoder(toy.Decoder):
            def response(self, *, finished: bool) -> Response:
                return replace(self.whole, usage=TokenUsage())

        return Decoder(NdjsonDecoder())


class Stutterer(Toy):
    """Says a delta for each chunk of bytes."""

    def stream_decoder(self, request: Any = None) -> toy.Decoder:
        class Decoder(toy.Decoder):
            def feed(self, chunk: bytes) -> list[Event]:
                out = super().feed(chunk)
                if out and self.fold.open_indexes and not self.done:
                    self.unknown("chunk", out)
                return out

        return Decoder(NdjsonDecoder())


class Optimist(Toy):
    """Takes the end of the bytes for the end of the answer."""

    def stream_decoder(self, request: Any = None) -> toy.Decoder:
        class Decoder(toy.Decoder):
            def terminal(self) -> bool:
                return True

        return Decoder(NdjsonDecoder())


class Finisher(Toy):
    """Ends what it was writing when it fails, as if that had been the end."""

    def stream_encoder(self, request: Any = None) -> toy.Encoder:
        class Encoder(toy.Encoder):
            def write_cut_block(self, event: Any) -> bytes:
                return super().write_cut_block(replace(event, block=replace(event.block, incomplete=False)))

            def write_event(self, event: Any) -> bytes:
                if isinstance(event, MessageComplete) and event.error is not None:
                    event = MessageComplete(Response(stop_reason=StopReason.end_turn))
                return super().write_event(event)

        return Encoder()


class Gossip(Toy):
    """Tells everybody what others have signed."""

    def encode_request(self, request: Request, target: Any = None) -> Encoded:
        return super().encode_request(replace(request, messages=self.forgetful(request.messages)), target)

    def forgetful(self, messages: tuple[Message, ...]) -> tuple[Message, ...]:
        return tuple(replace(message, origin=None) for message in messages)


class Archivist(Toy):
    """Writes what it once read, whatever became of it."""

    def encode_request(self, request: Request, target: Any = None) -> Encoded:
        kept = request.extras.get("toy", {}).get("kept")
        said = super().encode_request(request, target)
        return Encoded({**said.body, "messages": kept}, losses=said.losses) if kept else said

    def decode_request(self, body: Any, headers: Any = None, model: Any = None, stream: Any = None) -> Request:
        read = super().decode_request(body)
        return replace(read, extras={"toy": {**read.extras.get("toy", {}), "kept": body["messages"]}})


class Shrugger(Toy):
    """Every error is the same to it."""

    def encode_error(self, error: AdapterError) -> WireError:
        return super().encode_error(AdapterError(error.message))


class Eternal(Toy):
    """Never knows why it stopped."""

    def encode_response(self, response: Response, request: Any = None) -> Encoded:
        return super().encode_response(replace(response, stop_reason=StopReason.end_turn), request)


@pytest.mark.parametrize(
    ("broken", "law"),
    [
        (SilentLoss, "law 1, request"),
        (Meddler, "law 1, request"),
        (Marker, "form marks on what is written as we write it"),
        (Drunkard, "law 1, request"),
        (Deaf, "law 3"),
        (Stutterer, "law 4"),
        (Deaf, "law 5, stream"),
        (Optimist, "law 7"),
        (Finisher, "law 7, written"),
        (Gossip, "law 9"),
        (Archivist, "law 10"),
        (Shrugger, "law 1, error"),
        (Eternal, "law 1, response"),
    ],
)
def test_a_broken_dialect_is_caught(broken: type[Toy], law: str) -> None:
    with pytest.raises(AssertionError) as caught:
        conformance.run(broken())
    assert law in str(caught.value)

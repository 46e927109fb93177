"""The samples cover every canonical type and field, and official SDKs accept what we write for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from conformance.matrix import SPOKEN
from interlingua import (
    Base64Source,
    Block,
    CacheMark,
    Citation,
    FileSource,
    Message,
    Request,
    Response,
    ServerTool,
    StopReason,
    TextSource,
    Thinking,
    TokenUsage,
    ToolChoice,
    ToolDefinition,
    UrlSource,
    dialect,
)
from interlingua.testing import samples
from interlingua.testing.differences import OFF_WIRE
from interlingua.testing.samples import Sample
from lab.oracles import WARNING, problems

SAID = (
    *(Request, Message, Thinking, ToolDefinition, ServerTool, ToolChoice, Response, TokenUsage),
    *(*Block.__args__, Base64Source, UrlSource, FileSource, TextSource, Citation, CacheMark),
)
UNSAID = {"extras", "forms", "signature", "cache", "incomplete"}  # any block may have these; some samples do


def structs(value: Any) -> Iterator[msgspec.Struct]:
    if isinstance(value, msgspec.Struct):
        yield value
        for name in value.__struct_fields__:
            yield from structs(getattr(value, name))
    elif isinstance(value, tuple):
        for item in value:
            yield from structs(item)


def test_every_field_of_every_type_is_used_by_a_sample() -> None:
    used: dict[type, set[str]] = defaultdict(set)
    for sample in (*samples.requests("x"), *samples.answers("x")):
        for value in structs(sample.value):
            defaults = {field.name: field.default for field in msgspec.structs.fields(value)}
            used[type(value)] |= {name for name, default in defaults.items() if getattr(value, name) != default}
    missing = {
        f"{kind.__name__}.{name}"
        for kind in SAID
        for name in set(kind.__struct_fields__) - used[kind] - OFF_WIRE.get(kind, set()) - UNSAID
    }
    assert missing == set()


def test_every_block_and_stop_reason_is_in_a_sample() -> None:
    answers = [sample.value for sample in samples.answers("x")]
    made_by_clients = {StopReason.error, StopReason.cancelled}
    assert {answer.stop_reason for answer in answers} == set(StopReason) - made_by_clients


def asked() -> Iterator[object]:
    for name in SPOKEN:
        for sample in samples.requests(name):
            if not sample.concept.startswith("own "):  # residue that we made up
                yield pytest.param(name, sample, id=f"{name}: {sample.concept}")


@pytest.mark.parametrize(("name", "sample"), list(asked()))
def test_official_types_take_the_request(name: str, sample: Sample) -> None:
    body = dialect(name).encode_request(sample.value).body
    assert [line for line in problems(body, name) if not line.startswith(WARNING)] == []

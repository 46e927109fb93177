"""Ordered pairs of dialects: every recorded request of one is written in the other and read again."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from interlingua.types.base import Json
from interlingua.types.loss import Encoded
from interlingua.types.request import Request
from lab.fidelity.losses import Comparison
from lab.fidelity.records import Record, model_and_stream
from lab.fidelity.same import caught, codec
from lab.fidelity.tally import Fault, Tally
from lab.fidelity.trees import plain
from lab.oracles import DIALECTS as JUDGED, WARNING, problems

__all__ = ["measure_pairs", "oracle_faults", "pair_name"]

_INDEX = re.compile(r"\[\d+\]")
_CASE = re.compile(r"'[^']*'|\"[^\"]*\"|\d+")


def pair_name(source: str, target: str) -> str:
    """The name of a pair in the report."""
    return f"{source} -> {target}"


def measure_pairs(tally: Tally, record: Record, request: Request, targets: Sequence[str]) -> None:
    """Translate a request to every other dialect, and measure the result."""
    own, _ = oracle_faults(record.request, record.dialect)
    tally.check(record.dialect, "requests valid as recorded", record.id, own)
    if request.model is None and record.hosted_model is not None:
        request = replace(request, model=record.hosted_model)
    before = plain(request)
    elsewhere = not request.messages and not request.system  # a stored prompt: nothing of it is in the body
    for target in targets:
        if target != record.dialect:
            measure_pair(tally, record, request, before, target, invalid=bool(own) or elsewhere)


def measure_pair(tally: Tally, record: Record, request: Request, before: Json, target: str, *, invalid: bool) -> None:
    """Translate a request to one dialect, have the oracle judge it, read it again, and compare."""
    pair = pair_name(record.dialect, target)
    measure = "translated (recorded body is not valid)" if invalid else "translated"
    encoded = tally.attempt(pair, measure, record.id, lambda: codec(target).encode_request(request))
    if encoded is None:
        return
    faults, warnings = oracle_faults(encoded.body, target)
    tally.count(pair, "warnings", len(warnings))
    tally.check(pair, "valid (recorded body is not)" if invalid else "valid", record.id, faults)
    count_losses(tally, pair, encoded)
    again = tally.attempt(pair, "read again", record.id, lambda: reread(target, encoded, request))
    if again is not None:
        measure_losses(tally, pair, record.id, Comparison(before, plain(again), encoded.losses))


def reread(target: str, encoded: Encoded, request: Request) -> Request:
    """The request that the target reads in the body that we wrote. ``stream=None`` cannot be expressed in a URL."""
    model, stream = model_and_stream(target, encoded.path)
    unsaid = stream is False and request.stream is None
    return codec(target).decode_request(encoded.body, encoded.headers, model, None if unsaid else stream)


def measure_losses(tally: Tally, pair: str, record: str, compared: Comparison) -> None:
    tally.check(pair, "no undeclared loss", record, compared.undeclared())
    tally.check(pair, "no undeclared addition", record, compared.additions())
    tally.check(pair, "no over-declared loss", record, compared.over_declared())


def count_losses(tally: Tally, pair: str, encoded: Encoded) -> None:
    tally.count(pair, "requests with losses", int(bool(encoded.losses)))
    for loss in encoded.losses:
        tally.count(pair, f"losses {loss.kind}")
        tally.count(pair, f"because {loss.kind}: {loss.reason}")


def oracle_faults(body: Json, dialect: str) -> tuple[list[Fault], list[Fault]]:
    """The faults that the official SDK and the ordering rules find in a body, and their warnings."""
    if dialect not in JUDGED:
        return [], []
    found = caught(lambda: [Fault(kind_of(line), line) for line in problems(body, dialect)])
    warnings = [fault for fault in found if fault.detail.startswith(WARNING)]
    return [fault for fault in found if not fault.detail.startswith(WARNING)], warnings


def kind_of(line: str) -> str:
    """A complaint without indexes and values."""
    place, _, text = _INDEX.sub("[*]", line).partition(": ")
    return f"{place}: {_CASE.sub('…', text)}"[:140]

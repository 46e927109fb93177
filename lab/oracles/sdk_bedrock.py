"""Bedrock's request shapes: botocore's own validator, then the limits of the service model that botocore ignores.

``converse`` and ``converse-stream`` share a checker (the latter has one field more): a body does not say which it is.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache
from typing import Any

from botocore.loaders import Loader
from botocore.model import ListShape, MapShape, ServiceModel, Shape, StructureShape
from botocore.validate import ParamValidator

from lab.oracles.leaves import Base64, Check, OneOf, Path, render, shown
from lab.oracles.typed import ListOf, MapOf, Record, run

IN_PATH = "modelId"
LONGEST = 300
"""How many characters are kept of a line in botocore's report, which quotes whole values."""


@cache
def request_shape() -> Shape:
    model = ServiceModel(Loader().load_service_model("bedrock-runtime", "service-2"))
    return model.shape_for("ConverseStreamRequest")


@cache
def limits() -> Check:
    return limits_of(request_shape()) or Record("ConverseRequest", open=True)


def validate(body: Any) -> list[str]:
    if not isinstance(body, dict):
        return [f"$: {shown(body)} is not object"]
    if IN_PATH in body:
        return [f"{IN_PATH}: belongs to the path, not to the body"]
    report = ParamValidator().validate({**body, IN_PATH: "model"}, request_shape()).generate_report()
    return [line[:LONGEST] for line in report.splitlines()] or run(limits(), body)


class Limit:
    """The maximum and the pattern of the service model; botocore itself checks only the minimum."""

    __slots__ = ("most", "pattern")
    kinds: Collection[type] = frozenset({str, int, float})

    def __init__(self, most: float, pattern: str | None) -> None:
        self.most = most
        self.pattern = re.compile(pattern) if pattern else None

    def check(self, value: Any, path: Path, out: list[str]) -> None:
        size = len(value) if isinstance(value, str) else value
        if size > self.most:
            out.append(f"{render(path)}: {size} is more than {self.most:g}")
        if self.pattern and not self.pattern.fullmatch(value):
            out.append(f"{render(path)}: {shown(value)} does not match {self.pattern.pattern}")


def limits_of(shape: Shape) -> Check | None:
    """A checker of all limits at or below a shape; ``None`` if there are none."""
    if isinstance(shape, StructureShape):
        return limits_of_structure(shape)
    if isinstance(shape, ListShape):
        return ListOf(item) if (item := limits_of(shape.member)) else None
    if isinstance(shape, MapShape):
        return MapOf(item) if (item := limits_of(shape.value)) else None
    if shape.type_name == "blob":
        return Base64()
    if "enum" in shape.metadata:
        return OneOf(shape.metadata["enum"])
    if "max" in shape.metadata or "pattern" in shape.metadata:
        return Limit(shape.metadata.get("max", float("inf")), shape.metadata.get("pattern"))
    return None


def limits_of_structure(shape: StructureShape) -> Check | None:
    if shape.is_document_type:
        return None
    found = Record(shape.name, open=True)
    found.fields.update((name, check) for name, member in shape.members.items() if (check := limits_of(member)))
    return found if found.fields else None

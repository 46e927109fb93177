"""The type of a typed answer, for type checkers: ``complete(request, output=Verdict)`` gives a ``Response[Verdict]``.

A response without a typed answer is a ``Response[Any]``, which is what the bare name means.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # which type checkers know without its package

    T = TypeVar("T", default=Any)
    T_co = TypeVar("T_co", default=Any, covariant=True)
else:
    from typing import TypeVar

    T = TypeVar("T")
    T_co = TypeVar("T_co", covariant=True)

__all__ = ["OutputType", "T", "T_co"]

OutputType = type[T] | UnionType | Mapping[str, Any] | None
"""What ``output=`` takes: a type, a union or a JSON Schema. Type checkers infer ``T`` of a type."""

"""A key that cannot be printed."""

from __future__ import annotations

from typing import Any

__all__ = ["MASK", "Secret"]

MASK = "**********"


class Secret(str):
    """A string that reads as asterisks in every form but one: ``reveal()``.

    Since the mask is its real content, ``str``, ``format``, joining, JSON, logs and tracebacks can show nothing else.
    A saved one has forgotten its value: keys are configured, not stored.
    """

    __slots__ = ("_value",)
    _value: str

    def __new__(cls, value: str = "") -> Secret:
        text = value.reveal() if isinstance(value, Secret) else value
        secret = super().__new__(cls, MASK if text else "")
        secret._value = text
        return secret

    def reveal(self) -> str:
        """The value itself, for the header that needs it."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return self._value == (other._value if isinstance(other, Secret) else other)

    def __ne__(self, other: object) -> bool:  # str has one of its own
        return not self == other

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Secret, ("",))

"""Keys that cannot be printed, and masks for keys in other values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

__all__ = ["MASK", "SECRET_NAMES", "MaskedHeaders", "Secret", "as_secret", "masked", "named_secrets", "shown_url"]

MASK = "**********"
SECRET_NAMES = re.compile(r"key|token|secret|passw|credential|authorization", re.IGNORECASE)


def masked(value: Any, secrets: Sequence[str]) -> Any:
    """A JSON value, or a tuple, with asterisks in place of these secrets."""
    if isinstance(value, str):
        for secret in secrets:
            if secret in value:
                value = value.replace(secret, MASK)
        return value
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {masked(key, secrets): masked(item, secrets) for key, item in fields.items()}
    if isinstance(value, list | tuple):
        items = [masked(item, secrets) for item in cast("list[Any]", value)]
        return tuple(items) if isinstance(value, tuple) else items
    return value


def named_secrets(options: Mapping[str, Any], *, inside: bool = False) -> Iterator[str]:
    """The strings of a JSON object whose name, or the name of an object around them, looks like that of a secret."""
    for name, value in options.items():
        secret = inside or SECRET_NAMES.search(name) is not None
        if isinstance(value, dict):
            yield from named_secrets(cast("dict[str, Any]", value), inside=secret)
        elif isinstance(value, str) and secret:
            yield value


def shown_url(url: str) -> str:
    """A URL that can be shown: without the user, and with masked query values, because any of them may be a key."""
    url = re.sub(r"^(\w+://)?[^/?#]*@", rf"\g<1>{MASK}@", url)
    return re.sub(r"(?<=[?&])([^=&#]*)=[^&#]*", rf"\1={MASK}", url)


class MaskedHeaders(dict[str, str]):
    """Headers whose repr shows only their names: tracebacks and debuggers print local variables."""

    def __repr__(self) -> str:
        return f"<headers: {', '.join(self)}>"


class Secret(str):
    """A string that shows asterisks everywhere; ``reveal()`` returns its value.

    The asterisks are its real content, so ``str``, ``format``, joining, JSON, logs and tracebacks show nothing else. A
    pickle does not contain the value: keys are configured, not stored.
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

    def __ne__(self, other: object) -> bool:  # str defines its own
        return not self == other

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Secret, ("",))

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, _: object) -> Secret:
        return self  # a copy in the same process keeps the value; a pickle does not


def as_secret(key: Any) -> Any:
    """A key as a ``Secret``. A value that is not a string is returned as it is, and refused where it is used."""
    return Secret(key) if isinstance(key, str) else key

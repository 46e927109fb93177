"""``AdapterConfig``: the settings of one provider, as plain values. Nothing is read from the environment here."""

from __future__ import annotations

import os
import re
from copy import deepcopy
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from ..codec.limits import Limits
from ..errors import RETRYABLE, NotConfigured
from ..types.base import Json
from ..types.checking import check
from ..types.words import ErrorClass
from .secrets import MASK, Secret, as_secret, masked, named_secrets, shown_url

__all__ = ["AdapterConfig", "Retry", "scheme_problem"]

SCHEME = re.compile(r"https?://", re.IGNORECASE)


class Retry(Struct, frozen=True):
    """How failed attempts are repeated: the n-th after ``uniform(0.5, 1) * base * 2**n`` seconds, at most ``cap``."""

    base: float = 1.0
    cap: float = 30.0
    classes: tuple[ErrorClass, ...] = tuple(sorted(RETRYABLE))

    def __post_init__(self) -> None:
        force_setattr(self, "classes", tuple(ErrorClass(name) for name in self.classes))


class AdapterConfig(Struct, frozen=True):
    """One provider's settings.

    ``timeout_seconds`` is the budget of one call over all its attempts; a stream may last longer, but not be silent
    for longer. ``options`` are read by some adapters only: ``betas``, ``organization``, ``project``, ``api_version``,
    ``region``, ``resource``, ``connect_timeout``, ``referer`` and ``title``, and ``body``, which is merged into the
    JSON body.

    ``proxy`` is the URL of an http or https proxy, ``""`` is none; without it the environment decides. ``ca_bundle`` is
    a file or a folder of certificates to trust instead of the system's; ``client_cert`` and ``client_key`` are files
    with the certificate and the key that a server asks for (one file may hold both).
    """

    api_key: str | None = None
    base_url: str | None = None
    timeout_seconds: float = 600
    max_retries: int = 2
    retry: Retry = Retry()
    extra_headers: dict[str, str] = {}
    options: dict[str, Json] = {}
    limits: Limits = Limits()
    proxy: str | None = None
    ca_bundle: str | None = None
    client_cert: str | None = None
    client_key: str | None = None

    def __post_init__(self) -> None:
        for name in ("ca_bundle", "client_cert", "client_key"):
            if isinstance(path := getattr(self, name), os.PathLike):
                force_setattr(self, name, os.fspath(cast("os.PathLike[str]", path)))
        self._hide_secrets()
        check(self)
        if self.base_url is not None and (problem := scheme_problem(self.base_url)):
            raise NotConfigured(problem)

    def _hide_secrets(self) -> None:
        """Hide keys before any check, so that no error and no traceback shows them. A proxy may contain a password."""
        for name in ("api_key", "proxy"):
            if (value := getattr(self, name)) is not None:
                force_setattr(self, name, _as_secret(name, value))
        if hasattr(self.extra_headers, "items"):
            headers = {name: as_secret(value) for name, value in self.extra_headers.items()}
            force_setattr(self, "extra_headers", headers)
            for name, value in headers.items():
                _as_secret(f"header {name!r}", value)

    def __repr__(self) -> str:
        shown = {name: getattr(self, name) for name in self.__struct_fields__}
        shown["options"] = dict.fromkeys(self.options, MASK)  # any of them may contain a key
        shown["base_url"] = _shown(self.base_url)
        return f"AdapterConfig({', '.join(f'{name}={value!r}' for name, value in shown.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        values = {name: getattr(self, name) for name in self.__struct_fields__}
        values |= {"api_key": None, "base_url": _shown(self.base_url), "proxy": None}
        values["options"] = masked(self.options, list(named_secrets(self.options)))
        return (AdapterConfig, tuple(values.values()))

    def __deepcopy__(self, memo: dict[int, Any]) -> AdapterConfig:
        """The copy has the key, unlike a pickle: it stays in this process."""
        return replace(self, options=deepcopy(self.options, memo), extra_headers=dict(self.extra_headers))

    @property
    def secret(self) -> str | None:
        """The key itself, or None."""
        return _stripped(self.api_key) or None if self.api_key is not None else None


def _as_secret(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"AdapterConfig: {name} must be a string, not {type(value).__name__}")
    return Secret(_stripped(value)) if name == "api_key" else Secret(value)


def scheme_problem(base_url: str) -> str | None:
    """The error message for a base URL without ``http://`` or ``https://``; None if it has one of them."""
    if SCHEME.match(base_url):
        return None
    shown = base_url.partition("?")[0].rpartition("@")[2]
    return f"base_url {shown!r} does not begin with http:// or https://; write one of them before it"


def _shown(url: str | None) -> str | None:
    return None if url is None else shown_url(url)


def _stripped(key: str) -> str:
    """The key without the line break that it often ends with if it was read from a file."""
    return (key.reveal() if isinstance(key, Secret) else key).strip()

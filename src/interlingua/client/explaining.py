"""Adds to the message of an error where the call failed and what can be done. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from ..errors import AdapterError, AuthError, NotConfigured
from ..models.catalogue.tiers import tier_model
from ..models.providers import IN_MEMORY, IN_PROCESS, Provider
from ..types.words import ErrorClass
from .config import AdapterConfig

__all__ = ["explain"]

NOT_FOUND, NETWORK = 404, ErrorClass.network
UNREACHED = frozenset({ErrorClass.network, ErrorClass.timeout})
PORTS = {"http": 80, "https": 443}
NO_SERVER = ("no connection", "the host name is not known")
"""Words of a transport's error that mean that no server was reached."""


def explain(error: AdapterError, provider: Provider, config: AdapterConfig, url: str, model: str | None) -> None:
    """Add to the message where the call failed and what can be done, but nothing that may be a key."""
    message = _with_place(error, _shown_place(provider, config, url))
    advice = (note for note in _advice(provider, config, error, model) if note not in message)
    error.message = "; ".join([message, *advice])
    error.args = (error.message,)


def _is_in_process(provider: Provider, config: AdapterConfig) -> bool:
    """Whether the provider runs in this process, so that showing its address would not help."""
    return config.base_url is None and provider.base_url.startswith((IN_MEMORY, IN_PROCESS))


def _shown_place(provider: Provider, config: AdapterConfig, url: str) -> str:
    return f"the {provider.name} model" if _is_in_process(provider, config) else _without_query(url)


def _with_place(error: AdapterError, place: str) -> str:
    """The message with the HTTP status and the place that answered, or with the place that was not reached."""
    status = error.provider_status
    if place in error.message or _with_port(place) in error.message:
        return error.message
    if status is not None:
        message = error.message.removeprefix(f"HTTP {status}")
        return f"{message} (HTTP {status} from {place})" if message else f"HTTP {status} from {place}"
    if error.error_class in UNREACHED:
        return f"{error.message}, calling {_with_port(place)}"
    return error.message


def _without_query(url: str) -> str:
    """A URL that can be shown, without query and user name, which may be secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _with_port(url: str) -> str:
    """The URL with its port, which helps to find out why a server does not answer."""
    parts = urlsplit(url)
    if not parts.netloc:
        return url
    default = "" if parts.netloc.rpartition("]")[2].count(":") else f":{PORTS.get(parts.scheme, '')}"
    return f"{parts.scheme}://{parts.netloc}{default}{parts.path}"


def _advice(provider: Provider, config: AdapterConfig, error: AdapterError, model: str | None) -> Iterator[str]:
    if isinstance(error, AuthError) and not isinstance(error, NotConfigured) and provider.auth.keys:
        where = " or ".join(provider.auth.keys)
        yield f"the key for {provider.name} comes from {where} in the environment, or from AdapterConfig(api_key=...)"
    elif error.provider_status == NOT_FOUND and model is not None:
        balanced = tier_model(provider.name, "balanced")
        instead = f"; {provider.name}:balanced is {balanced}" if balanced else ""
        yield f"{provider.name} was asked for the model {model!r}, as written{instead}"
    elif error.error_class is NETWORK and not _is_in_process(provider, config):
        yield from _address_advice(provider, config, error)
    elif error.error_class is NETWORK and provider.base_url.startswith(IN_MEMORY):
        yield "nothing was sent over a network: it does what its script says"


def _address_advice(provider: Provider, config: AdapterConfig, error: AdapterError) -> Iterator[str]:
    """What to check if a server was not reached, or broke the connection."""
    if provider.local:
        yield f"is {provider.name} running at {_without_query(config.base_url or provider.base_url)}?"
    elif config.base_url is not None and any(word in error.message for word in NO_SERVER):
        yield (
            f"this address comes from AdapterConfig(base_url=...), models.yaml or the environment, instead of"
            f" {provider.base_url}"
        )

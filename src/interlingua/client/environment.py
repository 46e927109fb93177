"""The settings of a provider in environment variables, read when a client is made."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from ..models.providers import Provider
from .config import AdapterConfig

__all__ = ["base_url_variable", "configured"]

# The variables of the vendors' own libraries for a base URL; for others it is ``NAME_BASE_URL``.
BASE_URLS = {
    "openai-chat": "OPENAI_BASE_URL",
    "google": "GOOGLE_GEMINI_BASE_URL",
    "vertex": "GOOGLE_VERTEX_BASE_URL",
    "vertex-anthropic": "ANTHROPIC_VERTEX_BASE_URL",
    "bedrock": "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    "azure": "AZURE_OPENAI_ENDPOINT",
    "ollama": "OLLAMA_HOST",
}

OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "bedrock": {"region": ("AWS_REGION", "AWS_DEFAULT_REGION")},
    "vertex": {"project": ("GOOGLE_CLOUD_PROJECT",), "region": ("GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION")},
    "vertex-anthropic": {
        "project": ("GOOGLE_CLOUD_PROJECT", "ANTHROPIC_VERTEX_PROJECT_ID"),
        "region": ("GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION"),
    },
    "openai": {"organization": ("OPENAI_ORG_ID",), "project": ("OPENAI_PROJECT_ID",)},
    "openai-chat": {"organization": ("OPENAI_ORG_ID",), "project": ("OPENAI_PROJECT_ID",)},
    "azure": {"api_version": ("OPENAI_API_VERSION",)},
}


def configured(
    provider: Provider, config: AdapterConfig | None = None, environment: Mapping[str, str] | None = None
) -> AdapterConfig:
    """The configuration, with key, base URL, region and project from the environment where it has none."""
    config = config or AdapterConfig()
    env = os.environ if environment is None else environment
    changes: dict[str, Any] = {}
    if config.api_key is None:
        changes["api_key"] = _first(env, provider.auth.keys)
    base = env.get(base_url_variable(provider.name), "")
    if config.base_url is None and base:
        changes["base_url"] = URL_FORMS.get(provider.name, _local_url if provider.local else str)(base)
    found = {option: _first(env, names) for option, names in OPTIONS.get(provider.name, {}).items()}
    options = {option: value for option, value in found.items() if value} | config.options
    return replace(config, options=options, **changes)


def base_url_variable(provider: str) -> str:
    """The environment variable for a provider's base URL."""
    return BASE_URLS.get(provider) or provider.upper().replace("-", "_") + "_BASE_URL"


def _first(env: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((env[name] for name in names if env.get(name)), None)


# --------------------------------------------------------------------------------------------- variables of other forms


def _local_url(base: str) -> str:
    """A URL without a scheme is http: local servers have no certificate."""
    return base if "://" in base else f"http://{base}"


def _ollama_host(host: str) -> str:
    """``OLLAMA_HOST`` is a host, a port or a URL. ``0.0.0.0``, which a server listens on, is this machine."""
    if "://" in host:
        return host
    parts = urlsplit(f"//{host}")
    name = parts.hostname or "localhost"
    name = f"[{name}]" if ":" in name else "localhost" if name == "0.0.0.0" else name
    return f"http://{name}:{parts.port or 11434}{parts.path}"


def _azure_endpoint(endpoint: str) -> str:
    """``AZURE_OPENAI_ENDPOINT`` ends with the host; the API is below ``/openai``."""
    base = endpoint.rstrip("/")
    return base if urlsplit(base).path else f"{base}/openai"


URL_FORMS: dict[str, Callable[[str], str]] = {"ollama": _ollama_host, "azure": _azure_endpoint}

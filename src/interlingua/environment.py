"""What the environment says about a provider, read when asked for and never before."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from .config import AdapterConfig
from .providers.table import Provider

__all__ = ["configured"]

BASE_URLS = {
    "anthropic": "ANTHROPIC_BASE_URL",
    "openai": "OPENAI_BASE_URL",
    "openai-chat": "OPENAI_BASE_URL",
    "google": "GOOGLE_GEMINI_BASE_URL",
    "ollama": "OLLAMA_HOST",
    "azure": "AZURE_OPENAI_ENDPOINT",
}
LOCAL = "http://"
"""What ``OLLAMA_HOST=localhost:11434`` means."""

OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "bedrock": {"region": ("AWS_REGION", "AWS_DEFAULT_REGION")},
    "vertex": {"project": ("GOOGLE_CLOUD_PROJECT",), "region": ("GOOGLE_CLOUD_LOCATION", "GOOGLE_CLOUD_REGION")},
    "vertex-anthropic": {"project": ("GOOGLE_CLOUD_PROJECT",), "region": ("GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION")},
    "openai": {"organization": ("OPENAI_ORG_ID",), "project": ("OPENAI_PROJECT_ID",)},
    "openai-chat": {"organization": ("OPENAI_ORG_ID",), "project": ("OPENAI_PROJECT_ID",)},
    "azure": {"api_version": ("OPENAI_API_VERSION",)},
}


def configured(
    provider: Provider, config: AdapterConfig | None = None, environment: Mapping[str, str] | None = None
) -> AdapterConfig:
    """A configuration whose gaps are filled from the environment: key, base URL, region, project."""
    config = config or AdapterConfig()
    env = os.environ if environment is None else environment
    changes: dict[str, Any] = {}
    if config.api_key is None:
        changes["api_key"] = _first(env, provider.auth.keys)
    base = env.get(BASE_URLS.get(provider.name, ""), "")
    if config.base_url is None and base:
        changes["base_url"] = base if "://" in base or not provider.local else LOCAL + base
    found = {option: _first(env, names) for option, names in OPTIONS.get(provider.name, {}).items()}
    options = {option: value for option, value in found.items() if value} | config.options
    return replace(config, options=options, **changes)


def _first(env: Mapping[str, str], names: tuple[str, ...]) -> str | None:
    return next((env[name] for name in names if env.get(name)), None)

"""The clients that are known: what points each of them at a gateway, as rows of data.

``{base}`` is the gateway's URL without a path, ``{key}`` a key, ``{model}`` the model's name, ``{folder}`` a folder of
the client's own in which ``files`` are written. The user's own files are neither read nor changed.
"""

from __future__ import annotations

import json

from msgspec import Struct

__all__ = ["CLIENTS", "Client"]


class Client(Struct, frozen=True, kw_only=True):
    """One client."""

    title: str
    command: str
    """The program, as it is found on the ``PATH``."""
    install: str
    variables: dict[str, str]
    """What points it at the gateway."""
    quiet: dict[str, str] = {}
    """What else it gets when it is launched: no telemetry, no updates, no questions."""
    without: tuple[str, ...] = ()
    """Variables that would lead it elsewhere."""
    arguments: tuple[str, ...] = ()
    files: dict[str, str] = {}
    trusting: dict[str, str] = {}
    """What spares it the question whether the folder can be trusted. It gets that where the folder has none of
    ``settings``, for which it asks; a folder that brings some is trusted by the user alone."""
    settings: tuple[str, ...] = ()
    begins: int = 0
    """About how many tokens its first request has."""
    small: dict[str, str] = {}
    """What lets it begin with less, for a model that has no room for so many."""


CLAUDE = json.dumps({"env": {"ANTHROPIC_BASE_URL": "{base}", "ANTHROPIC_AUTH_TOKEN": "{key}"}})
"""Said again in settings that stand above the folder's own, which may set variables, too."""
CODEX = """\
model = "{model}"
model_provider = "interlingua"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
daemon_auto_start = false  # a process that would outlive the client, and its folder

[model_providers.interlingua]
name = "interlingua"
base_url = "{base}/v1"
env_key = "INTERLINGUA_KEY"
wire_api = "responses"
"""
GEMINI = json.dumps(
    {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
)
OPENCODE = """\
{
  "$schema": "https://opencode.ai/config.json",
  "autoupdate": false,
  "share": "disabled",
  "model": "interlingua/{model}",
  "small_model": "interlingua/{model}",
  "provider": {
    "interlingua": {
      "npm": "@ai-sdk/openai-compatible",
      "options": {"baseURL": "{base}/v1", "apiKey": "{key}"},
      "models": {"{model}": {}}
    }
  }
}
"""
QWEN = json.dumps(
    {
        "security": {"auth": {"selectedType": "openai"}},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
)
LLM = """\
- model_id: interlingua
  model_name: "{model}"
  api_base: "{base}/v1"
  api_key_name: interlingua
"""

CLIENTS: dict[str, Client] = {
    "claude": Client(
        title="Claude Code",
        command="claude",
        install="npm install -g @anthropic-ai/claude-code",
        variables={"ANTHROPIC_BASE_URL": "{base}", "ANTHROPIC_AUTH_TOKEN": "{key}"},
        without=("ANTHROPIC_API_KEY", "ANTHROPIC_MODEL", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"),
        files={".claude.json": '{"hasCompletedOnboarding": true}', "launched.json": CLAUDE},
        arguments=("--settings", "{folder}/launched.json"),
        quiet={
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CONFIG_DIR": "{folder}",
        },
        begins=20_000,
        small={"CLAUDE_CODE_SIMPLE": "1"},
    ),
    "codex": Client(
        title="Codex",
        command="codex",
        install="npm install -g @openai/codex",
        variables={"INTERLINGUA_KEY": "{key}", "CODEX_HOME": "{folder}"},
        files={"config.toml": CODEX},
        begins=13_000,
    ),
    "gemini": Client(
        title="Gemini CLI",
        command="gemini",
        install="npm install -g @google/gemini-cli",
        without=("GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT"),
        variables={"GOOGLE_GEMINI_BASE_URL": "{base}", "GEMINI_API_KEY": "{key}"},
        quiet={
            "GEMINI_CLI_HOME": "{folder}",  # settings elsewhere are skipped below a folder that others may write
            "GEMINI_TELEMETRY_ENABLED": "false",
            "GEMINI_MODEL": "gemini-2.5-pro",
        },
        files={".gemini/settings.json": GEMINI},
        trusting={"GEMINI_CLI_TRUST_WORKSPACE": "true"},
        settings=(".gemini", ".agents", ".env"),
        begins=12_000,
    ),
    "opencode": Client(
        title="opencode",
        command="opencode",
        install="npm install -g opencode-ai",
        variables={"OPENCODE_CONFIG_CONTENT": OPENCODE},  # stands above the user's and the folder's own files
        quiet={
            "OPENCODE_DB": "{folder}/opencode.db",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
        begins=8_000,
    ),
    "goose": Client(
        title="goose",
        command="goose",
        install="npm install -g @aaif/goose",
        variables={
            "GOOSE_PROVIDER": "openai",
            "GOOSE_MODEL": "{model}",
            "OPENAI_HOST": "{base}",
            "OPENAI_API_KEY": "{key}",
        },
        without=("OPENAI_BASE_URL", "OPENAI_BASE_PATH"),
        quiet={"GOOSE_DISABLE_KEYRING": "1", "GOOSE_PATH_ROOT": "{folder}", "GOOSE_TELEMETRY_OFF": "1"},
        begins=4_000,
    ),
    "qwen": Client(
        title="Qwen Code",
        command="qwen",
        install="npm install -g @qwen-code/qwen-code",
        variables={"OPENAI_BASE_URL": "{base}/v1", "OPENAI_API_KEY": "{key}", "OPENAI_MODEL": "{model}"},
        quiet={"QWEN_HOME": "{folder}"},
        files={"settings.json": QWEN},
        begins=20_000,
    ),
    "aider": Client(
        title="aider",
        command="aider",
        install="pip install aider-chat",
        variables={"OPENAI_API_BASE": "{base}/v1", "OPENAI_API_KEY": "{key}"},
        quiet={
            "AIDER_OPENAI_API_KEY": "{key}",
            "AIDER_ENV_FILE": "{folder}/.env",
            "AIDER_ANALYTICS_DISABLE": "true",
            "AIDER_CHECK_UPDATE": "false",
            "AIDER_SHOW_MODEL_WARNINGS": "false",
            "AIDER_SHOW_RELEASE_NOTES": "false",
        },
        arguments=(
            *("--openai-api-base", "{base}/v1"),  # all three ways, to stand above what aider finds in files
            *("--model", "openai/{model}", "--weak-model", "openai/{model}"),
        ),
        files={".env": "OPENAI_API_BASE={base}/v1\nOPENAI_BASE_URL={base}/v1\nOPENAI_API_KEY={key}\n"},
        begins=1_000,
    ),
    "llm": Client(
        title="llm",
        command="llm",
        install="pip install llm",
        variables={"LLM_USER_PATH": "{folder}", "LLM_MODEL": "interlingua"},
        files={"extra-openai-models.yaml": LLM, "keys.json": '{"interlingua": "{key}"}'},
    ),
}

"""The known clients, as rows of data: what makes each of them call a gateway.

In the texts, ``{base}`` stands for the gateway's URL without a path, ``{key}`` for a key, ``{model}`` for the model's
name, and ``{folder}`` for a new folder in which ``files`` are written. The user's own files are not read or changed.
"""

from __future__ import annotations

import json

from msgspec import Struct

__all__ = ["CLIENTS", "Client"]


class Client(Struct, frozen=True, kw_only=True):
    """One client: its program, and the environment, arguments and files that it is started with."""

    title: str
    command: str
    """The program's name, searched on the ``PATH``."""
    install: str
    variables: dict[str, str]
    """The environment variables that make it call the gateway."""
    quiet: dict[str, str] = {}
    """Further variables for ``launch``: no telemetry, no updates, no questions."""
    unset: tuple[str, ...] = ()
    """Variables to remove, because they would make it call another server."""
    arguments: tuple[str, ...] = ()
    files: dict[str, str] = {}
    trust: dict[str, str] = {}
    """Variables by which it does not ask whether the folder can be trusted. They are set only if the folder has none of
    ``folder_settings``, which are why it asks; if it has some, the user must answer."""
    folder_settings: tuple[str, ...] = ()
    first_tokens: int = 0
    """About how many tokens its first request has."""
    small: dict[str, str] = {}
    """Variables that make its first request shorter, for a model with a small context."""


CLAUDE = json.dumps({"env": {"ANTHROPIC_BASE_URL": "{base}", "ANTHROPIC_AUTH_TOKEN": "{key}"}})
"""The same variables in settings that override the folder's own settings, which may set variables too."""
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
        unset=("ANTHROPIC_API_KEY", "ANTHROPIC_MODEL", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"),
        files={".claude.json": '{"hasCompletedOnboarding": true}', "launched.json": CLAUDE},
        arguments=("--settings", "{folder}/launched.json"),
        quiet={
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CONFIG_DIR": "{folder}",
        },
        first_tokens=20_000,
        small={"CLAUDE_CODE_SIMPLE": "1"},
    ),
    "codex": Client(
        title="Codex",
        command="codex",
        install="npm install -g @openai/codex",
        variables={"INTERLINGUA_KEY": "{key}", "CODEX_HOME": "{folder}"},
        files={"config.toml": CODEX},
        first_tokens=13_000,
    ),
    "gemini": Client(
        title="Gemini CLI",
        command="gemini",
        install="npm install -g @google/gemini-cli",
        unset=("GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT"),
        variables={"GOOGLE_GEMINI_BASE_URL": "{base}", "GEMINI_API_KEY": "{key}"},
        quiet={
            "GEMINI_CLI_HOME": "{folder}",  # settings elsewhere are skipped below a folder that others may write
            "GEMINI_TELEMETRY_ENABLED": "false",
            "GEMINI_MODEL": "gemini-2.5-pro",
        },
        files={".gemini/settings.json": GEMINI},
        trust={"GEMINI_CLI_TRUST_WORKSPACE": "true"},
        folder_settings=(".gemini", ".agents", ".env"),
        first_tokens=12_000,
    ),
    "opencode": Client(
        title="opencode",
        command="opencode",
        install="npm install -g opencode-ai",
        variables={"OPENCODE_CONFIG_CONTENT": OPENCODE},  # overrides the user's and the folder's own files
        quiet={
            "OPENCODE_DB": "{folder}/opencode.db",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
        first_tokens=8_000,
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
        unset=("OPENAI_BASE_URL", "OPENAI_BASE_PATH"),
        quiet={"GOOSE_DISABLE_KEYRING": "1", "GOOSE_PATH_ROOT": "{folder}", "GOOSE_TELEMETRY_OFF": "1"},
        first_tokens=4_000,
    ),
    "qwen": Client(
        title="Qwen Code",
        command="qwen",
        install="npm install -g @qwen-code/qwen-code",
        variables={"OPENAI_BASE_URL": "{base}/v1", "OPENAI_API_KEY": "{key}", "OPENAI_MODEL": "{model}"},
        quiet={"QWEN_HOME": "{folder}"},
        files={"settings.json": QWEN},
        first_tokens=20_000,
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
            *("--openai-api-base", "{base}/v1"),  # set in all three ways, to override what aider finds in files
            *("--model", "openai/{model}", "--weak-model", "openai/{model}"),
        ),
        files={".env": "OPENAI_API_BASE={base}/v1\nOPENAI_BASE_URL={base}/v1\nOPENAI_API_KEY={key}\n"},
        first_tokens=1_000,
    ),
    "llm": Client(
        title="llm",
        command="llm",
        install="pip install llm",
        variables={"LLM_USER_PATH": "{folder}", "LLM_MODEL": "interlingua"},
        files={"extra-openai-models.yaml": LLM, "keys.json": '{"interlingua": "{key}"}'},
    ),
}

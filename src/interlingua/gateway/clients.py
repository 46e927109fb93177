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


CODEX = """\
model = "{model}"
model_provider = "interlingua"

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
  "provider": {
    "interlingua": {
      "npm": "@ai-sdk/openai-compatible",
      "options": {"baseURL": "{base}/v1", "apiKey": "{key}"},
      "models": {"{model}": {}}
    }
  }
}
"""
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
        files={".claude.json": '{"hasCompletedOnboarding": true}'},
        quiet={
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CONFIG_DIR": "{folder}",
        },
    ),
    "codex": Client(
        title="Codex",
        command="codex",
        install="npm install -g @openai/codex",
        variables={"INTERLINGUA_KEY": "{key}", "CODEX_HOME": "{folder}"},
        files={"config.toml": CODEX},
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
    ),
    "opencode": Client(
        title="opencode",
        command="opencode",
        install="npm install -g opencode-ai",
        variables={"OPENCODE_CONFIG": "{folder}/opencode.json"},
        quiet={
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        },
        files={"opencode.json": OPENCODE},
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
        quiet={"GOOSE_DISABLE_KEYRING": "1"},
    ),
    "qwen": Client(
        title="Qwen Code",
        command="qwen",
        install="npm install -g @qwen-code/qwen-code",
        variables={"OPENAI_BASE_URL": "{base}/v1", "OPENAI_API_KEY": "{key}", "OPENAI_MODEL": "{model}"},
    ),
    "aider": Client(
        title="aider",
        command="aider",
        install="pip install aider-chat",
        variables={"OPENAI_API_BASE": "{base}/v1", "OPENAI_API_KEY": "{key}"},
        quiet={"AIDER_ANALYTICS_DISABLE": "true", "AIDER_CHECK_UPDATE": "false"},
        arguments=("--model", "openai/{model}"),
    ),
    "llm": Client(
        title="llm",
        command="llm",
        install="pip install llm",
        variables={"LLM_USER_PATH": "{folder}", "LLM_MODEL": "interlingua"},
        files={"extra-openai-models.yaml": LLM, "keys.json": '{"interlingua": "{key}"}'},
    ),
}

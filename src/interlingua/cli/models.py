"""``interlingua models``: which models are known, what they take and cost, and whether they can be used here."""

from __future__ import annotations

import argparse

from .parsing import add_json

__all__ = ["add_arguments", "run"]

EXAMPLES = """examples:
  interlingua models                    the models of models.yaml, and each provider's current ones
  interlingua models gemini flash       every model whose name has both words
  interlingua models --usable           only what has a key, or needs none
  interlingua models --json claude | jq '.[].name'

Nothing is fetched: limits come from the extra `catalogue`, prices from the extra `prices`, and models.yaml
corrects both.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.usage = "interlingua models [OPTION …] [WORD …]"
    parser.epilog = EXAMPLES
    parser.add_argument("words", nargs="*", metavar="WORD", help="only names that hold all of them")
    parser.add_argument("--usable", action="store_true", help="only models of providers that could be asked now")
    parser.add_argument("--config", metavar="FILE", help="the models.yaml to read")
    add_json(parser, "an array with an object for each model; prices are dollars for a million tokens")


def _short(tokens: int | None) -> str | None:
    """A number of tokens in a few letters: 128k, 1.05M."""
    if tokens is None:
        return None
    return f"{tokens / 1e6:.3g}M" if tokens >= 1_000_000 else f"{tokens / 1e3:.3g}k"


def run(arguments: argparse.Namespace) -> int:
    """List them."""
    from .failures import FAILED
    from .known import configuration, models
    from .output import write_json, write_line, write_table

    found = [
        model
        for model in models(configuration(arguments.config), arguments.words)
        if not arguments.usable or model.state != "no key"
    ]
    if arguments.json:
        write_json(found)
    elif found:
        headers = ("model", "tier", "context", "output", "$/M in", "$/M out", "here", "takes")
        rows = [
            (
                *(m.name, m.tier, _short(m.context), _short(m.output)),
                *(m.input_price, m.output_price, m.state, ", ".join(m.takes)),
            )
            for m in found
        ]
        write_table(headers, rows, spared=("takes", "tier", "output"))
    else:
        write_line("No model of that name is known. A name that nobody knows is sent as written: provider:model")
    return 0 if found else FAILED

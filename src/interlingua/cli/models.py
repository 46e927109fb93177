"""``interlingua models``: lists the known models, what they accept and cost, and whether they can be used here."""

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
    parser.add_argument("words", nargs="*", metavar="WORD", help="only names that contain all the words")
    parser.add_argument("--usable", action="store_true", help="only models of providers that can be called now")
    parser.add_argument("--config", metavar="FILE", help="the models.yaml to read")
    add_json(parser, "an array with an object for each model; prices are dollars for a million tokens")


def _short(tokens: int | None) -> str | None:
    """A number of tokens in short: 128k, 1.05M."""
    if tokens is None:
        return None
    return f"{tokens / 1e6:.3g}M" if tokens >= 1_000_000 else f"{tokens / 1e3:.3g}k"


def run(arguments: argparse.Namespace) -> int:
    """List the models. The exit code is 1 if none was found."""
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
        write_table(headers, rows, optional=("takes", "tier", "output"))
    else:
        write_line("No known model has this name. A model that is not in the list can be called too: provider:model")
    return 0 if found else FAILED

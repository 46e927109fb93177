"""Reading turns of protocols that send tool results within user turns: roles, blocks, and runs of results.

Also writes the system text of protocols that have it in blocks of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...types.base import Json
from ...types.blocks import Block, OpaqueBlock, TextBlock, ToolResultBlock
from ...types.words import Role
from ..json import Wire, is_array
from ..ledger import Ledger
from ..marks import note_role
from ..rows.table import Table

__all__ = ["result_runs", "take_blocks", "take_role", "write_system_texts"]

_USER, _TOOL = Role.user, Role.tool


def take_role(rest: Wire, marks: Wire, roles: Mapping[str, Role]) -> Role:
    """Take the role of a turn out of its residue. An unknown role is read as user; it stays residue and is marked."""
    word = rest.get("role")
    known = roles.get(word) if isinstance(word, str) else None
    if known is not None:
        del rest["role"]
        return known
    marks["role"] = [rest.pop("role")] if "role" in rest else []
    note_role(word, roles, rest)
    return _USER


def take_blocks(rest: Wire, marks: Wire, *blank: Json) -> list[Json]:
    """Take the list of a turn's content out of its residue.

    If it is missing, empty or one of the ``blank`` values, the mark ``content`` keeps that. Any other value stays
    residue.
    """
    content = rest.get("content")
    if is_array(content) and content:
        del rest["content"]
        return content
    if content is None or content == [] or content in blank:
        marks["content"] = [rest.pop("content")] if "content" in rest else []
    return []


def result_runs(blocks: Iterable[Block]) -> list[tuple[Role, list[Block]]]:
    """The blocks of one wire turn in runs, each one canonical message: tool results, or blocks of the user."""
    runs: list[tuple[Role, list[Block]]] = []
    for block in blocks:
        role = _TOOL if type(block) is ToolResultBlock else _USER
        if not runs or runs[-1][0] is not role:
            runs.append((role, []))
        runs[-1][1].append(block)
    return runs


def write_system_texts(
    blocks: Sequence[tuple[tuple[str | int, ...], Block]], table: Table, ledger: Ledger
) -> list[Json]:
    """Write the texts of a system prompt, given with their places. Any other block is lost, unless the protocol itself
    carried it whole."""
    written: list[Json] = []
    for where, block in blocks:
        ledger.where = where
        if type(block) is not TextBlock and not (type(block) is OpaqueBlock and block.dialect == table.dialect):
            ledger.lose_from_system(block, table.dialect)
        elif (wire := table.write(block, ledger)) is not None or table.is_null(block):
            written.append(wire)
    ledger.where = ()
    return written

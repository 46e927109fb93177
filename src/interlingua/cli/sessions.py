"""``interlingua sessions``: lists, shows, exports and reprices the conversations that were kept."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from .failures import CommandError
from .parsing import add_json

if TYPE_CHECKING:
    from ..agent.session import SqliteStore
    from ..agent.session.saved import Saved
    from ..types.messages import Message

__all__ = ["add_arguments", "run"]

VERBS = ("list", "show", "export", "reprice")
EXAMPLES = """examples:
  interlingua sessions                              the conversations of `chat`, the oldest first
  interlingua sessions show last
  interlingua sessions export K3ZE71V1 > talk.json  the end of an id is enough, if it is the only one
  interlingua sessions export last --to openai-chat  the history as a request of that dialect
  interlingua sessions reprice --store talks.db     what they would cost by today's prices; --write keeps it
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser.usage = "interlingua sessions [list|show ID|export ID|reprice [ID]] [OPTION …]"
    parser.epilog = EXAMPLES
    parser.add_argument("verb", nargs="?", default="list", choices=VERBS, metavar="VERB", help=", ".join(VERBS))
    parser.add_argument("id", nargs="?", metavar="ID", help="an id, the end of one, or `last`")
    parser.add_argument("--store", metavar="FILE", help="the SQLite file; without it, that of `chat`")
    parser.add_argument("--to", metavar="DIALECT", help="export the history as a request of this dialect")
    parser.add_argument("--write", action="store_true", help="keep the new prices")
    parser.add_argument("--config", metavar="FILE", help="the models.yaml with the prices")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the verb on the store."""
    from pathlib import Path

    from ..agent.session import SqliteStore
    from .places import chats_file

    path = Path(arguments.store) if arguments.store else chats_file()
    if arguments.store and not path.exists():
        raise CommandError(f"{path}: No such file or directory")
    store = SqliteStore(path)
    try:
        ACTIONS[arguments.verb](arguments, store)
    finally:
        store.close()
    return 0


def _find_id(store: SqliteStore, wanted: str | None) -> str:
    """The id that ends with ``wanted``, or the last one. Raises ``CommandError`` unless exactly one matches."""
    ids = store.ids()
    if wanted is None:
        raise CommandError("which conversation? name its id, the end of it, or `last`")
    if wanted == "last" and ids:
        return ids[-1]
    found = [id for id in ids if id.lower().endswith(wanted.lower())]
    if len(found) != 1:
        what = "no conversation ends" if not found else f"{len(found)} conversations end"
        raise CommandError(f"{what} in {wanted!r}; `interlingua sessions` lists them")
    return found[0]


# ----------------------------------------------------------------------------------------------------------- the verbs


def _list(arguments: argparse.Namespace, store: SqliteStore) -> None:
    from ..agent.session.report import cost_of
    from .output import write_json, write_line, write_table

    rows: list[dict[str, Any]] = []
    for id in store.ids():
        saved = store.load(id)
        first = next((message.text for message in saved.messages if str(message.role) == "user"), "")
        row = {"id": id, "model": _model(saved), "messages": len(saved.messages), "cost_usd": cost_of(saved.messages)}
        rows.append(row | {"first": " ".join(first.split())[:60]})
    if arguments.json:
        write_json(rows)
    elif rows:
        cells = [(r["id"], r["model"], r["messages"], _dollars(r["cost_usd"]), r["first"]) for r in rows]
        write_table(("id", "model", "messages", "cost", "begins"), cells)
    else:
        write_line(f"No conversation is kept in {store.path}.")


def _model(saved: Saved) -> str:
    model = saved.head.model
    return model if isinstance(model, str) else ", ".join(model or ())


def _dollars(cost: float | None) -> str:
    return "?" if cost is None else f"${cost:.5f}"


def _show(arguments: argparse.Namespace, store: SqliteStore) -> None:
    from .output import write_json, write_line

    saved = store.load(_find_id(store, arguments.id))
    if arguments.json:
        write_json(saved.messages)
        return
    write_line(f"{saved.head.id} · {_model(saved)}")
    for message in saved.messages:
        write_line()
        taken_back = " (taken back)" if message.id in saved.head.undone else ""
        write_line(f"{_speaker(message)}{taken_back}:")
        for block in message.content:
            write_line(_block_text(block))


def _speaker(message: Message) -> str:
    origin = message.origin
    return str(message.role) if origin is None or origin.model is None else f"{message.role} ({origin.model})"


def _block_text(block: Any) -> str:
    """A block as text; a block that has none is shown by its type."""
    import msgspec

    from ..types.blocks import TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock

    match block:
        case TextBlock():
            return block.text
        case ThinkingBlock():
            return f"(thinking) {block.text}"
        case ToolUseBlock():
            given = block.input_text if block.kind == "text" else msgspec.json.encode(block.input).decode()
            return f"→ {block.name} {given}"
        case ToolResultBlock():
            return f"← {' '.join(map(_block_text, block.content))}"
        case _:
            return f"[{block.type}]"


def _export(arguments: argparse.Namespace, store: SqliteStore) -> None:
    from ..codec.registry import DIALECTS, dialect
    from ..types.request import Request
    from .output import write_json
    from .parsing import suggest

    saved = store.load(_find_id(store, arguments.id))
    if arguments.to is None:
        write_json({**_fields(saved.head), "messages": saved.messages})
        return
    if arguments.to not in DIALECTS:
        raise CommandError(f"{arguments.to!r} is no dialect; {suggest(arguments.to, DIALECTS)}")
    gone = set(saved.head.omitted)
    sent = tuple(message for message in saved.messages if message.id not in gone)
    write_json(dialect(arguments.to).encode_request(Request(sent, system=saved.head.system)).body)


def _fields(value: Any) -> dict[str, Any]:
    import msgspec

    found: dict[str, Any] = msgspec.to_builtins(value)
    return found


def _reprice(arguments: argparse.Namespace, store: SqliteStore) -> None:
    from ..agent.session.report import cost_of
    from ..models.pricing import Pricing
    from .known import configuration
    from .output import write_json, write_table

    pricing = Pricing(configuration(arguments.config).prices)
    rows: list[dict[str, Any]] = []
    for id in (_find_id(store, arguments.id),) if arguments.id else store.ids():
        saved = store.load(id)
        repriced = pricing.reprice(saved.messages)
        rows.append({"id": id, "cost_usd": cost_of(saved.messages), "new_cost_usd": cost_of(repriced)})
        if arguments.write:
            _save_prices(store, id, list(repriced), arguments.config)
    if arguments.json:
        write_json(rows)
    else:
        cells = [(row["id"], _dollars(row["cost_usd"]), _dollars(row["new_cost_usd"])) for row in rows]
        write_table(("id", "cost", "now"), cells)


def _save_prices(store: SqliteStore, id: str, messages: list[Message], config: str | None) -> None:
    from ..agent.session import SyncSession
    from .calling import manager_of

    with manager_of(config) as manager:
        session = SyncSession.load(store, id, manager=manager)
        session.history.messages = messages
        session.save(store)


ACTIONS = {"list": _list, "show": _show, "export": _export, "reprice": _reprice}

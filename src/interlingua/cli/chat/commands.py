"""The commands of the chat, which begin with a slash."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ...agent.session import Session
from ...agent.swap import SwapPlan
from ...codec.registry import DIALECTS, dialect as find
from ...errors import AdapterError
from ...models.providers import PROVIDERS
from ...types.loss import Loss
from ...types.messages import Message
from ...types.words import Role
from ..failures import CommandError, explain
from ..parsing import suggest
from .conversation import Chat

__all__ = ["COMMANDS", "run_line"]


class Command(NamedTuple):
    """A command: the function that gets the rest of the line, and how ``/help`` shows it."""

    run: Callable[[Chat, str], Awaitable[None]]
    usage: str
    summary: str


async def run_line(chat: Chat, line: str) -> None:
    """Run the command on a line. Errors are shown, not raised."""
    name, _, rest = line.partition(" ")
    command = COMMANDS.get(name)
    try:
        if command is None:
            raise CommandError(f"there is no command {name}; {suggest(name, COMMANDS)}")
        await command.run(chat, rest.strip())
    except (AdapterError, CommandError, OSError, ValueError) as error:
        failure = explain(error)
        chat.display.note(failure.sentence if failure is not None else str(error), style="red")


async def _help(chat: Chat, rest: str) -> None:
    for command in COMMANDS.values():
        chat.display.note(f"{command.usage:<18} {command.summary}", style="")


async def _quit(chat: Chat, rest: str) -> None:
    chat.is_over = True


# ------------------------------------------------------------------------------------------------------------ the model


async def _model(chat: Chat, rest: str) -> None:
    if not rest:
        chat.display.note(f"{chat.session.model}; /model NAME moves the conversation", style="")
        return
    if chat.session.messages:
        plan = chat.session.plan_swap(rest)
        for line in _plan_lines(plan, rest):
            chat.display.note(line, style="yellow")
        if (await chat.question("Move? [Y/n] ")).lower() not in ("", "y", "yes"):
            chat.display.note(f"It stays with {chat.session.model}.")
            return
    chat.session.model = rest
    chat.display.note(f"{chat.session.model} answers from now on.")


def _plan_lines(plan: SwapPlan, model: str) -> list[str]:
    """The lines that say what a move to another model would cost and lose."""
    cost = "of unknown price" if plan.cost_usd is None else f"${plan.cost_usd:.4f} to send once"
    cache = "the prompt cache survives" if plan.cache_survives else "the prompt cache is lost"
    lines = [f"Moving to {model}: about {plan.input_tokens} tokens, {cost}; {cache}."]
    lines += [f"It would not work: {problem}" for problem in plan.problems]
    matter = [loss for loss in plan.losses if loss.weight != "form"]
    lines += _loss_lines(matter) or ["Nothing would be lost."]
    return lines


def _loss_lines(losses: list[Loss]) -> list[str]:
    return [f"{loss.kind} ({loss.weight}) {loss.path}: {loss.reason}" for loss in losses]


# ---------------------------------------------------------------------------------------------------- the conversation


async def _undo(chat: Chat, rest: str) -> None:
    question = chat.session.pop()[0]
    chat.display.note(f"Taken back: {_first_line(question)}")


async def _retry(chat: Chat, rest: str) -> None:
    question = chat.session.failed_question or chat.session.pop()[0]
    await chat.take_turn(msgspec.structs.replace(question, id=None))


async def _fork(chat: Chat, rest: str) -> None:
    before = chat.session
    chat.use_session(before.fork())
    chat.display.note(f"This is a fork now, {chat.session.id}; {before.id} stays as it is.")


async def _save(chat: Chat, rest: str) -> None:
    if not rest:
        raise CommandError("/save FILE: name a file; one that ends in .db is SQLite, any other JSON")
    chat.session.save(_path(rest))
    chat.display.note(f"Saved in {rest}.")


async def _load(chat: Chat, rest: str) -> None:
    if not rest:
        raise CommandError("/load FILE, or the id of a conversation; `interlingua sessions` lists them")
    store, path = chat.session.store, _path(rest)
    settings: dict[str, Any] = {"tools": chat.tools, "manager": chat.manager, "store": store}
    assert store is not None
    loaded = Session.load(path, **settings) if path.is_file() else Session.load(store, rest, **settings)
    chat.use_session(loaded)
    chat.display.note(f"{loaded.id}: {len(loaded.messages)} messages, {loaded.model}.")
    for message in loaded.messages[-2:]:
        chat.display.note(f"{message.role}: {_first_line(message)}")


def _path(text: str) -> Path:
    return Path(text).expanduser()


def _first_line(message: Message) -> str:
    return (message.text.strip().splitlines() or ["…"])[0][:100]


# ----------------------------------------------------------------------------------------------------------- inspection


async def _cost(chat: Chat, rest: str) -> None:
    session, usage = chat.session, chat.session.usage
    cost = "unknown" if session.cost_usd is None else f"${session.cost_usd:.5f}"
    tokens = f"{usage.total_input_tokens} tokens in ({usage.cached_input_tokens} cached), {usage.output_tokens} out"
    chat.display.note(f"{tokens}; cost {cost}", style="")
    for warning in session.report.warnings:
        chat.display.note(warning)


async def _losses(chat: Chat, rest: str) -> None:
    matter = [loss for loss in chat.losses if loss.weight != "form"]
    for line in _loss_lines(matter) or ["Nothing was lost."]:
        chat.display.note(line, style="")


async def _wire(chat: Chat, rest: str) -> None:
    request = chat.session.request({})
    messages = list(request.messages)
    while messages and messages[-1].role is Role.assistant:
        messages.pop()
    if not messages:
        raise CommandError("nothing was asked yet")
    id, model = chat.manager.locate(chat.session.router.models[0])
    row = PROVIDERS.get(chat.manager.get_adapter(id).name)
    name = rest or (row.dialect if row is not None else next(iter(DIALECTS)))
    if name not in DIALECTS:
        raise CommandError(f"{name!r} is no dialect; {suggest(name, DIALECTS)}")
    written = find(name).encode_request(msgspec.structs.replace(request, messages=tuple(messages), model=model))
    chat.display.finish()
    chat.display.console.print_json(msgspec.json.encode(written.body).decode())
    for line in _loss_lines([loss for loss in written.losses if loss.weight != "form"]):
        chat.display.note(line)


COMMANDS = {
    "/help": Command(_help, "/help", "this list"),
    "/model": Command(_model, "/model [NAME]", "move to another model; its cost and losses are shown first"),
    "/undo": Command(_undo, "/undo", "take back the last question and its answer"),
    "/retry": Command(_retry, "/retry", "ask the last question once more"),
    "/fork": Command(_fork, "/fork", "go on with a copy; the conversation so far stays as it is"),
    "/cost": Command(_cost, "/cost", "tokens and cost so far"),
    "/losses": Command(_losses, "/losses", "what could not be sent to the models"),
    "/wire": Command(_wire, "/wire [DIALECT]", "the last request, in any dialect"),
    "/save": Command(_save, "/save FILE", "write the conversation to a file"),
    "/load": Command(_load, "/load FILE|ID", "go on with a conversation from a file, or of an id"),
    "/quit": Command(_quit, "/quit", "leave; so do Ctrl-D and Ctrl-C twice"),
}

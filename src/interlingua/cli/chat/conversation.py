"""The chat itself: it reads lines and runs each as a command or as a turn of the conversation."""

from __future__ import annotations

import argparse
import asyncio
import re
import signal
import sys
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession

from ...agent.session import Session, SqliteStore
from ...agent.tools import McpTools
from ...client.manager import ProviderManager
from ...codec.saving import to_json
from ...errors import AdapterError, CancelledError
from ...types.blocks import Block, TextBlock, ToolUseBlock
from ...types.events import TextDelta, ThinkingDelta
from ...types.loss import Loss
from ...types.messages import Message
from ...types.session_events import SessionEvent, ToolFailure, ToolResult, ToolStart
from ...types.tools import ToolDefinition
from ..attaching import file_block
from ..calling import manager_of
from ..failures import CommandError, explain
from ..known import configuration, models
from ..places import chats_file, data_folder
from .display import Display, describe_call
from .tools import tools_for
from .typing import line_editor

__all__ = ["Chat", "converse"]

FILE = re.compile(r"(?:^|(?<=\s))@(\S+)")
WELCOME = "{model} · /help lists the commands · Ctrl-C ends an answer, twice leaves"


class Chat:
    """A running chat: the session, the terminal and the tools. The commands change it."""

    def __init__(self, session: Session, editor: PromptSession[str], display: Display, tools: list[Any]) -> None:
        self.session, self.editor, self.display, self.tools = session, editor, display, tools
        self.losses: dict[Loss, None] = {}
        self.approved_tools: set[str] = set()
        """The tools that the user approved for the rest of the chat."""
        self.is_over = False
        self._interrupts = 0
        self.use_session(session)

    @property
    def manager(self) -> ProviderManager:
        """The manager that finds the models."""
        return self.session.manager

    def use_session(self, session: Session) -> None:
        """Continue with this session."""
        session.approve = self.approve
        self.session = session

    # -------------------------------------------------------------------------------------------------------- a line

    async def run(self) -> None:
        """Read lines until the user leaves."""
        from .commands import run_line

        self.display.note(WELCOME.format(model=self.session.model))
        while not self.is_over:
            try:
                line = (await self.editor.prompt_async("> ")).strip()
            except KeyboardInterrupt:
                self._interrupt()
                continue
            except EOFError:
                return
            if line:
                self._interrupts = 0
                await (run_line(self, line) if line.startswith("/") else self.take_turn(line))

    def _interrupt(self) -> None:
        self._interrupts += 1
        self.is_over = self._interrupts > 1
        if not self.is_over:
            self.display.note("Ctrl-C once more leaves.")

    # -------------------------------------------------------------------------------------------------------- a turn

    async def take_turn(self, content: str | Message | None) -> None:
        """Send a question and show the answer and its calls of tools. Errors are shown, and the chat goes on."""
        try:
            await self._turn(_content(content) if isinstance(content, str) else content)
        except CancelledError:
            self._interrupts = 1
            self.display.note("(stopped; what came of the answer is kept)")
        except (AdapterError, CommandError, OSError, ValueError) as error:
            failure = explain(error)
            self.display.note(failure.sentence if failure is not None else str(error), style="red")
        finally:
            self.display.finish()
            self.losses.update(dict.fromkeys(self.session.report.losses))

    async def _turn(self, content: Any) -> None:
        loop, session = asyncio.get_running_loop(), self.session
        stopping: set[asyncio.Task[bool]] = set()

        def stop() -> None:
            stopping.add(loop.create_task(session.cancel()))

        with suppress(NotImplementedError):  # on Windows Ctrl-C ends the program
            loop.add_signal_handler(signal.SIGINT, stop)
        try:
            async with session.run_stream(content) as events:
                async for event in events:
                    self._show(event)
        finally:
            with suppress(NotImplementedError):
                loop.remove_signal_handler(signal.SIGINT)
            await asyncio.gather(*stopping)
        if stopping:
            raise CancelledError("by Ctrl-C")

    def _show(self, event: SessionEvent) -> None:
        match event:
            case TextDelta():
                self.display.text(event.text)
            case ThinkingDelta():
                self.display.thinking(event.text)
            case ToolStart():
                self.display.call(event.call)
            case ToolResult() | ToolFailure():
                self.display.result(event.result, failed=isinstance(event, ToolFailure))
            case _:
                pass

    async def approve(self, call: ToolUseBlock, definition: ToolDefinition) -> bool | str:
        """Ask the user whether a tool may run. Returns True, False, or the user's reason against it."""
        if definition.name in self.approved_tools:
            return True
        self.display.note(f"The model wants to run {describe_call(call)}", style="yellow")
        reply = await self.question("Run it? [y]es, [n]o, [a]lways this tool, or say why not: ")
        if reply.lower() in ("a", "always"):
            self.approved_tools.add(definition.name)
        return True if reply.lower() in ("y", "yes", "a", "always") else reply or False

    async def question(self, text: str) -> str:
        """Ask the user a question and return the answer; an empty text for Ctrl-C or Ctrl-D."""
        try:
            return (await PromptSession[str]().prompt_async(text)).strip()
        except (KeyboardInterrupt, EOFError):
            return ""


def _content(line: str) -> list[Block]:
    """The content for a line: the files that it names with ``@path``, then the line itself."""
    names = [name for name in FILE.findall(line) if Path(name).expanduser().is_file()]
    return [*map(file_block, names), TextBlock(line)]


# -------------------------------------------------------------------------------------------------------- start and end


async def converse(arguments: argparse.Namespace) -> int:
    """Hold a conversation until the user leaves."""
    store = SqliteStore(arguments.store or chats_file())
    store.path.parent.mkdir(parents=True, exist_ok=True)
    async with AsyncExitStack() as stack:
        manager = await stack.enter_async_context(manager_of(arguments.config))
        servers = [await stack.enter_async_context(McpTools(server, cautious=True)) for server in arguments.mcp]
        tools = [*tools_for(arguments.tools, arguments.folder), *servers]
        found = configuration(arguments.config)
        from .commands import COMMANDS

        editor = line_editor(data_folder(), tuple(COMMANDS), lambda: (row.name for row in models(found, [])))
        chat = Chat(_session(arguments, manager, store, tools), editor, Display(), tools)
        try:
            await chat.run()
        finally:
            await chat.session.close()
            store.close()
        if arguments.json and not sys.stdout.isatty():
            sys.stdout.write(to_json(chat.session.messages).decode() + "\n")
    return 0


def _session(arguments: argparse.Namespace, manager: ProviderManager, store: SqliteStore, tools: list[Any]) -> Session:
    """A new session, or the stored one that the options name."""
    id = arguments.session
    if arguments.resume and id is None:
        known = store.ids()
        if not known:
            raise CommandError(f"there is no conversation to go on with in {store.path}")
        id = known[-1]
    if id is None:
        return Session(arguments.model, tools, arguments.system, manager=manager, store=store)
    return Session.load(store, id, tools=tools, model=arguments.model, manager=manager, store=store)

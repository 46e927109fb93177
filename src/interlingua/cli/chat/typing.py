"""The editor of the chat's input: history, several lines, completion of commands, models and files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion, PathCompleter
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

__all__ = ["line_editor"]


def line_editor(folder: Path, commands: Sequence[str], models: Callable[[], Iterable[str]]) -> PromptSession[str]:
    """An editor whose history is kept in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = KeyBindings()

    @keys.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return PromptSession(
        history=FileHistory(str(folder / "typed")),
        completer=_Completer(commands, models),
        complete_while_typing=False,
        key_bindings=keys,
    )


class _Completer(Completer):
    """Completes commands after ``/``, models after ``/model`` and files after ``@``."""

    def __init__(self, commands: Sequence[str], models: Callable[[], Iterable[str]]) -> None:
        self.commands, self.models, self.paths = commands, models, PathCompleter(expanduser=True)
        self._names: list[str] | None = None

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        word = text.split()[-1] if text and not text[-1].isspace() else ""
        if text.startswith("/model "):
            self._names = self._names or list(self.models())
            yield from (Completion(name, -len(word)) for name in self._names if name.startswith(word))
        elif text.startswith("/"):
            yield from (Completion(name, -len(text)) for name in self.commands if name.startswith(text))
        elif word.startswith("@"):
            yield from self.paths.get_completions(Document(word[1:]), complete_event)

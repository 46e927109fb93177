"""The part of a session that is saved, loaded and forked."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from copy import deepcopy
from typing import Any, Self

from ...client.adapter import new_ulid
from ...types.tools import Tool
from ..routing import Router
from ..routing.router import Models
from ..tools import ToolSource
from .conversation import Conversation
from .history import History
from .options import read_turn_options
from .saved import Saved
from .stores import JsonStore
from .storing import Place, visited

__all__ = ["StoredConversation"]

log = logging.getLogger("interlingua")


class StoredConversation(Conversation):
    """What both sessions are, with ``save``, ``load`` and ``fork``."""

    def save(self, store: Place, *, overwrite: bool = False) -> None:
        """Write the whole session: a path ending in ``.db`` or ``.sqlite`` is SQLite, any other JSON. Blocks.

        A session that this one has neither read nor written there is not replaced, unless you say ``overwrite``.
        """
        with visited(store) as found:
            self._writer.save(found, self.snapshot(), overwrite=overwrite)

    @classmethod
    def load(
        cls,
        source: Place,
        /,
        id: str | None = None,
        *,
        tools: Iterable[ToolSource | Tool] = (),
        model: Models | Router | None = None,
        **settings: Any,
    ) -> Self:
        """A saved session. Tools are functions, which no file can hold: give them again. ``store=`` is where it is kept
        from now on; that may be where it came from. Blocks.

        What cannot be read is left out, kept for the next save, and told in the log and in ``report.warnings``.
        """
        with visited(source) as found:
            saved = found.load(id)
        made = cls._from(saved, tools, model, **settings)
        made._writer.saw(saved.head)
        return made

    @classmethod
    def _from(
        cls, saved: Saved, tools: Iterable[ToolSource | Tool], model: Models | Router | None, **settings: Any
    ) -> Self:
        head = saved.head
        options, left = read_turn_options(head.wishes)
        told: dict[str, Any] = {**options, "metadata": deepcopy(head.metadata), "id": head.id, **settings}
        made = cls(head.model if model is None else model, tools, head.system, **told)
        made.history = History(saved.messages, head.omitted, made.history.repair)
        made.forked_from, made._unreadable = head.forked_from, {**head.unreadable, **left}
        for problem in (*saved.problems, *(f"the setting {name} could not be read: {left[name]!r}" for name in left)):
            log.warning("%s", problem)
            made.report.warn(problem)
        return made

    def fork(self, store: Place | None = None) -> Self:
        """A second session that goes on from here; neither sees what the other says from now on.

        It is kept in ``store``, else beside this one: in the same SQLite file; a JSON file holds only one session.
        """
        settings = self._settings()
        if store is not None or isinstance(self.store, JsonStore):
            settings["store"] = store
        made = self._from(self.snapshot(), (), None, **settings, id=f"ses_{new_ulid()}")
        made.toolbox, made.definitions, made._bare = self.toolbox, self.definitions, self._bare
        made.forked_from = self.id
        return made

    def _settings(self) -> dict[str, Any]:
        names = ("manager", "behaviour", "cache", "overflow", "max_steps", "approve", "pricing", "store", "fetch_media")
        return {name: getattr(self, name) for name in (*names, "active_skills", "active_connectors")} | {
            "repair": self.history.repair
        }

"""``save``, ``load`` and ``fork`` of both sessions."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from copy import deepcopy
from typing import Any, Self

from ...client.adapter import new_ulid
from ...client.uploaded import Uploads
from ...types.tools import Tool
from ..routing import Router
from ..routing.router import Models
from ..tools import ToolSource
from .history import History
from .options import read_turn_options
from .saved import Saved
from .session_writer import Place, open_store
from .stores import JsonStore
from .undoing import UndoableConversation

__all__ = ["StoredConversation"]

log = logging.getLogger("interlingua")


class StoredConversation(UndoableConversation):
    """A conversation with ``save``, ``load`` and ``fork``."""

    def save(self, store: Place, *, overwrite: bool = False) -> None:
        """Write the whole session. A path that ends in ``.db`` or ``.sqlite`` is SQLite, any other is JSON. Blocks.

        A stored session is replaced only if this session has read or written it, or with ``overwrite=True``.
        """
        with open_store(store) as found:
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
        """Load a saved session. Tools are functions, which are not saved: pass them again. The loaded session is stored
        in ``store=`` from now on; that may be ``source``. Blocks.

        What cannot be read is left out, kept for the next save, and reported in the log and in ``report.warnings``.
        """
        with open_store(source) as found:
            saved = found.load(id)
        made = cls._from(saved, tools, model, **settings)
        made._writer.note_loaded(saved.head)
        return made

    @classmethod
    def _from(
        cls, saved: Saved, tools: Iterable[ToolSource | Tool], model: Models | Router | None, **settings: Any
    ) -> Self:
        head = saved.head
        options, unread = read_turn_options(head.options)
        arguments: dict[str, Any] = {**options, "metadata": deepcopy(head.metadata), "id": head.id, **settings}
        made = cls(head.model if model is None else model, tools, head.system, **arguments)
        omitted = set(head.omitted).difference(head.undone)
        made.history = History(saved.messages, omitted, made.repair, head.undone)
        made.uploads = Uploads(head.uploads)
        made.forked_from, made._unreadable = head.forked_from, {**head.unreadable, **unread}
        unread_options = (f"the setting {name} could not be read: {value!r}" for name, value in unread.items())
        for problem in (*saved.problems, *unread_options):
            log.warning("%s", problem)
            made.report.warn(problem)
        return made

    def fork(self, store: Place | None = None) -> Self:
        """A copy of the session that goes on from here. Neither session sees the later messages of the other.

        It is stored in ``store``, else in the same SQLite file; a JSON file holds only one session.
        """
        if store is None and not isinstance(self.store, JsonStore):
            store = self.store
        settings = {**self.settings(), "manager": self.manager, "pricing": self._given_pricing, "store": store}
        made = self._from(self.snapshot(), (), None, **settings, id=f"ses_{new_ulid()}")
        made.toolbox, made.definitions, made._without_handler = self.toolbox, self.definitions, self._without_handler
        made.delegates = self.delegates
        made.forked_from = self.id
        return made

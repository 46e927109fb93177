"""How a request is made ready for one candidate: behaviour, cache marks, the conversation's own ids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...client.adapter import Adapter
from ...types.request import Request
from ..history import Names, mark_cache
from ..routing.attempts import Prepare, Prepared
from ..routing.routes import Candidate
from .reporting import Report

if TYPE_CHECKING:
    from .conversation import Conversation

__all__ = ["prepare_with"]


def prepare_with(conversation: Conversation, report: Report) -> Prepare:
    """The function that does it for a session, and tells the report what was left out."""

    def prepare(candidate: Candidate, request: Request) -> Prepared:
        adapter = candidate.adapter
        spoken = adapter.dialect.name if isinstance(adapter, Adapter) else ""
        behaved = conversation.manager.behave(
            candidate.id,
            adapter.name,
            request,
            conversation.behaviour,
            active_skills=conversation.active_skills,
            active_connectors=conversation.active_connectors,
        )
        report.left_out = behaved.left_out
        if behaved.warnings:
            report.warn(*behaved.warnings)
        request = behaved.request
        if conversation.cache == "auto" and candidate.able.prompt_caching:
            request = mark_cache(request, spoken)
        fetches = conversation.fetch_media and isinstance(adapter, Adapter)
        return Prepared(request, behaved.retry, behaved.max_retries, Names(spoken), fetches)

    return prepare

"""One look at a request: nearly all are such that the model takes them as they are, and this is in every call's way."""

from __future__ import annotations

from math import inf
from typing import Any

from ..catalogue.facts import Facts
from ..types.blocks import AudioBlock, Block, DocumentBlock, ImageBlock, ToolResultBlock, VideoBlock
from ..types.capabilities import AdapterCapabilities
from ..types.request import Request
from ..types.words import Role
from .parameters import UNSAID

__all__ = ["Fitter"]

MEDIA = frozenset({ImageBlock, DocumentBlock, AudioBlock, VideoBlock})
ASSISTANT = Role.assistant


class Fitter:
    """What is known of one model, arranged for that look."""

    __slots__ = ("_easy", "_most", "_rejects", "_takes_marks", "able", "facts")

    def __init__(self, facts: Facts, able: AdapterCapabilities) -> None:
        self.facts, self.able = facts, able
        self._easy = able.tools and able.system_prompt and able.streaming and able.streaming_tool_calls
        self._most = inf if able.max_output_tokens is None else able.max_output_tokens
        self._takes_marks = able.prompt_caching
        self._rejects: tuple[tuple[str, Any], ...] = tuple((name, UNSAID.get(name)) for name in facts.rejects or ())

    def takes(self, request: Request) -> bool:
        """Whether the request need not be looked at any further."""
        if not self._easy or request.thinking is not None or request.tool_choice is not None:
            return False
        if request.output_schema is not None or self._most < (request.max_output_tokens or 0):
            return False
        for name, unsaid in self._rejects:
            if getattr(request, name) != unsaid:
                return False
        return self._reads(request)

    def _reads(self, request: Request) -> bool:
        messages = request.messages
        if self.facts.prefill is False and messages and messages[-1].role is ASSISTANT:
            return False
        for message in messages:
            if not self._plain(message.content):
                return False
        marked = not self._takes_marks and any(getattr(tool, "cache", None) for tool in request.tools)
        return not marked and self._plain(request.system)

    def _plain(self, content: tuple[Block, ...]) -> bool:
        """Neither media nor, where they would be refused, marks."""
        for block in content:
            if type(block) in MEDIA or (block.cache is not None and not self._takes_marks):
                return False
            if type(block) is ToolResultBlock and not self._plain(block.content):
                return False
        return True

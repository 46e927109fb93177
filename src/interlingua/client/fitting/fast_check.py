"""A fast check of a request, made before every call: nearly all requests are accepted by the model as they are."""

from __future__ import annotations

from math import inf
from typing import Any

from ...models.catalogue.facts import Facts
from ...types.blocks import AudioBlock, Block, DocumentBlock, ImageBlock, ToolResultBlock, VideoBlock
from ...types.capabilities import AdapterCapabilities
from ...types.request import Request
from ...types.words import Role
from .parameters import UNSET

__all__ = ["Fitter"]

SPECIAL_BLOCKS = frozenset({ImageBlock, DocumentBlock, AudioBlock, VideoBlock, ToolResultBlock})
NOT_FORCED = frozenset({"auto", "none"})
"""Tool choices that force no call."""
ASSISTANT = Role.assistant


class Fitter:
    """What is known of one model, prepared for the check."""

    __slots__ = ("_easy", "_most", "_rejects", "_takes_marks", "capabilities", "facts")

    def __init__(self, facts: Facts, capabilities: AdapterCapabilities) -> None:
        self.facts, self.capabilities = facts, capabilities
        self._easy = (
            capabilities.tools
            and capabilities.system_prompt
            and capabilities.streaming
            and capabilities.streaming_tool_calls
        )
        self._most = inf if capabilities.max_output_tokens is None else capabilities.max_output_tokens
        self._takes_marks = capabilities.prompt_caching
        self._rejects: tuple[tuple[str, Any], ...] = tuple((name, UNSET.get(name)) for name in facts.rejects or ())

    def takes(self, request: Request) -> bool:
        """Whether the model accepts the request as it is. If not sure, False: ``fit_request`` looks closer."""
        choice = request.tool_choice
        if not self._easy or request.thinking is not None:
            return False
        if choice is not None and (choice.parallel is not None or choice.mode not in NOT_FORCED):
            return False
        if request.output_schema is not None or self._most < (request.max_output_tokens or 0):
            return False
        for name, unset in self._rejects:
            if getattr(request, name) != unset:
                return False
        return self._reads(request)

    def _reads(self, request: Request) -> bool:
        messages = request.messages
        if self.facts.prefill is False and messages and messages[-1].role is ASSISTANT:
            return False
        marks = self._takes_marks
        for message in messages:
            for block in message.content:
                if type(block) in SPECIAL_BLOCKS and not self._plain(block):
                    return False
                if not marks and block.cache is not None:
                    return False
        for block in request.system:
            if type(block) in SPECIAL_BLOCKS or not (marks or block.cache is None):
                return False
        return marks or not any(getattr(tool, "cache", None) for tool in request.tools)

    def _plain(self, block: Block) -> bool:
        """Whether it is a tool result without media, and without cache marks if the model takes none."""
        if type(block) is not ToolResultBlock:
            return False
        marks = self._takes_marks
        return not any(type(inner) in SPECIAL_BLOCKS or not (marks or inner.cache is None) for inner in block.content)

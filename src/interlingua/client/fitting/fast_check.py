"""A fast check of a request, made before every call: nearly all requests are accepted by the model as they are."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Any, cast

from ...models.catalogue.facts import Facts
from ...types.blocks import AudioBlock, DocumentBlock, ImageBlock, ToolResultBlock, ToolUseBlock, VideoBlock
from ...types.capabilities import AdapterCapabilities
from ...types.messages import Message
from ...types.request import Request
from ...types.tools import Tool, ToolDefinition
from ...types.words import Role
from .parameters import UNSET

__all__ = ["Fitter"]

SPECIAL_BLOCKS = frozenset({ImageBlock, DocumentBlock, AudioBlock, VideoBlock, ToolResultBlock})
NOT_FORCED = frozenset({"auto", "none"})
"""Tool choices that force no call."""
ASSISTANT = Role.assistant


class Fitter:
    """What is known of one model, prepared for the check."""

    __slots__ = ("_easy", "_most", "_rejects", "_takes_marks", "able", "facts")

    def __init__(self, facts: Facts, able: AdapterCapabilities) -> None:
        self.facts, self.able = facts, able
        self._easy = able.tools and able.system_prompt and able.streaming and able.streaming_tool_calls
        self._most = inf if able.max_output_tokens is None else able.max_output_tokens
        self._takes_marks = able.prompt_caching
        self._rejects: tuple[tuple[str, Any], ...] = tuple((name, UNSET.get(name)) for name in facts.rejects or ())

    def accepts(self, request: Request) -> bool:
        """Whether the model surely accepts the request as it is, with its calls and results and its tools' schemas. If
        False, the slower steps of fitting check the request again, and change what has to be changed."""
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
        for block in request.system:
            if type(block) in SPECIAL_BLOCKS or not (self._takes_marks or block.cache is None):
                return False
        return self._reads(request.messages) and (not request.tools or self._offers(request.tools))

    def _reads(self, messages: Sequence[Message]) -> bool:
        """Whether the model reads every block, and every call has one result and every result a call."""
        if self.facts.prefill is False and messages and messages[-1].role is ASSISTANT:
            return False
        marks, waiting = self._takes_marks, set[str]()
        for message in messages:
            for block in message.content:
                kind = type(block)
                if kind is ToolUseBlock:
                    id = cast("ToolUseBlock", block).id
                    if id in waiting:
                        return False
                    waiting.add(id)
                elif kind is ToolResultBlock:
                    result = cast("ToolResultBlock", block)
                    if result.tool_use_id not in waiting or not self._plain(result):
                        return False
                    waiting.remove(result.tool_use_id)
                elif kind in SPECIAL_BLOCKS:
                    return False
                if not marks and block.cache is not None:
                    return False
        return not waiting

    def _offers(self, tools: Sequence[Tool]) -> bool:
        """Whether the model takes the tools: no schema begins with a reference, and cache marks only where it can."""
        marks = self._takes_marks
        for tool in tools:
            if type(tool) is ToolDefinition and "$ref" in tool.input_schema:
                return False
            if not marks and getattr(tool, "cache", None):
                return False
        return True

    def _plain(self, block: ToolResultBlock) -> bool:
        """Whether a tool result has no media, and no cache marks if the model takes none."""
        marks = self._takes_marks
        return not any(type(inner) in SPECIAL_BLOCKS or not (marks or inner.cache is None) for inner in block.content)

"""How an answer ended: its stop reason and its usage, where they are two keys of one object (``Ending``).

``StopWord`` is the stop reason alone, for protocols in which the content of the answer decides what its word means.

Marks on a response: ``stop_reason`` (a word that we would not write for it) and ``no usage`` (it was missing, or no
object) are lists with the wire value, empty if the key was missing; ``usage`` has numbers that we would not write.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...types.base import Json
from ...types.response import Response
from ...types.usage import TokenUsage
from ...types.words import StopReason
from ..json import Wire, is_object
from ..ledger import Ledger
from .kinds import Vocabulary
from .usage import Counts

__all__ = ["Ending", "StopWord"]

END, CALLED = StopReason.end_turn, StopReason.tool_use  # attribute access on an Enum costs 40 ns


class StopWord:
    """The stop reason of an answer. ``meaning`` returns what a word means in it, ``word_for`` the word that we write.

    A word that we would not write is kept as a mark with the name of its key: a list with the wire value.
    """

    def __init__(
        self, dialect: str, key: str, meaning: Callable[[Json], StopReason], word_for: Callable[[StopReason], str]
    ) -> None:
        self.dialect, self.key, self.meaning, self.word_for = dialect, key, meaning, word_for
        self.usual = {word: reason for reason in StopReason if meaning(word := word_for(reason)) is reason}

    def read(self, fields: dict[str, Any], rest: Wire, marks: Wire) -> None:
        """Move the word from ``rest`` to ``fields``."""
        word = rest.get(self.key)
        if type(word) is str:
            fields["raw_stop_reason"] = word
        reason = self.usual.get(word) if type(word) is str else None
        if reason is None:
            reason = self.meaning(word)
            marks[self.key] = [word] if self.key in rest else []
        fields["stop_reason"] = reason
        rest.pop(self.key, None)

    def write(self, response: Response, mark: Mapping[str, Json], ledger: Ledger) -> Wire:
        """The provider's own word while it still means the stop reason, else the word that we write for it."""
        reason = response.stop_reason
        if self.key in mark:
            spelled: list[Json] = mark[self.key]
            if self.meaning(spelled[0] if spelled else None) is reason:
                return {self.key: spelled[0]} if spelled else {}
        word = self.word_for(reason)
        if self.usual.get(word) is not reason:
            ledger.lose("approximated", f"{self.dialect} has no stop reason {reason}", "stop_reason")
        return {self.key: word}


class Ending(NamedTuple):
    """How a dialect writes the end of an answer: the key and the words of its stop reason, and its counts."""

    dialect: str
    key: str
    stop: Vocabulary
    usage: Counts

    def read(self, fields: dict[str, Any], rest: Wire, marks: Wire, *, calls: bool) -> None:
        """Move the end of an answer from ``rest`` to ``fields``. Whether it ``calls`` tools tells an unknown word."""
        word = rest.get(self.key)
        known = self.stop.reads.get(word) if type(word) is str else None
        fields["stop_reason"] = known or (CALLED if calls else END)
        if type(word) is str:
            fields["raw_stop_reason"] = word
        if known is None or self.stop.writes[known] != word:
            marks["stop_reason"] = [word] if self.key in rest else []
        rest.pop(self.key, None)
        if is_object(usage := rest.get("usage")):
            fields["usage"], left, kept = self.usage.read(usage)
            if kept is not None:
                marks["usage"] = kept
            rest["usage"] = left
            if not left:
                del rest["usage"]
        else:
            marks["no usage"] = [rest.pop("usage")] if "usage" in rest else []

    def write_stop(self, response: Response, mark: Mapping[str, Json], ledger: Ledger) -> Wire:
        """The provider's own word while it still means the stop reason, else the word that we write for it."""
        if "stop_reason" in mark:
            spelled: list[Json] = mark["stop_reason"]
            known = self.stop.reads.get(spelled[0]) if spelled and type(spelled[0]) is str else None
            if (known or (CALLED if response.tool_uses else END)) is response.stop_reason:
                return {self.key: spelled[0]} if spelled else {}
        word = self.stop.writes.get(StopReason(response.stop_reason))
        if word is None:
            ledger.lose("approximated", f"{self.dialect} has no stop reason {response.stop_reason}", "stop_reason")
        return {self.key: word or self.stop.nearest}

    def write_usage(self, response: Response, mark: Mapping[str, Json], ledger: Ledger) -> Wire:
        """The usage under its key, or what the wire had there if the response has no usage."""
        if response.usage is None and "no usage" in mark:
            return {"usage": mark["no usage"][0]} if mark["no usage"] else {}
        return {"usage": self.write_counts(response, mark, ledger)}

    def write_counts(self, response: Response, mark: Mapping[str, Json], ledger: Ledger) -> Wire:
        """The usage object; zeros where there is none."""
        usage = response.usage or TokenUsage()
        if response.usage is None:
            ledger.lose_form("added", f"{self.dialect} requires usage; zeros were added", "usage")
        if usage.reasoning_tokens and "reasoning_tokens" not in self.usage.keys:
            reason = f"{self.dialect} does not count reasoning tokens apart"
            ledger.lose("dropped", reason, "usage", "reasoning_tokens")
        return self.usage.write(usage, mark.get("usage"))

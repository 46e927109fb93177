"""The losses that each dialect has in these conversations, and in which rows. None of them is of a text or a call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from interlingua.types.loss import Loss, LossKind

from .rows import CUT, STRICT, Row

__all__ = ["LOSSES", "WHERE", "Expected", "amiss"]

WHERE: dict[str, Callable[[Row, bool], bool]] = {
    # place                      whether a row has it, streamed or not
    "everywhere": lambda row, streamed: True,
    "tools": lambda row, streamed: row.tool_count > 0,
    "tools without `strict`": lambda row, streamed: row.tool_count > 0 and row.name != STRICT.name,
    "strict tools": lambda row, streamed: row.name == STRICT.name,
    "failed calls": lambda row, streamed: any(re.match("tool: .* failed ", line) for line in row.outcome),
    "a question that was not answered": lambda row, streamed: row.whole is not None and not streamed,
    "an answer that broke off": lambda row, streamed: row.name == CUT.name and streamed,
}


class Expected(NamedTuple):
    """A loss that is expected: its kind and path, in which conversations it occurs, and why."""

    kind: LossKind
    path: str
    where: str
    why: str

    def is_this(self, loss: Loss) -> bool:
        """Whether a loss is this one; ``N`` in the path stands for any number."""
        return loss.kind == self.kind and re.fullmatch(self.path.replace("N", r"\d+"), loss.path) is not None


RESULT, SCHEMA = "messages/N/content/N", "tools/N/input_schema"
CLOSED = Expected("approximated", SCHEMA, "strict tools", "strict mode closes every object")
NULLS = Expected("approximated", SCHEMA, "strict tools", "strict mode: every property is required, optional is null")
NAME = Expected("added", f"{RESULT}/name", "tools", "a result names its tool")
NO_FLAG = Expected(
    "approximated", f"{RESULT}/is_error", "failed calls", "no error flag: the text begins with `Error: `"
)
NO_STRICT = Expected("dropped", "tools/N/strict", "strict tools", "no strict mode")
JOINED = Expected(
    "moved", "messages/N", "a question that was not answered", "turns must alternate: two of the user's are joined"
)
BROKEN = Expected(
    "dropped", f"{RESULT}/incomplete", "an answer that broke off", "no protocol says that a text was cut off"
)

LOSSES: dict[str, tuple[Expected, ...]] = {
    "anthropic-messages": (
        Expected("added", "max_output_tokens", "everywhere", "a limit is demanded"),
        CLOSED,
        BROKEN,
    ),
    "openai-chat": (BROKEN, NO_FLAG, NO_FLAG._replace(path=f"{RESULT}/content/N"), NULLS),
    "openai-responses": (
        BROKEN,
        NO_FLAG,
        NO_FLAG._replace(path=f"{RESULT}/content/N/text"),
        NULLS,
        Expected("added", "tools/N/strict", "tools without `strict`", "left out, it would mean strict"),
    ),
    "gemini": (BROKEN, NAME, NO_STRICT, JOINED, JOINED._replace(kind="added", path="messages/N/content")),
    "ollama": (
        BROKEN,
        NAME,
        NO_FLAG,
        NO_FLAG._replace(path=f"{RESULT}/content"),
        NO_STRICT,
        Expected("approximated", SCHEMA, "tools", "no references, no defaults, no closed objects"),
    ),
    "bedrock-converse": (BROKEN, CLOSED, JOINED),
}


def amiss(row: Row, dialect: str, losses: Iterable[Loss], *, streamed: bool) -> Iterator[str]:
    """One sentence for each loss that the table does not have for this row, and for each that is missing."""
    found = list(dict.fromkeys(losses))
    due = [expected for expected in LOSSES[dialect] if WHERE[expected.where](row, streamed)]
    for loss in found:
        if not any(expected.is_this(loss) for expected in due):
            yield f"lost: {loss}"
    for expected in due:
        if not any(map(expected.is_this, found)):
            yield f"not lost: {expected.kind} {expected.path}"

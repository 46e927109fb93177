"""What each dialect cannot say as it is meant, in these rows: nothing of what was said or called is among it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ...types.loss import Loss

__all__ = ["LOSSES", "Expected", "unexpected"]


class Expected(NamedTuple):
    """A kind of loss at a kind of place, and why it is one."""

    kind: str
    path: str
    why: str

    def is_this(self, loss: Loss) -> bool:
        """``N`` in the path is any number."""
        return loss.kind == self.kind and re.fullmatch(self.path.replace("N", r"\d+"), loss.path) is not None


RESULT = "messages/N/content/N"
CLOSED = Expected("approximated", "tools/N/input_schema", "strict mode closes every object")
STRICT = Expected("approximated", "tools/N/input_schema", "strict mode: every property is required, optional is null")
NAME = Expected("added", f"{RESULT}/name", "a result names its tool")
NO_FLAG = Expected("approximated", f"{RESULT}/is_error", "no error flag: the text begins with `Error: `")
NO_STRICT = Expected("dropped", "tools/N/strict", "no strict mode")
JOINED = Expected("moved", "messages/N", "turns must alternate: two of the user's are joined")

LOSSES: dict[str, tuple[Expected, ...]] = {
    "anthropic-messages": (Expected("added", "max_output_tokens", "a limit is demanded"), CLOSED),
    "openai-chat": (NO_FLAG, Expected("approximated", f"{RESULT}/content/N", NO_FLAG.why), STRICT),
    "openai-responses": (
        NO_FLAG,
        Expected("approximated", f"{RESULT}/content/N/text", NO_FLAG.why),
        STRICT,
        Expected("added", "tools/N/strict", "left out, it would mean strict"),
    ),
    "gemini": (NAME, NO_STRICT, JOINED, Expected("added", "messages/N/content", JOINED.why)),
    "ollama": (
        NAME,
        NO_FLAG,
        Expected("approximated", f"{RESULT}/content", NO_FLAG.why),
        NO_STRICT,
        Expected("approximated", "tools/N/input_schema", "no references, no defaults, no closed objects"),
    ),
    "bedrock-converse": (CLOSED, JOINED),
}


def unexpected(dialect: str, losses: Iterable[Loss]) -> Iterator[str]:
    """Losses that the table does not name."""
    for loss in dict.fromkeys(losses):
        if not any(expected.is_this(loss) for expected in LOSSES[dialect]):
            yield f"lost: {loss}"

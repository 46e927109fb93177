"""``python -m lab.lost docs/gateway.md``: writes the table of losses between protocols between the marks of the page.

Each concept of the phrase book is written in every protocol that has it, and that request is translated to every other
protocol. Losses of form are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from interlingua import DIALECTS, Loss, dialect, translate_request
from lab.phrasebook import BASE, CONCEPTS, Concept

BEGIN, END = "<!-- lost: written by python -m lab.lost -->", "<!-- end of lost -->"
NAMES = {
    "anthropic-messages": "Messages",
    "openai-chat": "Chat",
    "openai-responses": "Responses",
    "gemini": "Gemini",
    "ollama": "Ollama",
    "bedrock-converse": "Converse",
}
WORDS = {"dropped": "lost", "approximated": "otherwise", "moved": "elsewhere"}
"""The word for each kind of loss, the worst first."""


def losses(concept: Concept, source: str, target: str) -> set[str] | None:
    """The kinds of losses in a translation of a concept; None if the source cannot express it itself."""
    speaker = dialect(source)
    encoded, plain = speaker.encode_request(concept(source)), speaker.encode_request(BASE)
    if _kinds(encoded.losses, plain.losses):
        return None

    def translated(body: object, headers: dict[str, str]) -> tuple[Loss, ...]:
        return translate_request(body, source=source, target=target, model="m", headers=headers).losses

    return _kinds(translated(encoded.body, encoded.headers), translated(plain.body, plain.headers))


def _kinds(found: tuple[Loss, ...], anyway: tuple[Loss, ...]) -> set[str]:
    lost = [loss for loss in found if loss not in anyway]
    return {loss.kind for loss in lost if loss.weight != "form" and loss.kind != "added"}


def cell(concept: Concept, target: str) -> str:
    """What is lost of a concept in this protocol; with the names of the sources, if not from all of them."""
    found: dict[str, list[str]] = {}
    able = 0
    for source in DIALECTS:
        kinds = None if source == target else losses(concept, source, target)
        if kinds is None:
            continue
        able += 1
        word = next((word for kind, word in WORDS.items() if kind in kinds), None)
        if word is not None:
            found.setdefault(word, []).append(NAMES[source])
    return "; ".join(
        word if len(sources) == able else f"{word} from {', '.join(sources)}" for word, sources in found.items()
    )


def table() -> Iterator[str]:
    """The lines of the table, without concepts that are lost nowhere."""
    yield f"| said | to {' | to '.join(NAMES[name] for name in DIALECTS)} |"
    yield f"|---|{'---|' * len(DIALECTS)}"
    for concepts in CONCEPTS.values():
        for title, concept in concepts.items():
            cells = [cell(concept, name) for name in DIALECTS]
            if any(cells):
                yield f"| {title} | {' | '.join(cells)} |"


def written(page: str) -> str:
    """The page with a new table."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([f"{before}{BEGIN}", *table(), f"{END}{after}"])


def main() -> None:
    path = Path(sys.argv[1])
    path.write_text(written(path.read_text()))


if __name__ == "__main__":
    main()

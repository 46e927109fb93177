"""``python -m lab.lost docs/gateway.md``: the table of what is lost between which protocols, written between its marks.

Each concept of the phrase book is said in every protocol that can say it, and that request is translated to every
other one. What is only a matter of form is left out.
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
"""By the kind of the loss, the worst first."""


def losses(concept: Concept, source: str, target: str) -> set[str] | None:
    """The kinds of what is lost on the way; None if the source cannot say it itself."""
    speaker = dialect(source)
    said, plain = speaker.encode_request(concept(source)), speaker.encode_request(BASE)
    if _kinds(said.losses, plain.losses):
        return None

    def translated(body: object, headers: dict[str, str]) -> tuple[Loss, ...]:
        return translate_request(body, source=source, target=target, model="m", headers=headers).losses

    return _kinds(translated(said.body, said.headers), translated(plain.body, plain.headers))


def _kinds(found: tuple[Loss, ...], anyway: tuple[Loss, ...]) -> set[str]:
    lost = [loss for loss in found if loss not in anyway]
    return {loss.kind for loss in lost if loss.weight != "form" and loss.kind != "added"}


def cell(concept: Concept, target: str) -> str:
    """What becomes of it in this protocol, and of whose, if not of everybody's."""
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
    """The lines of the table; what is lost nowhere has none."""
    yield f"| said | to {' | to '.join(NAMES[name] for name in DIALECTS)} |"
    yield f"|---|{'---|' * len(DIALECTS)}"
    for concepts in CONCEPTS.values():
        for title, concept in concepts.items():
            cells = [cell(concept, name) for name in DIALECTS]
            if any(cells):
                yield f"| {title} | {' | '.join(cells)} |"


def written(page: str) -> str:
    """The page with the table of today."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join([f"{before}{BEGIN}", *table(), f"{END}{after}"])


def main() -> None:
    path = Path(sys.argv[1])
    path.write_text(written(path.read_text()))


if __name__ == "__main__":
    main()

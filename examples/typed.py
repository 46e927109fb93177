"""A typed answer: one that does not fit the type goes back to the model with the reason, and is corrected.

    python examples/typed.py openai:gpt-5

Without a model's name the script below plays the model; its first answer is wrong.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from enum import Enum

from interlingua import Request, connect_sync


class Mood(Enum):
    good = "good"
    bad = "bad"


@dataclass
class Review:
    """What a customer thinks.

    Args:
        stars: One to five.
    """

    mood: Mood
    stars: int
    names: list[str]


SCRIPT = ['{"mood": "splendid", "stars": 5, "names": []}', '{"mood": "good", "stars": 5, "names": ["Ada"]}']


def main(model: str | None) -> None:
    settings = {"script": SCRIPT} if model is None else {}
    with connect_sync(model or "embedded:", **settings) as client:
        answer = client.complete(Request("Ada served us very well. Five stars!"), output=Review)
        print(answer.output)
        print(f"{answer.output.stars} stars, {answer.attempts} calls")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)

"""The content words of a text: identifiers are split, stop words left out, endings removed."""

from __future__ import annotations

import re
from functools import lru_cache

__all__ = ["STOP_WORDS", "content_words", "stem"]

# English words without a subject. Words that are common in a set of tools ("file", "default") are not here: they get
# little weight by themselves.
STOP_WORDS = frozenset(
    """
    a about after all also am an and any are as at be because been before being both but by can cannot could did do does
    doing done each either else ever every few for from further had has have having he her here hers him his how i if in
    into is it its itself just let many may me might mine more most much must my myself neither no nor not now of off on
    once one only or other our ours out over own per please rather s same shall she should since so some such t than
    thank thanks that the their theirs them then there these they this those though through thus to too under until up
    upon us use used uses using very was we were what when where whether which while who whom whose why will with
    within without would yes yet you your yours
    """.split()
)

_RUNS = re.compile(r"[^\W_]+")
_HUMPS = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_VOWEL = re.compile(r"[aeiouy]")


def content_words(text: str) -> list[str]:
    """The stems of a text, in order. ``TodoWrite`` gives its parts and the whole word: people write ``github`` too."""
    found: list[str] = []
    for run in _RUNS.findall(text):
        parts = _HUMPS.split(run)
        found += parts if len(parts) == 1 else (*parts, run)
    return [stem(word) for word in map(str.lower, found) if word not in STOP_WORDS]


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """A lower-case English word without its ending: plural, ``-ing``, ``-ed``, the final ``e``."""
    word = _singular(word)
    for ending in ("ing", "ed"):
        root = word.removesuffix(ending)
        if root != word and len(root) > 2 and _VOWEL.search(root):
            word = _undoubled(root)
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def _singular(word: str) -> str:
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "xes", "zes", "ches", "shes")) else word[:-1]


def _undoubled(root: str) -> str:
    """``runn`` is ``run``, but ``call`` and ``pass`` stay."""
    return root[:-1] if root[-1] == root[-2] and root[-1] not in "aeiouls" else root

"""Counts text as tokenizers split it before the lookup: words, numbers, signs, line breaks, non-English letters.

In every published tokenizer a word is nearly always one token. Characters are first mapped to a few kinds; runs are
then counted by their starts, which is fast because it needs no regular expression.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

__all__ = ["TEXT", "add_text"]

TEXT = (
    *("words", "long", "upper", "digits", "numerals", "spaced", "signs", "breaks", "gaps"),
    *("accents", "script", "wide", "marks"),
)
FOREIGN = (("accents", "b"), ("script", "x"), ("wide", "w"), ("marks", "m"))


LONG, SAMPLES, SAMPLE = 2**18, 32, 2**12
"""Of a text with more than ``LONG`` characters, 32 samples of 4,096 characters are counted: to count 20 million takes a
third of a second, for which an event loop would stand still."""


def add_text(tally: Counter[str], text: str, kind: str = "") -> None:
    """Count a text into ``tally``, under the names in ``TEXT`` with ``kind`` before each."""
    if len(text) > LONG:
        _add_sampled(tally, text, kind)
        return
    runs, cases = text.translate(RUNS), text.translate(CASES)
    tally[f"{kind}words"] += runs.count(" a") + runs.count(".a") + runs.startswith("a")
    tally[f"{kind}signs"] += runs.count(" .") + runs.count("a.") + runs.startswith(".")
    tally[f"{kind}long"] += runs.count("aaaaaaaa")  # may be a second token
    tally[f"{kind}upper"] += cases.count("aA") + cases.count("AA")  # capitals within a word
    tally[f"{kind}breaks"] += text.count("\n") - text.count("\n\n")
    if "0" in cases:
        _add_numbers(tally, cases, kind)
    if "  " in text:
        tally[f"{kind}gaps"] += _gaps(cases)
    if not text.isascii():
        for name, sign in FOREIGN:
            tally[kind + name] += cases.count(sign)


def _add_sampled(tally: Counter[str], text: str, kind: str) -> None:
    """Count evenly spaced samples of a text, and scale the counts."""
    step = len(text) // SAMPLES
    sample = "".join([text[start : start + SAMPLE] for start in range(0, step * SAMPLES, step)])
    counted = Counter[str]()
    add_text(counted, sample, kind)
    for name, count in counted.items():
        tally[name] += round(count * len(text) / len(sample))


def _add_numbers(tally: Counter[str], cases: str, kind: str) -> None:
    """Count numbers: some tokenizers split them into threes, some into digits; a space before one is a token."""
    threes = cases.replace("000", "3")
    tally[f"{kind}digits"] += threes.count("3") + threes.count("0") - threes.count("00")
    tally[f"{kind}numerals"] += cases.count("0")
    tally[f"{kind}spaced"] += cases.count(" 0")


def _gaps(cases: str) -> int:
    """The approximate number of runs of two spaces or more; very long runs count several times."""
    return cases.replace("    ", "  ").replace("    ", "  ").replace("   ", "  ").count("  ")


class _Kinds(dict[int, str]):
    """A table for ``str.translate`` that computes the kind of each character on first use."""

    def __init__(self, kind_of: Callable[[int], str]) -> None:
        super().__init__()
        self.kind_of = kind_of

    def __missing__(self, code: int) -> str:
        kind = self[code] = self.kind_of(code)
        return kind


def _run_kind(code: int) -> str:
    character = chr(code)
    if _is_latin(code):
        return "a" if character.isalpha() else " "
    if code > 127 or character.isspace() or character.isdigit():
        return " "
    return "a" if character.isalpha() else "."


def _case_kind(code: int) -> str:
    character = chr(code)
    if code <= 127:
        if character.isalpha():
            return "A" if character.isupper() else "a"
        return "0" if character.isdigit() else " " if code == 32 else "."
    if _is_latin(code):
        return "b"
    if code > 0xFFFF:
        return "mm"  # emoji are about two tokens
    if 0x2000 <= code < 0x2C00:
        return "m"
    return "w" if code >= 0x2E80 else "x"


def _is_latin(code: int) -> bool:
    return 0x80 <= code < 0x250 or 0x1E00 <= code < 0x1F00


RUNS, CASES = _Kinds(_run_kind), _Kinds(_case_kind)

"""Fits the coefficients of ``interlingua.models.estimate`` on half the sources of the recorded traffic.

    python bench/fit_estimate.py            the errors on the other half, per provider
    python bench/fit_estimate.py --write    the same, and writes the weights and docs/estimates.md
    python bench/fit_estimate.py --inner    the errors inside the fitted half, each large source left out in turn

A hash of its name decides to which half a source belongs (``estimate_rows.py``). The fit is in ``estimate_fit.py``; its
settings were chosen with ``--inner``. The data are not committed, the coefficients are.
"""

from __future__ import annotations

import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE / "bench"), str(HERE / "src"), str(HERE / "tests")]

from estimate_fit import (  # noqa: E402  # pyright: ignore[reportMissingImports]
    Answers,
    Weights,
    answer_error,
    fit_all,
    fit_answers,
    prompt_error,
    weights_of,
)
from estimate_rows import Row, answers, exchanges, rows  # noqa: E402  # pyright: ignore[reportMissingImports]
from msgspec.structs import replace  # noqa: E402

from interlingua.models.estimate import Learner, estimate_request, estimating, tokenizer  # noqa: E402
from interlingua.models.estimate.counting import Tally  # noqa: E402
from interlingua.models.estimate.learning import CLOSE  # noqa: E402

Judged = tuple[Row, float]

FEW = 10
KINDS: dict[str, Callable[[Tally], Any]] = {
    "all": lambda tally: True,
    "text": lambda tally: not (tally["tools"] or tally["pictures"] or tally["output"]),
    "tools": lambda tally: tally["tools"],
    "images": lambda tally: tally["pictures"],
}


def table(groups: dict[str, list[Judged]], fitted: list[Row]) -> Iterator[str]:
    before = Counter(row.provider for row in clear(fitted))
    yield "| provider | fitted on | " + " | ".join(f"{kind}: median (90 %), n" for kind in KINDS) + " |"
    yield "|---|--:|" + "---|" * len(KINDS)
    for name, found in sorted(groups.items(), key=lambda item: -len(item[1])):
        if len(found) >= FEW:
            cells = [cell([error for row, error in found if test(row.tally)]) for test in KINDS.values()]
            yield f"| {name} | {before[name]} | " + " | ".join(cells) + " |"


def cell(errors: list[float]) -> str:
    if not errors:
        return ""
    tail = sorted(errors)[int(len(errors) * 0.9)]
    return f"{statistics.median(errors):.1%} ({tail:.0%}), {len(errors)}"


def judged(found: list[Row], made: dict[str, Weights]) -> dict[str, list[Judged]]:
    """The rows with their errors, by provider. A prompt that a source recorded several times is judged once."""
    once = {(row.source, row.provider, row.family, row.prompt): row for row in reversed(found)}
    return by_provider([(row, prompt_error(row, weights_of(row, made))) for row in reversed(once.values())])


def by_provider(errors: list[Judged]) -> dict[str, list[Judged]]:
    groups: dict[str, list[Judged]] = defaultdict(list)
    for row, error in errors:
        groups[row.provider].append((row, error))
    return groups


class Followed(NamedTuple):
    """The errors of a prompt's estimates: before any answer, and after the answers to earlier prompts."""

    first: float
    then: float


def followed(*, fitted: bool) -> dict[str, list[Followed]]:
    """One half again, as a client of each source would live through it: model by model, in the order recorded.

    A prompt that was asked before is left out, and so is the first of each model, of which nothing is known.
    """
    learners: dict[tuple[str, str, str | None], tuple[Learner, set[bytes]]] = {}
    found: dict[str, list[Followed]] = defaultdict(list)
    for row, asked, model in exchanges():
        if row.fitted is not fitted or row.blind:
            continue
        learner, before = learners.setdefault((row.source, row.provider, model), (Learner(row.server), set()))
        request = replace(asked, model=model)
        if row.prompt not in before:
            guesses = estimate_request(request, row.server), learner.estimate(request)
            if before:
                found[row.provider].append(Followed(*(abs(guess - row.true) / row.true for guess in guesses)))
        before.add(row.prompt)
        learner.observe(request, row.true)
    return found


def put_in_place(made: dict[str, Weights]) -> None:
    """Make the package use these weights for its estimates."""
    estimating.WEIGHTS.clear()
    estimating.WEIGHTS.update({name: tuple(weights) for name, weights in made.items()})
    tokenizer.cache_clear()


def lived_through(found: dict[str, list[Followed]]) -> Iterator[str]:
    yield "| provider | first estimate: median (90 %) | after answers: median (90 %), n |"
    yield "|---|---|---|"
    for name, some in sorted(found.items(), key=lambda item: -len(item[1])):
        if len(some) >= FEW:
            first, then = cell([each.first for each in some]), cell([each.then for each in some])
            yield f"| {name} | {first.partition(',')[0]} | {then} |"


def inner(found: list[Row]) -> None:
    """Print the errors inside the fitted half: fit without one large source, and judge the families left on it."""
    large = [source for source, _ in Counter(row.source for row in found).most_common(5)]
    errors: dict[str, list[float]] = defaultdict(list)
    for left_out in [*large, None]:
        train = [row for row in found if (row.source if row.source in large else None) != left_out]
        seen, made = Counter(row.family for row in train), fit_all(train)
        for row in found:
            if (row.source if row.source in large else None) == left_out and seen[row.family] >= 10:
                errors[row.provider].append(prompt_error(row, weights_of(row, made)))
    middles = {name: statistics.median(some) for name, some in errors.items() if len(some) >= 10}
    for name, error in sorted(middles.items(), key=lambda item: -len(errors[item[0]])):
        print(f"{name:16} {error:6.1%} {len(errors[name])}")
    print(f"{'mean':16} {statistics.mean(middles.values()):6.1%}")


def write_weights(made: dict[str, Weights], beyond: Answers) -> None:
    lines = [
        '"""The coefficients of the estimates. Written by ``bench/fit_estimate.py --write``."""\n',
        "from __future__ import annotations\n",
        "# fmt: off",
        "# in the order of ``FEATURES``",
        "WEIGHTS: dict[str, tuple[float, ...]] = {",
    ]
    for name in sorted(made):
        row = f'"{name}": ({", ".join(f"{weight:.3g}" for weight in made[name])}),'
        lines += wrap(row, 116, initial_indent="    ", subsequent_indent=" " * 8)
    lines += [
        "}",
        "# the tokens of an answer besides its text: once, and per call",
        "ANSWERS: dict[str, tuple[float, float]] = {",
    ]
    lines += [f'    "{name}": {beyond[name]},' for name in sorted(beyond)]
    text = "\n".join([*lines, "}", "# fmt: on", ""])
    (HERE / "src/interlingua/models/estimate/weights.py").write_text(text)


# The reasons for errors above ten per cent, by provider, as far as the recordings of the fitted half show them.
WHY = {
    "xai": "it adds a prompt of its own and changes it; the other half is one source and one model, 35 tokens later",
    "gpustack": "the fitted half has no recording of it; it tells models of their tools in more words than others do",
    "databricks": "the fitted half has no recording of it",
}

PAGE = """# How good the token estimates are

`estimate_input_tokens` and `estimate_output` need no network and no tokenizer. This is their relative error against the
counts that providers reported. Written by `python bench/fit_estimate.py --write`. They are linear in the prompt: some
20 µs for a kilobyte of English or code, 80 µs where there are foreign letters, 15 µs for a short question.
Of a text of more than 262,144 characters evenly spaced samples are counted, so that it takes no longer.

- **Fitted on half the sources, stated on the other half.** A source is a project whose recordings these are. Its half
  is told by the first byte of the SHA-256 of its name; the larger half is the fitted one. What is counted, the rules
  for pictures and how far a small group may stray from its relatives were settled inside the fitted half (`--inner`),
  by published tokenizers and chat templates, and by providers' pages. Of the other half the names of models were read,
  and its medians, a dozen times on the way. (The first lists of families and of rules for pictures had been drawn up
  over both halves; they were gone through again on the fitted one alone.)
- **Three providers of the other half are not unseen any more.** Azure, xAI and GPUStack stood at 18.8 %, 21.1 % and
  18.9 %, so their prompts were read to find out why. What followed are general rules, with weights from the fitted half
  alone, where they make things better as well (`--inner`: 7.8 % to 6.0 % in the mean): a maker's hidden prompt is left
  out where others serve its model, and shared by the models that it serves; the thoughts of earlier turns are counted
  apart, since most templates leave them out, and not at all for servers that drop them (vLLM); sealed reasoning weighs
  what its bytes do (xAI); how much to think is no part of an OpenAI prompt.
- A prompt that a source recorded several times counts once.
- "fitted on" is the number of recordings of the provider in the fitted half. Where it is 0, the weights are those of
  the same models elsewhere.
- Left out, since no count of the prompt could tell: state held by the server, and tools that the provider runs.
- Recordings are mostly short test prompts, where one token is often five per cent. Rows with fewer than {few} are not
  stated: {fewer}.

{clear}

Above ten per cent in the middle:

{above}

## After an answer

The table above is of a first estimate. A client's own `estimate_input_tokens` learns from the counts that come with
answers (`models/estimate/learning.py`): what the last prompts of a model were off by corrects the next, if it was
more than {close:.0%}. The same other half, as a client of each source would live through it: model by model, in the
order of the recordings, prompts asked before left out, and so the first of each model. How it is corrected was chosen
on the fitted half (with the weights of the other).

{lived}

Nothing is claimed for documents, sound, video and pictures by reference: their pages, seconds and pixels are guessed
where the bytes do not tell (other half: median {files} for files, n = {files_n}).

## The other way round

The same method with the halves swapped: fitted on the smaller one, stated on the larger. These are not the weights in
the package; the table shows what to expect of a provider of which little or nothing was seen.

{swapped}

## Answers

`estimate_output`, where all tokens of an answer can be seen (no hidden reasoning), on the other half. Answers of {long}
tokens or more: median {long_error}, n = {long_n}; with tool calls: median {call_error}, n = {call_n}.

{spoken}

## Would an exact tokenizer be better?

For OpenAI's models, with `tiktoken` in place of our counting of text and the same fit of the rest, the median on the
other half falls from 3.1 % to 0.5 %. Its vocabulary is a download of 3.6 MB on first use, half a second to load and
some 70 MB of memory, and it knows one provider's models; most of what is missed elsewhere is not text but what servers
add unseen. So there is no such extra. Who needs the exact number asks the provider, or reads `usage`.
"""
LONG_ANSWER = 50


def main() -> None:
    found = rows()
    seen, unseen = ([row for row in found if row.fitted is half] for half in (True, False))
    if "--inner" in sys.argv:
        inner(clear(seen))
        return
    made = fit_all(clear(seen))
    stated = judged(clear(unseen), made)
    print("\n".join(table(stated, seen)))
    put_in_place(made)
    print("\n", "\n".join(lived_through(followed(fitted=False))), sep="")
    if "--write" in sys.argv:
        said = answers()
        beyond = fit_answers([row for row in said if row.fitted], made)
        write_weights(made, beyond)
        page = PAGE.format(**figures(seen, unseen, made), **figures_of_answers(said, made, beyond))
        (HERE / "docs/estimates.md").write_text(page)


def clear(found: list[Row]) -> list[Row]:
    return [row for row in found if not row.blind]


def figures(seen: list[Row], unseen: list[Row], made: dict[str, Weights]) -> dict[str, Any]:
    stated, swapped = judged(clear(unseen), made), judged(clear(seen), fit_all(clear(unseen)))
    middles = {name: statistics.median(e for _, e in some) for name, some in stated.items() if len(some) >= FEW}
    above = [f"- {name}, {error:.1%}: {WHY[name]}." for name, error in middles.items() if error > 0.10]
    files = [prompt_error(row, weights_of(row, made)) for row in unseen if row.tally["files"]]
    return {
        "clear": "\n".join(table(stated, seen)),
        "above": "\n".join(above),
        "swapped": "\n".join(table(swapped, unseen)),
        "lived": "\n".join(lived_through(followed(fitted=False))),
        "close": CLOSE,
        "fewer": ", ".join(f"{name} {cell([e for _, e in some])}" for name, some in stated.items() if len(some) < FEW),
        "files": f"{statistics.median(files):.0%}",
        "files_n": len(files),
        "few": FEW,
    }


def figures_of_answers(said: list[Row], made: dict[str, Weights], beyond: Answers) -> dict[str, Any]:
    errors = [(row, answer_error(row, made, beyond)) for row in said if not row.fitted]
    long = [error for row, error in errors if row.true >= LONG_ANSWER]
    calls = [error for row, error in errors if row.tally["calls"]]
    lines = ["| provider | fitted on | median (90 %), n |", "|---|--:|---|"]
    fitted = Counter(row.provider for row in said if row.fitted)
    for name, some in sorted(by_provider(errors).items(), key=lambda item: -len(item[1])):
        if len(some) >= FEW:
            lines.append(f"| {name} | {fitted[name]} | {cell([error for _, error in some])} |")
    return {
        "spoken": "\n".join(lines),
        "long": LONG_ANSWER,
        "long_error": f"{statistics.median(long):.1%}",
        "long_n": len(long),
        "call_error": f"{statistics.median(calls):.1%}",
        "call_n": len(calls),
    }


if __name__ == "__main__":
    main()

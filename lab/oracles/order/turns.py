"""Turns of blocks, and the pairing of calls with results in them (Anthropic, Bedrock)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, TypeAlias

from lab.oracles.order.rules import Body, Problems, Rule, objects, unique, word

Message: TypeAlias = dict[str, Any]
Block: TypeAlias = dict[str, Any]
Found: TypeAlias = tuple[str, str]
"""A path, and the id at that path."""

Reader: TypeAlias = Callable[[str, Block], tuple[str | None, str | None]]
"""Reads a role and a block: returns the id of the call that the block makes, and of the call that it answers."""


@dataclass(frozen=True, slots=True)
class Turn:
    """Neighbouring messages of one role, which servers read as one turn."""

    path: str
    role: str
    calls: Sequence[Found] = ()
    results: Sequence[Found] = ()
    results_first: bool = True


def messages(body: Body) -> Iterator[tuple[int, Message]]:
    return objects(body.get("messages"))


def blocks(body: Body) -> Iterator[tuple[str, str, Block]]:
    """Path, role and block of every block of every message."""
    for index, message in messages(body):
        for place, block in objects(message.get("content")):
            yield f"messages[{index}].content[{place}]", word(message.get("role")), block


def turns(body: Body, read: Reader) -> list[Turn]:
    """The turns of a body. A system message does not end a turn."""
    spoken = [(index, message) for index, message in messages(body) if message.get("role") != "system"]
    by_role = groupby(spoken, key=lambda pair: word(pair[1].get("role")))
    return [turn(role, list(group), read) for role, group in by_role]


def turn(role: str, group: list[tuple[int, Message]], read: Reader) -> Turn:
    calls: list[Found] = []
    results: list[Found] = []
    answers: list[bool] = []
    for index, message in group:
        answers += [False] * isinstance(message.get("content"), str)
        for place, block in objects(message.get("content")):
            path, (call, result) = f"messages[{index}].content[{place}]", read(role, block)
            calls += [(path, call)] if call is not None else []
            results += [(path, result)] if result is not None else []
            answers.append(result is not None)
    return Turn(f"messages[{group[0][0]}]", role, calls, results, answers == sorted(answers, reverse=True))


def user_first(found: Sequence[Turn]) -> Problems:
    for first in found[:1]:
        if first.role != "user":
            yield f"{first.path}: the first turn is {first.role!r}, not 'user'"


def answered(found: Sequence[Turn]) -> Problems:
    """Every call has its result in the next turn."""
    for turn, following in pairwise([*found, Turn("", "")]):
        results = [known for _, known in following.results]
        for path, call in turn.calls:
            if call not in results:
                yield f"{path}: call {call!r} is not answered in the next turn"


def called(found: Sequence[Turn]) -> Problems:
    """Every result has its call in the turn before, and is the only one for it."""
    for before, turn in pairwise([Turn("", ""), *found]):
        calls = [known for _, known in before.calls]
        for path, call in turn.results:
            if call not in calls:
                yield f"{path}: result of {call!r}, which the turn before did not call"
        yield from unique(turn.results)


def led_by_results(found: Sequence[Turn]) -> Problems:
    yield from (f"{turn.path}: results do not come first in their turn" for turn in found if not turn.results_first)


def unique_calls(found: Sequence[Turn]) -> Problems:
    """The ids of calls are unique within a turn; the corpus shows that a later turn may repeat them."""
    for turn in found:
        yield from unique(turn.calls)


Judge: TypeAlias = Callable[[Sequence[Turn]], Problems]


def pairing(read: Reader, unseen: Callable[[Body], bool] = lambda body: False) -> tuple[Rule, ...]:
    """The rules above for one reader. ``unseen`` says whether the server holds turns that a body leaves out."""

    def whole(judge: Judge) -> Callable[[Body], Iterable[str]]:
        return lambda body: () if unseen(body) else judge(turns(body, read))

    def shown(judge: Judge) -> Callable[[Body], Iterable[str]]:
        return lambda body: judge(turns(body, read))

    return (
        Rule("user-first", whole(user_first), "[K]", disputed=True),
        Rule("calls-answered", shown(answered), "sheet"),
        Rule("results-called", whole(called), "sheet"),
        Rule("results-first", shown(led_by_results), "sheet [K]"),
        Rule("unique-ids", shown(unique_calls), "[K]"),
    )

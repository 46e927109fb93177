"""Every recorded error, decoded: equal to the committed table, and to the rules of errors."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from interlingua import ErrorClass, dialect
from lab.recorded_errors import BEGIN, END, Failure, recorded, rewrite, row_of
from shared_data import CORPUS, needs_shared

PAGE = Path(__file__).resolve().parents[2] / "docs" / "errors.md"
MOST_OTHER = 0.03

# The rules, written a second time and simply: by words of the message, else by status. The first that fits is used.
SPEAKS = (
    (r"no tool (call|output) found", "tool_error"),
    (r"context (length|window|size)|token count .* exceeds|tokens\) is too large", "context_overflow"),
    (r"(incorrect|invalid|not valid).{0,40}key|key not valid", "auth"),
    (r"^Request too large .* tokens per min", "rate_limit"),
    (r"content management policy|Token limit reached", "invalid_request"),
)
STATUSES = (
    (range(401, 402), "auth"),
    (range(403, 404), "auth"),
    (range(429, 430), "rate_limit"),
    (range(400, 500), "invalid_request"),
    (range(500, 600), "server_error"),
    (range(200, 201), "server_error"),
)


@cache
def failures() -> tuple[Failure, ...]:
    return tuple(recorded(CORPUS))


def by_the_rules(failure: Failure) -> str:
    message = failure.error.message
    spoken = next((found for said, found in SPEAKS if re.search(said, message, re.IGNORECASE)), None)
    return spoken or next(found for statuses, found in STATUSES if failure.status in statuses)


@needs_shared
def test_the_committed_table_is_what_was_recorded() -> None:
    """Keys and classes, exactly. To write it anew: ``python -m lab.recorded_errors CORPUS PAGE``."""
    found = Counter(map(row_of, failures()))
    assert PAGE.read_text() == rewrite(PAGE, found)
    assert committed() == {row[:4] for row in found}


def committed() -> set[tuple[str, int, str, str]]:
    """The keys of the page, read without the code that wrote them."""
    table = PAGE.read_text().partition(BEGIN)[2].partition(END)[0]
    cells = [[cell.strip().strip("`") for cell in line.split("|")[1:-1]] for line in table.splitlines() if "|" in line]
    return {(name, int(status), kind, code) for name, status, kind, code, *_ in cells[2:]}


@needs_shared
def test_every_class_is_the_one_that_the_rules_say() -> None:
    wrong = [
        f"{failure.id}: {failure.error.error_class}, and not {rule}"
        for failure in failures()
        if failure.error.error_class != (rule := by_the_rules(failure))
    ]
    assert wrong == []


@needs_shared
def test_hardly_anything_is_other() -> None:
    other = [failure.id for failure in failures() if failure.error.error_class is ErrorClass.other]
    assert len(other) <= MOST_OTHER * len(failures())
    assert len(failures()) > 250


@needs_shared
def test_errors_say_whose_words_they_are() -> None:
    for failure in failures():
        assert failure.error.message, failure.id
        assert failure.error.provider_status in (failure.status, None) or failure.status == 200, failure.id


@needs_shared
def test_no_recorded_sentence_is_committed() -> None:
    page = PAGE.read_text()
    assert not [
        failure.id for failure in failures() if len(failure.error.message) > 30 and failure.error.message in page
    ]


# ------------------------------------------------------------------------------------------- without the recordings


def failure(status: int, body: bytes, name: str = "openai-chat") -> Failure:
    return Failure("x", name, status, {}, body, dialect(name).decode_error(status, {}, body))


# fmt: off
TOLD = (
    # status  type     code                       message                            told by
    (404,     "a",     "b",                       "no such model",                   "status"),
    (400,     "a",     "context_length_exceeded", "no",                              "word"),
    (400,     "a",     "7",                       "the maximum context length is 5", "message"),
)
# fmt: on


@pytest.mark.parametrize(("status", "kind", "code", "message", "told_by"), TOLD)
def test_what_decided(status: int, kind: str, code: str, message: str, told_by: str) -> None:
    body = json.dumps({"error": {"message": message, "type": kind, "code": code}}).encode()
    seen = failure(status, body)
    row = row_of(seen)
    assert (row.type, row.code, row.because) == (kind, code, told_by)


@pytest.mark.parametrize(("body", "kind"), [(b"oops", "(text)"), (b"", "(empty)")])
def test_bodies_without_words(body: bytes, kind: str) -> None:
    row = row_of(failure(500, body))
    assert (row.type, row.code, row.because, row.error_class) == (kind, "", "status", "server_error")

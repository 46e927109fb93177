"""The laws, over every dialect and every built-in sample."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from conformance.matrix import ANSWERS, COLUMNS, PENDING, REQUESTS, SPOKEN, read
from interlingua import DIALECTS
from interlingua.testing import conformance, samples
from interlingua.testing.conformance import Word, check_row
from interlingua.testing.samples import Sample

# Known failures: `dialect: name of the check`. A row whose check passes must be removed.
OPEN: dict[str, tuple[str, ...]] = {}


def test_every_dialect_has_a_column() -> None:
    assert set(COLUMNS) >= {name for name in DIALECTS if not name.startswith("toy")} - set(PENDING)


def every_check() -> Iterator[object]:
    for name in SPOKEN:
        for label, check in conformance.checks(name):
            marks = [pytest.mark.xfail(reason="a known fault: see OPEN")] if label in OPEN.get(name, ()) else []
            yield pytest.param(check, id=f"{name}: {label}", marks=marks)


@pytest.mark.parametrize("check", list(every_check()))
def test_law(check: Callable[[], object]) -> None:
    check()


def every_row() -> Iterator[object]:
    for table, made in ((REQUESTS, samples.requests), (ANSWERS, samples.answers)):
        rows = read(table)
        for name in SPOKEN:
            for sample in made(name):
                expected = rows[sample.concept][name]
                yield pytest.param(name, sample, expected, id=f"{name}: {made.__name__}: {sample.concept}")


@pytest.mark.parametrize(("name", "sample", "expected"), list(every_row()))
def test_matrix(name: str, sample: Sample, expected: Word) -> None:
    assert check_row(name, sample) == expected


@pytest.mark.parametrize(("table", "made"), [(REQUESTS, samples.requests), (ANSWERS, samples.answers)])
def test_the_matrix_names_every_concept_once(table: str, made: Callable[[str], list[Sample]]) -> None:
    assert list(read(table)) == [sample.concept for sample in made("any")]

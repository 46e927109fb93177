"""Pages and tables say what the code says now."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec.structs import asdict

from interlingua import Limits
from lab import diagrams, lost, phrasebook, side_by_side

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_the_phrase_book_is_up_to_date():
    """``make docs`` writes it anew."""
    assert (DOCS / "dialects.md").read_text() == "\n".join(phrasebook.page()) + "\n"


def test_the_table_of_what_is_lost_is_up_to_date() -> None:
    """``make docs`` writes it anew."""
    page = (DOCS / "gateway.md").read_text()
    assert page == lost.written(page)
    assert "| top k |  | lost | lost |" in page


def test_the_picture_shows_what_the_encoders_write() -> None:
    """``make docs`` draws it anew."""
    drawn = side_by_side.picture([side_by_side.column(name) for name in side_by_side.TITLES])
    assert (DOCS / "images" / "side_by_side.svg").read_text() == drawn


@pytest.mark.parametrize("name", diagrams.DIAGRAMS)
def test_a_diagram_shows_what_the_code_says(name: str) -> None:
    """``make docs`` draws it anew."""
    assert (DOCS / "images" / name).read_text() == diagrams.DIAGRAMS[name]()


def test_the_way_of_a_call_is_that_of_a_run() -> None:
    """The stations are entered, whatever the protocol; those of the scripted model do not count."""
    entered = diagrams.way("gemini")
    assert entered[0] == "interlingua.agent.session"
    assert "interlingua.dialects.gemini.request" in entered
    assert entered.index("interlingua.client.transport") < entered.index("interlingua.dialects.gemini.stream")


def test_the_table_of_limits_has_every_field_and_its_default() -> None:
    section = (DOCS / "providers.md").read_text().partition("### Limits\n")[2].partition("\n## ")[0]
    told = re.findall(r"^\| `(\w+)` \| (\d+)(?: ([KM])iB)? \|", section, re.MULTILINE)
    sizes = {"": 1, "K": 1024, "M": 1024 * 1024}
    assert {name: int(number) * sizes[unit] for name, number, unit in told} == asdict(Limits())

"""Generated pages say what the code says now."""

from __future__ import annotations

from pathlib import Path

from interlingua.testing import phrasebook

DOCS = Path(__file__).resolve().parents[1] / "docs"


def test_the_phrase_book_is_up_to_date():
    """``make docs`` writes it anew."""
    assert (DOCS / "dialects.md").read_text() == "\n".join(phrasebook.page()) + "\n"

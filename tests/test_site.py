"""The documentation site builds without a warning, its links lead somewhere, and it needs no other host."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from sphinx.util.inventory import InventoryFile

from interlingua.cli.app import available
from lab.site import links, reference

HOME = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as ``make site`` builds it: a warning or a dead link fails here."""
    folder = tmp_path_factory.mktemp("site") / "html"
    command = (sys.executable, "-m", "lab.site", str(folder))
    done = subprocess.run(command, cwd=HOME, check=False, capture_output=True, text=True, timeout=550)
    assert not done.returncode, done.stderr[-5000:]
    return folder


def test_every_public_name_has_an_entry_in_the_reference(site: Path) -> None:
    held = InventoryFile.loads((site / "objects.inv").read_bytes(), uri="")
    entries = {name for kind, items in held.data.items() if kind.startswith("py:") for name in items}
    names = {f"{chapter.module}.{name}" for chapter in reference.chapters().values() for name in chapter.names}
    alike = {name for name in names if name.count(".") > 1 and _is_told_on_another_page(name)}
    assert sorted(names - alike - entries) == []


def _is_told_on_another_page(name: str) -> bool:
    """A name that the package itself has too is told once."""
    short = name.rpartition(".")[2]
    chapters = reference.chapters().values()
    values = {chapter.module: chapter.names[short] for chapter in chapters if short in chapter.names}
    return values.get("interlingua") is values[name.rpartition(".")[0]]


def test_every_public_name_and_method_is_documented() -> None:
    assert sorted(set(reference.undocumented())) == []


def test_every_command_says_its_help_on_the_site(site: Path) -> None:
    page = (site / "cli.html").read_text(encoding="utf-8")
    assert [name for name in available() if f"usage: interlingua {name}" not in page] == []


def test_every_page_is_in_the_navigation(site: Path) -> None:
    front = links.read(site / "index.html")
    linked = {(site / url.partition("#")[0]).resolve() for url in front.links if not url.startswith("http")}
    unlisted = {"index.html", "genindex.html", "search.html", "py-modindex.html"}
    inner = ("adr/", "reference/")  # their pages are listed one level below
    pages = {place.relative_to(site).as_posix() for place in site.rglob("*.html")} - unlisted
    assert [name for name in sorted(pages) if not name.startswith(inner) and (site / name) not in linked] == []


GUILTY = {
    "a link to no page": '<a href="nothing.html">x</a>',
    "a link to no place": '<a href="#nowhere">x</a>',
    "a script of another host": '<script src="https://cdn.example/x.js"></script>',
    "a font of another host": '<link rel="stylesheet" href="//fonts.example/x.css">',
    "a picture that is not there": '<img src="nothing.svg">',
}


@pytest.mark.parametrize("html", GUILTY.values(), ids=GUILTY.keys())
def test_the_check_of_links_sees(html: str, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(html)
    assert [*links.problems(tmp_path)]


def test_the_check_of_links_lets_good_ones_pass(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text('<p id="here"><a href="page.html#here">x</a> <a href="https://e.org">y</a>')
    assert [*links.problems(tmp_path)] == []
    (tmp_path / "page.css").write_text("@import url(https://fonts.example/x.css)")
    assert [*links.problems(tmp_path)]

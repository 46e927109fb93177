"""Writes the folder that the generator reads: pages of docs/ and of the root, the examples and the reference."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from . import examples, reference

__all__ = ["write"]

HOME = Path(__file__).resolve().parents[2]
ROOT_PAGES = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


def write(folder: Path) -> None:
    """Write all pages anew."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(HOME / "docs", folder)
    for page in folder.rglob("*.md"):
        place = HOME / "docs" / page.relative_to(folder)
        page.write_text(_relinked(page.read_text(encoding="utf-8"), place, page, folder), encoding="utf-8")
    for name, target in ROOT_PAGES.items():
        page = folder / target
        page.parent.mkdir(exist_ok=True)
        page.write_text(
            _relinked((HOME / name).read_text(encoding="utf-8"), HOME / name, page, folder), encoding="utf-8"
        )
    (folder / "examples.md").write_text(examples.page(), encoding="utf-8")
    _write_all(folder / "reference", reference.pages())


def _write_all(folder: Path, pages: Iterator[tuple[str, str]]) -> None:
    folder.mkdir()
    for name, text in pages:
        (folder / name).write_text(text + "\n", encoding="utf-8")


def _relinked(text: str, source: Path, page: Path, folder: Path) -> str:
    """The text with its links changed from files of the repository to pages of the site; without a page, only text."""

    def target(found: re.Match[str]) -> str:
        mark, words, link = found.groups()
        path, _, anchor = link.partition("#")
        if not path or re.match(r"[a-z]+:", path):
            return found[0]
        meant = (source.parent / path).resolve()
        if not meant.exists():
            raise FileNotFoundError(f"{source.relative_to(HOME)} links to {link}, which is not there")
        place = _place(meant, folder)
        if place is None:
            return words
        return f"{mark}[{words}]({_relative(place, page.parent)}{'#' if anchor else ''}{anchor})"

    return LINK.sub(target, text)


def _place(meant: Path, folder: Path) -> Path | None:
    """The page of the site for a file of the repository; None if there is none."""
    if meant.is_relative_to(HOME / "docs"):
        return folder / meant.relative_to(HOME / "docs")
    name = meant.relative_to(HOME).as_posix()
    return folder / ROOT_PAGES[name] if name in ROOT_PAGES else None


def _relative(place: Path, start: Path) -> str:
    up = 0
    while not place.is_relative_to(start):
        start, up = start.parent, up + 1
    return "../" * up + place.relative_to(start).as_posix()

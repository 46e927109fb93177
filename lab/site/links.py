"""Checks the built pages: no link is broken, and nothing is loaded from another host."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["problems"]

LOADED = {"script": "src", "img": "src", "source": "src", "iframe": "src", "video": "src", "audio": "src"}
LOADED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "prefetch"}
IN_CSS = re.compile(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//[^'\")\s]+)")


class Page(HTMLParser):
    """The anchors of a page, the targets of its links, and the URLs that it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and LOADED_LINKS & {*given.get("rel", "").split()}:
            self.loaded.append(given.get("href", ""))
        elif tag in LOADED and given.get(LOADED[tag]):
            self.loaded.append(given[LOADED[tag]])


@cache
def read(place: Path) -> Page:
    return Page(place.read_text(encoding="utf-8"))


def problems(folder: Path) -> Iterator[str]:
    """One sentence for each broken link and each URL that would be loaded from another host."""
    for place in sorted(folder.rglob("*.html")):
        page, name = read(place), place.relative_to(folder).as_posix()
        yield from (f"{name} loads {url}" for url in page.loaded if _is_elsewhere(url))
        yield from (f"{name} links to {url}: {why}" for url in page.links if (why := _wrong(url, place)))
        yield from (f"{name} loads {url}: {why}" for url in page.loaded if (why := _wrong(url, place)))
    for place in sorted(folder.rglob("*.css")):
        found = IN_CSS.findall(place.read_text(encoding="utf-8"))
        yield from (f"{place.relative_to(folder).as_posix()} loads {url}" for url in found)


def _is_elsewhere(url: str) -> bool:
    return bool(urlsplit(url).netloc)


def _wrong(url: str, place: Path) -> str:
    """Why a link is broken; empty if it is not. Links to other hosts are not checked."""
    parts = urlsplit(url)
    if parts.scheme or parts.netloc:
        return ""
    target = (place.parent / unquote(parts.path)).resolve() if parts.path else place
    if not target.is_file():
        return "there is no such file"
    if parts.fragment and target.suffix == ".html" and unquote(parts.fragment) not in read(target).anchors:
        return "there is no such place on the page"
    return ""

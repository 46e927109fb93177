"""The README as a package index shows it: an index has no folder beside the page, so no link may be relative.

`[tool.hatch.metadata.hooks.custom]` in pyproject.toml says where the repository can be read: `files` for pages,
`images` for pictures. Where it says nothing, a link becomes its text and a picture is left out.
"""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"^!\[[^\]]*\]\((?!https?:)([^)]+)\)\n\n", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!https?:|#)([^)]+)\)")


def linked(text: str, files: str, images: str) -> str:
    """The page with absolute links."""
    text = PICTURE.sub(lambda found: found[0].replace(f"({found[1]})", f"({images}{found[1]})") if images else "", text)
    return LINK.sub(lambda found: f"[{found[1]}]({files}{found[2]})" if files else found[1], text)


class ReadmeHook(MetadataHookInterface):
    """Gives the project its README."""

    def update(self, metadata: dict) -> None:
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = linked(text, self.config.get("files", ""), self.config.get("images", ""))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}

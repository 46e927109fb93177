"""What the README and the docs show runs: every Python block of every page, each alone.

A YAML block whose first line is ``# name.yaml`` lies beside it as that file.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HOME = Path(__file__).resolve().parents[1]
PAGES = [HOME / "README.md", *sorted((HOME / "docs").glob("*.md"))]
BLOCKS = [
    pytest.param(page.name, code, id=f"{page.name}-{number}")
    for page in PAGES
    for number, code in enumerate(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL))
]


@pytest.mark.parametrize(("page", "code"), BLOCKS)
def test_a_snippet_runs(page: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = next(path.read_text() for path in PAGES if path.name == page)
    for name, yaml in re.findall(r"```yaml\n# (\S+\.yaml)\n(.*?)```", text, re.DOTALL):
        (tmp_path / name).write_text(yaml)
    exec(compile(code, page, "exec"), {"__name__": "__main__"})


def test_there_are_snippets() -> None:
    assert sum(block.values[0] == "README.md" for block in BLOCKS) >= 3

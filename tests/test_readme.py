"""What the README and the docs show runs: every Python block of every page, in the order of the page.

A YAML block whose first line is ``# name.yaml`` lies beside it as that file.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

HOME = Path(__file__).resolve().parents[1]
PAGES = [HOME / "README.md", *sorted((HOME / "docs").glob("*.md"))]
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
YAML = re.compile(r"```yaml\n# (\S+\.yaml)\n(.*?)```", re.DOTALL)
SHOWN = [page for page in PAGES if PYTHON.search(page.read_text())]


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.name)
def test_what_a_page_shows_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    for name, yaml in YAML.findall(text):
        (tmp_path / name).write_text(yaml)
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for code in PYTHON.findall(text):
        exec(compile(code, page.name, "exec"), namespace)


def test_the_readme_shows_something() -> None:
    assert len(PYTHON.findall((HOME / "README.md").read_text())) >= 3

"""What ``docs/tools.md`` shows runs, from its beginning to its end."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "tools.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_page_runs(capsys, monkeypatch):
    page = types.ModuleType("tools_page")  # dataclasses look for the module that they are in
    monkeypatch.setitem(sys.modules, page.__name__, page)
    said = []
    for code in BLOCKS:
        exec(compile(code, "docs/tools.md", "exec"), vars(page))
        said.append(capsys.readouterr().out)
    assert len(said) == 6
    assert "1 sunny day(s) in Lyon, FR, in C" in said[0]
    assert "/tmp/a is gone" in said[1]
    assert "only below /tmp" in said[1]
    assert "Nothing found.\nlibrarian ses_" in said[2]
    assert "web_search_20250305" in said[3]
    assert "contents of a" in said[4]
    assert "ran 1 + 1" in said[4]
    assert "text='3'" in said[5]

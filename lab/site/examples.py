"""The page of examples: each program of the folder, and the notebook cell by cell."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from pathlib import Path

__all__ = ["page"]

FOLDER = Path(__file__).resolve().parents[2] / "examples"
ORDER = "chat agent move typed server batch test_with_cassettes provider".split()
INTRODUCTION = """# Examples

Whole programs, each of which the tests run. They answer without a key, by the scripted model; given the name of a
model, most are answered by it. The folder `compare` beside them holds six tasks done with this library and with others
([comparison](comparison.md)).
"""


def page() -> str:
    return "\n".join([INTRODUCTION, *_programs(), *_notebook(FOLDER / "notebook.ipynb")])


def _programs() -> Iterator[str]:
    for name in ORDER:
        text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
        about = (ast.get_docstring(ast.parse(text)) or "").split("\n\n")
        code = text.split('"""\n', 1)[-1].strip()
        yield f"## {name}.py\n"
        yield from (f"```sh\n{part.strip()}\n```\n" if part.startswith("    ") else f"{part}\n" for part in about)
        yield f"```python\n{code}\n```\n"


def _notebook(place: Path) -> Iterator[str]:
    yield f"## {place.name}\n"
    for cell in json.loads(place.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            yield (text.partition("\n\n")[2] if text.startswith("# ") else text) + "\n"
        else:
            yield f"```python\n{text}\n```\n"
            yield from ("```text\n" + "".join(output["text"]).rstrip() + "\n```\n" for output in cell["outputs"])

"""``python -m lab.site FOLDER``: builds the site; warnings and broken links are errors."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from . import links, sources

HERE = Path(__file__).resolve().parent


def build(folder: Path) -> int:
    """Build the site, print the problems, and return their number."""
    pages = folder.with_name(f"{folder.name}-pages")
    sources.write(pages)
    shutil.rmtree(folder, ignore_errors=True)
    sphinx = (sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going", "-b", "html")
    done = subprocess.run([*sphinx, "-c", str(HERE), str(pages), str(folder)], check=False)
    if done.returncode:
        return 1
    found = [*links.problems(folder)]
    for problem in found:
        print(problem, file=sys.stderr)
    return len(found)


if __name__ == "__main__":
    raise SystemExit(min(1, build(Path(sys.argv[1]).resolve())))

"""The wheel, as users get it: what is in it, and whether it works in an empty environment.

Building and installing it asks the package index; without one, these tests are skipped, with the reason.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
UNREACHABLE = ("Could not find a version", "No matching distribution", "Failed to establish", "Connection", "timed out")
TYPED = 0.99  # of the public names

SMOKE = """
from interlingua import SyncSession, translate_request
from interlingua.embedded import call

def weather(city: str) -> str:
    return f"{city}: rain"

with SyncSession("embedded:", tools=[weather], script=[call("weather", city="Oslo"), "It rains."]) as session:
    assert session.run("How is the weather?").text == "It rains."
    assert [type(block).__name__ for block in session.messages[2].content] == ["ToolResultBlock"]
body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
assert translate_request(body, source="openai-chat", target="gemini").body["contents"][0]["parts"] == [{"text": "hi"}]
"""


def run(*command: str | Path, input: str | None = None) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        command, check=False, input=input, capture_output=True, text=True, cwd=ROOT, env=env, timeout=300
    )


def pip(python: str | Path, *words: str | Path) -> None:
    done = run(python, "-m", "pip", "--disable-pip-version-check", "-q", *words)
    if done.returncode and any(word in done.stderr for word in UNREACHABLE):
        pytest.skip(f"the package index cannot be reached: {done.stderr.strip().splitlines()[-1]}")
    assert not done.returncode, done.stderr


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip(sys.executable, "wheel", "--no-deps", "-w", folder, ROOT)
    [built] = folder.glob("interlingua-*.whl")
    return built


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that has the wheel, what it needs, and nothing else."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    made = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip(made, "install", wheel)
    return made


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    outside = {name.split("/")[0] for name in names} - {"interlingua"}
    assert all(name.endswith(".dist-info") for name in outside), outside
    assert "interlingua/py.typed" in names
    assert "interlingua/__init__.pyi" in names
    data = [path for path in (ROOT / "src").rglob("*") if path.suffix in (".json", ".yaml", ".yml", ".typed", ".pyi")]
    assert {path.relative_to(ROOT / "src").as_posix() for path in data} <= set(names)


def test_the_source_archive_holds_all_that_its_tests_read(tmp_path: Path) -> None:
    done = run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", tmp_path)
    assert not done.returncode, done.stderr
    [built] = tmp_path.glob("interlingua-*.tar.gz")
    with tarfile.open(built) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    tracked = run("git", "ls-files").stdout.split() if (ROOT / ".git").exists() else []
    files = tracked or ["README.md", "hatch_build.py", "Makefile", "tests/test_wheel.py", "docs/index.md"]
    assert [name for name in files if not name.startswith(".") and name not in held] == []


def test_the_description_has_no_link_that_an_index_cannot_follow(wheel: Path) -> None:
    packed = zipfile.ZipFile(wheel)
    [name] = [name for name in packed.namelist() if name.endswith(".dist-info/METADATA")]
    text = packed.read(name).decode()
    assert "# Interlingua" in text
    links = re.findall(r"\]\(([^)]+)\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def test_links_of_the_description_are_absolute_where_an_address_is_known() -> None:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = "![a picture](docs/a.svg)\n\n[the docs](docs/a.md) and [else](https://e.org)\n"
    known = module.linked(page, "https://host/blob/", "https://host/raw/")
    assert (
        known
        == "![a picture](https://host/raw/docs/a.svg)\n\n[the docs](https://host/blob/docs/a.md) and [else](https://e.org)\n"
    )
    assert module.linked(page, "", "") == "the docs and [else](https://e.org)\n"


def test_it_works_in_an_empty_environment(python: Path) -> None:
    done = run(python, "-W", "error", "-I", "-", input=SMOKE)
    assert not done.returncode, done.stderr
    told = run(python.parent / "interlingua", "--version")
    assert told.returncode == 0, told.stderr
    assert told.stdout.startswith("interlingua ")


def test_it_needs_three_libraries(python: Path) -> None:
    told = json.loads(run(python, "-m", "pip", "list", "--format=json").stdout)
    names = {item["name"].lower() for item in told} - {"pip", "setuptools"}
    http = {"aiohappyeyeballs", "aiosignal", "attrs", "frozenlist", "idna", "multidict", "propcache", "yarl"}
    ours = names - http - {"typing_extensions", "typing-extensions"}
    assert ours == {
        "interlingua",
        "msgspec",
        "aiohttp",
        "httptools",
    }


def test_public_names_have_types(python: Path) -> None:
    """What type checkers see of the installed package."""
    checker = Path(sys.executable).with_name("pyright")
    if not checker.exists():
        pytest.skip("pyright is not installed: pip install 'interlingua[dev]'")
    options = ("--verifytypes", "interlingua", "--ignoreexternal", "--outputjson")
    told = json.loads(run(checker, "--pythonpath", python, *options).stdout)["typeCompleteness"]
    counts: dict[str, int] = told["exportedSymbolCounts"]
    unknown = [symbol["name"] for symbol in told["symbols"] if _is_unknown(symbol)]
    assert counts["withKnownType"] >= TYPED * sum(counts.values()), unknown


def _is_unknown(symbol: dict[str, Any]) -> bool:
    return bool(symbol["isExported"]) and not symbol["isTypeKnown"]

"""What ``import interlingua`` may not do, seen in a process of its own."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

# The witness stands ready before the package is imported, and reports what it saw as JSON.
WITNESS = """
import collections.abc, json, logging, os, sys

class Recording(collections.abc.MutableMapping):
    def __init__(self, real): self.real = real
    def __getitem__(self, key): seen.append(str(key)); return self.real[key]
    def __setitem__(self, key, value): seen.append(str(key)); self.real[key] = value
    def __delitem__(self, key): seen.append(str(key)); del self.real[key]
    def __iter__(self): seen.append("*"); return iter(self.real)
    def __len__(self): seen.append("*"); return len(self.real)
    def copy(self): seen.append("*"); return dict(self.real)

class Listening(logging.Handler):
    def emit(self, record): logs.append(record.getMessage())

seen, sockets, logs = [], [], []
sys.path.insert(0, {source!r})
os.environ = Recording(os.environ)
if os.supports_bytes_environ:
    os.environb = Recording(os.environb)
logging.root.addHandler(Listening())
logging.root.setLevel(0)
sys.addaudithook(lambda event, args: sockets.append(event) if event.startswith("socket.") else None)

{code}

print(json.dumps({{
    "modules": sorted(sys.modules),
    "environment": seen,
    "sockets": sockets,
    "logs": logs,
    "value": globals().get("value"),
}}))
"""

HEAVY = ("aiohttp", "httpx", "requests", "urllib3", "asyncio", "http.client", "ssl", "socket", "yaml")


def package_source() -> str:
    spec = importlib.util.find_spec("interlingua")
    assert spec is not None
    assert spec.origin is not None, "src/interlingua/__init__.py is missing"
    return str(Path(spec.origin).parents[1])


@cache
def witness(code: str, source: str | None = None) -> dict[str, Any]:
    """Run ``code`` in a fresh interpreter under the eyes of WITNESS."""
    script = WITNESS.format(source=source or package_source(), code=code)
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)  # a second printed line would not parse


def dialects_in(modules: list[str]) -> list[str]:
    """Loaded modules that belong to one dialect; the registry and its shared tables do not count."""
    inside = (name.split(".") for name in modules if name.startswith("interlingua.dialects."))
    return [".".join(parts) for parts in inside if not parts[2].startswith("_")]


def test_import_loads_no_dialect() -> None:
    assert dialects_in(witness("import interlingua")["modules"]) == []


@pytest.mark.parametrize("module", HEAVY)
def test_import_stays_light(module: str) -> None:
    assert module not in witness("import interlingua")["modules"]


def test_import_reads_no_environment() -> None:
    assert witness("import interlingua")["environment"] == []


def test_import_opens_no_socket() -> None:
    assert witness("import interlingua")["sockets"] == []


def test_import_logs_nothing() -> None:
    assert witness("import interlingua")["logs"] == []


def test_listing_the_dialects_loads_none() -> None:
    seen = witness("import interlingua; value = list(interlingua.DIALECTS)")
    assert {"anthropic-messages", "openai-chat"} <= set(seen["value"])
    assert dialects_in(seen["modules"]) == []


def test_a_dialect_is_loaded_alone_and_when_asked_for() -> None:
    seen = witness("import interlingua; interlingua.dialect('anthropic-messages')")
    assert {name.split(".")[2] for name in dialects_in(seen["modules"])} == {"anthropic_messages", "claude"}


def test_a_lazy_name_is_there_when_asked_for() -> None:
    code = "import interlingua; value = interlingua.TextBlock(text='hello').text"
    assert witness(code)["value"] == "hello"
    assert witness("from interlingua import TextBlock; value = TextBlock(text='hello').text")["value"] == "hello"


def test_no_submodule_hides_a_public_name() -> None:
    """Importing ``interlingua.fold`` binds that module in the package; ``interlingua.fold`` must stay the function."""
    code = """
import importlib, pkgutil, types
import interlingua
for found in pkgutil.iter_modules(interlingua.__path__, "interlingua."):
    if found.name not in ("interlingua.demo", "interlingua.testing", "interlingua.embedded"):
        importlib.import_module(found.name)
value = [name for name in interlingua.__all__ if isinstance(getattr(interlingua, name), types.ModuleType)]
"""
    assert witness(code)["value"] == []


def test_an_unknown_name_is_an_attribute_error() -> None:
    code = "import interlingua\ntry: interlingua.no_such_name\nexcept AttributeError as error: value = str(error)"
    assert "no_such_name" in witness(code)["value"]


# The witness must be able to see: a package that does all of this is caught at all of it.
GUILTY = """
import asyncio, logging, os, socket
import interlingua.dialects.toy
os.environ.get("HOME"); os.getenv("PATH")
socket.socket().close()
logging.getLogger("interlingua").debug("hello")
"""


def test_the_witness_can_see(tmp_path: Path) -> None:
    package = tmp_path / "interlingua"
    (package / "dialects" / "toy").mkdir(parents=True)
    (package / "__init__.py").write_text(GUILTY)
    (package / "dialects" / "__init__.py").touch()
    (package / "dialects" / "toy" / "__init__.py").touch()
    seen = witness("import interlingua", str(tmp_path))
    assert dialects_in(seen["modules"]) == ["interlingua.dialects.toy"]
    assert "asyncio" in seen["modules"]
    assert {"HOME", "PATH"} <= set(seen["environment"])
    assert seen["sockets"] != []
    assert "hello" in seen["logs"]

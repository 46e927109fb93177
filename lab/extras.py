"""``python -m lab.extras [--python python3.13 …] [--uv] [extra …]``: checks that each extra works, installed alone.

Builds the wheel, then makes an environment for each extra that has the wheel with that extra and nothing else, and runs
a few lines that need it. The same lines in an environment without extras must fail and name the extra: this proves that
they need it. Installs from the package index; otherwise nothing but loopback is called.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

HOME = Path(__file__).resolve().parents[1]

# For each extra, lines of code that need it.
EXTRAS = {
    "config": """
from pathlib import Path
from interlingua import ProviderManager
Path("models.yaml").write_text("models:\\n  fast:\\n    adapter: openai\\n    wire_name: gpt-5\\n")
assert ProviderManager(models="models.yaml").locate("fast")
""",
    "catalogue": """
from interlingua.catalogue import ModelsDev
facts = ModelsDev().facts("anthropic", "claude-sonnet-4-5")
assert facts is not None and facts.max_context_tokens, "no facts: pip install 'interlingua[catalogue]'"
""",
    "prices": """
from interlingua import Origin, Pricing, Response, TokenUsage
origin = Origin("anthropic", "anthropic-messages", "claude-sonnet-4-5")
answer = Response("hi", model="claude-sonnet-4-5", origin=origin, usage=TokenUsage(input_tokens=1000, output_tokens=10))
assert Pricing().of(answer).cost_usd, "no price: pip install 'interlingua[prices]'"
""",
    "bedrock": """
import os
os.environ.update(AWS_ACCESS_KEY_ID="AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY="secret", AWS_REGION="us-east-1")
from interlingua import Request, connect_sync
from interlingua.embedded import LoopbackServer
with LoopbackServer.in_thread(["signed"]) as server:
    with connect_sync("bedrock:m", {"base_url": server.url, "options": {"region": "us-east-1"}}) as client:
        assert client.complete(Request("hi")).text == "signed"
""",
    "vertex": """
from interlingua import NotConfigured, Request, connect_sync
try:
    with connect_sync("vertex:m", {"options": {"project": "p", "region": "us-east1"}}) as client:
        client.complete(Request("hi"))
except NotConfigured as error:  # google-auth looked for credentials, and there are none
    assert "GOOGLE_APPLICATION_CREDENTIALS" in str(error) and "needs google-auth" not in str(error), error
""",
    "mcp": """
import sys
from pathlib import Path
from interlingua import McpTools, Toolbox, ToolUseBlock
Path("server.py").write_text('''
from mcp.server import MCPServer
server = MCPServer("calculator")
@server.tool()
def add(a: int, b: int) -> int:
    "Adds."
    return a + b
server.run()
''')
with McpTools([sys.executable, "server.py"]) as tools:
    [result] = Toolbox([tools]).run_sync([ToolUseBlock(id="1", name="add", input={"a": 1, "b": 2})])
assert "3" in str(result.content), result
""",
    "otel": """
from interlingua import connect_sync, Request, trace_calls
trace_calls()
with connect_sync("embedded:") as client:
    assert client.complete(Request("hi")).text
""",
    "images": """
from base64 import b64decode, b64encode
from zlib import compress, crc32
from interlingua import image
def chunk(name, data):
    return len(data).to_bytes(4, "big") + name + data + crc32(name + data).to_bytes(4, "big")
wide = chunk(b"IHDR", (40).to_bytes(4, "big") + (20).to_bytes(4, "big") + bytes([8, 0, 0, 0, 0]))
picture = b"\\x89PNG\\r\\n\\x1a\\n" + wide + chunk(b"IDAT", compress(bytes(41 * 20))) + chunk(b"IEND", b"")
assert image(picture, longest=40).source.data == b64encode(picture).decode()
small = b64decode(image(picture, longest=10).source.data)
assert small[16:24] == (10).to_bytes(4, "big") + (5).to_bytes(4, "big"), small
""",
    "local": """
from interlingua import InvalidRequestError, Request, connect_sync
import xllamacpp
try:
    with connect_sync("local:missing.gguf") as client:
        client.complete(Request("hi"))
except InvalidRequestError as error:
    assert "missing.gguf" in str(error), error
""",
    "cli": """
import io, rich.console, prompt_toolkit
from interlingua.cli.app import main
assert main(["models", "claude", "--json"]) == 0
""",
    "gateway": """
import json, subprocess, sys, time, urllib.request
server = subprocess.Popen(
    [sys.executable, "-m", "interlingua", "serve", "--model", "embedded:", "--port", "0"],
    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
)
try:
    said = ""
    while "http://127.0.0.1:" not in said:
        line = server.stdout.readline()
        assert line, said
        said += line
    port = said.partition("http://127.0.0.1:")[2].split("/")[0].split()[0]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=20) as answer:
        assert answer.status == 200
finally:
    server.terminate()
""",
}
EXTRAS["all"] = "".join(EXTRAS[name] for name in ("config", "prices", "otel"))


class Outcome(NamedTuple):
    """The result for an extra. ``works``: the error with it, if any; ``missed``: the error without it."""

    extra: str
    works: str
    missed: str
    packages: int
    seconds: float


def run(*command: str | Path, cwd: Path | None = None, given: str | None = None) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return subprocess.run(
        [*map(str, command)], input=given, cwd=cwd, env=env, capture_output=True, text=True, check=False, timeout=900
    )


def checked(done: subprocess.CompletedProcess[str]) -> str:
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    return done.stdout


class Workshop:
    """Makes environments of one interpreter, with pip or with uv."""

    def __init__(self, folder: Path, python: str, uv: str | None) -> None:
        self.folder, self.python, self.uv = folder, python, uv

    def wheel(self) -> Path:
        if self.uv:
            checked(run(self.uv, "build", "--wheel", "-q", "-o", self.folder / "wheel", HOME))
        else:
            checked(run(self.python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", self.folder / "wheel", HOME))
        [built] = (self.folder / "wheel").glob("*.whl")
        return built

    def environment(self, name: str, wanted: str) -> Path:
        """Make an environment, install ``wanted`` in it, and return its interpreter."""
        place = self.folder / name
        made = place / ("Scripts" if os.name == "nt" else "bin") / "python"
        if self.uv:
            checked(run(self.uv, "venv", "-q", "--python", self.python, place))
            checked(run(self.uv, "pip", "install", "-q", "--python", made, wanted))
        else:
            checked(run(self.python, "-m", "venv", place))
            checked(run(made, "-m", "pip", "install", "-q", "--disable-pip-version-check", wanted))
        return made

    def packages(self, made: Path) -> int:
        listed = (
            "import importlib.metadata as m; print(len({d.name for d in m.distributions()} - {'pip', 'setuptools'}))"
        )
        return int(checked(run(made, "-c", listed)))


def attempt(made: Path, lines: str, folder: Path) -> str:
    """Run some lines, and return the last line of their error; empty if they succeed."""
    folder.mkdir()
    done = run(made, "-I", "-W", "error", "-", cwd=folder, given=lines)
    return (done.stderr.strip().splitlines() or ["no word"])[-1] if done.returncode else ""


def check(shop: Workshop, wheel: Path, bare: Path, extra: str) -> Outcome:
    began = time.monotonic()
    made = shop.environment(f"with-{extra}", f"{wheel}[{extra}]")
    works = attempt(made, EXTRAS[extra], shop.folder / f"run-{extra}")
    missed = attempt(bare, EXTRAS[extra], shop.folder / f"miss-{extra}")
    return Outcome(extra, works, missed, shop.packages(made), time.monotonic() - began)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.extras", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("extras", nargs="*", help="which; without any, all")
    parser.add_argument("--python", default=sys.executable, help="the interpreter to make environments of")
    parser.add_argument("--uv", help="the uv to install with, instead of pip")
    chosen = parser.parse_args(arguments)
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        shop = Workshop(Path(place), chosen.python, chosen.uv)
        wheel = shop.wheel()
        bare = shop.environment("bare", str(wheel))
        for extra in chosen.extras or EXTRAS:
            done = check(shop, wheel, bare, extra)
            bad = done.works or not done.missed
            wrong += bool(bad)
            verdict = f"FAILS: {done.works}" if done.works else "works" if done.missed else "PASSES WITHOUT THE EXTRA"
            print(f"{extra:10} {verdict}; {done.packages} packages, {done.seconds:.0f} s", flush=True)
            print(f"{'':10} without it: {done.missed}", flush=True)
    return min(wrong, 1)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))

"""The architecture, as tables that fail.

Each check below reads the syntax trees of ``src/interlingua`` and yields one sentence for each offence. At the end of
the file every check is shown a small guilty package, so that none of them passes because it is blind.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCE = Path(__file__).resolve().parents[1] / "src" / "interlingua"

# ------------------------------------------------------------------------------------------------ the tables

# Read downwards: a room may import the rooms above it, and nothing else of ours. Neighbours do not know each other.
ROOMS = (
    ("types",),  # the language
    ("errors",),
    ("codec",),  # what every dialect is made with
    ("dialects",),  # one folder per wire protocol
    ("models",),  # what is known of providers and models
    ("serving",),  # what a server needs that answers in a dialect
    ("client",),  # one provider, called
    ("agent",),  # a conversation, held
    ("relaying",),  # a request of any dialect, answered by any provider
    ("", "behaviour", "bus", "catalogue", "embedded", "providers"),  # the public names, and documented module names
    ("gateway",),  # the server
)

# The order inside a room, where there is one, read the same way. Every module and package of such a room has a row.
INSIDE = {
    "models": (("providers", "estimate"), ("catalogue",), ("pricing",)),
    "client": (
        ("bus_events",),
        ("secrets", "deadline", "bus", "held_events", "asking", "limiter", "media_types", "scaling", "uploaded"),
        ("config", "http"),
        ("explaining",),
        ("models_file", "addressing", "environment", "signing", "retry", "rate_headers", "fitting"),
        ("exchange", "transport", "behaviour", "export"),
        ("embedded", "media", "content", "local"),
        ("uploading",),
        ("calls", "loss_policy", "client_parts"),
        ("adapter", "async_calls"),
        ("many",),
        ("async_client", "sync_client"),
        ("connect", "entries"),
        ("manager",),
    ),
    "agent": (("tools", "history", "swap"), ("routing",), ("session",), ("many",)),
}

# These may import anything, and nothing above imports them. `lab` is outside the package.
FREE = ("testing", "demo", "cli", "__main__")
OUTSIDE = ("lab",)

# What the dialects of one vendor say alike: modules beside the folders, which know no dialect themselves.
KIN = ("claude", "openai", "openai_tools")

# What may not appear from the exchange downwards: one call must give the same answer twice, in any loop or none.
PURE = (
    *("types", "errors", "codec", "dialects", "models", "serving"),
    *("client.secrets", "client.deadline", "client.config", "client.http", "client.explaining"),
    *("client.addressing", "client.models_file"),
    *(
        "client.retry",
        "client.rate_headers",
        "client.fitting",
        "client.exchange",
        "client.calls",
        "client.loss_policy",
        "client.asking",
    ),
)
IMPURE = {
    "a clock": (
        *("time", "sched"),
        *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"),
    ),
    "chance": ("random", "secrets", "uuid.uuid1", "uuid.uuid4", "os.urandom"),
    "the environment": ("os.environ", "os.environb", "os.getenv"),
    "an event loop": ("asyncio", "anyio", "trio", "threading", "concurrent"),
}

# The network is behind client/transport/.
HTTP = (
    *("aiohttp", "httpx", "httpcore", "requests", "niquests", "urllib3", "websockets", "h11", "h2"),
    *("http.client", "http.server", "urllib.request", "socket", "ssl"),
)
HTTP_AT_HOME = ("client.transport", "client.embedded", "client.media", "gateway.server", "testing", "demo")

# Names that say nothing, so that everything ends up under them.
SHAPELESS = ("utils", "util", "helpers", "helper", "common", "misc")

LONGEST_FUNCTION = 60
LONGEST_MODULE = 400

# A branch per provider is a table that was not written.
ASKED_BY_NAME = ("provider", "provider_name", "vendor", "dialect", "dialect_name", "host", "base_url")
PROVIDERS = (
    *("anthropic", "anthropic-messages", "openai", "openai-chat", "openai-responses", "azure", "google", "gemini"),
    *("vertex", "ollama", "bedrock", "bedrock-converse", "mistral", "deepseek", "groq", "xai", "together"),
    *("fireworks", "openrouter", "cerebras", "perplexity", "vllm", "llamacpp", "lmstudio", "cohere", "kimi"),
    *("moonshot", "minimax", "qwen"),
)

# --------------------------------------------------------------------------------------------- reading the source


class Module(NamedTuple):
    name: str  # "interlingua.dialects.openai_chat.stream"
    file: str  # relative to the package
    is_package: bool
    text: str
    tree: ast.Module

    @property
    def parts(self) -> list[str]:
        return self.name.split(".")

    @property
    def room(self) -> str:
        """The name under which the module stands in ROOMS; empty for the package itself."""
        return room_of(self.name)

    @property
    def place(self) -> str:
        """The room, and the module or package in it: ``client.transport``."""
        return place_of(self.name)


Source = tuple[Module, ...]
Check = Callable[[Source], Iterator[str]]


def room_of(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


def place_of(name: str) -> str:
    return ".".join(name.split(".")[1:3])


def one_of(module: Module, places: tuple[str, ...]) -> bool:
    return module.room in places or module.place in places


@cache
def read(root: Path) -> Source:
    def module(path: Path) -> Module:
        parts = ["interlingua", *path.relative_to(root).with_suffix("").parts]
        is_package = parts[-1] == "__init__"
        name = ".".join(parts[:-1] if is_package else parts)
        text = path.read_text(encoding="utf-8")
        return Module(name, str(path.relative_to(root)), is_package, text, ast.parse(text, str(path)))

    return tuple(module(path) for path in sorted(root.rglob("*.py")))


def imports(module: Module, known: frozenset[str]) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of all that a module imports, under TYPE_CHECKING and inside functions too."""
    for node in ast.walk(module.tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield node.lineno, alias.name
            case ast.ImportFrom(module=source, names=names, level=level):
                base = origin(module, source, level)
                for alias in names:
                    deeper = f"{base}.{alias.name}"
                    yield node.lineno, deeper if deeper in known or not base.startswith("interlingua") else base
            case ast.Call(func=ast.Name("import_module") | ast.Attribute(attr="import_module"), args=[first, *_]):
                if isinstance(first, ast.Constant) and isinstance(first.value, str):
                    yield node.lineno, first.value


def origin(module: Module, source: str | None, level: int) -> str:
    """The absolute name of what ``from <source> import`` means in a module."""
    if level == 0:
        return source or ""
    package = module.parts if module.is_package else module.parts[:-1]
    return ".".join([*package[: len(package) - level + 1], *([source] if source else [])])


def our_imports(source: Source) -> Iterator[tuple[Module, int, str]]:
    known = frozenset(module.name for module in source)
    for module in source:
        for line, target in imports(module, known):
            if within(target, ("interlingua", *OUTSIDE)):
                yield module, line, target


def uses(module: Module) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of all foreign names a module imports or mentions, seen through its aliases."""
    aliases: dict[str, str] = {}
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
                first = alias.name.split(".")[0]
                aliases[alias.asname or first] = alias.name if alias.asname else first
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}"
                aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and (name := dotted(node)) and name.split(".")[0] in aliases:
            head, _, rest = name.partition(".")
            yield node.lineno, f"{aliases[head]}.{rest}"


def dotted(node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (base := dotted(node.value)):
        return f"{base}.{node.attr}"
    return None


def within(name: str, roots: tuple[str, ...]) -> bool:
    return any(name == root or name.startswith(f"{root}.") for root in roots)


# ----------------------------------------------------------------------------------------------------- the checks


def homeless(source: Source) -> Iterator[str]:
    """A module without a row: nobody has said what it may import."""
    rooms = {room for row in ROOMS for room in row} | set(FREE)
    for module in source:
        if module.room not in rooms:
            yield f"{module.file}: `{module.room}` has no row in ROOMS"
        elif module.place not in (module.room, *INSIDE_HEIGHTS) and module.room in INSIDE:
            yield f"{module.file}: `{module.place}` has no row in INSIDE"


def heights(rows: tuple[tuple[str, ...], ...], room: str = "") -> dict[str, int]:
    return {f"{room}.{name}" if room else name: index for index, row in enumerate(rows) for name in row}


ROOM_HEIGHTS = heights(ROOMS)
INSIDE_HEIGHTS = {name: height for room, rows in INSIDE.items() for name, height in heights(rows, room).items()}


def back_arrows(source: Source) -> Iterator[str]:
    """An import that points back, sideways, or at something that only stands outside."""
    for module, line, target in our_imports(source):
        here, there = module.room, room_of(target)
        if here in FREE and not within(target, OUTSIDE):
            continue
        if there in FREE or within(target, OUTSIDE):
            yield f"{module.file}:{line}: imports {target}, which nothing may import"
        elif here == there:
            ours, theirs = INSIDE_HEIGHTS.get(module.place), INSIDE_HEIGHTS.get(place_of(target))
            if module.place != place_of(target) and ours is not None and theirs is not None and theirs >= ours:
                yield f"{module.file}:{line}: imports {target}, which is not below `{module.place}`"
        elif here in ROOM_HEIGHTS and ROOM_HEIGHTS.get(there, -1) >= ROOM_HEIGHTS[here]:
            yield f"{module.file}:{line}: imports {target}, which is not below `{here or 'interlingua'}`"


def dialects_that_know_each_other(source: Source) -> Iterator[str]:
    """A dialect's folder, or the package of all of them, that imports a (or another) dialect."""
    for module, line, target in our_imports(source):
        wanted = target.split(".")[1:3]
        if module.room != "dialects" or wanted[:1] != ["dialects"] or len(wanted) < 2 or wanted[1] in KIN:
            continue
        if module.parts[2:3] != wanted[1:]:
            yield f"{module.file}:{line}: imports the dialect {wanted[1]}; a shared idea moves to codec/"


def engine_in_rows(source: Source) -> Iterator[str]:
    """Rows of a dialect that make source code: a kind of its own belongs into its kinds.py."""
    for module in source:
        if module.room == "dialects" and module.parts[-1] == "rows":
            for node in ast.walk(module.tree):
                if isinstance(node, ast.FunctionDef) and node.name.startswith("emit_"):
                    yield f"{module.file}:{node.lineno}: `{node.name}` is code for the compiler; rows are data"


def http_abroad(source: Source) -> Iterator[str]:
    """An HTTP or socket library outside client/transport/."""
    for module in source:
        if not one_of(module, HTTP_AT_HOME):
            for line, name in uses(module):
                if within(name, HTTP):
                    yield f"{module.file}:{line}: uses {name}; the network is behind client/transport/"


def impurity(source: Source) -> Iterator[str]:
    """``await``, a clock, chance, the environment or an event loop where only values may be."""
    asynchronous = (ast.AsyncFunctionDef, ast.AsyncFor, ast.AsyncWith, ast.Await)
    for module in source:
        if not one_of(module, PURE):
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, asynchronous):
                yield f"{module.file}:{node.lineno}: async code in `{module.place}`"
        for line, name in uses(module):
            for what, roots in IMPURE.items():
                if within(name, roots):
                    yield f"{module.file}:{line}: uses {what} ({name}) in `{module.place}`"


def shapeless_names(source: Source) -> Iterator[str]:
    """A module or package whose name says nothing."""
    for module in source:
        if module.parts[-1].strip("_") in SHAPELESS:
            yield f"{module.file}: `{module.parts[-1]}` says nothing; name what lives there"


def long_functions(source: Source) -> Iterator[str]:
    """A function over LONGEST_FUNCTION lines, docstring included."""
    for module in source:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno:
                lines = node.end_lineno - node.lineno + 1
                if lines > LONGEST_FUNCTION:
                    yield f"{module.file}:{node.lineno}: `{node.name}` has {lines} lines, at most {LONGEST_FUNCTION}"


def long_modules(source: Source) -> Iterator[str]:
    """A module over LONGEST_MODULE lines."""
    for module in source:
        lines = len(module.text.splitlines())
        if lines > LONGEST_MODULE:
            yield f"{module.file}: {lines} lines, at most {LONGEST_MODULE}"


def branches_by_provider(source: Source) -> Iterator[str]:
    """An ``if``/``elif`` chain or a ``match`` with two or more branches that ask who the provider is."""
    for module in source:
        inner: set[ast.If] = set()
        for node in ast.walk(module.tree):
            if isinstance(node, ast.If) and node not in inner:
                chain = list(if_chain(node))
                inner.update(chain)
                count = sum(asks_for_provider(branch.test) for branch in chain)
            elif isinstance(node, ast.Match):
                count = sum(is_provider_case(node.subject, case.pattern) for case in node.cases)
            else:
                continue
            if count > 1:
                yield f"{module.file}:{node.lineno}: {count} branches over provider names; make it a table"


def if_chain(node: ast.If) -> Iterator[ast.If]:
    yield node
    while len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        node = node.orelse[0]
        yield node


def asks_for_provider(test: ast.expr) -> bool:
    """Whether a condition compares something with the name of a provider, or a provider's name with a string."""
    for node in ast.walk(test):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "startswith":
            sides = [node.func.value, *node.args]
        else:
            continue
        words = [word for side in sides for word in strings(side)]
        if words and (any(is_who(side) for side in sides) or any(word in PROVIDERS for word in words)):
            return True
    return False


def is_provider_case(subject: ast.expr, pattern: ast.pattern) -> bool:
    words = [word for node in ast.walk(pattern) if isinstance(node, ast.MatchValue) for word in strings(node.value)]
    return bool(words) and (is_who(subject) or any(word in PROVIDERS for word in words))


def is_who(node: ast.expr) -> bool:
    name = dotted(node)
    return name is not None and name.split(".")[-1].strip("_") in ASKED_BY_NAME


def strings(node: ast.expr) -> list[str]:
    """The string constants of a literal, a tuple, a list or a set."""
    items = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]


# ------------------------------------------------------------------------------------------------ our own source


def offences(check: Check) -> list[str]:
    source = read(SOURCE)
    assert source, "src/interlingua is empty"
    return list(check(source))


def test_every_module_has_a_row() -> None:
    assert offences(homeless) == []


def test_imports_point_one_way() -> None:
    assert offences(back_arrows) == []


def test_no_dialect_imports_another() -> None:
    assert offences(dialects_that_know_each_other) == []


def test_rows_are_data() -> None:
    assert offences(engine_in_rows) == []


def test_http_stays_in_transport() -> None:
    assert offences(http_abroad) == []


def test_what_should_be_pure_is_pure() -> None:
    assert offences(impurity) == []


def test_every_module_is_named_for_what_it_holds() -> None:
    assert offences(shapeless_names) == []


def test_functions_are_short() -> None:
    assert offences(long_functions) == []


def test_modules_are_short() -> None:
    assert offences(long_modules) == []


def test_providers_are_rows_and_not_branches() -> None:
    assert offences(branches_by_provider) == []


# ------------------------------------------------------------------------------------- the checks can see: guilty

GUILTY = (
    # the check, a file, its code, what the check says of it
    (homeless, "wherever.py", "", "`wherever` has no row in ROOMS"),
    (homeless, "client/wherever.py", "", "`client.wherever` has no row in INSIDE"),
    (back_arrows, "types/blocks.py", "from interlingua.errors import ParseError", "not below `types`"),
    (back_arrows, "types/blocks.py", "from ..errors import ParseError", "not below `types`"),
    (back_arrows, "types/__init__.py", "from .. import errors", "not below `types`"),
    (back_arrows, "codec/fold.py", "import interlingua.dialects", "not below `codec`"),
    (back_arrows, "codec/rows.py", "from ..dialects.ollama.blocks import BLOCKS", "not below `codec`"),
    (back_arrows, "codec/fold.py", "def f():\n    from ..models.pricing import Pricing", "not below `codec`"),
    (back_arrows, "codec/fold.py", "import importlib\nimportlib.import_module('interlingua.client')", "client"),
    (back_arrows, "codec/fold.py", "from interlingua import TextBlock", "imports interlingua,"),
    (back_arrows, "dialects/gemini/facts.py", "from ...models.catalogue import Facts", "not below `dialects`"),
    (back_arrows, "models/pricing.py", "from ..client.config import Retry", "not below `models`"),
    (back_arrows, "models/estimate/text.py", "from ..providers import PROVIDERS", "not below `models.estimate`"),
    (back_arrows, "client/manager.py", "from ..agent.session import Session", "not below `client`"),
    (back_arrows, "client/exchange.py", "from .transport import aio", "not below `client.exchange`"),
    (back_arrows, "client/exchange.py", "from .connect import connect", "not below `client.exchange`"),
    (back_arrows, "client/adapter.py", "from ..embedded import call", "not below `client`"),
    (back_arrows, "agent/tools/mcp.py", "from ..session import Session", "not below `agent.tools`"),
    (back_arrows, "client/connect.py", "from ..testing import cassette", "which nothing may import"),
    (back_arrows, "testing/conformance.py", "from lab.oracles import problems", "which nothing may import"),
    (back_arrows, "__init__.py", "from .demo import main", "which nothing may import"),
    (dialects_that_know_each_other, "dialects/gemini/request.py", "from ..ollama import BLOCKS", "dialect ollama"),
    (dialects_that_know_each_other, "dialects/gemini/request.py", "from .. import ollama", "dialect ollama"),
    (dialects_that_know_each_other, "dialects/__init__.py", "from . import ollama", "dialect ollama"),
    (dialects_that_know_each_other, "dialects/openai.py", "from .openai_chat import NAME", "dialect openai_chat"),
    (engine_in_rows, "dialects/gemini/rows.py", "class K:\n    def emit_read(self): ...", "`emit_read` is code for"),
    (http_abroad, "client/connect.py", "import aiohttp", "aiohttp"),
    (http_abroad, "models/catalogue/fetch.py", "def f():\n    from urllib.request import urlopen", "urllib.request"),
    (http_abroad, "models/providers.py", "import http.client as wire", "http.client"),
    (impurity, "dialects/gemini/stream.py", "async def feed(): ...", "async code"),
    (impurity, "client/exchange.py", "async def f(a):\n    return await a", "async code"),
    (impurity, "codec/ids.py", "from time import time", "a clock"),
    (impurity, "codec/ids.py", "import datetime as dt\nx = dt.datetime.now()", "a clock"),
    (impurity, "codec/ids.py", "import uuid\nx = uuid.uuid4()", "chance"),
    (impurity, "codec/ids.py", "from random import choice", "chance"),
    (impurity, "codec/schema/strict.py", "import os\nx = os.environ['HOME']", "the environment"),
    (impurity, "codec/schema/strict.py", "from os import getenv as ask", "the environment"),
    (impurity, "codec/fold.py", "import asyncio", "an event loop"),
    (shapeless_names, "dialects/gemini/utils.py", "", "`utils` says nothing"),
    (shapeless_names, "_helpers/__init__.py", "", "`_helpers` says nothing"),
    (long_functions, "codec/fold.py", "def fold():\n" + "    x = 1\n" * 60, "`fold` has 61 lines, at most 60"),
    (long_modules, "codec/fold.py", "x = 1\n" * 401, "401 lines, at most 400"),
    (branches_by_provider, "codec/x.py", "if a.provider == 'x':\n  1\nelif a.provider == 'y':\n  2", "2 branches"),
    (branches_by_provider, "codec/x.py", "if n in ('groq',):\n  1\nelif n == 'qwen':\n  2\nelse:\n  3", "2 branches"),
    (branches_by_provider, "codec/x.py", "if m.startswith('openai'):\n  1\nelif m == 'mistral':\n  2", "2 branches"),
    (branches_by_provider, "codec/x.py", "match dialect:\n  case 'a' | 'b': 1\n  case 'c': 2", "2 branches"),
)

INNOCENT = (
    # a file, its code
    ("__init__.py", "from .types import TextBlock\nfrom .agent.session import Session"),
    ("errors.py", "from interlingua import types\nfrom .types.words import ErrorClass"),
    ("codec/fold.py", "from . import grammar\nfrom datetime import datetime\nx = datetime.fromisoformat('2026-01-01')"),
    ("codec/ids.py", "import os.path\nfrom uuid import UUID, uuid5\nfrom http import HTTPStatus\nx = request.time"),
    ("dialects/__init__.py", "import importlib\nfrom ..codec.base import Dialect\nimportlib.import_module(name)"),
    ("dialects/gemini/__init__.py", "from . import stream\nfrom ...codec.rows import Row"),
    ("dialects/gemini/stream.py", "from interlingua.dialects.gemini.blocks import BLOCKS"),
    ("dialects/gemini/kinds.py", "class K:\n    def emit_read(self): ..."),
    ("dialects/openai_chat/errors.py", "from .. import openai\nfrom ..openai import spell"),
    ("models/providers.py", "from ..dialects.openai_chat.facts import Quirks"),
    ("client/connect.py", "from .exchange import Exchange\nfrom .transport.aio import AioTransport"),
    ("embedded.py", "from .client.embedded import call"),
    ("client/transport/aio.py", "import aiohttp, time\nasync def send(): ..."),
    ("testing/fidelity.py", "import time, httpx\nfrom interlingua import client, dialects, fold"),
    ("client/connect.py", "if event.type == 'text':\n  1\nelif event.type == 'call':\n  2\nelif provider == 'x':\n  3"),
    ("agent/session/store.py", "def save():\n" + "    x = 1\n" * 59),
)

# Modules that the snippets name, so that `from .. import errors` is known for the import of a module.
FURNITURE = (
    *("types/__init__.py", "errors.py", "codec/schema/__init__.py", "codec/grammar.py", "codec/fold.py"),
    *("dialects/ollama/__init__.py", "dialects/gemini/stream.py", "models/pricing.py", "client/connect.py"),
    *("client/transport/aio.py", "client/embedded/__init__.py", "embedded.py", "agent/session/__init__.py", "demo.py"),
)


def build(root: Path, *files: tuple[str, str]) -> Source:
    for name, code in (*((name, "") for name in FURNITURE), *files):
        write(root / name, code)
    return read(root)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("check", "file", "code", "says"), GUILTY)
def test_a_guilty_module_is_caught(tmp_path: Path, check: Check, file: str, code: str, says: str) -> None:
    found = [offence for offence in check(build(tmp_path, (file, code))) if offence.startswith(file)]
    assert len(found) >= 1, "the check is blind"
    assert all(says in offence for offence in found)


CHECKS = tuple(dict.fromkeys(check for check, *_ in GUILTY))


@pytest.mark.parametrize("check", CHECKS)
def test_innocent_modules_are_left_alone(tmp_path: Path, check: Check) -> None:
    assert list(check(build(tmp_path, *INNOCENT))) == []


def test_every_check_is_shown_a_guilty_module() -> None:
    checks = {value for value in globals().values() if callable(value) and is_check(value)}
    assert checks == set(CHECKS)


def is_check(function: Callable[..., object]) -> bool:
    return getattr(function, "__annotations__", {}) == {"source": "Source", "return": "Iterator[str]"}

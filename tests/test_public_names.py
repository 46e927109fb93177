"""The public names: one sorted list, all of them real, none of them forgotten."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import pydoc
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

import interlingua
import interlingua.errors
import interlingua.types

# What other people's code calls, by the contract. A name may be added here; taking one out breaks a caller.
PINNED = """
    Role Message Origin CacheMark StopReason TokenUsage Loss AdapterCapabilities Target Request Response
    TextBlock ImageBlock DocumentBlock AudioBlock VideoBlock ThinkingBlock RedactedThinkingBlock
    ToolUseBlock ToolResultBlock JsonBlock ServerToolUseBlock ServerToolResultBlock RefusalBlock OpaqueBlock
    Base64Source UrlSource FileSource TextSource ToolDefinition ToolAnnotations ServerTool ToolChoice

    AdapterError RateLimitError AuthError ServerError NetworkError RequestTimeoutError ContextOverflowError
    InvalidRequestError ToolStateError CancelledError ParseError LossyTranslation NotConfigured ErrorClass
    OverloadedError

    DIALECTS dialect detect_dialect Encoded WireError StreamGrammar fold unfold decode_stream
    translate_request translate_response translate_stream
    parse_tool_calls build_tool_results validate_request validate_tool_results ToolOutput strict_schema restore_optional
""".split()


def public_structs() -> Iterator[str]:
    """Every Struct that a module of ``interlingua.types`` defines, but for the bases that only share fields."""
    for found in pkgutil.iter_modules(interlingua.types.__path__, "interlingua.types."):
        if found.name.endswith(".base"):
            continue
        for name, value in vars(importlib.import_module(found.name)).items():
            ours = inspect.isclass(value) and issubclass(value, msgspec.Struct) and value.__module__ == found.name
            if ours and not name.startswith("_") and not name.endswith("Base"):
                yield name


def public_exceptions() -> Iterator[str]:
    for name, value in vars(interlingua.errors).items():
        if inspect.isclass(value) and issubclass(value, Exception) and not name.startswith("_"):
            yield name


def test_all_is_sorted_and_without_duplicates() -> None:
    assert list(interlingua.__all__) == sorted(set(interlingua.__all__))


def test_every_name_resolves() -> None:
    assert [name for name in interlingua.__all__ if getattr(interlingua, name, None) is None] == []


def test_dir_shows_every_name() -> None:
    assert set(interlingua.__all__) <= set(dir(interlingua))


def test_help_fits_on_a_few_screens() -> None:
    shown = pydoc.plain(pydoc.render_doc(interlingua)).splitlines()
    assert len(shown) < 120
    told = set(re.findall(r"``(\w+)``", interlingua.__doc__ or "")) - {"__all__"}
    assert sorted(told - set(interlingua.__all__)) == []
    assert "Session" in told


def test_no_private_name_is_public() -> None:
    private = [name for name in interlingua.__all__ if name.startswith("_") and name != "__version__"]
    assert private == []


def test_every_type_is_exported() -> None:
    assert sorted(set(public_structs()) - set(interlingua.__all__)) == []


def test_every_exception_is_exported() -> None:
    assert sorted(set(public_exceptions()) - set(interlingua.__all__)) == []


def test_the_same_name_is_the_same_thing() -> None:
    for name in {*public_structs(), *public_exceptions()} & set(interlingua.__all__):
        home = interlingua.errors if hasattr(interlingua.errors, name) else interlingua.types
        assert getattr(interlingua, name) is getattr(home, name)


def test_pinned_names_are_exported() -> None:
    assert sorted(set(PINNED) - set(interlingua.__all__)) == []


def stub_names() -> dict[str, str]:
    """The names of ``__init__.pyi``, each with the module that it comes from."""
    tree = ast.parse(Path(interlingua.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    found = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    aliases = [(alias, node.module or "") for node in found for alias in node.names]
    assert all(alias.asname == alias.name for alias, _ in aliases), "without `as` a name is private"
    return {alias.name: module for alias, module in aliases}


def test_type_checkers_see_the_same_names() -> None:
    assert stub_names() == vars(interlingua)["_MODULES"]


def test_type_checkers_see_what_a_star_imports() -> None:
    tree = ast.parse(Path(interlingua.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    (names,) = [node.value for node in tree.body if isinstance(node, ast.AnnAssign) and node.value]
    assert ast.literal_eval(names) == interlingua.__all__


ALIASES = ("behaviour", "bus", "catalogue", "embedded", "providers")


@pytest.mark.parametrize("name", ALIASES)
def test_a_documented_module_has_all_names_of_the_modules_it_stands_for(name: str) -> None:
    alias = importlib.import_module(f"interlingua.{name}")
    homes = re.findall(r"``(interlingua\.[\w.]+)``", alias.__doc__ or "")
    assert homes
    for home in map(importlib.import_module, homes):
        assert [public for public in home.__all__ if getattr(alias, public) is not getattr(home, public)] == []

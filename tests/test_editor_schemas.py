"""The JSON Schemas for editors: those in the package are current, and they accept what our readers accept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from interlingua.agent.routing.routes_file import read_routes, routing_schema
from interlingua.client.models_file import ConfigError
from interlingua.client.models_file.yaml_lines import read_yaml
from interlingua.gateway.config import gateway_schema, read_settings
from lab.editor_schemas import PACKAGE, SCHEMAS

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize("path", SCHEMAS)
def test_the_schema_in_the_package_is_current(path: str) -> None:
    """To renew them: ``python -m lab.editor_schemas``."""
    committed = json.loads((PACKAGE / path).read_text(encoding="utf-8"))
    assert committed == json.loads(json.dumps(SCHEMAS[path]()))
    jsonschema.Draft202012Validator.check_schema(committed)


GATEWAY = DOCS.joinpath("gateway.md").read_text().split("```yaml\n# gateway.yaml\n")[1].split("```")[0]
ROUTES = "routes:\n  a: m\n  b: [m, n]\n  c: {m: 1, n: 0.5}\n  d: {to: m}\n  e: {to: {m: 1}}\n"
HASH = "6cf615d5bcaac778352a8f1f3360d23f02f34ec182e259897fd6ce485d7870d4"


@pytest.mark.parametrize(
    ("text", "good"),
    [
        (GATEWAY, True),
        (ROUTES, True),
        ("routes:\n  a: {to: m, losses: warn}", True),
        ("settings: {workers: 2, losses: strict}", True),
        ("settings: {prot: 1}", False),
        ("settings: {port: 70000}", False),
        ("routes:\n  a: []", False),
        ("routes:\n  a: {m: 0}", False),
        ("routes:\n  a: {to: m, losses: never}", False),
        ("keys:\n  - {name: me}", False),
        ("keys:\n  - {name: me, sha256: abc}", False),
        (f"keys:\n  - {{name: me, sha256: {HASH}, per_minute: 9}}", True),
        ("rutes: {}", False),
    ],
)
def test_gateway_yaml_is_judged_as_its_reader_judges(text: str, good: bool) -> None:
    assert _accepts(gateway_schema(), text) is _reads(read_settings, text) is good


@pytest.mark.parametrize(
    ("text", "good"),
    [
        (ROUTES, True),
        ("routes:\n  a: {to: m, losses: warn}", False),
        ("routes:\n  a: {to: 3}", False),
        ("settings: {}", False),
    ],
)
def test_routing_yaml_is_judged_as_its_reader_judges(text: str, good: bool) -> None:
    assert _accepts(routing_schema(), text) is _reads(read_routes, text) is good


def _accepts(schema: dict[str, Any], text: str) -> bool:
    return jsonschema.Draft202012Validator(schema).is_valid(read_yaml(text, "x")[0])


def _reads(read: Any, text: str) -> bool:
    try:
        read(text)
    except ConfigError:
        return False
    return True

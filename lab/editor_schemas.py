"""The JSON Schemas that the package has for editors, one beside each reader: ``python -m lab.editor_schemas``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import interlingua
from interlingua.agent.routing.routes_file import routing_schema
from interlingua.client.behaviour.preset_file import preset_schema
from interlingua.client.models_file.models_yaml import models_schema
from interlingua.gateway.config import gateway_schema

PACKAGE = Path(interlingua.__file__).parent
SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "client/behaviour/behaviour.schema.json": preset_schema,
    "client/models_file/models.schema.json": models_schema,
    "agent/routing/routing.schema.json": routing_schema,
    "gateway/gateway.schema.json": gateway_schema,
}

if __name__ == "__main__":
    for path, schema in SCHEMAS.items():
        text = json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
        (PACKAGE / path).write_text(text, encoding="utf-8")

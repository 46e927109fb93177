"""Gemini's request types. The SDK's parameters are flat; its converters make the REST body that is checked here.

The Gemini API and Vertex share a checker: a body does not say to which of them it goes.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from google.genai import types
from pydantic.fields import FieldInfo

from lab.oracles.hints import Compiler
from lab.oracles.leaves import INTEGER, NULL, OBJECT, STRING, Check
from lab.oracles.typed import Choice, ListOf, Record, record, run

TOP = (
    *(
        "system_instruction",
        "safety_settings",
        "tools",
        "tool_config",
        "labels",
        "cached_content",
        "model_armor_config",
    ),
    *("service_tier", "continuation_token", "store", "generation_output_config"),
)
"""Fields of ``GenerateContentConfig`` that the converters put beside ``contents``, not into ``generationConfig``."""

IN_PYTHON_ONLY = ("http_options", "should_return_http_response", "automatic_function_calling", "automatic_continuation")
"""Fields of ``GenerateContentConfig`` that configure the SDK and are never sent."""

RENAMED = {"model_selection_config": "modelConfig", "generation_output_config": "outputConfig"}
"""Fields that the converters send under another name than their own."""

IMAGE_OUTPUT = {"output_mime_type": "mimeType", "output_compression_quality": "compressionQuality"}
"""Fields of ``ImageConfig`` that the converters move into an ``imageOutputOptions`` of their own."""


@cache
def request() -> Check:
    compiler = Compiler({types.Schema: OBJECT})
    nest_image_output(compiler)
    content = compiler.compile(types.Content)
    # Here the SDK also accepts functions, strings, files, …; the wire has only these types.
    wire = {"system_instruction": content, "tools": ListOf(compiler.compile(types.Tool))}
    fields: dict[str, Check] = {"contents": ListOf(content)}
    for name in TOP:
        field = types.GenerateContentConfig.model_fields[name]
        check = Choice((wire.get(name) or compiler.compile(field.annotation), NULL))
        fields.update(dict.fromkeys(spellings(name, field), check))
    config = Choice((generation_config(compiler), NULL))
    return record(
        "GenerateContentRequest", {**fields, "generationConfig": config, "generation_config": config}, ["contents"]
    )


def generation_config(compiler: Compiler) -> Record:
    """The checker of ``generationConfig``: the SDK's ``GenerationConfig`` and fields that only its flat config has."""
    found = Record("GenerationConfig")
    for model in (types.GenerateContentConfig, types.GenerationConfig):
        for name, field in model.model_fields.items():
            if name not in TOP and name not in IN_PYTHON_ONLY:
                found.fields.update(dict.fromkeys(spellings(name, field), compiler.compile(field.annotation)))
    return found


def spellings(name: str, field: FieldInfo) -> tuple[str, str]:
    """A field on the wire, in camelCase and in the snake_case that the server reads too."""
    camel = RENAMED.get(name) or field.alias or name
    return camel, re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", camel)


def nest_image_output(compiler: Compiler) -> None:
    image = compiler.compile(types.ImageConfig)
    options = {"mimeType": STRING, "mime_type": STRING, "compressionQuality": INTEGER, "compression_quality": INTEGER}
    if isinstance(image, Record):
        for name in IMAGE_OUTPUT:
            for spelling in spellings(name, types.ImageConfig.model_fields[name]):
                image.fields.pop(spelling)
        nested = record("ImageOutputOptions", options)
        image.fields.update({"imageOutputOptions": nested, "image_output_options": nested})


def validate(body: Any) -> list[str]:
    return run(request(), body)

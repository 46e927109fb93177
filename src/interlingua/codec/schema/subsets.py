"""What each dialect accepts of JSON Schema, as data. A new dialect is a row; how rows are applied is in ``rewrite.py``.

Where a keyword is kept although the vendor's page does not name it, an accepted request was recorded with it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from interlingua.codec.schema.walk import SHAPES, Schema, declared_types, is_list

Accepts: TypeAlias = Callable[[Any, Schema], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subset:
    """The part of JSON Schema that one dialect takes."""

    keywords: frozenset[str]
    """Kept; any other is rewritten in words that are kept, or folded into the description."""
    accepts: Mapping[str, Accepts] = field(default_factory=dict[str, Accepts])
    """Keywords kept for some values only: ``(value, the schema it stands in)``."""
    typed: bool = False
    """Every schema names its type."""
    strict: bool = False
    """The vendor compiles a grammar: objects are closed, and what accepts anything cannot be said."""
    all_required: bool = False
    """An optional property must be said as a required one that may be null."""
    recursive: bool = True
    """A definition may refer to itself."""
    null_in_enum: bool = True
    """null may be one of the values of `enum`."""
    references: bool = field(init=False)
    """Whether `$ref` can be said; if not, definitions are copied to where they are used."""
    homes: tuple[str, ...] = field(init=False)
    """Where definitions may live."""
    texts: frozenset[str] = field(init=False)
    """Keywords that are kept wherever their value is a text."""

    def __post_init__(self) -> None:
        both = ("$defs", "definitions")
        texts = {word for word in self.keywords if word not in SHAPES or SHAPES[word]("")}
        object.__setattr__(self, "references", "$ref" in self.keywords)
        object.__setattr__(self, "homes", tuple(word for word in both if word in self.keywords) or both)
        object.__setattr__(self, "texts", frozenset(texts - self.accepts.keys()))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = (str, int, float)  # made once: a union of types is made anew wherever it is written


def _primitive(values: Any, node: Schema) -> bool:
    return is_list(values) and bool(values) and not any(isinstance(value, dict | list) for value in values)


def _strings_or_numbers(values: Any, node: Schema) -> bool:
    if not is_list(values):
        return False
    for value in values:  # noqa: SIM110  (a generator takes twice as long)
        if not isinstance(value, _WORD) or isinstance(value, bool):
            return False
    return True


def _plain_pattern(pattern: Any, node: Schema) -> bool:
    """A regular language: no look-around, no back-reference."""
    return isinstance(pattern, str) and not re.search(r"\(\?(?!:)|\\[1-9]", pattern)


def _formats(by_type: Mapping[str, frozenset[str] | None]) -> Accepts:
    """Formats by the type they stand beside; None for any."""

    def accepts(value: Any, node: Schema) -> bool:
        types = [name for name in declared_types(node) if name != "null"]
        known = [by_type.get(name, frozenset[str]()) for name in types]
        return bool(known) and all(names is None or value in names for names in known)

    return accepts


_SHAPE = _words("type enum properties required items anyOf title description")
_DATES = _words("date-time time date duration email hostname ipv4 ipv6 uuid")

# https://platform.openai.com/docs/guides/structured-outputs#supported-schemas; formats of numbers as recorded.
_OPENAI = Subset(
    keywords=_SHAPE
    | _words("$schema $ref $defs definitions const additionalProperties pattern format multipleOf")
    | _words("minimum maximum exclusiveMinimum exclusiveMaximum minItems maxItems"),
    accepts={
        "enum": _primitive,
        "const": lambda value, node: not isinstance(value, dict | list),
        "pattern": _plain_pattern,
        "format": _formats({"string": _DATES, "integer": None, "number": None}),
    },
    typed=True,
    strict=True,
    all_required=True,
)

# https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
_ANTHROPIC = Subset(
    keywords=_SHAPE | _words("$schema $ref $defs definitions const additionalProperties default format minItems"),
    accepts={
        "enum": _primitive,
        "const": lambda value, node: not isinstance(value, dict | list),
        "format": _formats({"string": _DATES | {"uri"}}),
        "minItems": lambda value, node: value in (0, 1),
    },
    typed=True,
    strict=True,
    recursive=False,
)

# https://ai.google.dev/api/generate-content#FIELDS.response_json_schema
# The bounds of strings, `default` and `uniqueItems` as recorded.
_GEMINI = Subset(
    keywords=_SHAPE
    | _words("$schema $id $anchor $ref $defs prefixItems minItems maxItems minimum maximum oneOf additionalProperties")
    | _words("propertyOrdering format default minLength maxLength pattern uniqueItems"),
    accepts={"enum": _strings_or_numbers},
    null_in_enum=False,
)

# https://ai.google.dev/api/caching#Schema; `nullable` and `example` are written last, by gemini.py.
GEMINI_SCHEMA = Subset(
    keywords=_SHAPE
    | _words("minItems maxItems minLength maxLength minProperties maxProperties minimum maximum pattern format")
    | _words("propertyOrdering default examples"),
    accepts={
        "enum": _strings_or_numbers,
        "items": lambda value, node: isinstance(value, dict),
        "examples": lambda value, node: is_list(value) and len(value) == 1,
        "format": _formats(
            {"string": _words("date-time enum"), "integer": _words("int32 int64"), "number": _words("float double")}
        ),
    },
    typed=True,
    null_in_enum=False,
)

# ToolProperty in https://github.com/ollama/ollama/blob/main/api/types.go: a typed parser, which drops all else.
_OLLAMA = Subset(keywords=_SHAPE - {"title"})

STRICT: Mapping[str, Subset] = {
    "openai-chat": _OPENAI,
    "openai-responses": _OPENAI,
    "anthropic-messages": _ANTHROPIC,
    "bedrock-converse": _ANTHROPIC,
}
PROJECTED: Mapping[str, Subset] = {"gemini": _GEMINI, "ollama": _OLLAMA}


def known_dialect(dialect: str) -> str:
    """``dialect``, if there is a row for it."""
    if dialect not in STRICT and dialect not in PROJECTED:
        raise ValueError(
            f"no schema rules for dialect {dialect!r}; known are {', '.join(sorted({**STRICT, **PROJECTED}))}"
        )
    return dialect

"""The part of JSON Schema that a dialect takes, as data; how it is applied is in ``rewrite.py``.

Each dialect has its own (``Dialect.schema_subset``), made with the predicates below. Where a keyword is kept although
the vendor's page does not name it, a request with it was recorded and accepted.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr

from interlingua.codec.registry import dialect as find
from interlingua.codec.schema.walk import SHAPES, Schema, declared_types, is_list

Accepts: TypeAlias = Callable[[Any, Schema], bool]


class Subset(Struct, frozen=True, kw_only=True):
    """The part of JSON Schema that one dialect takes."""

    keywords: frozenset[str]
    """The keywords that are kept; any other is rewritten with these, or folded into the description."""
    accepts: Mapping[str, Accepts] = {}
    """Keywords that are kept for some values only; the predicate gets ``(value, the schema it stands in)``."""
    typed: bool = False
    """Whether every schema must name its type."""
    strict: bool = False
    """Whether the vendor compiles a grammar: objects are closed, and no schema can accept anything."""
    all_required: bool = False
    """Whether an optional property must be written as a required one that may be null."""
    recursive: bool = True
    """Whether a definition may refer to itself."""
    null_in_enum: bool = True
    """Whether null may be one of the values of `enum`."""
    limits: Mapping[str, int] = {}
    """The most that a strict schema may have of each measure in ``strict.py``."""
    described_root: bool = True
    """Whether the parameters of a tool, as a whole, may have a description."""
    references: bool = False
    """Whether `$ref` is taken; if not, definitions are copied to where they are used."""
    definition_keys: tuple[str, ...] = ()
    """The keywords under which definitions may stand."""
    texts: frozenset[str] = frozenset()
    """Keywords that are kept wherever their value is a text."""

    def __post_init__(self) -> None:
        both = ("$defs", "definitions")
        texts = {word for word in self.keywords if word not in SHAPES or SHAPES[word]("")}
        force_setattr(self, "references", "$ref" in self.keywords)
        force_setattr(self, "definition_keys", tuple(word for word in both if word in self.keywords) or both)
        force_setattr(self, "texts", frozenset(texts - self.accepts.keys()))


def subset_of(dialect: str) -> Subset:
    subset = find(dialect).schema_subset
    if subset is None:
        raise ValueError(f"no schema rules for dialect {dialect!r}")
    return subset


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_WORD = (str, int, float)  # made once: a union of types is made anew wherever it is written


def is_primitive(values: Any, node: Schema) -> bool:
    return is_list(values) and bool(values) and not any(isinstance(value, dict | list) for value in values)


def is_strings_or_numbers(values: Any, node: Schema) -> bool:
    if not is_list(values):
        return False
    for value in values:  # noqa: SIM110  (a generator takes twice as long)
        if not isinstance(value, _WORD) or isinstance(value, bool):
            return False
    return True


def is_plain_pattern(pattern: Any, node: Schema) -> bool:
    """Whether a pattern has no look-around and no back-reference, so that a grammar can follow it."""
    return isinstance(pattern, str) and not re.search(r"\(\?(?!:)|\\[1-9]", pattern)


def formats(by_type: Mapping[str, frozenset[str] | None]) -> Accepts:
    """The predicate for `format`, from the formats that are accepted beside each type; None for any."""

    def accepts(value: Any, node: Schema) -> bool:
        types = [name for name in declared_types(node) if name != "null"]
        known = [by_type.get(name, frozenset[str]()) for name in types]
        return bool(known) and all(names is None or value in names for names in known)

    return accepts


SHAPE = words("type enum properties required items anyOf title description")
DATES = words("date-time time date duration email hostname ipv4 ipv6 uuid")

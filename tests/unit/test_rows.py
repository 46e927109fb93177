"""The errors for mistakes in rows. What rows mean is tested with those of the dialects: by cases and recordings."""

from __future__ import annotations

import linecache

import msgspec
import pytest

import interlingua.types
from interlingua.codec.ledger import Ledger
from interlingua.codec.parameters import PARAMETERS, lost_parameters
from interlingua.codec.rows.compiler import source_of
from interlingua.codec.rows.field_kinds import declared, usual_kind
from interlingua.codec.rows.row import OFF_WIRE, Row, lost, may
from interlingua.codec.rows.table import Frame, Table
from interlingua.types import (
    OpaqueBlock,
    Request,
    TextBlock,
    UrlSource,
    Value,
)

HERE = "toy"
# Every key differs from our field, so that a writer which passes the struct on unchanged would fail.
INNER = Table(HERE, "sort", Row(TextBlock, "words", text="said", citations=lost("no citations")),
              carrier=OpaqueBlock, signature=lost("unsigned", "state"), cache=lost("not cached"))  # fmt: skip


def test_a_row_that_forgets_a_field_is_refused() -> None:
    with pytest.raises(TypeError, match="TextBlock 'words': cache, citations, signature missing or unknown"):
        Table(HERE, "sort", Row(TextBlock, "words", text="said"))
    with pytest.raises(TypeError, match="colour"):
        Table(HERE, "sort", Row(UrlSource, "link", url="href", media_type=may("mime"), colour="c"))


def test_a_parameter_that_a_protocol_lacks_is_named_in_one_table() -> None:
    assert PARAMETERS.keys() <= declared(Request).keys()
    named = " ".join(declared(Request).keys() - OFF_WIRE - PARAMETERS.keys())
    request = Request(seed=1, store=True, verbosity="low")
    frame = Frame(HERE, Row(Request, None, seed=may("grain"), elsewhere=named), **lost_parameters(HERE))
    assert frame.put(request, ledger := Ledger()) == {"grain": 1}
    assert {(loss.path, loss.reason, loss.weight) for loss in ledger.losses} == {
        ("verbosity", "toy has no `verbosity`", "content"),
        ("store", "toy has no `store`", "state"),
    }
    with pytest.raises(TypeError, match=r"store, .*verbosity missing"):
        Frame(HERE, Row(Request, None, seed=may("grain"), elsewhere=named))


def test_generated_code_can_be_read() -> None:
    INNER.read({"sort": "words", "said": "hi"})
    text = source_of(INNER.readers["words"])
    assert "wire.get('said')" in text
    assert text in ["".join(linecache.getlines(name)) for name in linecache.cache if "read_toy_TextBlock" in name]


VALUES = [found for found in vars(interlingua.types).values() if isinstance(found, type) and issubclass(found, Value)]


@pytest.mark.parametrize("kind", VALUES, ids=lambda kind: kind.__name__)
def test_fields_are_declared_as_msgspec_finds_them(kind: type[Value]) -> None:
    """A row reads annotations as text; msgspec evaluates them, and both choose the same kinds and defaults."""
    found = {field.name: field for field in msgspec.structs.fields(kind)}
    ours = declared(kind)
    assert list(ours) == list(found)
    for name, field in found.items():
        made = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
        assert ours[name].default == made
        assert usual_kind(ours[name].hint) is usual_kind(field.type)

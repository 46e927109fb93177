"""Gemini's older `Schema` object: from JSON Schema and back."""

from typing import Any

from hypothesis import given, settings, strategies as st

from interlingua.codec.schema import from_gemini_schema, to_gemini_schema

Schema = dict[str, Any]


def gemini_objects(deeper: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    nullable = st.fixed_dictionaries({}, optional={"nullable": st.just(True), "description": st.just("d")})
    return st.tuples(
        st.builds(
            lambda p: {"type": "OBJECT", "properties": p}, st.dictionaries(st.sampled_from("abc"), deeper, min_size=1)
        )
        | st.builds(lambda items: {"type": "ARRAY", "items": items}, deeper)
        | st.builds(lambda branches: {"anyOf": branches}, st.lists(deeper, min_size=2, max_size=3)),
        nullable,
    ).map(lambda parts: {**parts[0], **parts[1]})


SCALARS: list[Schema] = [
    {"type": "STRING", "maxLength": 3},
    {"type": "STRING", "enum": ["a"], "nullable": True},
    {"type": "INTEGER", "nullable": True},
    {"type": "INTEGER", "format": "enum", "enum": ["7"]},
    {"type": "BOOLEAN"},
]


# The same examples in every run; `pytest --hypothesis-profile=thorough` looks for more.
THOROUGH = settings.get_current_profile_name() == "thorough"
modest = settings() if THOROUGH else settings(max_examples=100, derandomize=True)


@modest
@given(st.recursive(st.sampled_from(SCALARS), gemini_objects, max_leaves=8))
def test_what_google_wrote_survives_the_way_there_and_back(gemini: Schema) -> None:
    there = from_gemini_schema(gemini)
    assert to_gemini_schema(there).schema == gemini

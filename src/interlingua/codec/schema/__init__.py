"""JSON Schema for tools and outputs, as each dialect takes it: pure functions over plain dicts.

- ``strict_schema``: into the subset that a dialect's strict mode compiles, or the reasons why that cannot be;
- ``restore_optional``: the inverse for values, so that a tool gets what its author declared;
- ``project_schema``: into the part that a dialect takes, strict or not; ``narrow_tool``: the same as a change;
- ``to_gemini_schema``, ``from_gemini_schema``: Gemini's older ``Schema`` object.

No schema or value that is passed in is ever altered. ``changes`` lists what was changed, one sentence for each,
beginning with a JSON pointer. Which keywords a dialect takes is data, in ``subsets.py``.
"""

from interlingua.codec.schema.gemini import from_gemini_schema, to_gemini_schema
from interlingua.codec.schema.narrow import Narrowed
from interlingua.codec.schema.project import Projection, narrow_tool, project_schema
from interlingua.codec.schema.restore import restore_optional
from interlingua.codec.schema.strict import StrictSchema, strict_schema

__all__ = [
    "Narrowed",
    "Projection",
    "StrictSchema",
    "from_gemini_schema",
    "narrow_tool",
    "project_schema",
    "restore_optional",
    "strict_schema",
    "to_gemini_schema",
]

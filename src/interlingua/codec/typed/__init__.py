"""Python types and JSON: a type as JSON Schema, and a value of that type from what a model wrote.

Tools and typed answers are made with the same functions: ``schemas_of`` gives the schema, ``read_value`` reads a value
exactly by type, ``without_forced_nulls`` removes nulls that only a strict schema made the model write, ``complaints``
checks a value by a schema that was written by hand. ``Output`` reads an answer, ``PartialJson`` an incomplete one.
"""

from .checking import complaints
from .docstrings import read_docstring
from .hints import description_of, plain_hint, plain_value
from .outputs import Output, output_of
from .partial import PartialJson, PartialOutput
from .schemas import schemas_of
from .values import complaint_of, read_value, without_forced_nulls

__all__ = [
    "Output",
    "PartialJson",
    "PartialOutput",
    "complaint_of",
    "complaints",
    "description_of",
    "output_of",
    "plain_hint",
    "read_docstring",
    "read_value",
    "plain_value",
    "schemas_of",
    "without_forced_nulls",
]

"""A function's signature as a tool's input: what it takes, how that is said as JSON Schema, how it is read back.

All that is wrong with a signature is said when the tool is defined, never when a model calls it.
"""

from __future__ import annotations

import functools
import inspect
import math
import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from ...codec.schema.walk import Schema
from ...codec.typed import complaint_of, description_of, plain_hint, read_value, said, schemas_of
from ...types.base import Json
from .context import ToolContext

__all__ = ["Parameter", "Signature", "name_of", "read_arguments", "read_signature", "without_partials"]

_KINDS = inspect.Parameter
_UNCALLABLE = {
    _KINDS.POSITIONAL_ONLY: "is positional-only, and a model names its arguments",
    _KINDS.VAR_POSITIONAL: "takes any number of arguments, which a schema of named ones cannot say",
    _KINDS.VAR_KEYWORD: "takes arguments of any name, which a schema cannot say; declare them, or take one dict",
}


class Parameter(NamedTuple):
    """One argument that the model may give."""

    name: str
    type: Any
    required: bool
    description: str | None = None
    default: Any = None


class Signature(NamedTuple):
    """What a function takes, and which parameter is given the ``ToolContext``."""

    parameters: tuple[Parameter, ...]
    schema: Schema
    context: str | None


def without_partials(function: Any) -> Any:
    """The function that a partial fills."""
    while isinstance(function, functools.partial):
        function = function.func  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return function  # pyright: ignore[reportUnknownVariableType]


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function; of an object that can be called, the name of its class."""
    bare = _bare(function)
    name: str = getattr(bare, "__name__", None) or type(bare).__name__
    return name


def read_signature(function: Callable[..., Any], words: Mapping[str, str]) -> Signature:
    """``words`` are descriptions by parameter, from the docstring; those in the annotations go first."""
    if not callable(function):
        raise TypeError(f"{function!r} cannot be called, so it is not a tool")
    if isinstance(function, type):
        raise TypeError(f"{function.__name__} is a class; a tool is a function, a method or an object with __call__")
    if any(is_kind(_callee(function)) for is_kind in (inspect.isgeneratorfunction, inspect.isasyncgenfunction)):
        raise TypeError(f"{name_of(function)} is a generator; a tool returns its whole answer")
    hints = _hints(function)
    parameters: list[Parameter] = []
    context = None
    for found in _open_parameters(function):
        _refuse(function, found, hints)
        if _is_context(hints[found.name]):
            context = found.name
        else:
            parameters.append(_parameter(found, hints[found.name], words))
    return Signature(tuple(parameters), _schema(function, parameters), context)


# ------------------------------------------------------------------------------------------------------ the function


def _bare(function: Any) -> Any:
    """The function behind partials and wrappers."""
    return inspect.unwrap(without_partials(function))


def _callee(function: Any) -> Any:
    """Whose annotations count: an object's are those of its ``__call__``."""
    bare = _bare(function)
    return bare if inspect.isroutine(bare) else inspect.unwrap(type(bare).__call__)


def _open_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """All parameters but those that a partial has filled: they are the author's, not the model's."""
    try:
        found = inspect.signature(function).parameters.values()
    except ValueError:
        raise TypeError(f"{name_of(function)} has no signature that Python can read; wrap it in a function") from None
    filled: set[str] = set()
    while isinstance(function, functools.partial):
        filled |= function.keywords.keys()
        function = function.func
    return [parameter for parameter in found if parameter.name not in filled]


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    callee = _callee(function)
    callee = getattr(callee, "__func__", callee)

    def asked() -> None: ...  # without the return type, which may be one that only type checkers can see

    try:
        found = getattr(callee, "__annotations__", {})
        asked.__annotations__ = {name: hint for name, hint in found.items() if name != "return"}
        return get_type_hints(asked, getattr(callee, "__globals__", {}), include_extras=True)
    except NameError as error:
        raise TypeError(
            f"{name_of(function)}: an annotation cannot be resolved: {error}; it must be known where the module is"
        ) from None


def _refuse(function: Callable[..., Any], found: inspect.Parameter, hints: Mapping[str, Any]) -> None:
    if found.kind in _UNCALLABLE:
        raise TypeError(f"{name_of(function)}: parameter `{found.name}` {_UNCALLABLE[found.kind]}")
    if found.name not in hints:
        hint = "decorate the bound method: tool(object.method)" if found.name in ("self", "cls") else "say Any if any"
        raise TypeError(f"{name_of(function)}: parameter `{found.name}` has no annotation; {hint}")


def _is_context(hint: Any) -> bool:
    if get_origin(hint) in (Annotated, Union, types.UnionType):
        return any(_is_context(arg) for arg in get_args(hint))
    return hint is ToolContext


def _parameter(found: inspect.Parameter, hint: Any, words: Mapping[str, str]) -> Parameter:
    required = found.default is found.empty
    description = description_of(hint) or words.get(found.name)
    return Parameter(found.name, plain_hint(hint), required, description, None if required else found.default)


# -------------------------------------------------------------------------------------------------------- the schema


def _schema(function: Callable[..., Any], parameters: list[Parameter]) -> Schema:
    try:
        schemas, definitions = schemas_of([parameter.type for parameter in parameters])
    except TypeError as error:
        raise _unsayable(function, parameters, error) from None
    properties = {p.name: _property(p, schema) for p, schema in zip(parameters, schemas, strict=True)}
    required = [parameter.name for parameter in parameters if parameter.required]
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
        **({"$defs": definitions} if definitions else {}),
    }


def _unsayable(function: Callable[..., Any], parameters: list[Parameter], error: TypeError) -> TypeError:
    """The error, with the name of the parameter that it is about."""
    for parameter in parameters:
        try:
            schemas_of([parameter.type])
        except TypeError as why:
            told = str(why).splitlines()[-1]  # msgspec tells a developer of hooks first
            return TypeError(f"{name_of(function)}: parameter `{parameter.name}`: {told}")
    return error


def _property(parameter: Parameter, schema: Schema) -> Schema:
    said_before = schema.get("description")
    told = {"description": parameter.description} if parameter.description and not said_before else {}
    return {**schema, **told, **({} if parameter.required else _default(parameter.default))}


def _default(value: Any) -> Schema:
    """The default, where JSON can say it."""
    if isinstance(value, float) and not math.isfinite(value):
        return {}
    try:
        return {"default": msgspec.json.decode(msgspec.json.encode(value, enc_hook=said))}
    except (TypeError, ValueError, NotImplementedError):
        return {}


# ------------------------------------------------------------------------------------------------------- the way back


def read_arguments(parameters: tuple[Parameter, ...], input: Mapping[str, Json]) -> dict[str, Any]:
    """The input as the declared types; absent ones stay absent. Raises ``ValueError`` with all complaints."""
    known = {parameter.name: parameter for parameter in parameters}
    complaints = [
        f"`{name}` is missing" for name, parameter in known.items() if parameter.required and name not in input
    ]
    arguments: dict[str, Any] = {}
    for name, value in input.items():
        if name not in known:
            complaints.append(f"`{name}` is not a parameter; there are: {', '.join(known) or 'none'}")
            continue
        try:
            arguments[name] = read_value(value, known[name].type)
        except msgspec.ValidationError as error:
            complaints.append(complaint_of(error, name))
    if complaints:
        raise ValueError("\n".join(f"- {complaint}" for complaint in complaints))
    return arguments

"""A function's signature as the input of a tool: its parameters, their JSON Schema, and how arguments are read.

Every problem of a signature raises when the tool is defined, never when a model calls it.
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
from ...codec.typed import complaint_of, description_of, plain_hint, plain_value, read_value, schemas_of
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
    """One parameter that the model may give a value for."""

    name: str
    type: Any
    required: bool
    description: str | None = None
    default: Any = None


class Signature(NamedTuple):
    """The parameters of a function, their schema, and the name of the parameter that receives the ``ToolContext``."""

    parameters: tuple[Parameter, ...]
    schema: Schema
    context: str | None


def without_partials(function: Any) -> Any:
    """The function inside of a ``functools.partial``, or the function itself."""
    while isinstance(function, functools.partial):
        function = function.func  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return function  # pyright: ignore[reportUnknownVariableType]


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, or of the class of a callable object."""
    bare = _bare(function)
    name: str = getattr(bare, "__name__", None) or type(bare).__name__
    return name


def read_signature(function: Callable[..., Any], descriptions: Mapping[str, str]) -> Signature:
    """The signature of a function. ``descriptions`` are those of its docstring; one in an annotation wins."""
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
        _check_parameter(function, found, hints)
        if _is_context(hints[found.name]):
            context = found.name
        else:
            parameters.append(_parameter(found, hints[found.name], descriptions))
    return Signature(tuple(parameters), _schema(function, parameters), context)


# ------------------------------------------------------------------------------------------------------ the function


def _bare(function: Any) -> Any:
    """The function inside of partials and wrappers."""
    return inspect.unwrap(without_partials(function))


def _callee(function: Any) -> Any:
    """The function whose annotations count: for a callable object, its ``__call__``."""
    bare = _bare(function)
    return bare if inspect.isroutine(bare) else inspect.unwrap(type(bare).__call__)


def _open_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """All parameters except those that a partial has filled, which the model cannot set."""
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

    def without_return() -> None: ...  # the return type may exist for type checkers only

    try:
        found = getattr(callee, "__annotations__", {})
        without_return.__annotations__ = {name: hint for name, hint in found.items() if name != "return"}
        return get_type_hints(without_return, getattr(callee, "__globals__", {}), include_extras=True)
    except NameError as error:
        raise TypeError(
            f"{name_of(function)}: an annotation cannot be resolved: {error}; it must be known where the module is"
        ) from None


def _check_parameter(function: Callable[..., Any], found: inspect.Parameter, hints: Mapping[str, Any]) -> None:
    if found.kind in _UNCALLABLE:
        raise TypeError(f"{name_of(function)}: parameter `{found.name}` {_UNCALLABLE[found.kind]}")
    if found.name not in hints:
        hint = "decorate the bound method: tool(object.method)" if found.name in ("self", "cls") else "say Any if any"
        raise TypeError(f"{name_of(function)}: parameter `{found.name}` has no annotation; {hint}")


def _is_context(hint: Any) -> bool:
    if get_origin(hint) in (Annotated, Union, types.UnionType):
        return any(_is_context(arg) for arg in get_args(hint))
    return hint is ToolContext


def _parameter(found: inspect.Parameter, hint: Any, descriptions: Mapping[str, str]) -> Parameter:
    required = found.default is found.empty
    description = description_of(hint) or descriptions.get(found.name)
    return Parameter(found.name, plain_hint(hint), required, description, None if required else found.default)


# -------------------------------------------------------------------------------------------------------- the schema


def _schema(function: Callable[..., Any], parameters: list[Parameter]) -> Schema:
    try:
        schemas, definitions = schemas_of([parameter.type for parameter in parameters])
    except TypeError as error:
        raise _schema_error(function, parameters, error) from None
    properties = {p.name: _property(p, schema) for p, schema in zip(parameters, schemas, strict=True)}
    required = [parameter.name for parameter in parameters if parameter.required]
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
        **({"$defs": definitions} if definitions else {}),
    }


def _schema_error(function: Callable[..., Any], parameters: list[Parameter], error: TypeError) -> TypeError:
    """The error, with the name of the parameter that has no schema."""
    for parameter in parameters:
        try:
            schemas_of([parameter.type])
        except TypeError as why:
            reason = str(why).splitlines()[-1]  # the lines before are msgspec's advice on hooks
            return TypeError(f"{name_of(function)}: parameter `{parameter.name}`: {reason}")
    return error


def _property(parameter: Parameter, schema: Schema) -> Schema:
    has_description = schema.get("description")
    added = {"description": parameter.description} if parameter.description and not has_description else {}
    return {**schema, **added, **({} if parameter.required else _default(parameter.default))}


def _default(value: Any) -> Schema:
    """The key ``default``, if the value can be written as JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return {}
    try:
        return {"default": msgspec.json.decode(msgspec.json.encode(value, enc_hook=plain_value))}
    except (TypeError, ValueError, NotImplementedError):
        return {}


# ------------------------------------------------------------------------------------------------------- the arguments


def read_arguments(parameters: tuple[Parameter, ...], input: Mapping[str, Json]) -> dict[str, Any]:
    """The arguments as values of the declared types; absent ones stay absent. ``ValueError`` has all problems."""
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

"""The signature of a function as the input of a tool: its parameters, their JSON Schema, and how arguments are read.

Errors in a signature are raised when the tool is defined, never when a model calls it.
"""

from __future__ import annotations

import functools
import inspect
import math
import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from ...codec.schema.walk import Schema, is_list, is_schema
from ...types.base import Json
from .context import ToolContext
from .schemas import schemas_of
from .type_hints import build, description_of, plain_hint, to_json

__all__ = ["Parameter", "Signature", "name_of", "read_arguments", "read_signature", "without_partials"]

_KINDS = inspect.Parameter
_UNCALLABLE = {
    _KINDS.POSITIONAL_ONLY: "is positional-only, but a model passes arguments by name",
    _KINDS.VAR_POSITIONAL: "takes any number of arguments, which a JSON Schema of named arguments cannot describe",
    _KINDS.VAR_KEYWORD: "takes arguments of any name, which JSON Schema cannot describe; declare them, or take a dict",
}


class Parameter(NamedTuple):
    """One argument that the model may give."""

    name: str
    type: Any
    required: bool
    description: str | None = None
    default: Any = None


class Signature(NamedTuple):
    """The parameters of a function, and the one that gets the ``ToolContext``."""

    parameters: tuple[Parameter, ...]
    schema: Schema
    context: str | None


def without_partials(function: Any) -> Any:
    """The function inside partials."""
    while isinstance(function, functools.partial):
        function = function.func  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return function  # pyright: ignore[reportUnknownVariableType]


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function, or the name of a callable object's class."""
    bare = _bare(function)
    name: str = getattr(bare, "__name__", None) or type(bare).__name__
    return name


def read_signature(function: Callable[..., Any], words: Mapping[str, str]) -> Signature:
    """``words`` are the descriptions in the docstring. Descriptions in annotations are used before them."""
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
    """The function inside partials and wrappers."""
    return inspect.unwrap(without_partials(function))


def _callee(function: Any) -> Any:
    """The function whose annotations are used: for an object, its ``__call__``."""
    bare = _bare(function)
    return bare if inspect.isroutine(bare) else inspect.unwrap(type(bare).__call__)


def _open_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """All parameters but those that a partial has set: the model cannot set them."""
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

    def stub() -> None: ...  # without the return type, which may exist for type checkers only

    try:
        found = getattr(callee, "__annotations__", {})
        stub.__annotations__ = {name: hint for name, hint in found.items() if name != "return"}
        return get_type_hints(stub, getattr(callee, "__globals__", {}), include_extras=True)
    except NameError as error:
        raise TypeError(
            f"{name_of(function)}: an annotation cannot be resolved: {error}; it must be importable in the module"
        ) from None


def _refuse(function: Callable[..., Any], found: inspect.Parameter, hints: Mapping[str, Any]) -> None:
    if found.kind in _UNCALLABLE:
        raise TypeError(f"{name_of(function)}: parameter `{found.name}` {_UNCALLABLE[found.kind]}")
    if found.name not in hints:
        hint = (
            "decorate the bound method: tool(object.method)"
            if found.name in ("self", "cls")
            else "write Any if it takes anything"
        )
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
        raise _with_parameter_name(function, parameters, error) from None
    properties = {p.name: _property(p, schema) for p, schema in zip(parameters, schemas, strict=True)}
    required = [parameter.name for parameter in parameters if parameter.required]
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
        **({"$defs": definitions} if definitions else {}),
    }


def _with_parameter_name(function: Callable[..., Any], parameters: list[Parameter], error: TypeError) -> TypeError:
    """The error with the name of its parameter."""
    for parameter in parameters:
        try:
            schemas_of([parameter.type])
        except TypeError as why:
            reason = str(why).splitlines()[-1]  # the lines before advise to write hooks
            return TypeError(f"{name_of(function)}: parameter `{parameter.name}`: {reason}")
    return error


def _property(parameter: Parameter, schema: Schema) -> Schema:
    is_described = bool(schema.get("description"))
    added = {"description": parameter.description} if parameter.description and not is_described else {}
    return {**schema, **added, **({} if parameter.required else _default(parameter.default))}


def _default(value: Any) -> Schema:
    """The default, if it can be written as JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return {}
    try:
        return {"default": msgspec.json.decode(msgspec.json.encode(value, enc_hook=to_json))}
    except (TypeError, ValueError, NotImplementedError):
        return {}


# ------------------------------------------------------------------------------------------------------ the arguments


def read_arguments(parameters: tuple[Parameter, ...], input: Mapping[str, Json]) -> dict[str, Any]:
    """The arguments, converted to the declared types. Raises ``ValueError`` with all complaints."""
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
            arguments[name] = _typed(value, known[name].type)
        except msgspec.ValidationError as error:
            complaints.append(_complaint(name, str(error)))
    if complaints:
        raise ValueError("\n".join(f"- {complaint}" for complaint in complaints))
    return arguments


def _typed(value: Json, type_: Any) -> Any:
    """Strictly by type, but a float without a fraction is accepted as an integer, as in JSON Schema."""
    try:
        return msgspec.convert(value, type_, str_keys=True, dec_hook=build)
    except msgspec.ValidationError:
        whole = _whole(value)
        if whole is value:
            raise
        try:
            return msgspec.convert(whole, type_, str_keys=True, dec_hook=build)
        except msgspec.ValidationError:
            pass
        raise


def _whole(value: Json) -> Json:
    """``value`` with integers in place of whole floats; the same object if there are none."""
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if is_list(value):
        items = [_whole(item) for item in value]
        return value if all(new is old for new, old in zip(items, value, strict=True)) else items
    if is_schema(value):
        members = {key: _whole(item) for key, item in value.items()}
        return value if all(members[key] is item for key, item in value.items()) else members
    return value


def _complaint(name: str, why: str) -> str:
    """msgspec's message, with the path from the arguments: in msgspec's, ``$`` is one argument."""
    text, _, place = why.partition(" - at ")
    return f"`{name}{place.strip('`').removeprefix('$')}`: {text}" if place else f"`{name}`: {text}"

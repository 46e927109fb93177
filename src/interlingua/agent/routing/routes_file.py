"""``routing.yaml``: names and the models that answer for them. The gateway's file has the same section ``routes``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from inspect import cleandoc
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from ...client.models_file import ConfigError
from ...client.models_file.watching import WatchedFile, read_text
from ...client.models_file.yaml_lines import Lines, Problem, read_yaml
from ...codec.json import is_dict

__all__ = [
    "FileReader",
    "NamedRoute",
    "Policy",
    "file_schema",
    "find_route",
    "read_routes",
    "routing_schema",
    "watch_route",
]

Policy = Literal["strict", "warn", "allow"]


class NamedRoute(Struct, frozen=True, forbid_unknown_fields=True):
    """Where requests for a name go: a model, models in order of preference, or models with weights."""

    to: str | tuple[str, ...] | dict[str, float]
    losses: Policy | None = None
    """If a translation loses something: ``strict`` refuses the request, ``warn`` logs it, ``allow`` does nothing."""

    @property
    def names(self) -> tuple[str, ...]:
        """The models."""
        return (self.to,) if isinstance(self.to, str) else tuple(self.to)

    @property
    def weights(self) -> Mapping[str, float] | None:
        """The models with their weights, if they have any."""
        return self.to if isinstance(self.to, dict) else None


def find_route(routes: Mapping[str, NamedRoute], name: str) -> NamedRoute | None:
    """The route of exactly this name, else the first route whose pattern matches it, else None."""
    exact = routes.get(name)
    if exact is not None:
        return exact
    return next((route for pattern, route in routes.items() if fnmatchcase(name, pattern)), None)


class FileReader:
    """Checks the values of a file and collects every problem with its line. ``sections`` are its allowed keys."""

    def __init__(self, text: str, source: str, sections: Sequence[str]) -> None:
        value, lines = read_yaml(text, source)
        self.lines: Lines = lines
        self.source, self.problems = source, list[Problem]()
        self.value: dict[str, Any] = value if is_dict(value) else {}
        if value is not None and not is_dict(value):
            names = ", ".join(f"`{section}`" for section in sections)
            self.problems.append(Problem(1, f"the file must be a mapping with {names}"))
        for key in self.value:
            if key not in sections:
                self.complain((key,), f"unknown key `{key}`; {_suggestion(key, sections)}")

    def complain(self, path: tuple[str | int, ...], message: str) -> None:
        """Note a problem at a place of the file."""
        line = next((self.lines[path[:end]] for end in range(len(path), -1, -1) if path[:end] in self.lines), 0)
        self.problems.append(Problem(line, message))

    def finish(self) -> None:
        """Raise if there was a problem."""
        if self.problems:
            raise ConfigError(self.source, self.problems)

    def routes(self) -> dict[str, NamedRoute]:
        """The section ``routes``."""
        value: Any = self.value.get("routes") or {}
        if not is_dict(value):
            self.complain(("routes",), "`routes` must be a mapping: the name that is asked for, then a model")
            return {}
        made: dict[str, NamedRoute] = {}
        for name, entry in value.items():
            at = ("routes", name)
            full = entry if is_dict(entry) and "to" in entry else {"to": entry}
            found: NamedRoute | None = self.read(full, NamedRoute, at)
            if found is not None and self._is_sound(found, at):
                made[name] = found
        return made

    def _is_sound(self, route: NamedRoute, at: tuple[str, ...]) -> bool:
        if not route.names:
            self.complain(at, f"{'.'.join(at)}: a route needs at least one model")
        elif route.weights is not None and min(route.weights.values()) <= 0:
            self.complain(at, f"{'.'.join(at)}: weights are numbers above 0")
        else:
            return True
        return False

    def read(self, value: Any, kind: type[Any], at: tuple[str | int, ...]) -> Any:
        """A value as a struct of this type. If it does not fit, note the problem and return None."""
        try:
            return msgspec.convert(value, kind, str_keys=True)
        except msgspec.ValidationError as error:
            reason, _, where = str(error).partition(" - at `")
            steps = tuple(re.findall(r"\.(\w+)", where))
            unknown = re.fullmatch(r"Object contains unknown field `(.*)`", reason)
            if unknown:
                steps = (*steps, unknown[1])
                known = [field.name for field in fields(kind)]
                reason = f"unknown key `{unknown[1]}`; {_suggestion(unknown[1], known)}"
            dotted = ".".join(map(str, (*at, *steps)))
            self.complain((*at, *steps), f"{dotted}: {reason[0].lower()}{reason[1:]}")
            return None


def _suggestion(word: str, known: Sequence[str]) -> str:
    near = get_close_matches(word, known, n=1)
    return f"did you mean `{near[0]}`?" if near else f"known: {', '.join(known)}"


def read_routes(text: str, source: str = "routing.yaml") -> dict[str, NamedRoute]:
    """The routes of a ``routing.yaml``. Raises ``ConfigError`` with every problem in it."""
    reader = FileReader(text, source, ("routes",))
    routes = reader.routes()
    for name, route in routes.items():
        if route.losses is not None:
            reader.complain(("routes", name, "losses"), f"routes.{name}.losses: only the gateway reads it")
    reader.finish()
    return routes


def file_schema(title: str, sections: Mapping[str, Any]) -> dict[str, Any]:
    """JSON Schema of a file with routes, for editors. ``sections`` maps its other keys to their types."""
    of_sections, parts = msgspec.json.schema_components((NamedRoute, *sections.values()), ref_template="#/$defs/{name}")
    for part in parts.values():  # newer Pythons do not keep the indent of docstrings
        part["description"] = cleandoc(part["description"])
    weights = parts["NamedRoute"]["properties"]["to"]["anyOf"][-1]
    weights["additionalProperties"] = {"type": "number", "exclusiveMinimum": 0}
    one_model, in_order, _ = parts["NamedRoute"]["properties"]["to"]["anyOf"]
    in_order["minItems"] = weights["minProperties"] = 1
    bare_weights = {**weights, "properties": {"to": False}}
    route = {"anyOf": [one_model, in_order, bare_weights, of_sections[0]]}
    properties = {"routes": {"type": "object", "additionalProperties": route}}
    properties.update(zip(sections, of_sections[1:], strict=True))
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"Interlingua {title}"}
    return {**head, "type": "object", "properties": properties, "additionalProperties": False, "$defs": parts}


def routing_schema() -> dict[str, Any]:
    """JSON Schema of ``routing.yaml``; committed beside this module as ``routing.schema.json``."""
    schema = file_schema("routing.yaml", {})
    del schema["$defs"]["NamedRoute"]["properties"]["losses"]  # only the gateway reads it
    return schema


def watch_route(path: str | Path, name: str) -> WatchedFile[NamedRoute]:
    """One route of a ``routing.yaml``, read again when the file changes."""
    place = Path(path).expanduser()

    def read() -> NamedRoute:
        routes = read_routes(read_text(place), str(place))
        found = find_route(routes, name)
        if found is None:
            problem = f"no route is called {name!r}; there are {', '.join(routes) or 'none'}"
            raise ConfigError(str(place), [Problem(0, problem)])
        return found

    return WatchedFile(place, read)

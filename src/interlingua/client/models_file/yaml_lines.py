"""YAML with line numbers: the values, and the line of each. Errors name the line and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from msgspec import Struct

from ...codec.limits import Limits

__all__ = ["ConfigError", "Lines", "Path", "Problem", "read_yaml"]

Path = tuple[str | int, ...]
Lines = dict[Path, int]


class Problem(Struct, frozen=True):
    """One mistake. ``line`` counts from 1; 0 if it has no line."""

    line: int
    message: str


class ConfigError(ValueError):
    """A configuration that cannot be used: all its mistakes, in the order of the file."""

    def __init__(self, source: str, problems: Sequence[Problem]) -> None:
        self.source = source
        self.problems = tuple(sorted(problems, key=lambda problem: problem.line))
        super().__init__("\n".join(_line_of(source, problem) for problem in self.problems))

    def __reduce__(self) -> tuple[Any, ...]:
        return (ConfigError, (self.source, self.problems))


def _line_of(source: str, problem: Problem) -> str:
    return f"{source}:{problem.line}: {problem.message}" if problem.line else f"{source}: {problem.message}"


def read_yaml(text: str, source: str) -> tuple[Any, Lines]:
    """The plain value of a YAML text, and the line of each of its keys and items.

    Raises ``ConfigError`` for bad syntax and for a key that occurs twice. The text is not quoted: it may contain keys.
    """
    try:
        yaml: Any = import_module("yaml")
    except ImportError as error:
        raise ConfigError(
            source, [Problem(0, "reading YAML needs PyYAML: pip install 'interlingua[config]'")]
        ) from error
    try:
        problem = _problem_of_size(yaml, text)
        if problem is not None:
            raise ConfigError(source, [problem])
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ConfigError(source, [Problem(mark.line + 1 if mark else 0, f"not YAML: {error.problem}")]) from None
    except yaml.YAMLError as error:
        raise ConfigError(source, [Problem(0, f"not YAML: {type(error).__name__}")]) from None
    reader = _Reader(yaml)
    value = None if node is None else reader.read(node, ())
    if reader.problems:
        raise ConfigError(source, reader.problems)
    return value, reader.lines


def _problem_of_size(yaml: Any, text: str) -> Problem | None:
    """Refuse what must not be built: nesting beyond ``Limits.depth``, and aliases, which can grow to gigabytes."""
    depth, most = 0, Limits().depth or 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            return Problem(line, f"`*{event.anchor}` refers to another place, which is not supported; write it out")
        if depth > most:
            return Problem(line, f"it is nested more than {most} levels deep")
    return None


class _Reader:
    """Makes values of nodes. PyYAML's own constructor drops the lines and lets a second key overwrite the first."""

    def __init__(self, yaml: Any) -> None:
        self.yaml = yaml
        self.lines: Lines = {}
        self.problems: list[Problem] = []
        self.scalars = yaml.SafeLoader("")

    def read(self, node: Any, path: Path) -> Any:
        self.lines.setdefault(path, node.start_mark.line + 1)
        if isinstance(node, self.yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, self.yaml.SequenceNode):
            return [self.read(item, (*path, index)) for index, item in enumerate(node.value)]
        try:
            return self.scalars.construct_object(node)
        except (self.yaml.YAMLError, ValueError):
            self.problems.append(Problem(node.start_mark.line + 1, "not a plain value; put it in quotes"))
            return None

    def _mapping(self, node: Any, path: Path) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = self._key(key_node)
            if key is None:
                self.problems.append(Problem(line, "a key must be a plain word; put it in quotes"))
            elif key in made:
                self.problems.append(Problem(line, f"`{key}` occurs twice; remove one of them"))
            else:
                self.lines[(*path, key)] = line
                made[key] = self.read(value_node, (*path, key))
        return made

    def _key(self, node: Any) -> str | None:
        """Keys as written: ``no``, ``on`` and ``200000`` are strings here, and not YAML 1.1's booleans and numbers."""
        plain = isinstance(node, self.yaml.ScalarNode) and node.tag != "tag:yaml.org,2002:merge"
        return str(node.value) if plain else None

"""Where a module can be changed, and how: one table of operators over the syntax tree.

The order of the sites of one text is always the same, so a site is named by its file and its number. Docstrings,
annotations, imports, decorators, class keywords, ``assert`` and the texts of raised errors are left alone.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

Change = tuple[str, ast.AST]  # the operator's name, the new node

SWAPPED_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
SWAPPED_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}

# A negated condition of this form is the same mutant as the swapped comparison.
EXACT_OPPOSITES = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)

SKIPPED_NODES = (ast.Import, ast.ImportFrom, ast.Assert, ast.Global, ast.Nonlocal)
SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "bases", "format_spec", "type_comment"}
TYPE_CALLS = {"cast", "TypeVar", "ParamSpec", "NewType"}


@dataclass(frozen=True)
class Place:
    """What surrounds a node."""

    top: ast.stmt  # the statement of the module's own body
    statement: ast.stmt  # the nearest statement
    in_function: bool = False  # runs when a function is called, not when the module is imported
    in_message: bool = False  # inside the text of an error


@dataclass(frozen=True)
class Site:
    """One possible change. ``apply`` makes it, in the tree that the site came from."""

    operator: str
    line: int
    before: str
    after: str
    place: Place
    apply: Callable[[], None]


# ------------------------------------------------------------------------------------------------ the operators


def swap_comparison(node: ast.Compare) -> Iterator[Change]:
    for index, old in enumerate(node.ops):
        ops = [*node.ops[:index], SWAPPED_COMPARISONS[type(old)](), *node.ops[index + 1 :]]
        yield "comparison", ast.Compare(left=node.left, ops=ops, comparators=node.comparators)


def swap_and_or(node: ast.BoolOp) -> Iterator[Change]:
    other = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "and-or", ast.BoolOp(op=other, values=node.values)


def drop_not(node: ast.UnaryOp) -> Iterator[Change]:
    if isinstance(node.op, ast.Not):
        yield "not", node.operand


def swap_arithmetic(node: ast.BinOp) -> Iterator[Change]:
    if (other := SWAPPED_ARITHMETIC.get(type(node.op))) is not None:
        yield "arithmetic", ast.BinOp(left=node.left, op=other(), right=node.right)


def change_constant(node: ast.Constant) -> Iterator[Change]:
    match node.value:
        case bool() as value:
            yield "boolean", ast.Constant(not value)
        case int() | float() as value:
            yield "number", ast.Constant(value + 1)
        case str() as value:
            yield "string", ast.Constant(value + "_x")
        case bytes() as value:
            yield "string", ast.Constant(value + b"_x")
        case _:
            return


def return_none(node: ast.Return) -> Iterator[Change]:
    # False becomes True under "boolean"; None in its place is seldom another meaning.
    if node.value is not None and not (isinstance(node.value, ast.Constant) and not node.value.value):
        yield "return", ast.Return(value=ast.Constant(None))


def remove_call(node: ast.Expr) -> Iterator[Change]:
    if isinstance(node.value, ast.Call):
        yield "remove", ast.Pass()


def remove_assignment(node: ast.Assign) -> Iterator[Change]:
    if all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
        yield "remove", ast.Pass()


def remove_update(node: ast.AugAssign) -> Iterator[Change]:
    yield "remove", ast.Pass()


OPERATORS: dict[type[ast.AST], Callable[..., Iterator[Change]]] = {
    ast.Compare: swap_comparison,
    ast.BoolOp: swap_and_or,
    ast.UnaryOp: drop_not,
    ast.BinOp: swap_arithmetic,
    ast.Constant: change_constant,
    ast.Return: return_none,
    ast.Expr: remove_call,
    ast.Assign: remove_assignment,
    ast.AugAssign: remove_update,
}


def changes(node: ast.AST, parent: ast.AST, field: str) -> Iterator[Change]:
    """What can stand in the node's place."""
    for operator, new in OPERATORS.get(type(node), no_changes)(node):
        yield ("key" if operator == "string" and is_key(parent, field, node) else operator), new
    if isinstance(node, ast.expr) and is_condition(parent, field) and not has_simple_opposite(node):
        yield "condition", ast.UnaryOp(op=ast.Not(), operand=node)


def no_changes(node: ast.AST) -> Iterator[Change]:
    yield from ()


def is_key(parent: ast.AST, field: str, node: ast.AST) -> bool:
    match parent:
        case ast.Dict():
            return field == "keys"
        case ast.Subscript():
            return field == "slice"
        case ast.Call(func=ast.Attribute(attr="get" | "pop"), args=[first, *_]):
            return first is node
        case _:
            return False


def is_condition(parent: ast.AST, field: str) -> bool:
    return field == "ifs" or (field == "test" and isinstance(parent, ast.If | ast.While | ast.IfExp))


def has_simple_opposite(node: ast.expr) -> bool:
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and isinstance(node.ops[0], EXACT_OPPOSITES)
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


# ------------------------------------------------------------------------------------------------ the walk


def find_sites(tree: ast.Module) -> list[Site]:
    """Every place of a module that can be changed, in a fixed order."""
    return [site for top in tree.body for site in walk(top, tree, "body", Place(top, top))]


def walk(node: ast.AST, parent: ast.AST, field: str, place: Place) -> Iterator[Site]:
    if is_skipped(node):
        return
    if isinstance(node, ast.stmt):
        place = replace(place, statement=node)
    for operator, new in changes(node, parent, field):
        if not (place.in_message and operator in {"string", "key"}):
            line = getattr(node, "lineno", place.statement.lineno)
            yield Site(operator, line, shown(node), shown(new), place, setter(parent, field, node, new))
    for name in node._fields:
        if name in SKIPPED_FIELDS or (name == "keywords" and isinstance(node, ast.ClassDef)):
            continue
        below = inner_place(node, name, place)
        for child in children(node, name):
            yield from walk(child, node, name, below)


def children(node: ast.AST, field: str) -> list[ast.AST]:
    value: object = getattr(node, field, None)
    values = cast("Sequence[object]", value) if isinstance(value, list) else [value]
    return [child for child in values if isinstance(child, ast.AST)]


def inner_place(node: ast.AST, field: str, place: Place) -> Place:
    """Where the children in one field of a node stand."""
    if field == "body" and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        return replace(place, in_function=True)
    if field == "args" and isinstance(node, ast.Call) and called_name(node).endswith("Error"):
        return replace(place, in_message=True)
    return place


def is_skipped(node: ast.AST) -> bool:
    match node:
        case ast.Expr(value=ast.Constant()):  # a docstring, or `...`
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name.startswith("__")
        case ast.AnnAssign(annotation=ast.Name(id="TypeAlias")):
            return True
        case ast.Subscript(value=ast.Name(id="Literal")):
            return True
        case ast.Call():
            return called_name(node) in TYPE_CALLS
        case _:
            return isinstance(node, SKIPPED_NODES)


def called_name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case _:
            return ""


def setter(parent: ast.AST, field: str, old: ast.AST, new: ast.AST) -> Callable[[], None]:
    def apply() -> None:
        ast.copy_location(new, old)
        if isinstance(getattr(parent, field), list):  # a dictionary's keys may hold None
            values: list[ast.AST | None] = getattr(parent, field)
            setattr(parent, field, [new if child is old else child for child in values])
        else:
            setattr(parent, field, new)

    return apply


def shown(node: ast.AST) -> str:
    """The node as source, cut to a readable length."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 160 else text[:157] + "..."


def mutated_tree(source: str, number: int) -> ast.Module:
    """The tree of a text with the change of that number made."""
    tree = ast.parse(source)
    find_sites(tree)[number].apply()
    return ast.fix_missing_locations(tree)

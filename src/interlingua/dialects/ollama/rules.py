"""What Ollama refuses in a value that another dialect or the caller made, and what is written instead."""

from __future__ import annotations

from contextlib import suppress

from msgspec import to_builtins
from msgspec.structs import replace

from ...codec.json import Wire
from ...codec.ledger import Ledger
from ...codec.rules import Condition, among, as_json_tool, drop, filled, is_json_call, rule, when
from ...codec.schema import narrow_tool, project_schema
from ...codec.schema.plans import NO_JSON, Declared, Plans, narrowed
from ...types.blocks import Base64Source, DocumentBlock, TextBlock, TextSource
from ...types.tools import ToolDefinition
from .facts import NAME

# ------------------------------------------------------------------------------------------------------------- schemas
# Clients send the same tools with every request, so the latest schema found to fit is remembered for each tool name: to
# compare is much cheaper than to check. What is remembered is a copy, which nobody else can change.

MOST = 256  # schemas that are remembered
_known: dict[str, Wire] = {}


def is_fitting(tool: ToolDefinition) -> bool:
    """Whether the server's own type of a tool's parameters holds all of a schema."""
    schema = tool.input_schema
    if _known.get(tool.name) == schema:
        return True
    found = narrow_tool(schema, NAME)
    if found is None or found.change is not None:
        return False
    if len(_known) >= MOST:
        _known.clear()
    with suppress(*NO_JSON):  # whoever sends it will hear of it
        _known[tool.name] = to_builtins(schema)
    return True


def judge(schema: Wire) -> tuple[Wire, tuple[Declared, ...]]:
    """A schema of parameters as the server's types hold it, and what to declare."""
    said, changes = project_schema(schema, NAME)
    losses: list[Declared] = []
    if said != schema:
        why, weight = narrowed(NAME, changes)
        losses.append(("approximated", why, "input_schema", weight))
    if said.get("type") != "object":
        losses.append(("added", f"{NAME} requires `type: object`; it was added", "input_schema/type", "form"))
        said = {"type": "object", **{key: value for key, value in said.items() if key != "type"}}
    return said, tuple(losses)


def as_fitting(tool: ToolDefinition, ledger: Ledger) -> ToolDefinition:
    schema, losses = judge(tool.input_schema)
    for kind, why, path, weight in losses:
        ledger.lose(kind, why, *path.split("/"), weight=weight)
    return replace(tool, input_schema=schema)


PLANS = Plans(judge, NAME)
"""What becomes of the schemas of tools that are offered."""

# --------------------------------------------------------------------------------------------------------------- rules


def as_plain_text(block: DocumentBlock, ledger: Ledger) -> TextBlock | None:
    """A document of text as text; others cannot be sent."""
    if not isinstance(block.source, TextSource) or not block.source.text:
        ledger.lose("dropped", f"{NAME} takes no documents")
        return None
    ledger.lose("approximated", f"{NAME} takes no documents; sent as text")
    return TextBlock(block.source.text, signature=block.signature, cache=block.cache, extras=block.extras)


def _is_undescribed(tool: ToolDefinition) -> bool:
    about = tool.input_schema.get("description")
    return type(about) is not str or not about


def _described(tool: ToolDefinition, ledger: Ledger) -> ToolDefinition:
    """What is said of the parameters as a whole is said of the tool, which may say it already."""
    told, about = tool.description or "", str(tool.input_schema["description"])
    schema = {key: value for key, value in tool.input_schema.items() if key != "description"}
    why = f"parameters of {NAME} have no description as a whole"
    if about in told:
        ledger.lose_form("dropped", f"{why}; the tool says the same", "input_schema", "description")
        return replace(tool, input_schema=schema)
    ledger.lose_form("moved", f"{why}; sent with the tool's", "input_schema", "description")
    ledger.lose_form("approximated", f"{why}; sent with the tool's", "description")
    return replace(tool, input_schema=schema, description=f"{told}\n\n{about}" if told else about)


def _without_strict(tool: ToolDefinition, ledger: Ledger) -> ToolDefinition:
    ledger.lose_form("dropped", f"tools of {NAME} have no `strict`", "strict")
    return replace(tool, strict=None)


UNDESCRIBED = "'description' not in {0}.input_schema or {holds}({0})"
FREE_TEXT = f"{NAME} has no free-text calls; sent as a call with one string argument `input`"
NO_EMPTY_THINKING = drop(f"{NAME} has no empty thinking", "state")
NO_LINKS = drop(f"{NAME} takes images as data only, not by URL or file id")

# fmt: off
#                 what is accepted                                                      what is written otherwise
FILLED     = filled(NAME)
THOUGHT    = rule(when("text", lambda block: bool(block.text)),                         NO_EMPTY_THINKING)
AS_DATA    = rule(when("source", lambda block: type(block.source) is Base64Source),     NO_LINKS)
JSON_CALL  = is_json_call(FREE_TEXT)
JSON_TOOL  = rule(among("kind", ("json",)),                                             as_json_tool(NAME))
NOT_STRICT = rule(among("strict", (None, True)),                                        _without_strict)
DESCRIBED  = rule(Condition("input_schema", _is_undescribed, UNDESCRIBED, {"holds": _is_undescribed}), _described)
FITTING    = rule(when("input_schema", is_fitting),                                     as_fitting, history=True)
# fmt: on

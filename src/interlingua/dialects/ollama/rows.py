"""The phrases of Ollama: our field, their key. ``codec.rows`` says what a row means.

A message has a key for each kind of block. In ``BLOCKS`` a block is an object of that key alone, and ``CALLS`` has what
stands in ``tool_calls``; ``write_turns.write_slots`` puts them together. ``Turn`` is a wire message, key by key. The
rules before the tables say what the protocol refuses in a value that another dialect or the caller made, and what is
written instead.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from ...codec.json import Wire, is_object
from ...codec.ledger import Ledger
from ...codec.parameters import lost_parameters
from ...codec.rows.fitted_kinds import AtLeast
from ...codec.rows.kinds import (
    BOOL,
    INT,
    NUMBER,
    OBJECT,
    OMIT,
    REFUSED,
    STRINGS,
    TEXT,
    FunctionKind,
    Plain,
    Texts,
    Vocabulary,
)
from ...codec.rows.row import Row, fill, lost, may, must, write_only
from ...codec.rows.table import Frame, Table
from ...codec.rows.usage import Counts
from ...codec.rules import (
    LOGPROBS_ASKED,
    Condition,
    among,
    as_json_text,
    as_json_tool,
    as_text,
    drop,
    filled,
    is_json_call,
    rule,
    when,
)
from ...codec.schema import narrow_tool, project_schema
from ...codec.schema.plans import NO_JSON, Declared, Plans, narrowed
from ...types.base import Json, Value
from ...types.blocks import (
    Base64Source,
    DocumentBlock,
    ImageBlock,
    JsonBlock,
    OpaqueBlock,
    RefusalBlock,
    TextBlock,
    TextSource,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from ...types.request import Request, Thinking
from ...types.response import Response
from ...types.tools import ServerTool, ToolDefinition
from ...types.words import Role, StopReason
from .facts import EPOCH, LEVELS, NAME, NEAREST_LEVEL, media_type


class Turn(Value, frozen=True):
    """A wire message: its role and its keys. ``extras`` and ``forms`` are those of our message or result."""

    role: Role = Role.user
    content: str = ""
    thinking: str = ""
    images: list[Json] | None = None
    tool_calls: list[Json] | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None


class Roles(Vocabulary):
    """Roles, in upper or lower case as the server reads them. An unknown role is read as ``user``."""

    def read(self, wire: Json, marks: dict[str, Json]) -> Any:
        return self.reads.get(wire.lower(), Role.user) if type(wire) is str else Role.user


ROLES = Roles(
    {
        "system": Role.system,
        "developer": Role.system,
        "user": Role.user,
        "assistant": Role.assistant,
        "tool": Role.tool,
    }
)
STOP = Vocabulary(
    {
        "stop": StopReason.end_turn,  # with calls it is tool_use (``response``)
        "length": StopReason.max_tokens,
        "load": StopReason.end_turn,
        "unload": StopReason.end_turn,
    }
)
LIMIT = AtLeast(1, f"{NAME} reads a limit below 1 as none")
ARRAY = Plain("an array", list, blank=[])

# ------------------------------------------------------------------------------------------------------ kinds of fields


def read_image(wire: Json) -> Any:
    """Read an image, which is base64; the server refuses data URLs."""
    if type(wire) is not str or wire.startswith("data:"):
        return REFUSED
    return Base64Source(media_type(wire), wire)


def write_image(source: Base64Source, ledger: Ledger) -> Json:
    if source.media_type != media_type(source.data):
        ledger.lose_form("dropped", f"images of {NAME} have no media type", "media_type")
    ledger.lose_foreign_extras(source, NAME)
    return source.data


def read_think(wire: Json) -> Any:
    """Read ``think``, which is either a boolean or a level."""
    if type(wire) is bool:
        return Thinking(mode="enabled" if wire else "disabled")
    return Thinking(effort=wire) if type(wire) is str and wire in LEVELS else REFUSED


def write_think(thinking: Thinking, ledger: Ledger) -> Json:
    ledger.lose_foreign_extras(thinking, NAME)
    if thinking.budget is not None:
        ledger.lose("dropped", f"{NAME} has no thinking budget", "budget")
    if thinking.display is not None:
        ledger.lose("dropped", f"{NAME} has no setting to show or hide thinking", "display")
    if thinking.effort is not None:
        return _write_effort(thinking.effort, thinking.mode, ledger)
    if thinking.mode is None and thinking.budget is None:
        ledger.lose("dropped", f"nothing of these thinking settings can be written in {NAME}")
        return OMIT
    if thinking.mode is None:
        ledger.lose_form("added", f"thinking in {NAME} is on or off; a budget was sent as on", "mode")
        return thinking.budget != 0
    if thinking.mode not in ("enabled", "disabled"):
        ledger.lose("approximated", f"thinking in {NAME} is on or off; sent as on", "mode")
    return thinking.mode != "disabled"


def _write_effort(effort: str, mode: str | None, ledger: Ledger) -> bool | str:
    if mode == "disabled":
        ledger.lose_form("dropped", "thinking is disabled, so no effort was sent", "effort")
        return False
    if effort == "none":
        ledger.lose_form("approximated", f"effort none is sent as thinking off in {NAME}", "effort")
        ledger.lose_form("approximated" if mode else "added", f"effort none is sent as thinking off in {NAME}", "mode")
        return False
    if mode is not None:
        ledger.lose_form("dropped", f"a level in {NAME} means that thinking is on", "mode")
    if effort not in LEVELS:
        ledger.lose("approximated", f"{NAME} has the levels {', '.join(LEVELS)}; the nearest was sent", "effort")
    return effort if effort in LEVELS else NEAREST_LEVEL.get(effort, "medium")


def read_format(wire: Json) -> Any:
    """Read a schema; ``"json"`` is read in ``request``."""
    return wire if is_object(wire) and wire else REFUSED


def write_format(schema: dict[str, Json], ledger: Ledger) -> Json:
    if not schema:
        ledger.lose_form("approximated", f"a schema that allows anything is sent as format json in {NAME}")
    return schema or "json"


def always(wire: Json) -> bool:
    """True, because the functions above write every value as they read it."""
    return True


IMAGE_DATA = FunctionKind(read_image, write_image, name="a string", usual=always)
THINK = FunctionKind(read_think, write_think, name="a boolean or a string", usual=always)
FORMAT = FunctionKind(read_format, write_format, name="an object", usual=always, blank="")

# ------------------------------------------------------------------------------------------------------------- schemas
# Clients send the same tools with every request, so the last schema that fits is remembered for each tool name:
# comparing is much cheaper than checking. A copy is remembered, because the caller may change the schema.

MAX_REMEMBERED = 256
_fitting: dict[str, Wire] = {}


def is_fitting(tool: ToolDefinition) -> bool:
    """Whether the server's type for the parameters of a tool can hold all of the tool's schema."""
    schema = tool.input_schema
    if _fitting.get(tool.name) == schema:
        return True
    found = narrow_tool(schema, NAME)
    if found is None or found.change is not None:
        return False
    if len(_fitting) >= MAX_REMEMBERED:
        _fitting.clear()
    with suppress(*NO_JSON):  # sending it raises the error
        _fitting[tool.name] = to_builtins(schema)
    return True


def fit_schema(schema: Wire) -> tuple[Wire, tuple[Declared, ...]]:
    """A schema of parameters as the server's types can hold it, and the losses to declare."""
    fitted, changes = project_schema(schema, NAME)
    losses: list[Declared] = []
    if fitted != schema:
        why, weight = narrowed(NAME, changes)
        losses.append(("approximated", why, "input_schema", weight))
    if fitted.get("type") != "object":
        losses.append(("added", f"{NAME} requires `type: object`; it was added", "input_schema/type", "form"))
        fitted = {"type": "object", **{key: value for key, value in fitted.items() if key != "type"}}
    return fitted, tuple(losses)


def fit_tool(tool: ToolDefinition, ledger: Ledger) -> ToolDefinition:
    schema, losses = fit_schema(tool.input_schema)
    for kind, why, path, weight in losses:
        ledger.lose(kind, why, *path.split("/"), weight=weight)
    return replace(tool, input_schema=schema)


PLANS = Plans(fit_schema, NAME)
"""How the schemas of the tools of a request are changed."""

# --------------------------------------------------------------------------------------------------------------- rules


def as_plain_text(block: DocumentBlock, ledger: Ledger) -> TextBlock | None:
    """A text document as a text block. Other documents cannot be sent."""
    if not isinstance(block.source, TextSource) or not block.source.text:
        ledger.lose("dropped", f"{NAME} takes no documents")
        return None
    ledger.lose("approximated", f"{NAME} takes no documents; sent as text")
    return TextBlock(block.source.text, signature=block.signature, cache=block.cache, extras=block.extras)


def _is_undescribed(tool: ToolDefinition) -> bool:
    about = tool.input_schema.get("description")
    return type(about) is not str or not about


def _describe(tool: ToolDefinition, ledger: Ledger) -> ToolDefinition:
    """Move the description of the parameters to the tool's own, unless that contains it already."""
    description, about = tool.description or "", str(tool.input_schema["description"])
    schema = {key: value for key, value in tool.input_schema.items() if key != "description"}
    why = f"parameters of {NAME} have no description as a whole"
    if about in description:
        ledger.lose_form("dropped", f"{why}; the tool says the same", "input_schema", "description")
        return replace(tool, input_schema=schema)
    ledger.lose_form("moved", f"{why}; sent with the tool's", "input_schema", "description")
    ledger.lose_form("approximated", f"{why}; sent with the tool's", "description")
    return replace(tool, input_schema=schema, description=f"{description}\n\n{about}" if description else about)


def _without_strict(tool: ToolDefinition, ledger: Ledger) -> ToolDefinition:
    ledger.lose_form("dropped", f"tools of {NAME} have no `strict`", "strict")
    return replace(tool, strict=None)


UNDESCRIBED = "'description' not in {0}.input_schema or {holds}({0})"
NO_EMPTY_THINKING = drop(f"{NAME} has no empty thinking", "state")
DATA_ONLY = drop(f"{NAME} takes images as data only, not by URL or file id")

# fmt: off
#                 what is accepted                                                      what is written otherwise
FILLED     = filled(NAME)
NOT_EMPTY    = rule(when("text", lambda block: bool(block.text)),                         NO_EMPTY_THINKING)
AS_DATA    = rule(when("source", lambda block: type(block.source) is Base64Source),     DATA_ONLY)
JSON_CALL  = is_json_call(NAME)
JSON_TOOL  = rule(among("kind", ("json",)),                                             as_json_tool(NAME))
NOT_STRICT = rule(among("strict", (None, True)),                                        _without_strict)
DESCRIBED  = rule(Condition("input_schema", _is_undescribed, UNDESCRIBED, {"holds": _is_undescribed}), _describe)
FITTING    = rule(when("input_schema", is_fitting),                                     fit_tool, history=True)
# fmt: on

# -------------------------------------------------------------------------------------------------------------- tables

EVERY_BLOCK: dict[str, Any] = {
    "signature": lost(f"{NAME} has no signatures", "state"),
    "cache": lost(f"{NAME} has no cache marks"),
}
# fmt: off
BLOCKS = Table(NAME, Table.KEY,
    Row(ThinkingBlock, "thinking", NOT_EMPTY, text=must("thinking")),
    Row(TextBlock,     "content",  FILLED, text="content", citations=lost(f"{NAME} has no citations")),
    Row(ImageBlock,    "images",   AS_DATA, source=must("images", IMAGE_DATA),
        detail=lost(f"{NAME} has no `detail` of images")),
    write_only(JsonBlock,     as_json_text(f"{NAME} has no JSON here; sent as JSON text")),
    write_only(RefusalBlock,  as_text(f"{NAME} has no refusals; sent as text")),
    write_only(DocumentBlock, as_plain_text),
    carrier=OpaqueBlock, **EVERY_BLOCK,
)
CALLS = Table(NAME, None,
    Row(ToolUseBlock, None, JSON_CALL, id=may("id", default=""), name="function.name",
        input=fill("function.arguments", {}, OBJECT), ignores={"type": "function"}, elsewhere="kind",
        input_text=lost(f"{NAME} takes parsed arguments, not the text", "form")),
    **EVERY_BLOCK,
)
SLOTS: dict[str, Any] = {
    "content": fill("content", ""), "thinking": may("thinking"), "images": may("images", ARRAY),
    "tool_calls": may("tool_calls", ARRAY),
}
TURNS = Table(NAME, None,
    Row(Turn, None, role=fill("role", "user", ROLES), elsewhere="tool_name tool_call_id", **SLOTS),
)
RESULTS = Table(NAME, None,
    Row(Turn, None, role=fill("role", "user", ROLES), tool_name=may("tool_name"), tool_call_id=may("tool_call_id"),
        **SLOTS),
)
PLAIN_RESULTS = Table(NAME, None,  # results of one plain text only
    Row(ToolResultBlock, None, constants={"role": "tool"},
        content=fill("content", "", Texts(Table(NAME, None), "string"), default=()), tool_use_id=must("tool_call_id"),
        name=may("tool_name"), is_error=lost(f"{NAME} has no error flag")),
    **EVERY_BLOCK,
)
ANSWERS = Table(NAME, None,
    Row(Turn, None, constants={"role": "assistant"}, gives={"role": Role.assistant}, elsewhere="tool_name tool_call_id",
        **SLOTS),
)
TOOLS = Table(NAME, None,
    Row(ToolDefinition, None, JSON_TOOL, NOT_STRICT, DESCRIBED, FITTING,
        constants={"type": "function"}, name="function.name", description=may("function.description"),
        input_schema=fill("function.parameters", {}, OBJECT),
        strict=lost(f"tools of {NAME} have no `strict`"), cache=lost(f"tools of {NAME} have no `cache`"),
        elsewhere="kind"),
    carrier=ServerTool,
)
OFFERED = TOOLS.for_answers()  # without rules: ``PLANS`` fits the schemas of offered tools all at once
PARAMS = Frame(NAME,
    Row(Request, None, LOGPROBS_ASKED,
        model=may("model", TEXT),
        max_output_tokens=may("options.num_predict", LIMIT),
        temperature=may("options.temperature", NUMBER),
        top_p=may("options.top_p", NUMBER),
        top_k=may("options.top_k", INT),
        stop_sequences=may("options.stop", STRINGS),
        seed=may("options.seed", INT),
        frequency_penalty=may("options.frequency_penalty", NUMBER),
        presence_penalty=may("options.presence_penalty", NUMBER),
        logprobs=may("logprobs", BOOL),
        top_logprobs=may("top_logprobs", INT),
        thinking=may("think", THINK),
        output_schema=may("format", FORMAT),
        elsewhere="messages system tools tool_choice stream request_id json_output"),
    **lost_parameters(NAME),
)
ANSWER = Frame(NAME,
    Row(Response, None, constants={"created_at": EPOCH, "done": True}, model=fill("model", ""),
        id=lost(f"an answer of {NAME} has no id", "form"),
        elsewhere="content stop_reason raw_stop_reason usage request_id origin latency_ms losses attempts raw error"),
)
USAGE = Counts(NAME, ("input_tokens", "output_tokens"), input_tokens="prompt_eval_count", output_tokens="eval_count")
# fmt: on

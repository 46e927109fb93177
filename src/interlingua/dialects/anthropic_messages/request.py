"""Requests of Anthropic Messages: everything but the turns.

Marks: ``messages`` (``absent``, or ``empty``), ``system`` (it was a string), ``tools`` (``absent`` although the history
has calls), ``max_tokens`` (``absent``), ``model`` and ``stream`` (they stood in the URL), ``output_format`` (it stood
at the top of the body), ``verbatim`` (fields with values that the protocol would refuse, but that were read from it),
``version`` (the version of the protocol, if the header named another one than ours).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ...codec.history.rules import PLACEHOLDER, has_calls
from ...codec.json import Wire, is_array, is_dict
from ...codec.known_lists import read_each
from ...codec.ledger import Ledger
from ...codec.marks import extras_and_forms, marks
from ...codec.parameters import put_model, take_from_url
from ...codec.paths import merge, put_back
from ...codec.rows.kinds import REFUSED
from ...types.base import Json
from ...types.capabilities import Target
from ...types.loss import Encoded
from ...types.request import Request, Thinking
from ...types.tools import Tool, ToolChoice
from .. import claude
from .facts import DEFAULT_MAX_TOKENS, EFFORTS, MIN_BUDGET, NAME, PATH, VERSION
from .rows import CHOICE, PARAMS, THINKING, TOOLS
from .turns import read_messages, read_system, write_messages, write_system

# ------------------------------------------------------------------------------------------------------------- reading


def read_request(
    body: Wire, headers: Mapping[str, str] | None, model: str | None, stream: bool | None, provider: str | None
) -> Request:
    fields, rest, marks = PARAMS.take(body)
    take_from_url(fields, marks, model, stream)
    read_headers(fields, marks, headers)
    if type(rest.get("messages")) is list:
        fields["messages"] = read_messages(rest.pop("messages"), provider)
    else:
        marks["messages"] = "absent"
    read_lists(rest, fields, marks)
    read_settings(rest, fields, marks)
    mark_unusual_fields(body, fields, marks)
    return Request(**fields, **extras_and_forms(NAME, rest, marks))


def read_headers(fields: dict[str, Any], marks: Wire, headers: Mapping[str, str] | None) -> None:
    for key, value in (headers or {}).items():
        if key.lower() == "anthropic-beta" and value:
            fields["betas"] = tuple(beta.strip() for beta in value.split(",") if beta.strip())
        elif key.lower() == "anthropic-version" and value != VERSION:
            marks["version"] = value


def read_lists(rest: Wire, fields: dict[str, Any], marks: Wire) -> None:
    """Read system text and tools; empty lists and other shapes stay residue."""
    if rest.get("system") and isinstance(rest["system"], str | list):
        fields["system"] = read_system(rest.pop("system"), marks)
    if is_array(tools := rest.get("tools")) and tools:
        fields["tools"] = read_each(TOOLS.read, rest.pop("tools"))


def read_settings(rest: Wire, fields: dict[str, Any], marks: Wire) -> None:
    if "tool_choice" in rest and (choice := CHOICE.read(rest["tool_choice"])) is not REFUSED:
        fields["tool_choice"] = choice
        del rest["tool_choice"]
    if is_dict(metadata := rest.get("metadata")) and isinstance(metadata.get("user_id"), str):
        fields["metadata"] = {"user_id": metadata["user_id"]}
        put_back(rest, "metadata", {key: value for key, value in metadata.items() if key != "user_id"})
    config = dict(rest["output_config"]) if isinstance(rest.get("output_config"), dict) else {}
    read_thinking(rest, fields, config)
    claude.read_format(config, "format", fields, marks, NAME)
    if claude.read_format(rest, "output_format", fields, marks, NAME):  # as older clients send it
        marks["output_format"] = "top"
    if rest.get("output_config"):
        put_back(rest, "output_config", config)


def mark_unusual_fields(body: Wire, fields: dict[str, Any], marks: Wire) -> None:
    """Mark fields that are missing or have values where we would write something else."""
    verbatim: list[str] = marks.get("verbatim", [])
    if (fields.get("temperature") or 0) > 1:
        verbatim.append("temperature")
    if _is_forced_while_thinking(body):
        verbatim.append("tool_choice")
    if "tool_choice" in fields and "tools" not in fields:
        verbatim.append("tool_choice alone")
    if verbatim:
        marks["verbatim"] = verbatim
    if fields.get("max_output_tokens") is None:
        marks["max_tokens"] = "absent"
    if fields.get("messages") == () and fields.get("system"):
        marks["messages"] = "empty"
    if "tools" not in fields and has_calls(fields.get("messages", ())):
        marks["tools"] = "absent"


# ------------------------------------------------------------------------------------------------------------- writing


def write_request(request: Request, target: Target | None) -> Encoded:
    ledger, mark = Ledger(), marks(NAME, request)
    body = PARAMS.put(request, ledger)
    put_model(request, body, target, mark)
    write_max_tokens(request, body, target, mark, ledger)
    write_history(request, body, target, mark, ledger)
    write_settings(request, body, mark, ledger)
    if _is_forced_while_thinking(body) and "tool_choice" not in mark.get("verbatim", ()):
        body["tool_choice"] = loosen_choice(body["tool_choice"], ledger)
    if request.extras:
        merge(body, request.extras.get(NAME, {}))
        ledger.lose_foreign_extras(request, NAME)
    headers = {"anthropic-version": mark.get("version", VERSION)}
    if request.betas:
        headers["anthropic-beta"] = ",".join(request.betas)
    return Encoded(body, PATH, headers, tuple(ledger.losses))


def write_max_tokens(request: Request, body: Wire, target: Target | None, mark: Wire, ledger: Ledger) -> None:
    if request.max_output_tokens is None and mark.get("max_tokens") != "absent":
        limit = target.capabilities.max_output_tokens if target is not None and target.capabilities else None
        body["max_tokens"] = limit or DEFAULT_MAX_TOKENS
        ledger.lose("added", f"{NAME} requires `max_tokens`; it was added", "max_output_tokens")


def write_history(request: Request, body: Wire, target: Target | None, mark: Wire, ledger: Ledger) -> None:
    system, skip = claude.leading_system(request, NAME, ledger)
    if system and (wire := write_system(system, ledger, mark.get("system"))):
        body["system"] = wire
    if request.messages or mark.get("messages") != "absent":
        body["messages"] = write_messages(
            claude.adopt_siblings(request.messages, NAME, target, request.model), target, ledger, skip
        )
    if body.get("messages") == [] and system and mark.get("messages") != "empty":
        body["messages"] = [{"role": "user", "content": [{"type": "text", "text": PLACEHOLDER}]}]
        ledger.lose("added", f"{NAME} requires a message; a placeholder was added", "messages")
    tools = write_tools(request.tools, ledger)
    if not request.tools:
        tools = write_tools(claude.stub_tools(request, NAME, ledger), Ledger())
    if tools:
        body["tools"] = tools
    if request.tool_choice is not None:
        alone = "tool_choice alone" in mark.get("verbatim", ())
        choice = write_choice(request.tool_choice, ledger, offered=bool(tools) or alone)
        if choice is not None:
            body["tool_choice"] = choice


def write_tools(tools: Sequence[Tool], ledger: Ledger) -> list[Wire]:
    return TOOLS.write_each(tools, ledger, "tools")


def write_choice(choice: ToolChoice, ledger: Ledger, *, offered: bool = True) -> Wire | None:
    ledger.where = ("tool_choice",)
    wire: Wire | None = None
    if offered:
        wire = CHOICE.write(choice, ledger)
    else:
        ledger.lose("dropped", f"{NAME} takes a tool choice only beside tools")
    ledger.where = ()
    return wire


def write_settings(request: Request, body: Wire, mark: Wire, ledger: Ledger) -> None:
    for key, value in request.metadata.items():
        if key == "user_id" and isinstance(value, str):
            body["metadata"] = {"user_id": value}
        else:
            ledger.lose("dropped", f"metadata of {NAME} has `user_id` only", "metadata", key)
    if request.user is not None and "metadata" not in body:
        body["metadata"] = {"user_id": request.user}
        ledger.lose_form("moved", f"{NAME} says who asks in its metadata, as `user_id`", "user")
    elif request.user is not None:
        ledger.lose("dropped", f"the metadata of {NAME} says who asks already", "user")
    config: Wire = {}
    if request.thinking is not None:
        write_thinking(request.thinking, body, config, ledger)
    if request.output_schema is not None:
        write_format(request.output_schema, body, config, mark, ledger)
    if config:
        body["output_config"] = config


def write_format(schema: dict[str, Json], body: Wire, config: Wire, mark: Wire, ledger: Ledger) -> None:
    wire = {"type": "json_schema", "schema": claude.write_schema(schema, NAME, mark, ledger)}
    if mark.get("output_format") == "top":
        body["output_format"] = wire
    else:
        config["format"] = wire


def _is_forced_while_thinking(body: Wire) -> bool:
    thinking, choice = body.get("thinking"), body.get("tool_choice")
    if not (is_dict(thinking) and is_dict(choice)):
        return False
    return thinking.get("type") == "enabled" and choice.get("type") in ("any", "tool")


def loosen_choice(choice: Wire, ledger: Ledger) -> Wire:
    """Replace a forced call with ``auto``: the protocol refuses the former while thinking is enabled."""
    why = f"{NAME} cannot force a call while thinking is enabled; sent as auto"
    ledger.lose("approximated", why, "tool_choice", "mode")
    if "name" in choice:
        ledger.lose("dropped", why, "tool_choice", "name")
    return {key: value for key, value in choice.items() if key != "name"} | {"type": "auto"}


# ------------------------------------------------------------------------------------------------------------ thinking


THINKING_ON = ("adaptive", "enabled")
BOUNDS = "bounds"


def read_thinking(rest: Wire, fields: dict[str, Any], config: Wire) -> None:
    """Read ``thinking`` and the effort; shapes that we do not know stay residue."""
    thinking: Any = THINKING.read(rest["thinking"]) if "thinking" in rest else REFUSED
    if thinking is not REFUSED:
        del rest["thinking"]
        if _in_bounds(thinking, fields.get("max_output_tokens"), Ledger()) != thinking:
            mark = {**marks(NAME, thinking), "verbatim": [BOUNDS]}
            thinking = replace(thinking, forms={NAME: mark})
        fields["thinking"] = thinking
    if isinstance(config.get("effort"), str) and config["effort"] in EFFORTS:
        fields["thinking"] = replace(fields.get("thinking", Thinking()), effort=config.pop("effort"))


def write_thinking(thinking: Thinking, body: Wire, config: Wire, ledger: Ledger) -> None:
    ledger.where = ("thinking",)
    thinking = _write_effort(thinking, config, ledger)
    if BOUNDS not in marks(NAME, thinking).get("verbatim", ()):
        thinking = _in_bounds(thinking, body.get("max_tokens"), ledger)
    if thinking.mode is not None:
        body["thinking"] = THINKING.write(thinking, ledger)
    else:
        ledger.lose_foreign_extras(thinking, NAME)
    ledger.where = ()


def _write_effort(thinking: Thinking, config: Wire, ledger: Ledger) -> Thinking:
    if thinking.effort in EFFORTS:
        config["effort"] = thinking.effort
    elif thinking.effort == "none" and thinking.mode in (None, "disabled"):
        ledger.lose_form("approximated", f"effort none is sent as thinking disabled in {NAME}", "effort")
        if thinking.mode is None:
            ledger.lose_form("added", f"effort none is sent as thinking disabled in {NAME}", "mode")
        return replace(thinking, mode="disabled", effort=None)
    elif thinking.effort is not None:
        config["effort"] = "low"
        ledger.lose("approximated", f"{NAME} has the efforts {', '.join(EFFORTS)}; the nearest was sent", "effort")
    return thinking


def _in_bounds(thinking: Thinking, limit: int | None, ledger: Ledger) -> Thinking:
    """The thinking as the protocol accepts it: a budget only if enabled and within its bounds, a display only if on."""
    mode, budget, display = thinking.mode, thinking.budget, thinking.display
    if mode is None and (budget is not None or display is not None):
        mode = "enabled" if budget is not None else "adaptive"
        ledger.lose_form("added", f"thinking in {NAME} needs a mode; one was added", "mode")
    if mode == "enabled" and (budget is None or (limit is not None and limit <= MIN_BUDGET)):
        mode = "adaptive"
        ledger.lose("approximated", f"{NAME} enables thinking with a budget only; sent as adaptive", "mode")
    if budget is not None and mode != "enabled":
        budget = None
        ledger.lose("dropped", f"{NAME} takes a budget only with enabled thinking", "budget")
    if budget is not None:
        budget = _fit_budget(budget, limit, ledger)
    if display is not None and mode not in THINKING_ON:
        display = None
        ledger.lose_form("dropped", "thinking is disabled, so there is none to show", "display")
    if (mode, budget, display) == (thinking.mode, thinking.budget, thinking.display):
        return thinking
    return replace(thinking, mode=mode, budget=budget, display=display)


def _fit_budget(budget: int, limit: int | None, ledger: Ledger) -> int:
    most = budget if limit is None else limit - 1
    fitted = max(MIN_BUDGET, min(budget, most))
    if fitted != budget:
        ledger.lose("approximated", f"{NAME} takes budgets from {MIN_BUDGET} to below `max_tokens`", "budget")
    return fitted

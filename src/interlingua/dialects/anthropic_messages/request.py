"""The request of Anthropic Messages: what lies around the turns.

Marks: ``messages`` (there were none: ``absent``, or the list was ``empty``), ``system`` (it was a string), ``tools``
(``absent``, though the history has calls), ``max_tokens`` (``absent``), ``model`` and ``stream`` (they stood in the
URL), ``output_format`` (it stood at the top), ``verbatim`` (fields that the protocol would refuse; they came from it),
``version`` (of the protocol, where the header asked for another).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...codec.history.rules import PLACEHOLDER, has_calls, leading_system, stub_tools
from ...codec.json import Wire, is_array, is_dict
from ...codec.ledger import Ledger
from ...codec.marks import kept, marks
from ...codec.parameters import put_model, take_from_url
from ...codec.paths import leave, merge
from ...codec.rows.kinds import REFUSED
from ...codec.schema.plans import is_strict_form, write_strict_schema
from ...types.base import Json
from ...types.blocks import Block
from ...types.capabilities import Target
from ...types.loss import Encoded
from ...types.request import Request
from ...types.tools import Tool, ToolChoice
from .. import claude
from .facts import DEFAULT_MAX_TOKENS, NAME, PATH, VERSION
from .rows import CHOICE, PARAMS, TOOLS
from .thinking import read_thinking, write_thinking
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
    mark_refused(body, fields, marks)
    return Request(**fields, **kept(NAME, rest, marks))


def read_headers(fields: dict[str, Any], marks: Wire, headers: Mapping[str, str] | None) -> None:
    for key, value in (headers or {}).items():
        if key.lower() == "anthropic-beta" and value:
            fields["betas"] = tuple(beta.strip() for beta in value.split(",") if beta.strip())
        elif key.lower() == "anthropic-version" and value != VERSION:
            marks["version"] = value


def read_lists(rest: Wire, fields: dict[str, Any], marks: Wire) -> None:
    """System text and tools; what is empty or of another shape stays residue."""
    if rest.get("system") and isinstance(rest["system"], str | list):
        fields["system"] = read_system(rest.pop("system"), marks)
    if is_array(tools := rest.get("tools")) and tools:
        fields["tools"] = tuple(map(TOOLS.read, rest.pop("tools")))


def read_settings(rest: Wire, fields: dict[str, Any], marks: Wire) -> None:
    if "tool_choice" in rest and (choice := CHOICE.read(rest["tool_choice"])) is not REFUSED:
        fields["tool_choice"] = choice
        del rest["tool_choice"]
    if is_dict(metadata := rest.get("metadata")) and isinstance(metadata.get("user_id"), str):
        fields["metadata"] = {"user_id": metadata["user_id"]}
        leave(rest, "metadata", {key: value for key, value in metadata.items() if key != "user_id"})
    config = dict(rest["output_config"]) if isinstance(rest.get("output_config"), dict) else {}
    read_thinking(rest, fields, config)
    read_format(rest, fields, marks, config)
    if rest.get("output_config"):
        leave(rest, "output_config", config)


def read_format(rest: Wire, fields: dict[str, Any], marks: Wire, config: Wire) -> None:
    """Structured output: ``output_config.format``, or ``output_format`` at the top as older clients send it."""
    for where, key in ((config, "format"), (rest, "output_format")):
        wire = where.get(key)
        if "output_schema" in fields or not is_dict(wire) or wire.get("type") != "json_schema":
            continue
        if isinstance(wire.get("schema"), dict):
            fields["output_schema"] = wire["schema"]
            if not is_strict_form(wire["schema"], NAME):
                marks.setdefault("verbatim", []).append("output_schema")
            if key == "output_format":
                marks["output_format"] = "top"
            leave(where, key, {k: v for k, v in wire.items() if k not in ("type", "schema")})


def mark_refused(body: Wire, fields: dict[str, Any], marks: Wire) -> None:
    """Remember what we would not write so."""
    verbatim: list[str] = marks.get("verbatim", [])
    if (fields.get("temperature") or 0) > 1:
        verbatim.append("temperature")
    if _forced_while_thinking(body):
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
    if _forced_while_thinking(body) and "tool_choice" not in mark.get("verbatim", ()):
        body["tool_choice"] = loosen_choice(body["tool_choice"], ledger)
    if request.extras:
        merge(body, request.extras.get(NAME, {}))
        ledger.foreign(request, NAME)
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
    skip = 0
    system: list[tuple[tuple[str | int, ...], Block]]
    if request.messages and "first" in marks(NAME, request.messages[0]):
        system = [(("system", i), b) for i, b in enumerate(request.system)]
    else:
        system, skip = leading_system(request, ledger)
    if system and (said := write_system(system, ledger, mark.get("system"))):
        body["system"] = said
    if request.messages or mark.get("messages") != "absent":
        body["messages"] = write_messages(
            claude.kindred(request.messages, NAME, target, request.model), target, ledger, skip
        )
    if body.get("messages") == [] and system and mark.get("messages") != "empty":
        body["messages"] = [{"role": "user", "content": [{"type": "text", "text": PLACEHOLDER}]}]
        ledger.lose("added", f"{NAME} requires a message; a placeholder was added", "messages")
    tools = write_tools(request.tools, ledger)
    if not request.tools and mark.get("tools") != "absent" and has_calls(request.messages):
        tools = write_tools(stub_tools(request.messages), Ledger())
        ledger.lose("added", f"{NAME} requires definitions of tools called before; stubs were added", "tools")
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
    if "output_schema" not in mark.get("verbatim", ()):
        schema, _ = write_strict_schema(schema, NAME, ledger, "output_schema")
    wire = {"type": "json_schema", "schema": schema}
    if mark.get("output_format") == "top":
        body["output_format"] = wire
    else:
        config["format"] = wire


def _forced_while_thinking(body: Wire) -> bool:
    thinking, choice = body.get("thinking"), body.get("tool_choice")
    if not (is_dict(thinking) and is_dict(choice)):
        return False
    return thinking.get("type") == "enabled" and choice.get("type") in ("any", "tool")


def loosen_choice(choice: Wire, ledger: Ledger) -> Wire:
    """The protocol refuses a forced call beside a thinking budget."""
    why = f"{NAME} cannot force a call while thinking is enabled; sent as auto"
    ledger.lose("approximated", why, "tool_choice", "mode")
    if "name" in choice:
        ledger.lose("dropped", why, "tool_choice", "name")
    return {key: value for key, value in choice.items() if key != "name"} | {"type": "auto"}

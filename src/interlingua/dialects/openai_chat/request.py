"""Requests of OpenAI Chat: everything but the turns.

Marks: ``messages`` (there were none), ``model`` and ``stream`` (they stood in the URL), ``tools`` (they were
``functions``), ``stream_options`` (none, although it streams), ``thinking`` (the object that requested it),
``response_format`` (its name or its ``strict`` as ``[value]``, or ``[]`` for none), ``user_id`` (it stood in
``metadata``), ``verbatim`` (fields with values that the protocol would refuse, but that were read from it). On a
choice: ``legacy`` (it was a ``function_call``). If a provider or target names the server, its quirks win over marks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from ...codec.history.rules import leading_system
from ...codec.json import Wire, is_array, is_object
from ...codec.known_lists import read_each
from ...codec.ledger import Ledger
from ...codec.marks import extras_and_forms, marks, with_marks
from ...codec.parameters import put_model, take_from_url
from ...codec.paths import merge, put_back
from ...codec.rows.kinds import OMIT, REFUSED
from ...codec.rules import mark_unasked_logprobs
from ...codec.tools.output import SCHEMA_NAME
from ...types.base import Json
from ...types.capabilities import Target
from ...types.loss import Encoded
from ...types.request import Request, Thinking
from ...types.tools import Tool, ToolChoice
from ...types.words import Role
from .. import openai
from ..openai_tools import choice_alone
from . import rules
from .facts import NAME, PATH, Quirks, quirks_of
from .rows import CHOICES, FUNCTIONS, PARAMS, TOOLS
from .turns import read_messages, write_messages, write_system

SYSTEM = Role.system  # an alias: attribute access on an Enum costs 40 ns
ONE_WORD = openai.one_word(NAME)
THINKING_MODES = ("enabled", "disabled", "adaptive")


class ThinkingObject(NamedTuple):
    """An object that requests thinking: our field, its key and its words, and the key of the budget."""

    field: str
    key: str
    words: tuple[str, ...]
    budget: str


THINKING_OBJECTS = {
    "thinking": ThinkingObject("mode", "type", THINKING_MODES, "budget_tokens"),
    "reasoning": ThinkingObject("effort", "effort", openai.EFFORTS, "max_tokens"),
}
KEYS = {"max_output_tokens": ("max_completion_tokens", "max_tokens"), "seed": ("seed", "random_seed")}
"""All keys of the parameters that have different names on different servers."""

# ------------------------------------------------------------------------------------------------------------- reading


def read_request(body: Wire, model: str | None, stream: bool | None, provider: str | None) -> Request:
    fields, rest, marks = PARAMS.take(body)
    mark_unasked_logprobs(fields, marks)
    take_from_url(fields, marks, model, stream)
    if type(rest.get("messages")) is list:
        fields["system"], fields["messages"] = read_messages(rest.pop("messages"), provider)
    else:
        marks["messages"] = "absent"
    if rest:
        read_tools(rest, fields, marks)
        read_choice(rest, fields)
        openai.read_identity(rest, fields, marks)
        read_thinking(rest, fields, marks)
        read_format(rest, fields, marks)
    read_stream_options(rest, fields, marks)
    request = Request(**fields, **extras_and_forms(NAME, rest, marks))
    verbatim = [rule.field for rule in PARAMS.row.rules if not rule.holds(request)]
    if request.tool_choice is not None and not request.tools:
        verbatim.append("tool_choice")
    if verbatim:
        request = replace(request, forms={NAME: {**marks, "verbatim": verbatim}})
    return request


def read_tools(rest: Wire, fields: dict[str, Any], marks: Wire) -> None:
    if is_array(tools := rest.get("tools")) and tools:
        fields["tools"] = read_each(TOOLS.read, rest.pop("tools"))
    elif is_array(legacy := rest.get("functions")) and legacy:
        fields["tools"] = tuple(map(FUNCTIONS.read, rest.pop("functions")))
        marks["tools"] = "functions"


def read_choice(rest: Wire, fields: dict[str, Any]) -> None:
    """Read ``tool_choice``, ``function_call`` and ``parallel_tool_calls`` as one ``ToolChoice``."""
    tools = fields.get("tools", ())
    choice = CHOICES.take(rest, tools)
    if "function_call" in rest and (choice is None or choice.mode is None):
        older = read_legacy_choice(rest["function_call"], tools)
        if older is not REFUSED:
            choice = older if choice is None else replace(older, parallel=choice.parallel)
            del rest["function_call"]
    if choice is not None:
        fields["tool_choice"] = choice


def read_legacy_choice(wire: Json, tools: Sequence[Tool]) -> Any:
    if is_object(wire) and wire.keys() == {"name"} and type(wire["name"]) is str:
        return with_marks(NAME, ToolChoice.specific(wire["name"]), legacy=True)
    choice: Any = CHOICES.read(wire, tools) if type(wire) is str else REFUSED
    return choice if choice is REFUSED else with_marks(NAME, choice, legacy=True)


def read_thinking(rest: Wire, fields: dict[str, Any], marks: Wire) -> None:
    found: dict[str, Any] = {}
    effort = rest.get("reasoning_effort")
    if effort == "none" or effort in openai.EFFORTS:
        found["mode" if effort == "none" else "effort"] = "disabled" if effort == "none" else effort
        del rest["reasoning_effort"]
    for form, (field, key, words, budget) in THINKING_OBJECTS.items():
        if not is_object(rest.get(form)) or "thinking" in marks:
            continue
        inner, read = dict(rest[form]), dict[str, Any]()
        if inner.get(key) in words and field not in found:
            read[field] = inner.pop(key)
        if type(inner.get(budget)) is int:
            read["budget"] = inner.pop(budget)
        if read:
            found |= read
            marks["thinking"] = form
            put_back(rest, form, inner)
    if found:
        fields["thinking"] = Thinking(**found)


def read_format(rest: Wire, fields: dict[str, Any], marks: Wire) -> None:
    """Read the schema, its name and its description."""
    left, found = openai.read_format(rest.get("response_format"), fields, NAME, "json_schema")
    if left is not None:
        put_back(rest, "response_format", left)
    if found:
        marks["response_format"] = found


def read_stream_options(rest: Wire, fields: dict[str, Any], marks: Wire) -> None:
    """Mark a stream that does not request usage, because we always do."""
    if fields.get("stream") is not True:
        return
    options = rest.get("stream_options")
    if is_object(options) and options.get("include_usage") is True:
        put_back(rest, "stream_options", {key: value for key, value in options.items() if key != "include_usage"})
    else:
        marks["stream_options"] = "absent"


# ------------------------------------------------------------------------------------------------------------- writing


def write_request(request: Request, target: Target | None, provider: str | None) -> Encoded:
    ledger, mark = Ledger(), marks(NAME, request)
    quirks, named = quirks_of(provider, target)
    body = write_params(request, quirks, ledger, named=named)
    put_model(request, body, target, mark)
    write_history(request, body, target, quirks, ledger)
    legacy = mark.get("tools") == "functions"
    if request.tools and (tools := write_tools(request.tools, quirks, ledger, legacy=legacy)):
        body["functions" if legacy else "tools"] = tools
    if request.tool_choice is not None:
        body |= write_tool_choice(request, request.tool_choice, body, quirks, ledger, named=named)
    if request.metadata and (metadata := openai.write_identity(request.metadata, body, mark)):
        body["metadata"] = metadata
    if request.thinking is not None:
        param = quirks.thinking_param if named else mark.get("thinking", quirks.thinking_param)
        write_thinking(request.thinking, body, param, ledger)
    if form := openai.write_format(request, mark.get("response_format", {}), ledger, NAME, "json_schema"):
        body["response_format"] = form
    if request.stream and (quirks.stream_usage if named else mark.get("stream_options") != "absent"):
        body["stream_options"] = {"include_usage": True}
    if request.extras:
        merge(body, request.extras.get(NAME, {}))
        ledger.lose_foreign_extras(request, NAME)
    if request.output_schema is not None and "name" not in mark.get("response_format", ()):
        body["response_format"]["json_schema"].setdefault("name", SCHEMA_NAME)
    return Encoded(body, PATH, {}, tuple(ledger.losses))


def write_params(request: Request, quirks: Quirks, ledger: Ledger, *, named: bool) -> Wire:
    """Write the plain parameters under the names that the server has for them."""
    top_k = request.top_k
    if top_k is not None and (quirks.top_k or named):
        if not quirks.top_k:
            rules.NO_TOP_K.fit(request, ledger)
        request = replace(request, top_k=None)
    body = PARAMS.put(request, ledger)
    if top_k is not None and quirks.top_k:
        body["top_k"] = top_k
    if named:
        for field, name in (("max_output_tokens", quirks.max_tokens_key), ("seed", quirks.seed_key)):
            for key in KEYS[field]:
                body.pop(key, None)
            if (value := getattr(request, field)) is not None:
                body[name] = value
    return body


def write_history(request: Request, body: Wire, target: Target | None, quirks: Quirks, ledger: Ledger) -> None:
    if not request.messages and not request.system and marks(NAME, request).get("messages") == "absent":
        return
    first = request.messages[0] if request.messages else None
    if first is not None and first.role is SYSTEM and not marks(NAME, first):
        leading_system(request, ledger)
    turns = write_system(request.system, quirks, ledger) if request.system else []
    body["messages"] = turns + write_messages(request.messages, target, quirks, ledger)


def write_tools(tools: Sequence[Tool], quirks: Quirks, ledger: Ledger, *, legacy: bool = False) -> list[Wire]:
    table = FUNCTIONS if legacy else TOOLS
    return table.write_each(rules.fit_tools(tools, quirks, ledger), ledger, "tools")


def write_tool_choice(
    request: Request, choice: ToolChoice, body: Wire, quirks: Quirks, ledger: Ledger, *, named: bool
) -> Wire:
    if "tools" in body or "functions" in body or "tool_choice" in marks(NAME, request).get("verbatim", ()):
        return write_choice(choice, request.tools, quirks, ledger, named=named)
    ledger.lose("dropped", f"{NAME} takes a tool choice only beside tools", "tool_choice")
    return {}


def write_choice(choice: ToolChoice, tools: Sequence[Tool], quirks: Quirks, ledger: Ledger, *, named: bool) -> Wire:
    """The keys that a tool choice has in a request. ``named``: the server is named, so its quirks win over marks."""
    ledger.where = ("tool_choice",)
    wire: Wire = {}
    if (mode := write_mode(choice, tools, quirks, ledger, named=named)) is not OMIT:
        wire["function_call" if "legacy" in marks(NAME, choice) else "tool_choice"] = mode
    if choice.parallel is not None and (quirks.parallel or not named):
        wire["parallel_tool_calls"] = choice.parallel
    elif choice.parallel is not None:
        why = "this server has no `parallel_tool_calls`"
        ledger.lose("dropped", why, "parallel", weight="form" if choice.parallel else "content")
    ledger.lose_foreign_extras(choice, NAME)
    ledger.where = ()
    return wire


def write_mode(choice: ToolChoice, tools: Sequence[Tool], quirks: Quirks, ledger: Ledger, *, named: bool) -> Json:
    """The value of ``tool_choice``, or of the older ``function_call``; ``OMIT`` if the choice has no mode."""
    mark = marks(NAME, choice)
    if "legacy" in mark and choice.mode == "specific":
        return {"name": choice.name}
    if not quirks.free_text:
        tools, choice = (), replace(choice, forms={NAME: {key: mark[key] for key in mark if key != "tag"}})
    return CHOICES.write(choice, tools, ledger, quirks.any_word if named else "")


def write_thinking(thinking: Thinking, body: Wire, form: str, ledger: Ledger) -> None:
    """``form`` is the parameter that requests thinking: ``reasoning_effort``, or an object (``THINKING_OBJECTS``)."""
    ledger.where, budget = ("thinking",), thinking.budget
    inner: Wire = {}
    if form == "thinking" and thinking.mode in THINKING_MODES:
        inner["type"] = thinking.mode
        thinking = replace(thinking, mode=None)
    if not ONE_WORD.holds(thinking):
        thinking = ONE_WORD.fit(thinking, ledger)
    effort = "none" if thinking.mode is not None else thinking.effort
    if budget is not None and form in THINKING_OBJECTS:
        inner[THINKING_OBJECTS[form].budget] = budget
    elif budget is not None:
        ledger.lose("dropped", f"{NAME} has no token budget for reasoning", "budget")
    if effort is not None and form == "reasoning":
        inner["effort"] = effort
    elif effort is not None:
        body["reasoning_effort"] = effort
    if thinking.display is not None:
        ledger.lose("dropped", f"{NAME} has no setting to show or hide thinking", "display")
    if inner:
        body[form] = inner
    ledger.lose_foreign_extras(thinking, NAME)
    ledger.where = ()


def write_choice_alone(choice: ToolChoice, target: Target | None, ledger: Ledger, provider: str | None) -> Json:
    quirks, named = quirks_of(provider, target)
    wire = write_choice(choice, (), quirks, ledger, named=named)
    return choice_alone(wire, ledger)

"""Requests of Ollama: everything but the turns. Also prompts, the requests of the older ``/api/generate``.

The server streams by default, our ``Request`` does not. So a body without ``stream`` is read as ``stream=True``, and a
request without ``stream`` is written with ``"stream": false``, declared as added: nobody gets a stream without asking.

A prompt is read as the chat that it stands for; its ``context``, the tokens of the conversation so far, is an opaque
block of an assistant turn. It is written as a prompt again, as long as the request is still a single prompt.

Marks: ``stream`` (the value on the wire, if any, where it was neither true nor false, and its meaning), ``messages``
(``absent``), ``tools`` (an empty list, or null), ``model`` (it came from outside the body), ``endpoint``
(``generate``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from msgspec.structs import replace

from ...codec.history.rules import leading_system
from ...codec.json import Wire, is_array, is_object
from ...codec.known_lists import read_each
from ...codec.ledger import Ledger, is_blank
from ...codec.marks import extras_and_forms, marks
from ...codec.paths import merge
from ...codec.rows.plain_text import is_plain_text
from ...codec.rules import mark_unasked_logprobs
from ...codec.tools.output import wants_json
from ...types.base import Json
from ...types.blocks import Block, OpaqueBlock, TextBlock
from ...types.capabilities import Target
from ...types.loss import Encoded, LossWeight
from ...types.messages import Message, Origin
from ...types.request import Request
from ...types.tools import Tool, ToolChoice
from ...types.words import Role
from .facts import NAME, PATH, PROMPT_KEYS, PROMPT_PATH, Place
from .read_turns import read_messages
from .rows import BLOCKS, OFFERED, PARAMS, PLANS, TOOLS, TURNS, Turn
from .write_turns import write_messages

# ------------------------------------------------------------------------------------------------------------- reading


def read_request(body: Wire, model: str | None, stream: bool | None, provider: str | None) -> Request:
    fields, rest, marks = PARAMS.take(body)
    mark_unasked_logprobs(fields, marks)
    if model is not None and fields["model"] is None:
        fields["model"] = model
        marks["model"] = "outside"
    if is_array(rest.get("messages")):
        fields["system"], fields["messages"] = read_messages(rest.pop("messages"), provider)
    elif type(rest.get("prompt")) is str and "messages" not in rest:
        read_prompt(rest, fields, provider)
        marks["endpoint"] = "generate"
    else:
        marks["messages"] = "absent"
    if rest.get("format") == "json":
        fields["json_output"] = True
        del rest["format"]
    if is_array(tools := rest.get("tools")) and tools and all(map(is_object, tools)):
        fields["tools"] = read_each(TOOLS.read, rest.pop("tools"))
    elif "tools" in rest and (tools is None or tools == []):
        marks["tools"] = [rest.pop("tools")]
    if type(rest.get("stream")) is bool:
        fields["stream"] = rest.pop("stream")
    else:
        fields["stream"] = stream is not False
        marks["stream"] = {"sent": [rest.pop("stream")] if "stream" in rest else [], "meant": fields["stream"]}
    return Request(**fields, **extras_and_forms(NAME, rest, marks))


def read_prompt(rest: Wire, fields: dict[str, Any], provider: str | None) -> None:
    """Read a prompt as the turns of a chat."""
    turns: list[Json] = []
    before = read_context(rest)
    if type(rest.get("system")) is str and rest["system"]:
        turns.append({"role": "system", "content": rest.pop("system")})
    user: Wire = {"role": "user", "content": rest.pop("prompt")}
    if "images" in rest:
        user["images"] = rest.pop("images")
    fields["system"], fields["messages"] = read_messages([*turns, user], provider)
    if before:
        fields["messages"] = (Message(Role.assistant, before, origin=Origin(provider, NAME)), *fields["messages"])


def read_context(rest: Wire) -> tuple[OpaqueBlock, ...]:
    """Take ``context``, the tokens of the conversation so far, which only this server understands."""
    if not is_array(rest.get("context")) or not rest["context"]:
        return ()
    return (OpaqueBlock(NAME, {"context": rest.pop("context")}),)


# ------------------------------------------------------------------------------------------------------------- writing


def write_request(request: Request, target: Target | None) -> Encoded:
    ledger, mark = Ledger(), marks(NAME, request)
    body = PARAMS.put(request, ledger)
    if request.model is None and target is not None and target.model is not None:
        body["model"] = target.model
    elif mark.get("model") == "outside":
        body.pop("model", None)
    as_prompt = is_prompt(request)
    write_history(request, body, target, ledger, as_prompt=as_prompt)
    write_stream(request, body, mark, ledger)
    if wants_json(request, ledger):
        body["format"] = "json"
    if request.extras:
        merge(body, request.extras.get(NAME, {}))
        if "endpoint" in mark and not as_prompt:
            lose_prompt_keys(body, ledger)
        ledger.lose_foreign_extras(request, NAME)
    return Encoded(body, PROMPT_PATH if as_prompt else PATH, {}, tuple(ledger.losses))


def is_prompt(request: Request) -> bool:
    """Whether a request was read as a prompt and can still be written as one."""
    if marks(NAME, request).get("endpoint") != "generate" or len(request.system) > 1 or request.tools:
        return False
    if not 1 <= len(request.messages) <= 2 or request.messages[-1].role != Role.user:
        return False
    return all(type(block) is OpaqueBlock for message in request.messages[:-1] for block in message.content)


def write_history(request: Request, body: Wire, target: Target | None, ledger: Ledger, *, as_prompt: bool) -> None:
    skip, mark = 0, marks(NAME, request)
    system: list[tuple[Place, Block]]
    if request.messages and "inline" in marks(NAME, request.messages[0]):
        system = [(("system", i), b) for i, b in enumerate(request.system)]
    else:
        system, skip = leading_system(request, ledger)
    turns = write_system(system, ledger) if system else []
    turns += write_messages(request.messages, target, ledger, skip, context=as_prompt)
    if as_prompt:
        write_prompt(turns, body)
    elif turns or "messages" not in mark:
        body["messages"] = turns
    if request.tools and (tools := write_tools(request.tools, ledger)):
        body["tools"] = tools
    elif "tools" in mark and not request.tools:
        body["tools"] = mark["tools"][0]
    if request.tool_choice is not None:
        lose_choice(request.tool_choice, ledger)


def write_system(placed: Sequence[tuple[Place, Block]], ledger: Ledger) -> list[Wire]:
    """Write one system turn for each block."""
    turns: list[Wire] = []
    for place, block in placed:
        if is_plain_text(block):
            turns.append({"role": "system", "content": block.text})
            continue
        ledger.where = place
        if type(block) is not TextBlock:
            ledger.lose_from_system(block, NAME)
            continue
        BLOCKS.write(block if block.text else replace(block, text="."), ledger)  # declares what cannot be written
        turns.append(TURNS.write(Turn(Role.system, block.text, extras=block.extras, forms=block.forms), ledger))
    ledger.where = ()
    return turns


def write_prompt(turns: list[Wire], body: Wire) -> None:
    """Write the turns of a chat as a prompt."""
    for turn in turns:
        role, content = turn.pop("role", "user"), turn.pop("content", "")
        if role == "user":
            body["prompt"] = content
        elif role == "system":
            body["system"] = content
        body.update(turn)


def lose_prompt_keys(body: Wire, ledger: Ledger) -> None:
    """Remove the keys that only a prompt can have from a request that was read as a prompt and is a chat now."""
    for key in PROMPT_KEYS:
        if key in body and not is_blank(body.pop(key)):
            why = f"`{key}` is a field of {PROMPT_PATH}, and the request goes to {PATH}"
            ledger.lose("dropped", why, "extras", NAME, key, weight="state" if key == "context" else "content")


def write_tools(tools: Sequence[Tool], ledger: Ledger) -> list[Wire]:
    """Write definitions. ``PLANS`` gives the changes to all of their schemas at once."""
    writers = OFFERED.writers
    written: list[Wire | None] = [writers[type(tool)](tool) for tool in tools]
    for index, plan in PLANS.of(tools).items():
        wire = written[index]
        if wire is not None:
            function = wire["function"]
            function["parameters"] = plan.make(function["parameters"])
            ledger.losses += plan.losses
    if all(written):
        return cast("list[Wire]", written)
    for index, tool in enumerate(tools):
        if written[index] is None:
            ledger.where = ("tools", index)
            written[index] = TOOLS.interpret_write(tool, ledger)
    ledger.where = ()
    return [wire for wire in written if wire is not None]


def lose_choice(choice: ToolChoice, ledger: Ledger) -> None:
    """Declare the tool choice lost: the protocol has none, and the model always decides."""
    weight: LossWeight = "form" if choice == ToolChoice.auto() else "content"
    ledger.lose("dropped", f"{NAME} has no tool choice", "tool_choice", weight=weight)


def write_stream(request: Request, body: Wire, mark: Wire, ledger: Ledger) -> None:
    if request.stream is None:
        body["stream"] = False
        ledger.lose_form("added", f"`stream: false` was added, because {NAME} assumes true", "stream")
    elif "stream" not in mark or mark["stream"]["meant"] is not request.stream:
        body["stream"] = request.stream
    elif mark["stream"]["sent"]:
        body["stream"] = mark["stream"]["sent"][0]

"""A conversation of twelve turns that can be held with any providers in turn: the user's messages, tools and answers.

Every provider answers as its protocol does: with ids of its own or none, and with signatures where the protocol has
them. Rules say which losses occur when the history is sent to another provider.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

from msgspec.structs import replace

from interlingua import (
    Base64Source,
    Block,
    ImageBlock,
    Message,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from interlingua.client.embedded import Script, Step
from interlingua.client.embedded.responder import ROUTES, respond
from interlingua.client.http import HttpRequest
from interlingua.client.manager import ProviderManager
from interlingua.client.transport.memory import Answer, AsyncMemoryTransport, MemoryTransport
from session.scenes import PROVIDERS

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PICTURE = ImageBlock(Base64Source("image/png", PNG))

MODELS = {
    # provider      a model that thinks, sees and calls
    "anthropic": "claude-sonnet-4-5",
    "openai-chat": "gpt-5",
    "openai": "gpt-5",
    "google": "gemini-3-pro-preview",
    "ollama": "some-local-model",
    "bedrock": "anthropic.claude-sonnet-4-5-20250929-v1:0",
}


def model_of(dialect: str) -> str:
    """The name of the dialect's model, as it is given to a session."""
    return f"{PROVIDERS[dialect]}:{MODELS[PROVIDERS[dialect]]}"


# --------------------------------------------------------------------------------------------------------- the tools


def add(a: int, b: int = 0) -> int:
    """Add two numbers."""
    return a + b


def look(place: str) -> list[TextBlock | ImageBlock]:
    """Look at a place."""
    return [TextBlock(f"This is {place}."), PICTURE]


def fail(why: str) -> str:
    """Fail."""
    raise ValueError(why)


TOOLS: list[Any] = [add, look, fail]


# ---------------------------------------------------------------------------------------------------------- the turns


class Call(NamedTuple):
    """A call that the model makes; ``text`` is what it wrote, if that is not JSON."""

    name: str
    input: dict[str, Any]
    text: str | None = None


class Said(NamedTuple):
    """One answer: a thought, a text, calls; each may be missing."""

    thought: str = ""
    text: str = ""
    calls: tuple[Call, ...] = ()


class Turn(NamedTuple):
    """The user's message, and the answers, one for each call of the model."""

    user: str | Sequence[Block]
    answers: tuple[Said, ...]


def plus(a: int, b: int) -> Call:
    return Call("add", {"a": a, "b": b})


TURNS = (
    Turn([PICTURE, TextBlock("What is this?")], (Said("A pixel.", "One pixel."),)),
    Turn("1 + 2?", (Said("Simple.", calls=(plus(1, 2),)), Said(text="3"))),
    Turn("And these?", (Said("All at once.", "I add.", (plus(1, 1), plus(2, 2), plus(3, 3))), Said("So.", "2, 4, 6"))),
    Turn("Thanks", (Said(text="Welcome."),)),
    Turn("Look at Oslo", (Said(calls=(Call("look", {"place": "Oslo"}),)), Said("Nice.", "A fjord."))),
    Turn("Now fail", (Said(text="As you wish.", calls=(Call("fail", {"why": "asked to"}),)), Said(text="It failed."))),
    Turn(
        "Look and add",
        (Said("Two.", calls=(Call("look", {"place": "Lima 🌊"}), plus(4, 5))), Said(text="A sea, and 9.")),
    ),
    Turn([TextBlock("Compare:"), PICTURE, PICTURE], (Said("Same.", "They are equal."),)),
    Turn("Step by step", (Said(calls=(plus(9, 1),)), Said("Next.", calls=(Call("add", {"a": 10}),)), Said(text="10"))),
    Turn("Think", (Said("Hm. " * 9, "Thought."),)),
    Turn("Mixed", (Said("Both.", "Now.", (Call("fail", {"why": "again"}), plus(7, 7))), Said("Ok.", "One of two."))),
    Turn("Bye", (Said("The end.", "Bye."),)),
)


# --------------------------------------------------------------------------------------------------------- the voices


def proof(dialect: str, number: int) -> str:
    """A signature, which only its issuer can verify."""
    return base64.b64encode(f"proof of {dialect} #{number:03}".encode()).decode()


class Voice(NamedTuple):
    """How a provider answers: the prefix of its ids (None: no ids), what it signs, whether it shows its reasoning."""

    prefix: str | None
    signs: Literal["thoughts", "words", "nothing"]
    thinks: bool = True


VOICES = {
    "anthropic-messages": Voice("toolu_01", "thoughts"),
    "openai-chat": Voice("call_chat", "nothing", thinks=False),
    "openai-responses": Voice("call_resp", "thoughts"),
    "gemini": Voice(None, "words"),  # the first call, else the text
    "ollama": Voice(None, "nothing"),
    "bedrock-converse": Voice("tooluse_", "thoughts"),
}

# How a call without an id is marked, so that the server writes none.
WITHOUT_ID: dict[str, Callable[[str], dict[str, Any]]] = {
    "gemini": lambda id: {"gemini": {"id": id}},
    "ollama": lambda id: {"ollama": {"derived": id}},
}


def spoken(said: Said, dialect: str, number: int) -> tuple[Block, ...]:
    """An answer as this provider writes it. ``number`` distinguishes its answers."""
    voice = VOICES[dialect]
    blocks: list[Block] = []
    if said.thought and voice.thinks:
        signature = proof(dialect, number) if voice.signs == "thoughts" else None
        blocks.append(ThinkingBlock(said.thought, signature=signature))
    if said.text:
        blocks.append(TextBlock(said.text))
    for place, call in enumerate(said.calls):
        blocks.append(_call(call, dialect, number, place, len(blocks)))
    if voice.signs == "words" and blocks:
        signed = next((i for i, b in enumerate(blocks) if isinstance(b, ToolUseBlock)), len(blocks) - 1)
        blocks[signed] = replace(blocks[signed], signature=proof(dialect, number))
    return tuple(blocks)


def _call(call: Call, dialect: str, number: int, place: int, index: int) -> ToolUseBlock:
    prefix = VOICES[dialect].prefix
    if prefix is None:
        id = f"call_{index}"
        return ToolUseBlock(id, call.name, input=call.input, input_text=call.text, forms=WITHOUT_ID[dialect](id))
    return ToolUseBlock(f"{prefix}{number:03}{place}", call.name, input=call.input, input_text=call.text)


# ------------------------------------------------------------------------------------------------------- the providers


class World:
    """All six providers in memory: ``sent`` is what each was told and answered, in order.

    ``next`` is what whoever is asked next says.
    """

    def __init__(self) -> None:
        self.next: list[Said | Step] = []
        self.sent: list[tuple[str, bytes, bytes]] = []
        self.manager = ProviderManager(
            environment={"AWS_REGION": "eu-west-1"},
            transport=AsyncMemoryTransport(self._answer),
            sync_transport=MemoryTransport(self._answer),
            on_loss="allow",
        )
        for name in PROVIDERS.values():
            self.manager.register(name, None, {"api_key": "sk-1234567890", "max_retries": 0})

    def _answer(self, request: HttpRequest) -> Answer:
        path = request.url.partition("?")[0]
        dialect = next(route.dialect for route in ROUTES if route.path.search(path))
        said = self.next.pop(0) if self.next else Said(text="…")
        step = said if isinstance(said, Step) else Step(content=spoken(said, dialect, len(self.sent)))
        answer = respond(Script(step), request.url, request.headers, request.body)
        parts = list(answer.parts)
        answer.parts = parts
        self.sent.append((dialect, request.body, b"".join(part for part in parts if isinstance(part, bytes))))
        return answer


# ---------------------------------------------------------------------------------------------------- what is lost

ANTHROPIC, CHAT, RESPONSES, GEMINI, OLLAMA, BEDROCK = PROVIDERS

# One vendor's models behind two doors: what one signed, the other can read.
SHARED = ({ANTHROPIC, BEDROCK}, {CHAT, RESPONSES})

# What a request of these tools cannot say as it is meant, whatever the history: kind and place.
TOOL_PLACES = range(len(TOOLS))
FIXED: dict[str, list[tuple[str, str]]] = {
    ANTHROPIC: [("added", "max_output_tokens")],  # the protocol demands a limit
    RESPONSES: [("added", f"tools/{n}/strict") for n in TOOL_PLACES],  # left out, it would mean strict
    OLLAMA: [("approximated", f"tools/{n}/input_schema") for n in TOOL_PLACES],  # objects cannot be closed there
}


def expected(messages: Sequence[Message], target: str) -> Iterator[tuple[str, str]]:
    """Every loss that the rules predict when this history is sent to ``target``, as kind and place."""
    yield from FIXED.get(target, [])
    for index, message in enumerate(messages):
        origin = message.origin.dialect if message.origin is not None else None
        signed = False
        for place, block in enumerate(message.content):
            where = f"messages/{index}/content/{place}"
            if origin not in (None, target):
                assert origin is not None
                yield from _of_others(block, where, origin, target)
            if isinstance(block, ToolUseBlock) and not signed:
                signed = True
                if target == GEMINI != origin:
                    yield "added", f"{where}/signature"  # the first call of a turn must be signed: the placeholder
            if isinstance(block, ToolResultBlock):
                yield from _result(block, where, target)
            if isinstance(block, ImageBlock) and target == RESPONSES:
                yield "added", f"{where}/detail"  # its types demand one
        if target == OLLAMA and message.role == "user":
            yield from (("moved", f"messages/{index}/content/{place}") for place in _displaced(message))


def _of_others(block: Block, where: str, origin: str, target: str) -> Iterator[tuple[str, str]]:
    """The losses for a block that another provider has issued."""
    shared = any({origin, target} <= pair for pair in SHARED)
    if isinstance(block, ThinkingBlock):
        if not shared or target == CHAT:  # chat has no word for a thought, whoever had it
            yield "dropped", where
        return
    if block.signature is not None:
        yield "dropped", f"{where}/signature"
    if origin == RESPONSES:  # the ids under which its items are stored
        yield "dropped", f"{where}/extras/{RESPONSES}/{'id' if isinstance(block, ToolUseBlock) else 'item'}"


def _result(block: ToolResultBlock, where: str, target: str) -> Iterator[tuple[str, str]]:
    if target in (GEMINI, OLLAMA):
        yield "added", f"{where}/name"  # a result names its tool
    if block.is_error and target in ERRORS:
        yield "approximated", f"{where}/is_error"
        yield "approximated", f"{where}/{ERRORS[target]}"
    for place, part in enumerate(block.content):
        if isinstance(part, ImageBlock) and target == CHAT:
            yield "moved", f"{where}/content/{place}"  # a result is text there
        if isinstance(part, ImageBlock) and target == RESPONSES:
            yield "added", f"{where}/content/{place}/detail"


# Where there is no flag for a failure: what begins with ``Error: `` instead.
ERRORS = {CHAT: "content/0", RESPONSES: "content/0/text", OLLAMA: "content"}


def _displaced(message: Message) -> list[int]:
    """The places whose content changes because Ollama's messages have all texts before all pictures."""
    order = sorted(range(len(message.content)), key=lambda place: isinstance(message.content[place], ImageBlock))
    return [place for place, meant in enumerate(order) if place != meant]

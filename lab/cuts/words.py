"""Per protocol: which frames open a block, add to it, close it, end the answer or say that it failed.

Written from the protocols' pages and the recordings; no code is shared with the dialects, whose work it judges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lab.cuts.frames import Frame
from lab.cuts.partial_args import lay_partial_args
from lab.cuts.responses import read_responses
from lab.cuts.told import CALL, OTHER, TEXT, THOUGHT, Told, Wire, dump, inner
from lab.oracles.leaves import is_object

__all__ = ["read_told"]


def read_told(dialect: str, frames: Iterable[Frame]) -> Told:
    """What the frames of a stream say. What comes after the end is ignored; after an error there may be no end."""
    read, holds_calls = READERS[dialect]
    told = Told(dialect, holds_calls=holds_calls)
    for frame in frames:
        read(told, frame.value if is_object(frame.value) else {}, frame)
        if told.over:
            break
    return told


# ------------------------------------------------------------------------------------------------- Anthropic Messages

MESSAGES_KINDS = {"text": TEXT, "thinking": THOUGHT, "tool_use": CALL}
MESSAGES_DELTAS = {
    # delta              kind     its text
    "text_delta":       (TEXT,    "text"),
    "thinking_delta":   (THOUGHT, "thinking"),
    "input_json_delta": (CALL,    "partial_json"),
}  # fmt: skip


def _read_messages(told: Told, wire: Wire, _: Frame) -> None:
    index = wire.get("index")
    match wire.get("type"):
        case "content_block_start":
            block = inner(wire, "content_block")
            kind = MESSAGES_KINDS.get(block.get("type", ""), OTHER)
            told.open(index, kind, _messages_start(kind, block))
        case "content_block_delta":
            kind, key = MESSAGES_DELTAS.get(wire["delta"].get("type"), (OTHER, ""))
            if (piece := told.at(index, kind)).kind == kind:
                piece.more(wire["delta"].get(key))
        case "content_block_stop":
            told.close(index)
        case "message_delta" if inner(wire, "delta").get("stop_reason"):
            told.stopped(wire["delta"]["stop_reason"], "max_tokens")
            if all(piece.closed or piece.left for piece in told.pieces):
                told.end(over=False)
        case "message_start":
            told.restarted = bool(told.pieces)
        case "message_stop":
            told.end()
        case "error":
            told.failed = True
        case _:
            pass


def _messages_start(kind: str, block: Wire) -> str:
    if kind == OTHER:
        return f"{block.get('type')} {block.get('id') or block.get('tool_use_id') or ''}"
    if kind == CALL:
        return dump(block["input"]) if block.get("input") else ""
    return block.get("text") or block.get("thinking") or ""


# -------------------------------------------------------------------------------------------------------- OpenAI Chat

CHAT_THOUGHTS = ("reasoning_content", "reasoning", "thinking")


def _read_chat(told: Told, wire: Wire, frame: Frame) -> None:
    if frame.value == "[DONE]":
        told.end()
        return
    if wire.get("error"):
        told.failed = True
        return
    choices: list[Wire] = [choice for choice in wire.get("choices") or () if not choice.get("index")]
    for choice in choices:
        _read_chat_delta(told, inner(choice, "delta") or inner(choice, "message"))
        if choice.get("finish_reason"):
            told.stopped(choice["finish_reason"], "length", "model_length", "max_tokens")
            told.end(over=False)


def _read_chat_delta(told: Told, delta: Wire) -> None:
    thought = next((delta[key] for key in CHAT_THOUGHTS if delta.get(key)), None)
    if thought:
        told.at(THOUGHT, THOUGHT).more(thought)
    if content := delta.get("content"):
        _read_chat_content(told, content)
    if refusal := delta.get("refusal"):
        told.at("refusal", TEXT).more(refusal)
    if legacy := delta.get("function_call"):
        told.at("function_call", CALL).more(legacy.get("arguments"))
    for call in delta.get("tool_calls") or ():
        _read_chat_call(told, call)


def _read_chat_content(told: Told, content: Any) -> None:
    parts: list[Wire] = [{"text": content}] if isinstance(content, str) else content  # Mistral: a list of chunks
    for part in parts:
        if part.get("type") == "thinking":
            told.at(THOUGHT, THOUGHT).more("".join(inner.get("text", "") for inner in part.get("thinking") or ()))
        elif part.get("text"):
            told.at(TEXT, TEXT).more(part["text"])


def _read_chat_call(told: Told, call: Wire) -> None:
    """The wire closes no call; one that the next call follows is finished. Some send two calls with one index."""
    index = ("call", call.get("index", 0))
    piece, known = told.places.get(index), told.ids.get(index)
    if piece is None or (call.get("id") and known and call["id"] != known):
        for other in told.pieces:
            other.followed = True
        piece = told.open(index, CALL)
    told.ids[index] = call.get("id") or known
    if custom := call.get("custom"):
        piece.free = True
        piece.more(custom.get("input"))
    elif (arguments := inner(call, "function").get("arguments")) is not None:
        piece.followed = piece.followed and not arguments
        piece.more(arguments)


# ------------------------------------------------------------------------------------------------------------- Gemini


def _read_gemini(told: Told, wire: Wire, _: Frame) -> None:
    if wire.get("error"):
        told.failed = True
        return
    candidates: list[Wire] = [candidate for candidate in wire.get("candidates") or () if not candidate.get("index")]
    for candidate in candidates[:1]:
        for part in inner(candidate, "content").get("parts") or ():
            _read_gemini_part(told, part)
        if candidate.get("finishReason"):
            told.stopped(str(candidate["finishReason"]))
            told.end(over=False)
    if inner(wire, "promptFeedback").get("blockReason"):
        told.end(over=False)


def _read_gemini_part(told: Told, part: Wire) -> None:
    """Texts of a kind go on from part to part; a signed one is whole. What comes after an end takes the end back."""
    if part.get("text") or "text" not in part:
        told.ended, told.stop = False, None
    if "functionCall" in part:
        _read_gemini_call(told, inner(part, "functionCall"))
    elif part.get("text"):
        kind = THOUGHT if part.get("thought") else TEXT
        last = told.pieces[-1] if told.pieces else None
        if last is None or last.kind != kind or last.signed or part.get("thoughtSignature"):
            last = told.open(len(told.pieces), kind)
        last.more(part["text"])
        last.closed = last.signed = bool(part.get("thoughtSignature"))
    elif "text" not in part:
        told.open(len(told.pieces), OTHER).closed = True


def _read_gemini_call(told: Told, call: Wire) -> None:
    """A whole call in one part, or one that says ``willContinue`` and goes on in the next parts."""
    piece = told.places.get(CALL)
    if piece is None or piece.closed:
        piece = told.open(CALL, CALL)
    if call.get("args"):
        piece.became(call["args"])
    if call.get("partialArgs"):
        piece.became(lay_partial_args(piece.text, call["partialArgs"]))
    piece.closed = not call.get("willContinue")


# ------------------------------------------------------------------------------------------------------------- Ollama


def _read_ollama(told: Told, wire: Wire, _: Frame) -> None:
    if "error" in wire:
        told.failed = True
        return
    message: Wire = wire.get("message") or {"content": wire.get("response"), "thinking": wire.get("thinking")}
    for kind, key in ((THOUGHT, "thinking"), (TEXT, "content")):
        if message.get(key):
            told.at(kind, kind).more(message[key])
    for call in message.get("tool_calls") or ():
        told.open(len(told.pieces), CALL, dump(call["function"].get("arguments") or {})).closed = True
    if wire.get("done"):
        told.stopped(wire.get("done_reason") or "")
        told.end()


# --------------------------------------------------------------------------------------------------- Bedrock Converse


def _read_converse(told: Told, wire: Wire, frame: Frame) -> None:
    index = wire.get("contentBlockIndex")
    match frame.name:
        case "contentBlockStart":
            if "toolUse" in wire["start"]:
                told.open(index, CALL)
        case "contentBlockDelta":
            _read_converse_delta(told, index, wire["delta"])
        case "contentBlockStop":
            told.close(index)
        case "messageStop":
            told.stopped(wire.get("stopReason") or "", "max_tokens")
            told.end(over=False)
        case name if name.endswith(("Exception", "Error")):
            told.failed = True
        case _:
            pass


def _read_converse_delta(told: Told, index: Any, delta: Wire) -> None:
    if "text" in delta:
        told.at(index, TEXT).more(delta["text"])
    if "reasoningContent" in delta:
        told.at(index, THOUGHT).more(delta["reasoningContent"].get("text"))
    if "toolUse" in delta:
        told.at(index, CALL).more(delta["toolUse"].get("input"))


READERS: dict[str, tuple[Callable[[Told, Wire, Frame], None], bool]] = {
    # dialect              reader            arguments in pieces
    "anthropic-messages": (_read_messages,   True),
    "openai-chat":        (_read_chat,       True),
    "openai-responses":   (read_responses,   True),
    "gemini":             (_read_gemini,     False),
    "ollama":             (_read_ollama,     False),
    "bedrock-converse":   (_read_converse,   True),
}  # fmt: skip

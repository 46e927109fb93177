"""Readers for each protocol: which frames open a block, add to it, close it, end the answer or report a failure.

Written from the protocols' pages and the recordings. They share no code with the dialects, which they judge.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from lab.cuts.frames import Frame
from lab.cuts.partial_args import lay_partial_args
from lab.cuts.responses import read_responses
from lab.cuts.state import CALL, OTHER, TEXT, THOUGHT, StreamState, Wire, dump, inner
from lab.oracles.leaves import is_object

__all__ = ["read_state"]


def read_state(dialect: str, frames: Iterable[Frame]) -> StreamState:
    """The state of a stream after its frames. Frames after the end are ignored; after an error there may be no end."""
    read, holds_calls = READERS[dialect]
    state = StreamState(dialect, holds_calls=holds_calls)
    for frame in frames:
        read(state, frame.value if is_object(frame.value) else {}, frame)
        if state.over:
            break
    return state


# ------------------------------------------------------------------------------------------------- Anthropic Messages

MESSAGES_KINDS = {"text": TEXT, "thinking": THOUGHT, "tool_use": CALL}
MESSAGES_DELTAS = {
    # delta              kind     its text
    "text_delta":       (TEXT,    "text"),
    "thinking_delta":   (THOUGHT, "thinking"),
    "input_json_delta": (CALL,    "partial_json"),
}  # fmt: skip


def _read_messages(state: StreamState, wire: Wire, _: Frame) -> None:
    index = wire.get("index")
    match wire.get("type"):
        case "content_block_start":
            block = inner(wire, "content_block")
            kind = MESSAGES_KINDS.get(block.get("type", ""), OTHER)
            state.open(index, kind, _messages_start(kind, block))
        case "content_block_delta":
            kind, key = MESSAGES_DELTAS.get(wire["delta"].get("type"), (OTHER, ""))
            if (piece := state.at(index, kind)).kind == kind:
                piece.more(wire["delta"].get(key))
        case "content_block_stop":
            state.close(index)
        case "message_delta" if inner(wire, "delta").get("stop_reason"):
            state.stopped(wire["delta"]["stop_reason"], "max_tokens")
            if all(piece.closed or piece.abandoned for piece in state.pieces):
                state.end(over=False)
        case "message_start":
            state.restarted = bool(state.pieces)
        case "message_stop":
            state.end()
        case "error":
            state.failed = True
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


def _read_chat(state: StreamState, wire: Wire, frame: Frame) -> None:
    if frame.value == "[DONE]":
        state.end()
        return
    if wire.get("error"):
        state.failed = True
        return
    choices: list[Wire] = [choice for choice in wire.get("choices") or () if not choice.get("index")]
    for choice in choices:
        _read_chat_delta(state, inner(choice, "delta") or inner(choice, "message"))
        if choice.get("finish_reason"):
            state.stopped(choice["finish_reason"], "length", "model_length", "max_tokens")
            state.end(over=False)


def _read_chat_delta(state: StreamState, delta: Wire) -> None:
    thought = next((delta[key] for key in CHAT_THOUGHTS if delta.get(key)), None)
    if thought:
        state.at(THOUGHT, THOUGHT).more(thought)
    if content := delta.get("content"):
        _read_chat_content(state, content)
    if refusal := delta.get("refusal"):
        state.at("refusal", TEXT).more(refusal)
    if legacy := delta.get("function_call"):
        state.at("function_call", CALL).more(legacy.get("arguments"))
    for call in delta.get("tool_calls") or ():
        _read_chat_call(state, call)


def _read_chat_content(state: StreamState, content: Any) -> None:
    parts: list[Wire] = [{"text": content}] if isinstance(content, str) else content  # Mistral: a list of chunks
    for part in parts:
        if part.get("type") == "thinking":
            state.at(THOUGHT, THOUGHT).more("".join(inner.get("text", "") for inner in part.get("thinking") or ()))
        elif part.get("text"):
            state.at(TEXT, TEXT).more(part["text"])


def _read_chat_call(state: StreamState, call: Wire) -> None:
    """The protocol closes no call: one followed by the next call is finished. Some servers repeat an index."""
    index = ("call", call.get("index", 0))
    piece, known = state.places.get(index), state.ids.get(index)
    if piece is None or (call.get("id") and known and call["id"] != known):
        for other in state.pieces:
            other.followed = True
        piece = state.open(index, CALL)
    state.ids[index] = call.get("id") or known
    if custom := call.get("custom"):
        piece.free = True
        piece.more(custom.get("input"))
    elif (arguments := inner(call, "function").get("arguments")) is not None:
        piece.followed = piece.followed and not arguments
        piece.more(arguments)


# ------------------------------------------------------------------------------------------------------------- Gemini


def _read_gemini(state: StreamState, wire: Wire, _: Frame) -> None:
    if wire.get("error"):
        state.failed = True
        return
    candidates: list[Wire] = [candidate for candidate in wire.get("candidates") or () if not candidate.get("index")]
    for candidate in candidates[:1]:
        for part in inner(candidate, "content").get("parts") or ():
            _read_gemini_part(state, part)
        if candidate.get("finishReason"):
            state.stopped(str(candidate["finishReason"]))
            state.end(over=False)
    if inner(wire, "promptFeedback").get("blockReason"):
        state.end(over=False)


def _read_gemini_part(state: StreamState, part: Wire) -> None:
    """Texts of one kind continue from part to part; a signed one is complete. A part after the end revokes the end."""
    if part.get("text") or "text" not in part:
        state.ended, state.stop = False, None
    if "functionCall" in part:
        _read_gemini_call(state, inner(part, "functionCall"))
    elif part.get("text"):
        kind = THOUGHT if part.get("thought") else TEXT
        last = state.pieces[-1] if state.pieces else None
        if last is None or last.kind != kind or last.signed or part.get("thoughtSignature"):
            last = state.open(len(state.pieces), kind)
        last.more(part["text"])
        last.closed = last.signed = bool(part.get("thoughtSignature"))
    elif "text" not in part:
        state.open(len(state.pieces), OTHER).closed = True


def _read_gemini_call(state: StreamState, call: Wire) -> None:
    """A whole call in one part, or one with ``willContinue`` that the next parts continue."""
    piece = state.places.get(CALL)
    if piece is None or piece.closed:
        piece = state.open(CALL, CALL)
    if call.get("args"):
        piece.set_whole(call["args"])
    if call.get("partialArgs"):
        piece.set_whole(lay_partial_args(piece.text, call["partialArgs"]))
    piece.closed = not call.get("willContinue")


# ------------------------------------------------------------------------------------------------------------- Ollama


def _read_ollama(state: StreamState, wire: Wire, _: Frame) -> None:
    if "error" in wire:
        state.failed = True
        return
    message: Wire = wire.get("message") or {"content": wire.get("response"), "thinking": wire.get("thinking")}
    for kind, key in ((THOUGHT, "thinking"), (TEXT, "content")):
        if message.get(key):
            state.at(kind, kind).more(message[key])
    for call in message.get("tool_calls") or ():
        state.open(len(state.pieces), CALL, dump(call["function"].get("arguments") or {})).closed = True
    if wire.get("done"):
        state.stopped(wire.get("done_reason") or "")
        state.end()


# --------------------------------------------------------------------------------------------------- Bedrock Converse


def _read_converse(state: StreamState, wire: Wire, frame: Frame) -> None:
    index = wire.get("contentBlockIndex")
    match frame.name:
        case "contentBlockStart":
            if "toolUse" in wire["start"]:
                state.open(index, CALL)
        case "contentBlockDelta":
            _read_converse_delta(state, index, wire["delta"])
        case "contentBlockStop":
            state.close(index)
        case "messageStop":
            state.stopped(wire.get("stopReason") or "", "max_tokens")
            state.end(over=False)
        case name if name.endswith(("Exception", "Error")):
            state.failed = True
        case _:
            pass


def _read_converse_delta(state: StreamState, index: Any, delta: Wire) -> None:
    if "text" in delta:
        state.at(index, TEXT).more(delta["text"])
    if "reasoningContent" in delta:
        state.at(index, THOUGHT).more(delta["reasoningContent"].get("text"))
    if "toolUse" in delta:
        state.at(index, CALL).more(delta["toolUse"].get("input"))


READERS: dict[str, tuple[Callable[[StreamState, Wire, Frame], None], bool]] = {
    # dialect              reader            arguments in pieces
    "anthropic-messages": (_read_messages,   True),
    "openai-chat":        (_read_chat,       True),
    "openai-responses":   (read_responses,   True),
    "gemini":             (_read_gemini,     False),
    "ollama":             (_read_ollama,     False),
    "bedrock-converse":   (_read_converse,   True),
}  # fmt: skip

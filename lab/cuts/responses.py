"""OpenAI Responses: items and their parts, each with an opening and closing frames of its own."""

from __future__ import annotations

from typing import Any

from lab.cuts.frames import Frame
from lab.cuts.state import CALL, OTHER, TEXT, THOUGHT, StreamState, Wire, inner

__all__ = ["read_responses"]

ITEM_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
"""Items that call a tool of the caller, and where their arguments are."""
DELTAS = {
    # frame                                kind      part index
    "response.output_text":               (TEXT,    "content_index"),
    "response.refusal":                   (TEXT,    "content_index"),
    "response.reasoning_text":            (THOUGHT, "content_index"),
    "response.reasoning_summary_text":    (THOUGHT, "summary_index"),
    "response.function_call_arguments":   (CALL,    None),
    "response.custom_tool_call_input":    (CALL,    None),
}  # fmt: skip
TEXT_KEYS = ("text", "refusal", "arguments", "input")


def read_responses(state: StreamState, wire: Wire, _: Frame) -> None:
    """One event of the protocol."""
    kind = str(wire.get("type"))
    if kind == "error" or kind == "response.failed":
        state.failed = True
        _read_output(state, inner(wire, "response"))
    elif kind in ("response.completed", "response.incomplete", "response.cancelled"):
        _read_end(state, kind, inner(wire, "response"))
    elif kind == "response.output_item.added":
        _open_item(state, wire.get("output_index"), wire["item"])
    elif kind == "response.output_item.done":
        _close_item(state, wire.get("output_index"), wire["item"])
    elif kind.endswith(("part.added", "part.done")):
        place = _part_place(wire, "content_index" if "content_index" in wire else "summary_index")
        piece = state.at(place, TEXT if inner(wire, "part").get("type") in ("output_text", "refusal") else THOUGHT)
        piece.closed = piece.closed or kind.endswith("done")
    else:
        _read_delta(state, kind, wire)


def _part_place(wire: Wire, key: str | None) -> Any:
    return (wire.get("output_index"), key, wire.get(key)) if key else wire.get("output_index")


def _read_delta(state: StreamState, kind: str, wire: Wire) -> None:
    base, _, verb = kind.rpartition(".")
    if base not in DELTAS or verb not in ("delta", "done"):
        return
    block, key = DELTAS[base]
    piece = state.at(_part_place(wire, key), block)
    if verb == "delta":
        piece.more(wire.get("delta"))
        return
    whole = next((wire[name] for name in TEXT_KEYS if wire.get(name) is not None), None)
    if whole is not None:
        piece.set_whole(whole)
    piece.closed = True


def _open_item(state: StreamState, place: Any, item: Wire) -> None:
    state.items[place] = (item.get("id"), item.get("type"))
    if (key := ITEM_CALLS.get(item.get("type", ""))) is not None:
        state.open(place, CALL, item.get(key) or "").free = key == "input"
    elif item.get("type") not in ("message", "reasoning"):
        state.open(place, OTHER, f"{item.get('type')} {item.get('id')}")


def _close_item(state: StreamState, place: Any, item: Wire) -> None:
    """Close an item. If its status says that it is not finished, its call, texts or thoughts stay open."""
    kind = item.get("type", "")
    if place not in state.items:
        _open_item(state, place, item)
    state.items[place] = (item.get("id"), kind, "done")
    if item.get("status") in ("incomplete", "in_progress"):
        return
    if kind in ITEM_CALLS:
        piece = state.at(place, CALL)
        piece.set_whole(item.get(ITEM_CALLS[kind]))
        piece.closed = True
    elif kind == "message":
        _close_parts(state, place, "content_index", TEXT, item.get("content") or ())
    elif kind == "reasoning":
        _close_parts(state, place, "summary_index", THOUGHT, item.get("summary") or ())
        _close_parts(state, place, "content_index", THOUGHT, item.get("content") or ())
    else:
        state.close(place)


def _close_parts(state: StreamState, place: Any, key: str, kind: str, parts: Any) -> None:
    for index, part in enumerate(parts):
        piece = state.at((place, key, index), kind)
        piece.set_whole(part.get("text") or part.get("refusal") or "")
        piece.closed = True


def _read_output(state: StreamState, response: Wire) -> None:
    """Close the items of the last event's response, unless a frame closed them before."""
    done = {item[0] for item in state.items.values() if item[-1] == "done"}
    for place, item in enumerate(response.get("output") or ()):
        if item.get("id") not in done:
            _close_item(state, _known_place(state, place, item), item)


def _known_place(state: StreamState, place: int, item: Wire) -> Any:
    known = [at for at, (id, *_) in state.items.items() if id == item.get("id") is not None]
    return known[0] if known else place


def _read_end(state: StreamState, kind: str, response: Wire) -> None:
    reason = inner(response, "incomplete_details").get("reason") or kind
    _read_output(state, response)
    state.stopped(reason, "max_output_tokens")
    state.end()

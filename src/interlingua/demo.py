"""``python -m interlingua.demo``: one conversation in every dialect, side by side, with what each cannot say.

Needs no key, no network and nothing but the runtime dependency.
"""

from __future__ import annotations

import json
import sys
import textwrap

from interlingua import (
    DIALECTS,
    CacheMark,
    Encoded,
    Message,
    Origin,
    Request,
    Response,
    TextBlock,
    Thinking,
    ThinkingBlock,
    TokenUsage,
    ToolChoice,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    decode_stream,
    dialect,
    fold,
    translate_stream,
    unfold,
)

WIDTH = 64
HOME = "anthropic-messages"


def conversation() -> Request:
    """Two parallel calls, their results, signed reasoning, a cached system prompt: what a real agent has."""
    thought = ThinkingBlock("Both cities, at once.", signature="c2lnbmVkIGJ5IHRoZSBpc3N1ZXI=")
    calls = (
        ToolUseBlock("toolu_01", "weather", input={"city": "Oslo"}),
        ToolUseBlock("toolu_02", "weather", input={"city": "Lima", "unit": "C"}),
    )
    results = (
        ToolResultBlock("toolu_01", (TextBlock("-3 °C, snow"),)),
        ToolResultBlock("toolu_02", (TextBlock("station offline"),), is_error=True),
    )
    schema = {
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["C", "F"]}},
        "required": ["city"],
    }
    return Request(
        model="some-model",
        system=(TextBlock("You are a terse meteorologist.", cache=CacheMark()),),
        messages=(
            Message("user", "How is the weather in Oslo and Lima?"),
            Message("assistant", (thought, *calls), origin=Origin(dialect=HOME)),
            Message("tool", results),
        ),
        tools=(ToolDefinition("weather", "Current weather of a city", schema, strict=True),),
        tool_choice=ToolChoice.auto(parallel=True),
        max_output_tokens=500,
        thinking=Thinking(effort="low"),
    )


def side_by_side(left: str, right: str) -> str:
    """Two texts in columns."""
    pairs: list[str] = []
    columns = [_wrapped(left), _wrapped(right)]
    for index in range(max(map(len, columns))):
        cells = [column[index] if index < len(column) else "" for column in columns]
        pairs.append(f"{cells[0]:<{WIDTH}} │ {cells[1]}".rstrip())
    return "\n".join(pairs)


def _wrapped(text: str) -> list[str]:
    lines: list[str] = []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()) + 4)
        lines += textwrap.wrap(line, WIDTH, subsequent_indent=indent, drop_whitespace=False) or [""]
    return lines


def shown(encoded: Encoded) -> str:
    """A request as it goes over the wire, and what was lost."""
    body = json.dumps(encoded.body, indent=1, ensure_ascii=False)
    losses = [f"{loss.kind} {loss.path}: {loss.reason}" for loss in encoded.losses] or ["nothing"]
    return "\n".join([f"POST {encoded.path}", body, "", "lost:", *(f"- {line}" for line in losses)])


def show_requests(say: list[str]) -> None:
    request, names = conversation(), list(DIALECTS)
    for left, right in zip(names[::2], names[1::2], strict=False):
        say.append(f"\n{left:<{WIDTH}} │ {right}\n{'─' * WIDTH}─┼─{'─' * WIDTH}")
        say.append(side_by_side(*(shown(dialect(name).encode_request(request)) for name in (left, right))))


def show_stream(say: list[str]) -> None:
    """One answer streamed in one dialect and translated, event by event, into each other."""
    call = ToolUseBlock("call_1", "weather", input={"city": "Oslo"})
    usage = TokenUsage(input_tokens=20, cached_input_tokens=80, output_tokens=12)
    content = (TextBlock("I will look."), call)
    answer = Response(content, "tool_use", id="msg_1", model="some-model", usage=usage)
    encoder = dialect(HOME).stream_encoder()
    wire = [encoder.feed(event) for event in unfold(answer)]
    say.append(f"\nA stream of {HOME} ({sum(map(len, wire))} bytes), translated while it runs:")
    for name in DIALECTS:
        chunks = list(translate_stream(wire, source=HOME, target=name))
        back = fold(decode_stream(chunks, dialect=name))
        same = (back.text, [c.input for c in back.tool_uses]) == (answer.text, [call.input])
        total = back.usage.total_tokens if back.usage else 0
        say.append(f"- {name:<20} {sum(map(len, chunks)):>5} bytes, {total} tokens, same content: {same}")


def main() -> None:
    say = ["One conversation, written once; below, what goes over the wire in each dialect."]
    show_requests(say)
    show_stream(say)
    say.append("\nEvery loss is declared; the same dialect loses nothing. Docs: README.md, docs/fidelity.md.")
    sys.stdout.write("\n".join(say) + "\n")


if __name__ == "__main__":
    main()

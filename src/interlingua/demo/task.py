"""The task of the demo: three tools, seven turns, each with another provider, and the script of the model."""

from __future__ import annotations

from collections.abc import Callable

from ..client.embedded import Script, Step
from ..types.blocks import Block, TextBlock, ThinkingBlock, ToolResultBlock, ToolUseBlock
from ..types.messages import Message
from ..types.request import Request
from ..types.words import Role

__all__ = ["SYSTEM", "THOUGHT", "TURNS", "Desk", "script"]

SYSTEM = "You help to pack for a journey. Be terse."

# fmt: off
TURNS = (
    # provider      what the user says
    ("anthropic",   "How is the weather in Oslo and Lima?"),
    ("openai-chat", "Ask for Lima once more."),
    ("openai",      "Write a packing list for both to packing.md."),
    ("google",      "Read it back to me."),
    ("ollama",      "Add an umbrella."),
    ("bedrock",     "Sum up what we did."),
    ("anthropic",   "Thank you."),
)
# fmt: on


class Desk:
    """The tools, and the files that they write: in memory, so that the demo leaves nothing behind."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self._asked: set[str] = set()

    def weather(self, city: str, unit: str | None = None) -> str:
        """The current weather of a city.

        Args:
            city: Its name.
            unit: C or F; the local one if left out.
        """
        if city == "Lima" and city not in self._asked:
            self._asked.add(city)
            raise ConnectionError("the station is offline")
        return {"Oslo": "-3 °C, snow", "Lima": "22 °C, mist"}.get(city, "unknown")

    def write_file(self, path: str, text: str) -> str:
        """Write a file."""
        self.files[path] = text
        return f"{len(text)} characters written to {path}"

    def read_file(self, path: str) -> str:
        """Read a file."""
        return self.files[path]

    @property
    def tools(self) -> list[Callable[..., str]]:
        """All tools."""
        return [self.weather, self.write_file, self.read_file]


LIST = "coat\nboots\nlight shirt"


def _call(name: str, number: int, **arguments: str) -> ToolUseBlock:
    return ToolUseBlock(f"toolu_{number:02}", name, input=arguments)


def _text(text: str) -> tuple[Block, ...]:
    return (TextBlock(text),)


THOUGHT = ThinkingBlock("Neither city needs the other: ask for both.", signature="c2lnbmVkLWJ5LXRoZS1pc3N1ZXI=")

# The model's answer by the last text of the conversation: the user's, or the first result of the tools.
ANSWERS: dict[str, tuple[Block, ...]] = {
    TURNS[0][1]: (THOUGHT, _call("weather", 1, city="Oslo"), _call("weather", 2, city="Lima", unit="C")),
    "-3 °C, snow": _text("Oslo: -3 °C and snow. Lima did not answer."),
    TURNS[1][1]: (*_text("Once more, then."), _call("weather", 3, city="Lima")),
    "22 °C, mist": _text("Lima: 22 °C and mist."),
    TURNS[2][1]: (_call("write_file", 4, path="packing.md", text=LIST),),
    f"{len(LIST)} characters written to packing.md": _text("The list is in packing.md."),
    TURNS[3][1]: (_call("read_file", 5, path="packing.md"),),
    LIST: _text("Coat, boots, light shirt."),
    TURNS[4][1]: (_call("write_file", 6, path="packing.md", text=f"{LIST}\numbrella"),),
    f"{len(LIST) + 9} characters written to packing.md": _text("Added."),
    TURNS[5][1]: _text("Weather for two cities, a packing list of four, one umbrella."),
    TURNS[6][1]: _text("A good journey!"),
}


def script() -> Script:
    """The scripted model, which can answer only this task."""
    return Script(lambda request: Step(content=ANSWERS[_last_words(request)]))


def _last_words(request: Request) -> str:
    spoken = [message for message in request.messages if message.role is not Role.system]
    return _words(spoken[-1])


def _words(message: Message) -> str:
    first = message.content[0]
    if isinstance(first, ToolResultBlock):
        first = first.content[0]
    return first.text if isinstance(first, TextBlock) else ""

"""Typed answers of the official SDKs, although the provider's answer comes in several texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from gateway.asking import BEDROCK, GEMINI
from gateway.serving_gateway import Served, served
from interlingua import TextBlock
from interlingua.client.embedded import Script, Step

anthropic = pytest.importorskip("anthropic")
openai = pytest.importorskip("openai")
pydantic = pytest.importorskip("pydantic")

PIECES = (TextBlock('{"city": "Os'), TextBlock('lo", "degrees": '), TextBlock("7}"))
QUESTION: list[Any] = [{"role": "user", "content": "How warm is it in Oslo?"}]


class Weather(pydantic.BaseModel):
    city: str
    degrees: int


MEANT = Weather(city="Oslo", degrees=7)


@pytest.fixture(scope="module", params=[BEDROCK, GEMINI])
def running(request: pytest.FixtureRequest) -> Iterator[Served]:
    with served(Script(Step(content=PIECES), keep=1), dialect=request.param) as (found, _):
        yield found


def test_responses_are_parsed(running: Served) -> None:
    with openai.OpenAI(api_key="k", base_url=f"{running.url}/v1", max_retries=0) as client:
        asked: Any = {"model": "asked", "input": QUESTION, "text_format": Weather}
        assert client.responses.parse(**asked).output_parsed == MEANT
        with client.responses.stream(**asked) as events:
            for _ in events:
                pass
            assert events.get_final_response().output_parsed == MEANT


def test_chat_completions_are_parsed(running: Served) -> None:
    with openai.OpenAI(api_key="k", base_url=f"{running.url}/v1", max_retries=0) as client:
        asked: Any = {"model": "asked", "messages": QUESTION, "response_format": Weather}
        assert client.chat.completions.parse(**asked).choices[0].message.parsed == MEANT
        with client.chat.completions.stream(**asked) as events:
            for _ in events:
                pass
            assert events.get_final_completion().choices[0].message.parsed == MEANT


def test_messages_are_parsed(running: Served) -> None:
    with anthropic.Anthropic(api_key="k", base_url=running.url, max_retries=0) as client:
        asked: Any = {"model": "asked", "max_tokens": 99, "messages": QUESTION, "output_format": Weather}
        assert client.messages.parse(**asked).parsed_output == MEANT

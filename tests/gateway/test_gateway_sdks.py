"""Every official SDK, whole and streaming, in front of a provider of every protocol."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from gateway.asking import CALLS, TEXT
from gateway.serving_gateway import Served, served
from interlingua import DIALECTS
from interlingua.client.embedded import Script
from oracles.clients import CLIENTS


@pytest.fixture(scope="module", params=DIALECTS)
def running(request: pytest.FixtureRequest) -> Iterator[Served]:
    with served(Script(CALLS, keep=1), dialect=request.param) as (found, _):
        yield found


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
@pytest.mark.parametrize("name", DIALECTS)
def test_every_sdk_reads_text_and_calls(name: str, stream: bool, running: Served) -> None:
    client = CLIENTS[name]
    view = client.view(client.reads_stream(running.url) if stream else client.reads(running.url))
    assert view.text == TEXT
    assert [call[1:] for call in view.calls] == [("add", {"a": 1, "b": 2})]

"""Tests of an application with real answers of a provider: recorded once, then replayed without network and key.

    pytest examples/test_with_cassettes.py

The cassette beside this file was recorded from the scripted model on loopback. With a provider's key, `mode="all"`
records it anew from the provider.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interlingua import AdapterConfig, Client, Request
from interlingua.testing.cassettes import Cassette

HERE = Path(__file__).resolve().parent


def summarise(client: Client, text: str) -> str:
    """The application that is tested."""
    return client.complete(Request(f"Summarise in one line: {text}", max_output_tokens=100)).text.strip()


@pytest.fixture
def client() -> Iterator[Client]:
    with Cassette(HERE / "cassettes" / "summary.json", mode="none") as tape:
        config = AdapterConfig("no key is needed", "http://models.test")
        with Client("openai", config, model="some-model", transport=tape.transport()) as made:
            yield made


def test_a_summary_is_one_line(client: Client) -> None:
    assert summarise(client, "The ship left at nine. It was late.").count("\n") == 0

"""What type checkers infer of many requests, and of the words that configure clients and sessions.

A line with ``type: ignore`` must be an error: both checkers complain of an ignore that is not needed.
"""

# pyright: strict, reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, assert_type

from interlingua import (
    AdapterError,
    AsyncClient,
    AsyncMap,
    Client,
    Limiter,
    MapResult,
    Request,
    Session,
    SyncMap,
    SyncSession,
    connect,
    connect_sync,
    map_requests,
    map_requests_sync,
)


@dataclass
class Verdict:
    good: bool


async def maps_know_the_type_of_their_answers(client: AsyncClient) -> None:
    async for result in client.map(["a"], output=Verdict):
        assert_type(result, MapResult[Verdict])
        assert_type(result.output, Verdict)
    assert_type(await map_requests(["a"], "x", output=Verdict, rate=5), list[MapResult[Verdict]])
    assert_type(client.map(["a"]), AsyncMap[Any])


def maps_that_block(client: Client) -> None:
    for result in client.map(["a", Request()], output=Verdict, concurrency=3):
        assert_type(result.output, Verdict)
        assert_type(result.error, AdapterError | None)
        assert_type(result.text, str)
    assert_type(map_requests_sync(["a"], client, output=Verdict), SyncMap[Verdict])


def misspelt_options_are_errors(client: Client) -> None:
    client.map(["a"], conurrency=3)  # type: ignore[call-arg]
    client.map(["a"], on_error="ignore")  # type: ignore[arg-type]
    map_requests_sync(["a"], "x", api_kye="k")  # type: ignore[call-arg]
    SyncSession("x", base_ulr="http://x")  # type: ignore[call-arg]
    connect("x", unsupported="ignore")  # type: ignore[arg-type]


def the_same_words_everywhere(limiter: Limiter) -> None:
    connect(
        "x", base_url="http://x", api_key="k", config={"proxy": ""}, models="m.yaml", on_loss="raise", limiter=limiter
    )
    Session(
        "x", base_url="http://x", api_key="k", config={"proxy": ""}, models="m.yaml", on_loss="raise", limiter=limiter
    )
    assert_type(connect_sync("x", {"ca_bundle": "ca.pem"}, unsupported="describe"), Client)
    SyncSession(client=connect_sync("x"))

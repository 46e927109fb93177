"""What type checkers must infer of the public names: mypy and pyright read this file in strict mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict, assert_type

from interlingua import AsyncClient, Client, Event, Request, Response, Session, SessionEvent, SyncSession


@dataclass
class Cat:
    name: str


@dataclass
class Dog:
    name: str


class Point(TypedDict):
    x: int


async def typed_answers(client: AsyncClient, session: Session, request: Request) -> None:
    assert_type(await client.complete(request), Response[Any])
    assert_type(await client.complete(request, output=Cat), Response[Cat])
    assert_type((await client.complete(request, output=Cat, output_retries=0)).output, Cat)
    assert_type((await session.run("?", output=Point)).output, Point)
    assert_type((await session.send("two", "parts", output=list[Cat])).output, list[Cat])
    async with session.run_stream("?", output=Cat) as stream:
        async for event in stream:
            assert_type(event, SessionEvent)
        assert_type(stream.response, Response[Cat] | None)
    async with client.stream(request, output=Cat) as events:
        assert_type([events.partial_output async for _ in events], list[Any])
        assert_type(events.response, Response[Cat] | None)


def typed_answers_without_waiting(client: Client, session: SyncSession, request: Request) -> None:
    assert_type(client.complete(request), Response[Any])
    assert_type(client.complete(request, output=dict[str, int]).output, dict[str, int])
    assert_type(client.complete(request, output={"type": "object"}).output, Any)
    assert_type(session.run("?", seconds=5, output=bool).output, bool)
    with session.stream("?", output=Point) as stream:
        for event in stream:
            assert_type(event, Event)
        assert_type(stream.response, Response[Point] | None)


def unions_are_annotated(client: Client, request: Request) -> str:
    answer: Response[Cat | Dog] = client.complete(request, output=Cat | Dog)
    assert_type(answer.output, Cat | Dog)
    return answer.output.name


def any_response_is_a_response(response: Response[Cat]) -> None:
    plain: Response = response
    assert_type(plain.output, Any)
    takes_either(response)


def takes_either(response: Response[Cat | Dog]) -> None:
    assert_type(response.output, Cat | Dog)

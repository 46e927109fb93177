"""The tools of a real MCP server, written with the official package: in memory, over stdio, over HTTP."""

from __future__ import annotations

import asyncio
import builtins
import socket
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, ClientSession, MCPError, StdioServerParameters
from mcp.server import MCPServer, Server
from mcp.types import ListToolsResult, Tool

from interlingua import (
    AudioBlock,
    Base64Source,
    DocumentBlock,
    ImageBlock,
    JsonBlock,
    TextBlock,
    ToolAnnotations,
    ToolResultBlock,
    ToolUseBlock,
    strict_schema,
)
from interlingua.agent.tools import McpTools, Toolbox, tool
from tools import mcp_toy
from tools.tool_support import GIVEN_UP, refused, said

COMMAND = [sys.executable, str(Path(mcp_toy.__file__))]
PNG = ImageBlock(source=Base64Source(media_type="image/png", data=mcp_toy.DOT))


def call(name: str, id: str = "c1", **input: Any) -> ToolUseBlock:
    return ToolUseBlock(id=id, name=name, input=input)


def with_tools(work: Callable[[McpTools], Awaitable[Any]], server: Any = mcp_toy.server, **options: Any) -> Any:
    async def main() -> Any:
        async with McpTools(server, **options) as tools:
            return await work(tools)

    return asyncio.run(main())


def answer(*calls: ToolUseBlock, **options: Any) -> list[ToolResultBlock]:
    async def work(tools: McpTools) -> list[ToolResultBlock]:
        return list(await Toolbox([tools]).run(calls, approve=lambda *_: True))

    return with_tools(work, **options)


def text(said: str, **fields: Any) -> ToolResultBlock:
    return ToolResultBlock(tool_use_id="c1", content=said, **fields)


# ------------------------------------------------------------------------------------------------------ what is listed


async def listed(tools: McpTools) -> dict[str, Any]:
    return {found.name: found.definition for found in tools.tools}


def test_tools_are_listed_as_the_server_has_them():
    definitions = with_tools(listed)
    assert list(definitions)[:3] == ["add", "shout", "mirror"]
    add = definitions["add"]
    assert add.description == "Adds two numbers."
    assert add.input_schema["properties"]["b"] == {
        "default": 1,
        "description": "The other one.",
        "title": "B",
        "type": "integer",
    }
    assert add.annotations == ToolAnnotations(read_only=True, destructive=False, idempotent=True, open_world=False)


def test_where_a_server_annotates_a_tool_the_protocols_default_is_destructive():
    definitions = with_tools(listed)
    assert definitions["wipe"].annotations == ToolAnnotations(destructive=True)
    assert definitions["note"].annotations == ToolAnnotations(destructive=False)
    assert definitions["shout"].annotations is None
    cautious = with_tools(listed, cautious=True)
    assert cautious["shout"].annotations == ToolAnnotations(destructive=True)
    assert cautious["note"].annotations == ToolAnnotations(destructive=False)


def test_names_are_prefixed_and_made_to_fit():
    definitions = with_tools(listed, prefix="toy_")
    assert "toy_add" in definitions
    assert "toy_odd_name" in definitions  # the server says odd.name
    assert answer(call("toy_odd_name"), prefix="toy_") == [text("odd")]
    long = with_tools(listed, prefix="x" * 62)
    assert {len(name) for name in long} == {64}


@pytest.mark.parametrize("last", [None, "2"], ids=["to its end", "or until it goes in circles"])
def test_a_list_of_many_pages_is_read(last):
    pages = {None: ("a", "1"), "1": ("b", "2"), "2": ("c", last)}

    async def list_tools(_: Any, params: Any) -> ListToolsResult:
        name, following = pages[params.cursor if params else None]
        return ListToolsResult(tools=[Tool(name=name, input_schema={"type": "object"})], next_cursor=following)

    assert list(with_tools(listed, Server("paged", on_list_tools=list_tools))) == ["a", "b", "c"]


def test_names_that_differ_only_in_a_dot_are_numbered():
    async def list_tools(_: Any, params: Any) -> ListToolsResult:
        names = ("a.b", "a_b", "a-b", "a/b")
        return ListToolsResult(tools=[Tool(name=name, input_schema={"type": "object"}) for name in names])

    assert list(with_tools(listed, Server("dotted", on_list_tools=list_tools))) == ["a_b", "a_b_2", "a-b", "a_b_3"]


def test_a_list_without_an_end_is_given_up():
    async def list_tools(_: Any, params: Any) -> ListToolsResult:
        number = int(params.cursor or 0) if params else 0
        return ListToolsResult(tools=[], next_cursor=str(number + 1))

    with pytest.raises(RuntimeError, match="more than 1000 pages"):
        with_tools(listed, Server("endless", on_list_tools=list_tools))


def test_schemas_of_a_server_can_be_strict():
    add = with_tools(listed)["add"]
    assert strict_schema(add.input_schema, dialect="openai-responses").strict
    assert answer(call("add", a=1, b=None)) == [text("2")]  # the null that strict mode forces is the server's default


# ---------------------------------------------------------------------------------------------------- what is answered


@pytest.mark.parametrize("server", [mcp_toy.server, COMMAND], ids=["in memory", "over stdio"])
def test_calls_are_answered(server):
    assert answer(
        call("add", a=1),
        call("shout", text="hi"),
        call("mirror", point={"x": 1, "y": 2}),
        call("fails"),
        call("add", a="one"),
        call("only_structured"),
        call("both_differ"),
        call("wipe"),
        server=server,
    ) == [
        text("2"),  # {"result": 2} is there too, and says no more
        text("HI"),
        text('{\n  "x": 2,\n  "y": 1\n}'),
        text("Error executing tool fails: the toy is broken", is_error=True),
        text(
            "The arguments of `add` do not fit its schema, so it was not run:\n- `a`: expected integer, got string",
            is_error=True,
        ),
        ToolResultBlock(tool_use_id="c1", content=(JsonBlock(value={"n": None, "x": [1]}),)),
        ToolResultBlock(tool_use_id="c1", content=(TextBlock(text="in words"), JsonBlock(value={"x": 1}))),
        text("wiped"),
    ]


@pytest.mark.parametrize("server", [mcp_toy.server, COMMAND], ids=["in memory", "over stdio"])
def test_every_kind_of_content_is_a_block(server):
    (result,) = answer(call("gallery"), server=server)
    assert result.content == (
        TextBlock(text="look"),
        PNG,
        AudioBlock(source=Base64Source(media_type="audio/wav", data="UklGRg==")),
        TextBlock(text="[file:///a/notes.md]\n# Notes"),
        DocumentBlock(source=Base64Source(media_type="application/pdf", data="JVBERi0="), filename="plan.pdf"),
        PNG,
        TextBlock(text='{"name":"more","uri":"https://example.org/more","type":"resource_link"}'),
    )


def test_a_list_that_goes_as_several_texts_is_not_said_twice():
    (result,) = answer(call("several"))
    assert result.content == (TextBlock(text="a"), TextBlock(text="b"))


def test_a_destructive_tool_of_a_server_needs_approval():
    async def work(tools: McpTools) -> Any:
        return await Toolbox([tools]).run([call("wipe")])

    (result,) = with_tools(work)
    assert "nobody can approve it" in refused(result)


def test_a_call_that_takes_too_long_is_given_up_and_the_server_is_told():
    mcp_toy.stopped.clear()
    (result,) = answer(call("slow", seconds=30), timeout=0.1)
    assert result == text(GIVEN_UP.format("slow", "0.1"), is_error=True)
    assert mcp_toy.stopped == ["slow"]


def test_cancelling_the_run_cancels_the_call():
    mcp_toy.stopped.clear()

    async def work(tools: McpTools) -> None:
        task = asyncio.create_task(Toolbox([tools]).run([call("slow", seconds=30)]))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with_tools(work)
    assert mcp_toy.stopped == ["slow"]


def test_a_server_beside_functions_of_ours():
    @tool
    def ours() -> str:
        return "ours"

    async def work(tools: McpTools) -> Any:
        box = Toolbox([ours, tools])
        assert [getattr(found, "name", None) for found in box.definitions][:2] == ["ours", "add"]
        return await box.run([call("add", "1", a=1), call("ours", "2")])

    assert [said(result) for result in with_tools(work)] == ["2", "ours"]


async def test_two_servers_with_one_name_need_a_prefix():
    async with McpTools(mcp_toy.server) as one, McpTools(mcp_toy.server) as two:
        with pytest.raises(ValueError, match="two tools are named 'add'"):
            Toolbox([one, two])
    async with McpTools(mcp_toy.server) as one, McpTools(mcp_toy.server, prefix="two_") as two:
        assert len(Toolbox([one, two]).definitions) == 2 * len(one.tools)


# --------------------------------------------------------------------------------------------------- ways to a server


def test_a_command_may_be_a_string_and_has_its_environment_and_folder(tmp_path):
    said = f"{COMMAND[0]} '{COMMAND[1]}'"
    options = {"server": said, "env": {"TOY_SECRET": "s3"}, "cwd": tmp_path}
    assert answer(call("secret"), call("folder"), **options) == [text("s3"), text(str(tmp_path))]
    assert answer(call("secret"), server=COMMAND) == [text("none")]


def test_what_the_package_itself_has_is_taken():
    parameters = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:])
    assert answer(call("add", a=2), server=parameters) == [text("3")]


async def test_an_open_session_is_used_and_left_open():
    async with Client(mcp_toy.server) as client:
        for server in (client, client.session):
            assert isinstance(server, Client | ClientSession)
            async with McpTools(server) as tools:
                assert await Toolbox([tools]).run([call("add", a=2)]) == (text("3"),)
        assert (await client.call_tool("add", {"a": 1})).content[0].text == "2"  # type: ignore[union-attr]


@contextmanager
def serving(server: MCPServer) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """The server's URL on loopback, and the headers of each request that it gets."""
    import uvicorn

    app = server.streamable_http_app()
    seen: list[dict[str, str]] = []

    async def watched(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            seen.append({key.decode(): value.decode() for key, value in scope["headers"]})
        await app(scope, receive, send)

    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        door.listen()  # who calls before the server is up waits at the door
        config = uvicorn.Config(watched, log_config=None, ws="none", timeout_graceful_shutdown=1)
        running = uvicorn.Server(config)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [door]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{door.getsockname()[1]}/mcp", seen
        finally:
            running.should_exit = True
            thread.join()


def new_server() -> MCPServer:
    server = MCPServer("fresh")
    server.add_tool(mcp_toy.add)
    server.add_tool(mcp_toy.slow)
    return server


def test_over_http():
    with serving(new_server()) as (url, _):
        assert answer(call("add", a=2), server=url) == [text("3")]


def test_over_http_with_headers():
    with serving(new_server()) as (url, seen):
        assert answer(call("add", a=2), server=url, headers={"X-Key": "k"}) == [text("3")]
        assert {request.get("x-key") for request in seen} == {"k"}


# -------------------------------------------------------------------------------------------------- loops and threads


@pytest.mark.parametrize("server", [mcp_toy.server, COMMAND], ids=["in memory", "over stdio"])
def test_without_a_loop(server):
    with McpTools(server) as tools:
        box = Toolbox([tools])
        for _ in range(2):  # each run has a loop of its own, the connection stays
            assert box.run_sync([call("add", a=1), call("shout", text="a")]) == (text("2"), text("A"))
        assert asyncio.run(box.run([call("add", a=5)])) == (text("6"),)
    assert "mcp" not in {thread.name for thread in threading.enumerate()}


def test_a_loop_that_waits_for_its_own_answer_is_told_and_does_not_hang():
    async def work(tools: McpTools) -> Any:
        return Toolbox([tools]).run_sync([call("add", a=1)])

    (result,) = with_tools(work)
    assert "the loop that holds this MCP server cannot answer" in refused(result)


def test_another_thread_may_call_while_the_loop_is_free():
    async def work(tools: McpTools) -> Any:
        return await asyncio.to_thread(Toolbox([tools]).run_sync, [call("add", a=1)])

    assert with_tools(work) == (text("2"),)


async def test_any_task_may_close():
    tools = McpTools(mcp_toy.server)
    await asyncio.create_task(tools.open())
    assert await asyncio.create_task(Toolbox([tools]).run([call("add", a=1)])) == (text("2"),)
    await asyncio.create_task(tools.close())
    await tools.close()  # once more does no harm
    await tools.open()
    assert tools.tools
    await tools.close()
    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_refreshing_lists_anew():
    server = new_server()

    async def work(tools: McpTools) -> None:
        assert [found.name for found in tools.tools] == ["add", "slow"]
        server.add_tool(mcp_toy.shout)
        await tools.refresh()
        assert [found.name for found in tools.tools] == ["add", "slow", "shout"]

    with_tools(work, server)


# ------------------------------------------------------------------------------------------------------------ failures


def test_tools_of_a_closed_server_say_so():
    tools = McpTools(mcp_toy.server)
    with pytest.raises(RuntimeError, match="not connected: open it by"):
        Toolbox([tools])

    async def main() -> Toolbox:
        async with tools:
            with pytest.raises(RuntimeError, match="open already"):
                await tools.open()
            return Toolbox([tools])

    box = asyncio.run(main())
    (result,) = box.run_sync([call("add", a=1)])
    assert "not connected" in refused(result)


def test_a_command_that_is_not_there_is_told_when_opened():
    with pytest.raises(FileNotFoundError, match="no-such-command"):
        with_tools(listed, ["/no-such-command"])
    with pytest.raises(FileNotFoundError, match="no-such-command"), McpTools(["/no-such-command"]):
        pass


def test_a_command_that_is_no_server_is_told_when_opened():
    with pytest.raises(MCPError, match="Connection closed"):
        with_tools(listed, [sys.executable, "-c", "pass"])


def test_a_url_where_nobody_answers_is_told_when_opened():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{door.getsockname()[1]}/mcp"
    with pytest.raises(httpx2.ConnectError):  # and not a group around it
        with_tools(listed, url)


def test_a_server_that_dies_is_an_error_result():
    (result,) = answer(call("die"), server=COMMAND)
    assert "Connection closed" in refused(result)


async def test_opening_can_be_cancelled():
    tools = McpTools([sys.executable, "-c", "import time; time.sleep(60)"])
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await tools.open()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    with pytest.raises(RuntimeError, match="not connected"):
        _ = tools.tools


def test_without_the_package_the_extra_is_named(monkeypatch):
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "mcp":
            raise ImportError("No module named 'mcp'")
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'interlingua\[mcp\]'"):
        with_tools(listed)

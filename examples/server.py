"""A web endpoint that streams: POST a question, get the text of the answer as server-sent events.

    MODEL=anthropic:sonnet uvicorn examples.server:app
    curl -N -d '{"question": "Hello?"}' http://127.0.0.1:8000/ask

If a visitor disconnects, the call to the provider ends too. For an endpoint that speaks a vendor's own protocol,
see `relay_stream`; for a server of that kind, `interlingua serve`.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.requests import Request as WebRequest
from starlette.responses import StreamingResponse
from starlette.routing import Route

from interlingua import AdapterError, AsyncClient, Request, connect


@asynccontextmanager
async def one_client(app: Starlette) -> AsyncIterator[dict[str, AsyncClient]]:
    """One client for all requests: it keeps connections open."""
    async with connect(os.environ.get("MODEL", "embedded:")) as client:
        yield {"client": client}


async def ask(web: WebRequest) -> StreamingResponse:
    body = await web.json()
    return StreamingResponse(words(web.state.client, Request(body["question"])), media_type="text/event-stream")


async def words(client: AsyncClient, request: Request) -> AsyncIterator[str]:
    try:
        async for event in client.stream(request):
            if event.type == "text.delta":
                yield f"data: {json.dumps({'text': event.text})}\n\n"
            elif event.type == "message.complete":
                yield f"event: done\ndata: {json.dumps({'tokens': event.response.usage.total_tokens})}\n\n"
    except AdapterError as error:
        yield f"event: error\ndata: {json.dumps({'class': error.error_class, 'retryable': error.retryable})}\n\n"


app = Starlette(routes=[Route("/ask", ask, methods=["POST"])], lifespan=one_client)

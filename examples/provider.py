"""A provider of your own needs one row of data; then its models are called like all others.

    python examples/provider.py

Here a scripted model on loopback plays the server: a company's gateway that speaks OpenAI's protocol.
"""

from __future__ import annotations

import os

from interlingua import PROVIDERS, Request, connect_sync
from interlingua.embedded import LoopbackServer
from interlingua.providers import Auth, Provider

ACME = Provider(
    name="acme",
    dialect="openai-chat",
    base_url="https://llm.acme.example/v1",
    auth=Auth(kind="bearer", keys=("ACME_API_KEY",)),
)


def main() -> None:
    PROVIDERS["acme"] = ACME
    os.environ["ACME_API_KEY"] = "sk-acme"
    with (
        LoopbackServer.in_thread(["Hello from Acme."]) as server,
        connect_sync("acme:big", base_url=server.url) as client,  # without base_url: the row's own
    ):
        answer = client.complete(Request("Who are you?"))
        print(answer.text, "·", answer.origin.provider if answer.origin else "nobody")


if __name__ == "__main__":
    main()

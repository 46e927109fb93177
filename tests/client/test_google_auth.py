"""Vertex: access tokens that google-auth finds and renews, plain tokens, and the error when there are none."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from threading import Thread, current_thread, main_thread
from typing import Any

import pytest

from client.support import CANARY, ask, run
from interlingua import AdapterConfig, NetworkError, NotConfigured
from interlingua.client.connect import connect, connect_sync
from interlingua.client.embedded import Script, Step, handler
from interlingua.client.http import HttpRequest
from interlingua.client.signing import GOOGLE_SCOPE, signer_for
from interlingua.client.transport.memory import AsyncMemoryTransport, MemoryTransport
from interlingua.models.providers import PROVIDERS

google_auth = pytest.importorskip("google.auth")
credentials = pytest.importorskip("google.auth.credentials")
exceptions = pytest.importorskip("google.auth.exceptions")

VERTEX = {"GOOGLE_CLOUD_PROJECT": "p1", "GOOGLE_CLOUD_LOCATION": "europe-west4"}
DOORS = ("vertex:gemini-3.8-flash", "vertex-anthropic:claude-opus-5-5")


class Fake(credentials.Credentials):  # type: ignore[misc]
    """Credentials of google-auth whose tokens come from a counter instead of a server."""

    token: str | None

    def __init__(self, failure: Exception | None = None, quota: str | None = None) -> None:
        super().__init__()
        self.refreshed = 0
        self.threads: list[Thread] = []
        self.failure = failure
        self._quota_project_id = quota

    def refresh(self, request: Any) -> None:
        if self.failure is not None:
            raise self.failure
        self.refreshed += 1
        self.threads.append(current_thread())
        self.token = f"ya29.{CANARY}-{self.refreshed}"


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Fake:
    """What google-auth finds on this machine."""
    fake, asked = Fake(), list[Any]()

    def default(scopes: Any = None, **_: Any) -> tuple[Fake, str]:
        asked.append(scopes)
        assert scopes == [GOOGLE_SCOPE]
        assert len(asked) == 1  # looked for once, and not for each call
        return fake, "p1"

    monkeypatch.setattr(google_auth, "default", default)
    return fake


@pytest.mark.parametrize("name", DOORS)
def test_the_token_that_google_auth_finds(name: str, found: Fake) -> None:
    transport = MemoryTransport(handler(Script(Step(act="echo"))))
    with connect_sync(name, environment=VERTEX, transport=transport) as client:
        for _ in range(3):
            assert client.complete(ask(model=None)).text
        list(client.stream(ask(model=None)))
    sent = [request.headers["authorization"] for request in transport.requests]
    assert sent == [f"Bearer ya29.{CANARY}-1"] * 4
    assert found.refreshed == 1
    assert transport.requests[0].url.startswith(
        "https://europe-west4-aiplatform.googleapis.com/v1/projects/p1/locations/europe-west4/publishers/"
    )


def test_an_expired_token_is_renewed(found: Fake) -> None:
    transport = MemoryTransport(handler(Script(Step(act="echo"))))
    with connect_sync(DOORS[0], environment=VERTEX, transport=transport) as client:
        client.complete(ask(model=None))
        found.token = None
        client.complete(ask(model=None))
    assert [request.headers["authorization"][-2:] for request in transport.requests] == ["-1", "-2"]


def test_a_token_is_renewed_for_an_attempt_if_need_be(found: Fake) -> None:
    def failing(request: Any) -> Step:
        found.token = None  # it expires meanwhile
        return Step(act="fail", status=503, retry_after=0.0)

    transport = MemoryTransport(handler(Script(failing, Step(act="echo"))))
    with connect_sync(DOORS[0], environment=VERTEX, transport=transport) as client:
        assert client.complete(ask(model=None)).attempts == 2
    assert [request.headers["authorization"][-2:] for request in transport.requests] == ["-1", "-2"]


def test_the_loop_does_not_wait_for_a_token(found: Fake) -> None:
    """Renewing blocks, so it happens in a thread; and many calls renew it once."""

    async def scene() -> None:
        transport = AsyncMemoryTransport(handler(Script(Step(act="echo"))))
        async with connect(DOORS[0], environment=VERTEX, transport=transport) as client:
            await asyncio.gather(*(client.complete(ask(model=None)) for _ in range(20)))
        assert {request.headers["authorization"] for request in transport.requests} == {f"Bearer ya29.{CANARY}-1"}

    run(scene())
    assert found.refreshed == 1
    assert found.threads[0] is not main_thread()


def test_the_quota_project_is_sent(found: Fake) -> None:
    found._quota_project_id = "payer"
    transport = MemoryTransport(handler(Script(Step(act="echo"))))
    with connect_sync(DOORS[0], environment=VERTEX, transport=transport) as client:
        client.complete(ask(model=None))
    assert transport.requests[0].headers["x-goog-user-project"] == "payer"


@pytest.mark.parametrize(
    ("environment", "settings"),
    [
        ({"GOOGLE_OAUTH_ACCESS_TOKEN": "token"}, None),
        ({}, AdapterConfig("token")),
        ({}, {"extra_headers": {"Authorization": "Bearer token"}}),
    ],
)
def test_a_token_that_was_given_is_used_as_it_is(environment: dict[str, str], settings: Any, found: Fake) -> None:
    transport = MemoryTransport(handler(Script(Step(act="echo"))))
    with connect_sync(DOORS[0], settings, environment={**VERTEX, **environment}, transport=transport) as client:
        client.complete(ask(model=None))
    assert transport.requests[0].headers["authorization"] == "Bearer token"
    assert found.refreshed == 0


def sign() -> HttpRequest:
    signer = signer_for(PROVIDERS["vertex"], AdapterConfig())
    assert signer is not None
    return signer(HttpRequest("POST", "https://x.y/z"))


def test_without_credentials_the_remedies_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def default(**_: Any) -> Any:
        raise exceptions.DefaultCredentialsError(f"could not be found near {CANARY}")

    monkeypatch.setattr(google_auth, "default", default)
    with pytest.raises(
        NotConfigured, match=r"GOOGLE_APPLICATION_CREDENTIALS.*gcloud auth.*GOOGLE_OAUTH_ACCESS_TOKEN"
    ) as e:
        sign()
    assert CANARY not in repr(e.value)
    assert not e.value.retryable


# fmt: off
FAILURES = (
    # google-auth's own                                                    ours
    (exceptions.RefreshError(f"invalid_grant {CANARY}"),                   NotConfigured),
    (exceptions.RefreshError(f"503 {CANARY}", retryable=True),             NetworkError),
    (exceptions.TransportError(f"no route {CANARY}"),                      NetworkError),
)
# fmt: on


@pytest.mark.parametrize(("theirs", "ours"), FAILURES)
def test_a_token_that_cannot_be_renewed(
    theirs: Exception, ours: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(google_auth, "default", lambda **_: (Fake(theirs), "p1"))
    with pytest.raises(ours) as caught:
        sign()
    assert type(caught.value) is ours
    assert CANARY not in repr(caught.value)
    assert caught.value.__cause__ is None


def test_a_network_failure_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = Fake(exceptions.TransportError("no route"))
    monkeypatch.setattr(google_auth, "default", lambda **_: (fake, "p1"))
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        fake.failure = None

    from interlingua import Client

    settings = AdapterConfig(options={"project": "p", "region": "r"})
    transport = MemoryTransport(handler(Script(Step(act="echo"))))
    with Client("vertex", settings, model="gemini-3.8-flash", transport=transport, sleep=sleep) as client:
        assert client.complete(ask(model=None)).attempts == 2
    assert len(slept) == 1


@pytest.mark.parametrize("missing", ["google.auth", "google.auth.transport.requests"])
def test_without_the_library_the_extra_is_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(NotConfigured, match=r"pip install 'interlingua\[vertex\]'.*GOOGLE_OAUTH_ACCESS_TOKEN"):
        sign()


def test_a_service_accounts_file_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """google-auth itself searches and signs; only the server of the token is a fake."""
    rsa = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.rsa")
    from cryptography.hazmat.primitives import serialization
    from google.auth.transport import requests as transport_module

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    account = {
        "type": "service_account",
        "project_id": "p1",
        "private_key_id": "k1",
        "private_key": key.decode(),
        "client_email": "me@p1.iam.gserviceaccount.com",
        "client_id": "1",
        "token_uri": "https://oauth2.googleapis.com/token",
    }
    (tmp_path / "account.json").write_text(json.dumps(account))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "account.json"))
    asked: list[str] = []

    class Answer:
        status, headers = 200, {"content-type": "application/json"}
        data = json.dumps({"access_token": "ya29.real", "expires_in": 3600, "token_type": "Bearer"}).encode()

    def post(self: Any, url: str, method: str = "GET", **_: Any) -> Answer:
        asked.append(url)
        return Answer()

    monkeypatch.setattr(transport_module.Request, "__call__", post)
    assert sign().headers["authorization"] == "Bearer ya29.real"
    token, *later = asked
    assert token == "https://oauth2.googleapis.com/token"
    assert all("/allowedLocations" in url for url in later)  # google-auth asks for these in a thread of its own

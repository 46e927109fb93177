"""Proxies, certificates to trust and certificates to show: by the environment and by settings, in both clients."""

from __future__ import annotations

import asyncio
import json
import pickle
import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientOSError

from client.loopback import Loopback, answer, hear, make_certificate
from client.support import CANARY, ask
from interlingua import (
    AdapterConfig,
    NetworkError,
    NotConfigured,
    ProviderManager,
    connect,
    connect_sync,
)
from interlingua.client.transport import blocking, replies
from interlingua.client.transport.failures import Failures
from interlingua.client.transport.network import network_settings
from interlingua.client.transport.proxies import Proxies

KINDS = ("async", "blocking")
ANSWER = {
    "id": "1",
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUEST_METHOD")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def call(kind: str, base_url: str, **settings: Any) -> str:
    """One call, in either client."""
    words: Any = {"base_url": base_url, "api_key": CANARY, "config": {"max_retries": 0, **settings}}
    if kind == "blocking":
        with connect_sync("openai-chat:m", **words) as client:
            return client.complete(ask(model=None)).text

    async def scene() -> str:
        async with connect("openai-chat:m", **words) as client:
            return (await client.complete(ask(model=None))).text

    return asyncio.run(scene())


def model(connection: socket.socket) -> None:
    """A server that answers every request."""
    while True:
        hear(connection)
        connection.sendall(answer(json.dumps(ANSWER).encode()))


class Proxy:
    """A proxy for every host name: it answers plain requests itself, and all its tunnels lead to ``port``.

    ``asked`` are the first lines of its requests.
    """

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self.asked: list[str] = []
        self.keys: list[str] = []

    def __call__(self, connection: socket.socket) -> None:
        while True:
            lines = hear(connection).decode("latin-1").splitlines()
            self.asked.append(lines[0])
            self.keys += [line.partition(": ")[2] for line in lines if line.lower().startswith("proxy-authorization")]
            if not lines[0].startswith("CONNECT "):
                connection.sendall(answer(json.dumps(ANSWER).encode()))
                continue
            with socket.create_connection(("127.0.0.1", self.port)) as onward:
                connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=copy, args=(onward, connection))
                back.start()
                copy(connection, onward)
                onward.shutdown(socket.SHUT_RDWR)
                back.join()
            return


def copy(source: socket.socket, sink: socket.socket) -> None:
    try:
        while chunk := source.recv(2**16):
            sink.sendall(chunk)
    except OSError:
        pass


class Certificates:
    """Of a server called models.example and 127.0.0.1, and of a client."""

    def __init__(self, place: Path) -> None:
        self.places: dict[str, Path] = {}
        for name, said in (("server", "DNS:models.example,IP:127.0.0.1"), ("client", "DNS:me")):
            folder = place / name
            folder.mkdir()
            self.places[f"{name}_key"], self.places[name] = make_certificate(folder, said)

    def __getattr__(self, name: str) -> str:
        return str(self.places[name])

    def context(self, *, asks: bool = False) -> ssl.SSLContext:
        """Of the server; ``asks``: for the client's certificate."""
        found = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        found.load_cert_chain(self.server, self.server_key)
        if asks:
            found.verify_mode = ssl.CERT_REQUIRED
            found.load_verify_locations(self.client)
        return found


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("certificates"))


# ----------------------------------------------------------------------------------------------------------- proxies

PLAIN, SAFE = "http://models.example/v1", "https://models.example/v1"
# fmt: off
WHICH: tuple[tuple[str, dict[str, str], bool], ...] = (
    # base URL       environment                                                whether the proxy is asked
    (PLAIN,          {"HTTP_PROXY": "{proxy}"},                                 True),
    (PLAIN,          {"http_proxy": "{proxy}"},                                 True),
    (PLAIN,          {"ALL_PROXY": "{proxy}"},                                  True),
    (PLAIN,          {"HTTP_PROXY": "{host}"},                                  True),  # without a scheme
    (PLAIN,          {"ALL_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "{proxy}"}, True),
    (PLAIN,          {"HTTP_PROXY": "{proxy}", "NO_PROXY": "other.example"},    True),
    (PLAIN,          {"HTTPS_PROXY": "{proxy}"},                                False),
    (PLAIN,          {"HTTP_PROXY": "{proxy}", "NO_PROXY": "models.example"},   False),
    (PLAIN,          {"HTTP_PROXY": "{proxy}", "NO_PROXY": ".example"},         False),
    (PLAIN,          {"HTTP_PROXY": "{proxy}", "no_proxy": "*"},                False),
    ("http://10.1.2.3/v1", {"HTTP_PROXY": "{proxy}"},                           True),
    ("http://10.1.2.3/v1", {"HTTP_PROXY": "{proxy}", "NO_PROXY": "192.168.0.0/16, 10.1.0.0/16"}, False),
    ("http://10.1.2.3:81/v1", {"ALL_PROXY": "{proxy}", "NO_PROXY": "10.1.2.3:81"}, False),
)
# fmt: on


@pytest.mark.parametrize(("base_url", "environment", "asked"), WHICH)
def test_the_environment_names_a_proxy(
    base_url: str, environment: dict[str, str], asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A used proxy is tested in both clients, an unused one only by the rule, since nothing may leave this machine."""
    proxy = Proxy()
    with Loopback(proxy) as door:
        for name, value in environment.items():
            monkeypatch.setenv(name, value.format(proxy=door.url, host=f"127.0.0.1:{door.port}"))
        found = Proxies(None, trust_env=True).find(f"{base_url}/chat/completions")
        assert (found is not None and found.reveal()) == (asked and door.url)
        assert Proxies(None, trust_env=False).find(base_url) is None
        assert Proxies("", trust_env=True).find(base_url) is None
        for kind in KINDS if asked else ():
            assert call(kind, base_url) == "hello"
    assert proxy.asked == [f"POST {base_url}/chat/completions HTTP/1.1"] * (2 * asked)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_this_machine_is_called_directly(host: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a proxy is given."""
    proxy = Proxy()
    with Loopback(proxy) as door, Loopback(model) as server:
        for name in ("HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, door.url)
        assert call(kind, f"http://{host}:{server.port}/v1") == "hello"
        assert proxy.asked == []
        assert call(kind, f"http://{host}:{server.port}/v1", proxy=door.url) == "hello"
        assert proxy.asked == [f"POST http://{host}:{server.port}/v1/chat/completions HTTP/1.1"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by", ["environment", "setting"])
def test_a_tunnel(by: str, kind: str, certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    """TLS goes through the proxy unread, and the proxy gets the password that it requires."""
    with Loopback(model, certificates.context()) as server:
        proxy = Proxy(server.port)
        with Loopback(proxy) as door:
            named = f"http://me:s%40cret@127.0.0.1:{door.port}"
            settings = {"ca_bundle": certificates.server}
            if by == "setting":
                settings["proxy"] = named
            else:
                monkeypatch.setenv("HTTPS_PROXY", named)
            assert call(kind, SAFE, **settings) == "hello"
    assert proxy.asked == ["CONNECT models.example:443 HTTP/1.1"]
    assert proxy.keys == ["Basic bWU6c0BjcmV0"]  # me:s@cret


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by", ["environment", "setting"])
def test_a_proxy_of_another_kind_is_refused(by: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not ignored: a user who sets a proxy does not want direct calls."""
    named = f"socks5://me:{CANARY}@127.0.0.1:9"
    if by == "environment":
        monkeypatch.setenv("ALL_PROXY", named)
    with pytest.raises(NetworkError, match="a proxy must be an http or https URL, not socks5://") as caught:
        call(kind, PLAIN, **({"proxy": named} if by == "setting" else {}))
    assert not caught.value.retryable
    assert CANARY not in str(caught.value)


def test_a_netrc_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A proxy of the environment does not mean that keys are taken from a file."""
    (tmp_path / ".netrc").write_text("machine models.example login me password wrong\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    seen: list[bytes] = []

    def listen(connection: socket.socket) -> None:
        seen.append(hear(connection))
        connection.sendall(answer(json.dumps(ANSWER).encode()))

    with Loopback(listen) as door:
        monkeypatch.setenv("HTTP_PROXY", door.url)
        assert call("async", PLAIN) == "hello"
    assert b"authorization: bearer " + CANARY.encode() in seen[0].lower()
    assert b"basic" not in seen[0].lower()


def test_the_password_of_a_proxy_is_shown_nowhere() -> None:
    config = AdapterConfig(proxy=f"http://me:{CANARY}@proxy.example:3128")
    for shown in (repr(config), str(config.proxy), pickle.dumps(config).decode("latin-1")):
        assert CANARY not in shown
    assert network_settings(config)["proxy"] == f"http://me:{CANARY}@proxy.example:3128"


# ------------------------------------------------------------------------------------------------------ certificates


@pytest.mark.parametrize("kind", KINDS)
def test_certificates_to_trust(kind: str, certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    with Loopback(model, certificates.context()) as server:
        with pytest.raises(NetworkError, match=r"AdapterConfig\(ca_bundle=...\), or set SSL_CERT_FILE") as caught:
            call(kind, f"{server.url}/v1")
        assert not caught.value.retryable
        assert call(kind, f"{server.url}/v1", ca_bundle=certificates.server) == "hello"
        monkeypatch.setenv("SSL_CERT_FILE", certificates.server)
        assert call(kind, f"{server.url}/v1") == "hello"


@pytest.mark.parametrize("kind", KINDS)
def test_a_certificate_to_show(kind: str, certificates: Certificates, tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_text(Path(certificates.client).read_text() + Path(certificates.client_key).read_text())
    trusted = {"ca_bundle": certificates.server}
    with Loopback(model, certificates.context(asks=True)) as server:
        with pytest.raises(NetworkError):
            call(kind, f"{server.url}/v1", **trusted)
        shown = {"client_cert": certificates.client, "client_key": certificates.client_key}
        assert call(kind, f"{server.url}/v1", **trusted, **shown) == "hello"
        assert call(kind, f"{server.url}/v1", **trusted, client_cert=str(both)) == "hello"


@pytest.mark.parametrize("failures", [replies.FAILURES, blocking.FAILURES])
def test_a_server_that_asks_for_a_certificate_says_so(failures: Failures) -> None:
    """If its alert is read, which a reset of the connection may prevent."""
    alert = "[SSL: TLSV13_ALERT_CERTIFICATE_REQUIRED] tlsv13 alert certificate required (_ssl.c:2559)"
    for kind in (ssl.SSLError, ClientOSError):
        told = failures.as_error(kind(1, alert), "a.test")
        assert str(told) == "a.test: the server asks for a certificate; give AdapterConfig(client_cert=...)"
        assert not told.retryable


# fmt: off
UNUSABLE: tuple[tuple[dict[str, Any], str], ...] = (
    ({"ca_bundle": "/no/such.pem"},                    "ca_bundle '/no/such.pem' cannot be used: No such file"),
    ({"client_cert": "/no/such.pem"},                  "client_cert '/no/such.pem' cannot be used: No such file"),
    ({"client_key": "/no/such.pem"},                   "client_key is the key of a certificate: give client_cert too"),
    ({"ca_bundle": __file__},                          "ca_bundle '.*test_network.py' cannot be used: "),
)
# fmt: on


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("settings", "said"), UNUSABLE)
def test_a_file_that_cannot_be_used(settings: dict[str, Any], said: str, kind: str) -> None:
    with pytest.raises(NotConfigured, match=said):
        call(kind, "https://127.0.0.1:9/v1", **settings)


def test_network_settings_of_models_yaml(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(
        "adapters:\n  openai: {proxy: '', ca_bundle: /ca.pem, client_cert: /me.pem, client_key: /me.key}\n"
        "  google: {proxy: 'http://proxy.example:3128'}\n"
    )
    manager = ProviderManager(path, environment={})
    found = manager.get_config("openai")
    assert (found.proxy, found.ca_bundle, found.client_cert, found.client_key) == ("", "/ca.pem", "/me.pem", "/me.key")
    assert manager.get_config("google").proxy == "http://proxy.example:3128"
    assert manager.get_config("mistral").proxy is None

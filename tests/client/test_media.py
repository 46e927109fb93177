"""Media by URL: fetched only if asked, from public addresses only, within limits; whatever goes wrong is a Loss."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import subprocess
import threading
import time
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from interlingua import (
    AdapterCapabilities,
    AudioBlock,
    Base64Source,
    DocumentBlock,
    ImageBlock,
    Loss,
    Message,
    Request,
    Target,
    TextBlock,
    ToolDefinition,
    ToolResultBlock,
    ToolUseBlock,
    UrlSource,
    VideoBlock,
    dialect,
)
from interlingua.client.config import AdapterConfig
from interlingua.client.connect import Client
from interlingua.client.embedded import Script, Step, handler
from interlingua.client.media import FetchLimits, fetch_media, fetch_media_sync, media_type_of
from interlingua.client.transport.fetching import Fetched, Network, fetch, fetch_blocking
from interlingua.client.transport.guard import Address, Allowance, Hop, Refusal, is_public
from interlingua.client.transport.memory import MemoryTransport

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
PDF = b"%PDF-1.7 and so on"

# ------------------------------------------------------------------------------------------------------ the server


class Site:
    """A web server on loopback. ``pages`` say what is at a path: (status, headers, body) or a function that writes."""

    def __init__(self, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> None:
        site, self.pages, self.seen = self, dict[str, Any](), list[tuple[str, dict[str, str]]]()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                site.seen.append((self.path, {name.lower(): value for name, value in self.headers.items()}))
                page = site.pages.get(self.path.partition("?")[0], (404, {}, b"nothing"))
                if callable(page):
                    page(self)
                    return
                status, headers, body = page
                self.send_response(status)
                for name, value in {"content-length": str(len(body)), **headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: object) -> None: ...

        self.server = Server((host, 0), Handler)
        if tls is not None:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_address[1]
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self) -> Site:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self._thread.join()
        self.server.server_close()


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as made:
        made.pages["/a.png"] = (200, {"content-type": "image/png"}, PNG)
        yield made


def only(*addresses: str) -> Callable[[Address], bool]:
    known = {ip_address(text) for text in addresses}
    return lambda address: address in known


LOCAL = only("127.0.0.1")


def named(name: str, *addresses: str) -> Callable[[str, int], Sequence[str]]:
    """A lookup that knows one name."""

    def look_up(host: str, port: int) -> Sequence[str]:
        assert host == name
        return addresses

    return look_up


WAYS = ("async", "sync")
both_ways = pytest.mark.parametrize("way", WAYS)


def get(way: str, url: str, network: Network | None = None, **limits: Any) -> Fetched:
    allowance = Allowance(FetchLimits(**limits))
    settings = {} if network is None else {"network": network}
    if way == "async":
        return asyncio.run(fetch(url, allowance, **settings))
    return fetch_blocking(url, allowance, **settings)


def fetch_for(
    way: str, request: Request, name: str, network: Network | None = None, target: Target | None = None, **limits: Any
) -> tuple[Request, tuple[Loss, ...]]:
    more: dict[str, Any] = {"target": target, "limits": FetchLimits(**limits)}
    if network is not None:
        more["fetch"] = partial(fetch if way == "async" else fetch_blocking, network=network)
    if way == "async":
        return asyncio.run(fetch_media(request, dialect(name), **more))
    return fetch_media_sync(request, dialect(name), **more)


def picture(url: str, **fields: Any) -> Request:
    return Request([Message("user", [TextBlock("Look:"), ImageBlock(UrlSource(url))])], model="m", **fields)


# ------------------------------------------------------------------------------------------------- where not to go

PRIVATE = """
    127.0.0.1 127.8.8.8 127.1 0x7f.1 0177.0.0.1 2130706433 localhost [::1] 0.0.0.0 0 [::]
    10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 100.100.100.200 [fc00::1] [fd00:ec2::254]
    169.254.169.254 0xA9FEA9FE 169.254.1.1 [fe80::1] 168.63.129.16 192.0.0.192 [fec0::1]
    224.0.0.1 239.255.255.250 [ff02::1] 240.0.0.1 255.255.255.255 192.0.2.1 198.18.0.1 203.0.113.9 [2001:db8::1]
    [::ffff:127.0.0.1] [::ffff:169.254.169.254] [::ffff:a00:1] [::127.0.0.1] [64:ff9b::7f00:1] [64:ff9b::a9fe:a9fe]
    [64:ff9b:1::1] [2002:7f00:1::] [2002:a9fe:a9fe::1] [2001:0:4136:e378:8000:63bf:3fff:fdd2] [4000::1]
    [3fff::1] [2001:20::1] 192.88.99.1
""".split()
PUBLIC = """
    8.8.8.8 1.1.1.1 93.184.216.34 2606:4700:4700::1111 2001:4860:4860::8888
    ::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::1
""".split()


@both_ways
@pytest.mark.parametrize("host", PRIVATE)
def test_an_address_that_is_not_public_is_never_fetched(host: str, way: str, site: Site) -> None:
    """By the default policy. A server might listen on every one of these addresses."""
    with pytest.raises(Refusal, match=r"not public|not known"):
        get(way, f"http://{host}:{site.port}/a.png")
    request, losses = fetch_for(way, picture(f"http://{host}:{site.port}/a.png"), "ollama")
    assert request == picture(f"http://{host}:{site.port}/a.png")
    assert [(loss.path, loss.kind) for loss in losses] == [("messages/0/content/1", "dropped")]
    assert site.seen == []


@pytest.mark.parametrize("text", PUBLIC)
def test_public_addresses(text: str) -> None:
    assert is_public(ip_address(text))


@both_ways
def test_the_guard_is_the_reason_for_the_refusal(way: str, site: Site) -> None:
    """The proof that the test above can fail: with loopback allowed, the same URL is fetched."""
    assert get(way, f"http://127.0.0.1:{site.port}/a.png", Network(LOCAL)) == Fetched(PNG, "image/png")
    assert get(way, f"http://2130706433:{site.port}/a.png", Network(LOCAL)).data == PNG
    assert len(site.seen) == 2


ODD = (
    "file:///etc/passwd", "ftp://a.test/x", "gopher://a.test/", "data:image/png;base64,AAAA", "s3://bucket/key",
    "javascript:alert(1)", "//a.test/x", "/etc/passwd", "", "http://", "http:///x", "http://a.test:99999/",
    "http://me:pw@a.test/x", "http://me@a.test/", "http://[::1", "http://a b/", "http://a.test\\@127.0.0.1/",
    "http://a.test\r\nHost: b/", f"http://{'a' * 70}.test/", f"http://{'é' * 70}.test/", "http://%31%32%37.0.0.1/",
)  # fmt: skip


@both_ways
@pytest.mark.parametrize("url", ODD)
def test_urls_that_are_refused(url: str, way: str) -> None:
    with pytest.raises(Refusal):
        get(way, url, Network(lambda _: True))


@both_ways
def test_one_private_address_refuses_the_whole_host(way: str, site: Site) -> None:
    network = Network(LOCAL, named("media.test", "127.0.0.1", "10.0.0.1"))
    with pytest.raises(Refusal, match="not public"):
        get(way, f"http://media.test:{site.port}/a.png", network)
    with pytest.raises(Refusal, match="no address"):
        get(way, f"http://media.test:{site.port}/a.png", Network(LOCAL, named("media.test")))
    assert site.seen == []


@both_ways
def test_connections_go_to_the_checked_addresses(way: str, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name is looked up once, because a second lookup might return another address."""
    answers = [["127.0.0.1"], ["127.0.0.2"], ["127.0.0.2"]]
    asked: list[str] = []

    def look_up(host: str, port: int) -> Sequence[str]:
        asked.append(host)
        return answers.pop(0)

    with Site(host="127.0.0.2") as inside:
        inside.pages["/a.png"] = (200, {}, b"secret")
        page = get(way, f"http://media.test:{site.port}/a.png?x=1", Network(LOCAL, look_up))
        assert inside.seen == []
    assert page.data == PNG
    assert asked == ["media.test"]
    path, headers = site.seen[0]
    assert (path, headers["host"]) == ("/a.png?x=1", f"media.test:{site.port}")


@both_ways
def test_names_are_looked_up_by_the_system_once(way: str, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    asked: list[str] = []
    real = socket.getaddrinfo

    def look_up(host: Any, *rest: Any, **more: Any) -> Any:
        if host == "media.test":
            asked.append(host)
            host = "127.0.0.1" if len(asked) == 1 else "10.0.0.1"
        return real(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    assert get(way, f"http://media.test:{site.port}/a.png", Network(LOCAL)).data == PNG
    assert asked == ["media.test"]


# -------------------------------------------------------------------------------------------------------- redirects


@both_ways
def test_each_redirect_is_checked(way: str, site: Site) -> None:
    with Site(host="127.0.0.2") as inside:
        inside.pages["/a.png"] = (200, {}, b"secret")
        site.pages["/away"] = (302, {"location": f"http://127.0.0.2:{inside.port}/a.png"}, b"")
        site.pages["/metadata"] = (307, {"location": "http://169.254.169.254/latest/meta-data/"}, b"")
        site.pages["/file"] = (301, {"location": "file:///etc/passwd"}, b"")
        for path, why in (("/away", "not public"), ("/metadata", "not public"), ("/file", "only http and https")):
            with pytest.raises(Refusal, match=why):
                get(way, f"http://127.0.0.1:{site.port}{path}", Network(LOCAL))
        assert inside.seen == []
        allowed = Network(only("127.0.0.1", "127.0.0.2"))
        assert get(way, f"http://127.0.0.1:{site.port}/away", allowed).data == b"secret"


@both_ways
def test_redirects_are_followed_and_end(way: str, site: Site) -> None:
    site.pages["/1"] = (301, {"location": "/2?q=ä b"}, b"moved")
    site.pages["/2"] = (308, {"location": "a.png"}, b"")
    site.pages["/round"] = (302, {"location": "/round"}, b"")
    site.pages["/nowhere"] = (302, {}, b"")
    network = Network(LOCAL)
    assert get(way, f"http://127.0.0.1:{site.port}/1", network).data == PNG
    assert site.seen[1][0] == "/2?q=%E4%20b"  # http.server sends Latin-1, which is no UTF-8
    with pytest.raises(Refusal, match="more than 1 times"):
        get(way, f"http://127.0.0.1:{site.port}/1", network, redirects=1)
    with pytest.raises(Refusal, match="more than 3 times"):
        get(way, f"http://127.0.0.1:{site.port}/round", network)
    with pytest.raises(Refusal, match="answers 302"):
        get(way, f"http://127.0.0.1:{site.port}/nowhere", network)


def test_a_redirect_may_not_leave_tls() -> None:
    before = Hop.of("https://a.test/x")
    assert Hop.of("/y", before) == Hop("https", "a.test", 443, "/y")
    assert Hop.of("//b.test", before).url == "https://b.test/"
    with pytest.raises(Refusal, match="from https to http"):
        Hop.of("http://a.test/x", before)


# ----------------------------------------------------------------------------------------------------------- limits


def chunked(chunk: bytes, count: int) -> Callable[[BaseHTTPRequestHandler], None]:
    """A page without a length."""

    def write(page: BaseHTTPRequestHandler) -> None:
        page.send_response(200)
        page.send_header("transfer-encoding", "chunked")
        page.end_headers()
        for _ in range(count):
            page.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        page.wfile.write(b"0\r\n\r\n")

    return write


def silent(page: BaseHTTPRequestHandler) -> None:
    page.send_response(200)
    page.end_headers()
    page.rfile.read(1)


def dripping(page: BaseHTTPRequestHandler) -> None:
    page.send_response(200)
    page.send_header("content-length", "4000")
    page.end_headers()
    while True:
        page.wfile.write(b"a")
        page.wfile.flush()
        time.sleep(0.02)


def cut(page: BaseHTTPRequestHandler) -> None:
    page.send_response(200)
    page.send_header("content-length", "4000")
    page.end_headers()
    page.wfile.write(b"abc")
    page.close_connection = True


REFUSED: dict[str, tuple[Any, str]] = {
    # what is there                                                               why it is not taken
    "too long": ((200, {}, bytes(5001)), "more than 5000 bytes"),
    "too long, and does not say": (chunked(bytes(1000), 6), "more than 5000 bytes"),
    "never ends": (chunked(bytes(1000), 10**6), "more than 5000 bytes"),
    "says more than it has": ((200, {"content-length": "99999999999"}, b""), "more than 5000 bytes"),
    "not there": ((404, {}, b"no"), "answers 404"),
    "not allowed": ((401, {}, b"no"), "answers 401"),
    "empty on purpose": ((204, {}, b""), "answers 204"),
    "compressed": ((200, {"content-encoding": "gzip"}, gzip.compress(bytes(10**6))), "compressed"),
    "silent": (silent, "more than 0.3 seconds"),
    "dripping": (dripping, "more than 0.3 seconds"),
    "cut": (cut, "cannot be reached"),
}


@both_ways
@pytest.mark.parametrize("what", REFUSED)
def test_limits(what: str, way: str, site: Site) -> None:
    page, why = REFUSED[what]
    site.pages["/x"] = page
    with pytest.raises(Refusal, match=why):
        get(way, f"http://127.0.0.1:{site.port}/x", Network(LOCAL), each_bytes=5000, seconds=0.3)


@both_ways
def test_nobody_listens(way: str) -> None:
    for url in ("http://127.0.0.1:9/x", "http://no-such-host.invalid/x"):
        with pytest.raises(Refusal, match=r"cannot be reached|not known"):
            get(way, url, Network(LOCAL))


@both_ways
def test_limits_of_a_request(way: str, site: Site) -> None:
    """Each fits, all together do not; and there is a limit to their number. The same URL is fetched once."""
    site.pages |= {f"/{number}.png": (200, {}, PNG) for number in range(4)}
    urls = [f"http://127.0.0.1:{site.port}/{number}.png" for number in (0, 0, 1, 2, 3)]
    request = Request([Message("user", [ImageBlock(UrlSource(url)) for url in urls])], model="m")
    done, losses = fetch_for(way, request, "ollama", Network(LOCAL), items=3, all_bytes=2 * len(PNG))
    kept = [type(block.source) for block in done.messages[0].content if isinstance(block, ImageBlock)]
    assert kept.count(Base64Source) in (2, 3)
    assert kept[4] is UrlSource
    assert len(losses) == 5 - kept.count(Base64Source)
    reasons = " ".join(loss.reason for loss in losses)
    assert "no more than 3 are fetched" in reasons
    assert f"all together have more than {2 * len(PNG)} bytes" in reasons
    assert sorted(path for path, _ in site.seen) == ["/0.png", "/1.png", "/2.png"]


@both_ways
def test_nothing_of_the_caller_is_sent_along(
    way: str, site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password canary")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    site.pages["/first"] = (302, {"location": "/a.png", "set-cookie": "s=1"}, b"")
    get(way, f"http://127.0.0.1:{site.port}/first", Network(LOCAL))
    for _, headers in site.seen:
        assert set(headers) == {"host", "user-agent", "accept", "accept-encoding", "connection"}


# -------------------------------------------------------------------------------------------------------------- TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    place = tmp_path_factory.mktemp("media-tls")
    key, cert = place / "key.pem", place / "cert.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=media.test"
    names = ["-addext", "subjectAltName=DNS:media.test", "-keyout", str(key), "-out", str(cert)]
    try:
        subprocess.run([*command.split(), *names], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no certificate could be made: {error}")
    return key, cert


@both_ways
def test_the_certificate_is_the_names_own(way: str, certificate: tuple[Path, Path]) -> None:
    key, cert = certificate
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(cert, key)
    asked: list[str | None] = []
    serving.sni_callback = lambda _line, name, _context: asked.append(name)
    trusting = ssl.create_default_context(cafile=str(cert))
    with Site(serving) as site:
        site.pages["/a.png"] = (200, {}, PNG)
        here = f"media.test:{site.port}/a.png"
        assert get(way, f"https://{here}", Network(LOCAL, named("media.test", "127.0.0.1"), trusting)).data == PNG
        assert asked == ["media.test"]
        other = Network(LOCAL, named("other.test", "127.0.0.1"), trusting)
        with pytest.raises(Refusal, match="cannot be reached"):
            get(way, f"https://other.test:{site.port}/a.png", other)
        with pytest.raises(Refusal, match="cannot be reached"):
            get(way, f"https://{here}", Network(LOCAL, named("media.test", "127.0.0.1")))
        assert len(site.seen) == 1


# --------------------------------------------------------------------------------------------------- what is fetched

BLOCKS: dict[str, tuple[Any, str, bytes]] = {
    "image": (ImageBlock, "image/png", PNG),
    "document": (DocumentBlock, "application/pdf", PDF),
    "audio": (AudioBlock, "audio/wav", b"RIFF\0\0\0\0WAVEfmt "),
    "video": (VideoBlock, "video/mp4", b"\0\0\0\x18ftypmp42"),
}
FETCHED = {
    # dialect             kinds that it takes as data and not by URL (here: one whose path has no ending)
    "anthropic-messages": set[str](),
    "openai-chat": {"document", "audio"},
    "openai-responses": set[str](),
    "gemini": {"image", "document", "audio", "video"},
    "ollama": {"image"},
    "bedrock-converse": {"image", "document", "audio", "video"},
}


@both_ways
@pytest.mark.parametrize("kind", BLOCKS)
@pytest.mark.parametrize("name", FETCHED)
def test_only_what_the_target_cannot_take_by_url(name: str, kind: str, way: str, site: Site) -> None:
    made, media_type, data = BLOCKS[kind]
    site.pages["/thing"] = (200, {"content-type": media_type}, data)
    block = made(UrlSource(f"http://127.0.0.1:{site.port}/thing"))
    request = Request([Message("user", [TextBlock("Look:"), block])], model="m", max_output_tokens=9)
    done, losses = fetch_for(way, request, name, Network(LOCAL))
    assert losses == ()
    place = "messages/0/content/1"
    lost = {loss.path for loss in dialect(name).encode_request(done).losses if loss.kind == "dropped"}
    if kind in FETCHED[name]:
        assert done.messages[0].content[1].source == Base64Source(media_type, b64(data))  # type: ignore[union-attr]
        assert place not in lost
        assert len(site.seen) == 1
    else:
        assert done == request
        assert site.seen == []


def b64(data: bytes) -> str:
    import base64

    return base64.b64encode(data).decode()


def test_gemini_takes_a_url_with_a_known_ending(site: Site) -> None:
    _, losses = fetch_for("sync", picture(f"http://127.0.0.1:{site.port}/a.png"), "gemini", Network(LOCAL))
    assert (losses, site.seen) == ((), [])


@both_ways
def test_inside_tool_results_too(way: str, site: Site) -> None:
    block = ImageBlock(UrlSource(f"http://127.0.0.1:{site.port}/a.png"), detail="high")
    tool = ToolDefinition("look", "", {"type": "object", "properties": {}})
    request = Request(
        [
            Message("user", "Look!"),
            Message("assistant", [ToolUseBlock("c1", "look")]),
            Message("tool", [ToolResultBlock("c1", [TextBlock("Here:"), block])]),
        ],
        model="m",
        tools=[tool],
    )
    done, losses = fetch_for(way, request, "bedrock-converse", Network(LOCAL))
    assert losses == ()
    result = done.messages[2].content[0]
    assert isinstance(result, ToolResultBlock)
    found = result.content[1]
    assert isinstance(found, ImageBlock)
    assert isinstance(found.source, Base64Source)
    assert (b64decode(found.source.data), found.detail) == (PNG, "high")
    assert done.messages[:2] == request.messages[:2]


@pytest.mark.parametrize("sees", [True, False])
@both_ways
def test_nothing_is_fetched_for_a_model_without_images(way: str, sees: bool, site: Site) -> None:
    target = Target("ollama", "m", AdapterCapabilities(images=sees))
    request = picture(f"http://127.0.0.1:{site.port}/a.png")
    done, losses = fetch_for(way, request, "ollama", Network(LOCAL), target=target)
    assert losses == ()
    assert (done != request, len(site.seen)) == (sees, int(sees))


SECRET = "X-Amz-Signature=0123456789abcdef"


@both_ways
def test_a_failed_fetch_is_a_loss_without_the_urls_query(way: str, site: Site) -> None:
    request = picture(f"http://127.0.0.1:{site.port}/missing/key-77?{SECRET}")
    done, losses = fetch_for(way, request, "ollama", Network(LOCAL))
    assert done == request
    assert losses == (
        Loss("messages/0/content/1", "dropped", "the URL at 127.0.0.1 was not fetched: 127.0.0.1 answers 404"),
    )
    _, losses = fetch_for(way, picture(f"nonsense:{SECRET}"), "ollama")
    assert SECRET not in repr(losses)
    assert "an address that cannot be read" in losses[0].reason


@both_ways
def test_a_request_without_urls_is_left_alone(way: str) -> None:
    request = Request([Message("user", [ImageBlock(Base64Source("image/png", "AAAA"))])], model="m")
    done, losses = fetch_for(way, request, "ollama")
    assert done is request
    assert losses == ()


TYPES = (
    # bytes                          the server says              the caller said    it is
    (PNG,                            "image/jpeg",                None,              "image/png"),
    (PNG,                            "application/octet-stream",  "image/gif",       "image/png"),
    (b"\xff\xd8\xff\xe0",            "",                          None,              "image/jpeg"),
    (b"RIFF\0\0\0\0WEBPVP8 ",        "",                          None,              "image/webp"),
    (b"\0\0\0\x1cftypavif",          "",                          None,              "image/avif"),
    (PDF,                            "text/plain",                None,              "application/pdf"),
    (b"plain words",                 "Text/Plain; charset=utf-8", "image/png",       "text/plain"),
    (b"plain words",                 "application/octet-stream",  "text/markdown",   "text/markdown"),
    (b"plain words",                 "",                          None,              ""),
    (b"\n <!DOCTYPE HTML><html>",    "image/png",                 "image/png",       "text/html"),
)  # fmt: skip


@pytest.mark.parametrize(("data", "declared", "told", "kind"), TYPES)
def test_media_types(data: bytes, declared: str, told: str | None, kind: str) -> None:
    assert media_type_of(data, declared, told) == kind


@both_ways
@pytest.mark.parametrize(
    ("body", "declared", "says"),
    [
        (b"<html>Please sign in</html>", "image/png", "its type is text/html, which cannot be sent as image"),
        (b"<svg onload='x()'/>", "image/svg+xml", "its type is image/svg+xml, which cannot be sent as image"),
        (PDF, "image/png", "its type is application/pdf, which cannot be sent as image"),
        (b"?", "application/octet-stream", "its type is not known, which cannot be sent as image"),
    ],
)
def test_a_wrong_type_is_a_loss(body: bytes, declared: str, says: str, way: str, site: Site) -> None:
    site.pages["/x"] = (200, {"content-type": declared}, body)
    _, losses = fetch_for(way, picture(f"http://127.0.0.1:{site.port}/x"), "ollama", Network(LOCAL))
    assert says in losses[0].reason


# ------------------------------------------------------------------------------------------------------ without it


def test_nothing_is_fetched_by_default(site: Site) -> None:
    """A client without the option sends no picture, has a Loss, and opens no connection."""
    network = MemoryTransport(handler(Script(Step(act="echo"))))
    client = Client("ollama", AdapterConfig(), transport=network, on_loss="allow")
    response = client.complete(picture(f"http://127.0.0.1:{site.port}/a.png"))
    assert [loss.path for loss in response.losses if loss.kind == "dropped"] == ["messages/0/content/1"]
    assert b"127.0.0.1" not in network.requests[0].body
    assert site.seen == []

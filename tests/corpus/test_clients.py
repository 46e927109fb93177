"""Requests of real agents: read, written back exactly, and translated to every other dialect, losses declared."""

from __future__ import annotations

import json
import re

import pytest

from interlingua import DIALECTS, dialect
from lab.oracles import WARNING, problems
from shared_data import SHARED, needs_shared

# the protocol by the path of a request
PROTOCOLS = (
    (re.compile(r"/v1/messages$"), "anthropic-messages"),
    (re.compile(r"/chat/completions$"), "openai-chat"),
    (re.compile(r"/responses$"), "openai-responses"),
    (re.compile(r"/models/(?P<model>[^:/]+):(?P<verb>\w*enerateContent)$"), "gemini"),
)


def requests():
    """``(name, dialect, model, stream, request)`` of every generation request."""
    for path in sorted((SHARED / "clients").glob("*/*POST*.json")) if SHARED.exists() else ():
        captured = json.loads(path.read_text())
        url = captured.get("path", "").partition("?")[0]
        for pattern, name in PROTOCOLS:
            found = pattern.search(url)
            if found and isinstance(captured.get("body"), dict):
                told = found.groupdict()
                stream = told["verb"].startswith("stream") if "verb" in told else None
                yield pytest.param(name, told.get("model"), stream, captured, id=f"{path.parent.name}/{path.stem}")


REQUESTS = list(requests())


@needs_shared
def test_there_are_requests():
    assert len({param.values[0] for param in REQUESTS}) == 4
    assert len(REQUESTS) > 40


@needs_shared
@pytest.mark.parametrize(("name", "model", "stream", "captured"), REQUESTS)
def test_written_back_exactly(name, model, stream, captured):
    request = dialect(name).decode_request(captured["body"], captured.get("headers"), model, stream)
    encoded = dialect(name).encode_request(request)
    assert encoded.body == captured["body"]
    assert encoded.losses == ()


@needs_shared
@pytest.mark.parametrize(("name", "model", "stream", "captured"), REQUESTS)
def test_valid_in_every_other_dialect(name, model, stream, captured):
    request = dialect(name).decode_request(captured["body"], captured.get("headers"), model, stream)
    for target in DIALECTS:
        encoded = dialect(target).encode_request(request)
        faults = [line for line in problems(encoded.body, target) if not line.startswith(WARNING)]
        assert target == name or not faults, (target, faults)

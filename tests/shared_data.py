"""Where the recorded traffic is, and how to read it. The data stay beside the checkout and are never copied into it.

A test that reads them is marked ``@needs_shared`` (or asks for the fixture ``shared``), so that without them it is
skipped with a reason and counted.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

SHARED = Path(__file__).resolve().parents[1].parent / "shared"
CORPUS = SHARED / "corpus"
CLIENTS = SHARED / "clients"

ABSENT = "no ../shared beside the checkout: recorded traffic was not read"

needs_shared = pytest.mark.skipif(not CORPUS.is_dir(), reason=ABSENT)


def corpus(dialect: str) -> Iterator[dict[str, Any]]:
    """The recorded exchanges of one dialect, in file order; none where the recordings are absent.

    A dialect without a file is a mistake in the test, and raises. pytest wants a ``list`` of them in ``parametrize``.
    """
    if not CORPUS.is_dir():
        return
    decode = msgspec.json.Decoder().decode
    with gzip.open(CORPUS / f"{dialect}.jsonl.gz", "rb") as lines:
        for line in lines:
            yield decode(line)


def stream_bytes(record: dict[str, Any]) -> bytes | None:
    """The bytes of a recorded answer that was not one JSON value (SSE, NDJSON, event stream), or None."""
    if (text := record.get("response_text")) is not None:
        return text.encode()
    if (blob := record.get("response_b64")) is not None:
        return msgspec.convert(blob, bytes)
    return None

"""What users of other libraries suffer from (shared/pitfalls.md), by the number of the report: here it does not happen.

Reports on transports, retries, prices, budgets and memory (29, 30, 35–39, 41) belong to layers above this one.
"""

from __future__ import annotations

import subprocess
import sys

from interlingua import (
    Message,
    Request,
    dialect,
)

CHAT, CLAUDE, GEMINI, RESPONSES, BEDROCK = (
    "openai-chat",
    "anthropic-messages",
    "gemini",
    "openai-responses",
    "bedrock-converse",
)


# ------------------------------------------------------------------------------------------------ weight, security


def test_40_importing_is_light_and_silent() -> None:
    code = (
        "import sys, interlingua; "
        "heavy = {'asyncio', 'socket', 'ssl', 'http.client', 'urllib.request', 'aiohttp', 'httpx', 'yaml'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_42_no_key_in_a_url() -> None:
    """A dialect knows no key, and no provider's key travels in the URL."""
    from interlingua.models.providers import PROVIDERS

    rows = PROVIDERS.values() if isinstance(PROVIDERS, dict) else PROVIDERS
    for row in rows:
        assert "key" not in row.base_url
        assert row.auth.kind in ("bearer", "header", "sigv4", "google", "none")
    for name in (CLAUDE, CHAT, GEMINI, RESPONSES):
        path = dialect(name).encode_request(Request((Message("user", "?"),), "m", stream=True)).path
        assert path is not None
        assert "key=" not in path

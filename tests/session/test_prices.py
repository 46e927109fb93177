"""What a session's answers cost: by ``price:`` of models.yaml, and a word of help where nobody knows."""

from __future__ import annotations

from pathlib import Path

import pytest

from interlingua import Price, Pricing, ProviderManager, SyncSession
from interlingua.agent.session import report
from interlingua.client.embedded import LoopbackServer, Step
from interlingua.types.usage import TokenUsage

USED = TokenUsage(1_000_000, output_tokens=1_000_000)
YAML = """adapters:
  work: {{type: openai-chat, api_key_env: WORK_KEY, base_url: "{url}"}}
models:
  ours: {{adapter: work, wire_name: house-model, price: {{input: {input}, output: 2.0}}}}
"""


def asked(session: SyncSession) -> float | None:
    session.send("hello")
    return session.report.cost_usd


def test_the_price_of_models_yaml_is_used_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    with LoopbackServer.in_thread(Step(usage=USED)) as server:
        path.write_text(YAML.format(url=server.url, input=1.0))
        with ProviderManager(path, environment={"WORK_KEY": "k"}) as manager:
            session = SyncSession("ours", manager=manager)
            assert asked(session) == 3.0
            path.write_text(YAML.format(url=server.url, input=5.25))
            manager.refresh()
            assert asked(session) == 7.25
            session.pricing = Pricing({"house-model": Price(input=1.0, output=1.0)})
            assert asked(session) == 2.0  # what the caller says wins


@pytest.mark.parametrize("installed", [True, False])
def test_an_unknown_price_is_none_and_the_report_says_what_helps(
    installed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "find_spec", lambda name: object() if installed else None)
    with LoopbackServer.in_thread(Step(usage=USED)) as server:
        environment = {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": server.url}
        with ProviderManager(environment=environment) as manager:
            session = SyncSession("openai:nobody-knows-this", manager=manager)
            assert asked(session) is None
    assert session.report.warnings == (() if installed else (report.NO_PRICES,))
    assert "pip install 'interlingua[prices]'" in report.NO_PRICES

"""models.yaml: what it may say, how it errs, where it is found, and how it changes under a running program."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from interlingua import NotConfigured, Request, Thinking
from interlingua.client.models_file import (
    ConfigError,
    Configuration,
    find_models_file,
    load_configuration,
    models_schema,
    parse_models,
    watch_configuration,
)
from interlingua.client.models_file.yaml_lines import read_yaml
from interlingua.models.catalogue import Families
from interlingua.models.catalogue.tiers import TIERS
from interlingua.models.pricing import Pricing
from interlingua.types.usage import TokenUsage

yaml = pytest.importorskip("yaml")

DOCS = Path(__file__).resolve().parents[2] / "docs"
LAYERS = (Families(),)
CANARY = "sk-canary-4711"

FULL = """
adapters:
  work:
    type: openai
    api_key_env: WORK_KEY
    base_url: https://proxy.example/v1
    timeout_seconds: 30
    connect_timeout_seconds: 5
    max_retries: 0
    retry: {base: 0.5, cap: 8, classes: [rate_limit, server_error]}
    default_model: deep
    model_map: {house: gpt-5-mini}
    defaults: {max_output_tokens: 512, thinking: {effort: low}}
    extra_headers: {x-team: red}
    options: {organization: org-1}
  anthropic:
  ollama: {base_url: "http://gpu:11434"}
models:
  writer:
    adapter: work
    wire_name: gpt-6.1-sol
    tier: opus
    can_delegate: true
    aliases: [w, "scribe"]
    overrides: {images: false, max_context_tokens: 1234, rejects: [seed]}
    price: {input: 1, output: 2, above: {200000: {input: 3, output: 4}}}
    defaults: {max_output_tokens: 64}
    behaviour: coding-agent
  tiny: {adapter: ollama, wire_name: "qwen3:0.6b", tier: fast}
  claude-sonnet-5-5: {adapter: anthropic, behaviour: {strict: true}}
"""


def configuration(text: str = FULL, **environ: str) -> Configuration:
    file, _ = parse_models(text)
    return Configuration(file, environ=environ, source="models.yaml", layers=LAYERS)


# ------------------------------------------------------------------------------------------------------- what it says


def test_an_adapter_becomes_a_config() -> None:
    adapter = configuration(WORK_KEY="k").adapters["work"]
    config = adapter.config
    assert (adapter.provider.name, config.base_url) == ("openai", "https://proxy.example/v1")
    assert (config.timeout_seconds, config.max_retries, config.retry.base, config.retry.cap) == (30, 0, 0.5, 8)
    assert [str(word) for word in config.retry.classes] == ["rate_limit", "server_error"]
    assert config.options == {"organization": "org-1", "connect_timeout": 5}
    assert config.secret == "k"
    assert config.extra_headers == {"x-team": "red"}


def test_what_is_left_out_stays_usual() -> None:
    config = configuration(ANTHROPIC_API_KEY="k").adapters["anthropic"].config
    assert (config.timeout_seconds, config.max_retries, config.base_url) == (600, 2, None)
    assert config.secret == "k"


@pytest.mark.parametrize(
    ("name", "adapter", "model"),
    [
        ("writer", "work", "gpt-6.1-sol"),
        ("w", "work", "gpt-6.1-sol"),
        ("scribe", "work", "gpt-6.1-sol"),
        ("work:writer", "work", "writer"),  # the provider's own word wins once an adapter is named
        ("work:house", "work", "gpt-5-mini"),
        ("work:opus", "work", "gpt-6.1-sol"),
        ("work:deep", "work", "gpt-6.1-sol"),
        ("work:fast", "work", TIERS["openai"][2]),
        ("work:tomorrow", "work", "tomorrow"),
        ("tiny", "ollama", "qwen3:0.6b"),
        ("ollama:haiku", "ollama", "qwen3:0.6b"),
        ("ollama:llama3:8b", "ollama", "llama3:8b"),
        ("claude-sonnet-5-5", "anthropic", "claude-sonnet-5-5"),
        ("claude-opus-9", "anthropic", "claude-opus-9"),
        ("groq:anything", "groq", "anything"),  # built in, not in the file
    ],
)
def test_names(name: str, adapter: str, model: str) -> None:
    place = configuration().locate(name)
    assert (place.adapter.id, place.model) == (adapter, model)


def test_unknown_names_say_what_is_known() -> None:
    with pytest.raises(ValueError, match=r"no adapter or provider is called 'wrok'.*work"):
        configuration().locate("wrok:gpt-5")
    with pytest.raises(ValueError, match=r"no model is called 'nobody'.*adapter:model.*scribe.*tiny.*writer"):
        configuration().locate("nobody")


def test_one_adapter_serves_every_bare_name() -> None:
    only = configuration("adapters:\n  vllm:\nmodels:\n  mine: {wire_name: my-finetune}\n")
    assert only.resolve("mine") == (only.adapters["vllm"].provider, "my-finetune")
    assert only.locate("llama3:8b").model == "llama3:8b"
    assert only.locate("gpt-5").adapter.id == "vllm"


def test_default_model() -> None:
    made = configuration()
    assert made.default("work") == "gpt-6.1-sol"  # default_model: deep, which the file gives to the writer
    assert made.default("anthropic") == TIERS["anthropic"][1]
    assert made.default("vllm") is None
    assert configuration(FULL.replace("default_model: deep", "default_model: w")).default("work") == "gpt-6.1-sol"


def test_overrides_are_the_top_layer() -> None:
    made = configuration()
    able = made.capabilities_for("writer")
    assert (able.images, able.max_context_tokens, able.documents) == (False, 1234, True)
    assert made.catalogue.rejected_parameters("gpt-6.1-sol", "openai") == {"seed"}
    assert made.capabilities_for("work:gpt-6.1-terra").images


def test_a_requests_own_value_wins() -> None:
    place = configuration().locate("writer")
    assert place.with_defaults(Request()).max_output_tokens == 64  # the model's before the adapter's
    assert place.with_defaults(Request(max_output_tokens=7)).max_output_tokens == 7
    assert place.with_defaults(Request()).thinking == Thinking(effort="low")
    cold = configuration("adapters:\n  openai: {defaults: {temperature: 0.7}}").locate("openai:gpt-4o")
    assert cold.with_defaults(Request(temperature=0)).temperature == 0


def test_no_sampling_default_is_ours() -> None:
    assert configuration("").locate("openai:gpt-4o").with_defaults(Request()) == Request()


def test_prices_go_to_pricing() -> None:
    pricing = Pricing(configuration().prices, tables=())
    assert pricing.cost(TokenUsage(1_000_000), "openai", "gpt-6.1-sol").cost_usd == 3


def test_entries_keep_what_others_read() -> None:
    made = configuration()
    assert made.models["writer"].can_delegate
    assert made.models["writer"].behaviour == "coding-agent"
    assert made.models["claude-sonnet-5-5"].behaviour == {"strict": True}


# --------------------------------------------------------------------------------------------------------------- keys


def test_a_missing_key_is_not_a_crash() -> None:
    made = configuration()
    status = made.status()
    assert status["tiny"] == "ready"
    assert status["writer"] == (
        "not_configured: work has no key: set the environment variable WORK_KEY, "
        "or name another one in models.yaml (adapters.work.api_key_env)"
    )
    with pytest.raises(NotConfigured, match="set the environment variable ANTHROPIC_API_KEY"):
        made.locate("claude-sonnet-5-5").require()
    assert made.locate("tiny").require().configured
    assert configuration(WORK_KEY="k").status()["writer"] == "ready"


def test_a_signer_finds_its_own_credentials() -> None:
    assert configuration().locate("bedrock:opus").configured


def test_a_literal_key_is_accepted_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    path.write_text(
        f"adapters:\n  openai: {{api_key: {CANARY}, extra_headers: {{a: {CANARY}}}, options: {{b: {CANARY}}}}}"
    )
    with pytest.warns(UserWarning, match="prefer api_key_env") as caught:
        made = load_configuration(path, environ={}, layers=LAYERS)
    assert made.adapters["openai"].config.secret == CANARY
    file, _ = parse_models(path.read_text())
    shown = [str(caught[0].message), repr(made.adapters), repr(file), repr(made.status()), str(made.warnings)]
    assert CANARY not in "".join(shown)


@pytest.mark.parametrize(
    "text",
    [
        f"adapters:\n  openai: {{api_key: '{CANARY}'",
        f"adapters:\n  openai: {{api_key: [{CANARY}]}}",
        f"adapters:\n  openai: {{api_key: !!python/name:{CANARY} x}}",
        f"adapters:\n  openai:\n    api_key: {CANARY}: x",
    ],
)
def test_no_error_quotes_the_file(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_models(text)
    assert CANARY not in str(caught.value)


# ---------------------------------------------------------------------------------------------------------- mistakes

MISTAKES = (
    # the file, the line, what is said
    ("adapters:\n  openai:\n    max_retires: 3", 3, "unknown key `max_retires`; did you mean `max_retries`?"),
    ("adapters:\n  openai: {retry: {bse: 3}}", 2, "adapters.openai.retry: unknown key `bse`; did you mean `base`?"),
    ("adaptors: {}", 1, "did you mean `adapters`?"),
    ("routing: {}", 1, "unknown key `routing`; known: adapters, models"),
    ("adapters:\n\n  work: {type: opnai}", 3, "no provider is called 'opnai'; did you mean `openai`?"),
    ("adapters:\n  work:\n    base_url: http://x", 2, "`type` must be one of: anthropic, azure"),
    ("adapters:\n  openai:\n    max_retries: many", 3, "expected `int | null`, got `str`"),
    ("adapters:\n  openai:\n    max_retries: -1", 3, "expected `int` >= 0"),
    ("adapters:\n  openai:\n    base_url: gpu:8000/v1", 3, "does not begin with http:// or https://"),
    ("adapters:\n  openai:\n    base_url: 5", 3, "got `int`; put it in quotes"),
    ("adapters:\n  openai:\n    retry:\n      classes: [rate_limit, oops]", 4, "unknown word `oops`; known: auth"),
    ("adapters:\n  openai: {api_key: a, api_key_env: B}", 2, "api_key_env or api_key, not both"),
    ("adapters:\n  a:b: {type: openai}", 2, "must not contain a colon"),
    ("adapters: [openai]", 1, "must be a mapping"),
    ("- adapters", 1, "must be a mapping"),
    ("models:\n  m: {}", 2, "which adapter serves it?"),
    ("adapters: {openai: , google: }\nmodels:\n  m:\n    adapter: gogle", 4, "did you mean `google`?"),
    ("models:\n  m:\n    adapter: openai\n    tier: huge", 4, "must be one of: deep, balanced, fast"),
    ("models:\n  m: {adapter: openai, overrides: {imges: true}}", 2, "did you mean `images`?"),
    ("models:\n  m:\n    adapter: openai\n    price: {input: 1}", 4, "`output` is missing"),
    ("models:\n  a: {adapter: openai}\n  b:\n    adapter: openai\n    aliases:\n    - a", 6, "means the model 'a'"),
    ("models:\n  a: {adapter: openai, aliases: [x]}\n  b: {adapter: openai, aliases: [x]}", 3, "an alias of 'a'"),
    ("adapters:\n  openai: {}\n  openai: {}", 3, "`openai` occurs twice"),
    ("adapters:\n  openai: {a: [}", 2, "not YAML"),
    ("adapters:\n  ? [a]\n  : b", 2, "a key must be a plain word"),
)  # fmt: skip


@pytest.mark.parametrize(("text", "line", "says"), MISTAKES)
def test_mistakes_name_the_line_and_the_remedy(text: str, line: int, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_models(text, "my.yaml")
    assert [problem.line for problem in caught.value.problems] == [line]
    assert str(caught.value).startswith(f"my.yaml:{line}: ")
    assert says in str(caught.value)


def test_all_mistakes_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_models("models:\n  m: {adaptr: openai}\nadapters:\n  openai: {tmeout: 1}\nx: 1\n")
    assert [problem.line for problem in caught.value.problems] == [2, 4, 5]
    copy = pickle.loads(pickle.dumps(caught.value))
    assert str(copy) == str(caught.value)


def test_keys_are_words_and_an_empty_file_is_a_file() -> None:
    assert read_yaml("no: 1\non: 2\n2: yes\n", "x")[0] == {"no": 1, "on": 2, "2": True}
    assert parse_models("# nothing\n")[0].adapters == {}


def test_without_pyyaml_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr("interlingua.client.models_file.yaml_lines.import_module", missing)
    with pytest.raises(ConfigError, match=r"pip install 'interlingua\[config\]'"):
        parse_models("adapters: {}")


# ------------------------------------------------------------------------------------------------------------ schema


def test_the_schema_accepts_what_we_accept() -> None:
    jsonschema.Draft202012Validator.check_schema(models_schema())
    judge = jsonschema.Draft202012Validator(models_schema())
    value, _ = read_yaml(FULL.replace("  anthropic:\n", "  anthropic: {}\n"), "x")
    assert [error.message for error in judge.iter_errors(value)] == []
    assert not judge.is_valid({"adapters": {"openai": {"max_retires": 3}}})
    assert not judge.is_valid({"models": {"m": {"overrides": {"imges": True}}}})


def test_the_documented_example_is_valid() -> None:
    page = (DOCS / "models.yaml.md").read_text()
    examples = [block.split("```")[0] for block in page.split("```yaml\n")[1:]]
    assert examples
    for example in examples:
        parse_models(example)


# ------------------------------------------------------------------------------------------------- where it is found


def test_argument_then_variable_then_folder(tmp_path: Path) -> None:
    files: dict[str, Path] = {}
    for name in ("argument", "variable", "home/.config/interlingua", "xdg/interlingua"):
        files[name] = tmp_path / name / "models.yaml"
        files[name].parent.mkdir(parents=True)
        files[name].write_text("adapters: {}")
    variable, home = str(files["variable"]), str(tmp_path / "home")
    everything = {"INTERLINGUA_CONFIG": variable, "HOME": home, "XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    assert find_models_file(files["argument"], everything) == files["argument"]
    assert find_models_file(None, everything) == files["variable"]
    assert find_models_file(None, {**everything, "INTERLINGUA_CONFIG": ""}) == files["xdg/interlingua"]
    assert find_models_file(None, {"HOME": home}) == files["home/.config/interlingua"]
    assert find_models_file(None, {}) is None
    assert find_models_file(None, {"HOME": str(tmp_path)}) is None


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        load_configuration(tmp_path / "no.yaml", environ={})
    with pytest.raises(ConfigError, match=r"is a folder, not a file$"):
        find_models_file(tmp_path, {})
    with pytest.raises(ConfigError, match="INTERLINGUA_CONFIG names it"):
        load_configuration(environ={"INTERLINGUA_CONFIG": str(tmp_path / "no.yaml")})


def test_no_file_at_all_serves_the_built_in_providers() -> None:
    made = load_configuration(environ={"OPENAI_API_KEY": "k"}, layers=LAYERS)
    assert made.source is None
    assert made.locate("gpt-5").require().adapter.config.secret == "k"
    assert made.locate("opus").adapter.missing == "anthropic has no key: set the environment variable ANTHROPIC_API_KEY"


# --------------------------------------------------------------------------------------------------------- hot reload


def write(path: Path, text: str, tick: int) -> None:
    import os

    path.write_text(text)
    os.utime(path, ns=(tick, tick))  # the clock of some file systems is coarse


def test_a_changed_file_is_a_new_snapshot(tmp_path: Path, caplog: Any) -> None:
    path = tmp_path / "models.yaml"
    write(path, "adapters:\n  openai: {timeout_seconds: 1}\n", 1)
    live = watch_configuration(path, environ={}, layers=LAYERS)
    old = live.current
    in_flight = old.locate("openai:gpt-5")
    assert not live.refresh()

    write(path, "adapters:\n  openai: {timeout_seconds: 2}\n", 2)
    assert live.refresh()
    assert live.current.adapters["openai"].config.timeout_seconds == 2
    assert in_flight.adapter.config.timeout_seconds == 1  # a call keeps what it began with
    assert live.current.changed(old) == {"openai"}

    good = live.current
    write(path, "adapters:\n  openai: {timeot: 3}\n", 3)
    assert not live.refresh()
    assert live.current is good
    assert live.error is not None
    assert live.error.problems[0].line == 2
    assert not live.refresh()
    assert caplog.text.count("the old configuration stays in use") == 1

    write(path, "adapters:\n  openai: {timeout_seconds: 2}\n", 4)
    assert live.refresh()
    assert live.error is None
    assert live.current.changed(good) == frozenset()


def test_a_file_that_vanishes_changes_nothing_but_is_told(tmp_path: Path) -> None:
    path = tmp_path / "models.yaml"
    write(path, "adapters:\n  openai: {timeout_seconds: 1}\n", 1)
    live = watch_configuration(path, environ={}, layers=LAYERS)
    path.unlink()
    assert not live.refresh()
    assert live.error is not None
    assert live.current.adapters["openai"].config.timeout_seconds == 1


# ----------------------------------------------------------------------------------- more than a file should hold


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a: &a [x]\nb: [*a, *a]\n", r"models.yaml:2: `\*a` refers to another place, which is not supported"),
        ("[" * 1000 + "]" * 1000, "models.yaml:1: it is nested more than 128 levels deep"),
        ("\n".join("  " * depth + "a:" for depth in range(300)), "nested more than 128 levels deep"),
    ],
    ids=["alias", "lists", "mappings"],
)
def test_what_would_explode_is_refused(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_models(text)


def test_a_billion_laughs_are_not_built() -> None:
    lines = ["a0: &a0 [lol]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))]
    with pytest.raises(ConfigError, match="refers to another place"):
        parse_models("\n".join(lines))


def test_all_mistakes_of_one_entry_and_of_several_are_told_at_once() -> None:
    text = (
        "adapters:\n"
        "  work: {type: openai, max_retries: many, timeout_seconds: soon, colour: red}\n"
        "  home: {type: opennai}\n"
        "models:\n"
        "  writer: {adapter: nowhere, tier: huge}\n"
    )
    with pytest.raises(ConfigError) as caught:
        parse_models(text)
    told = str(caught.value)
    for word in ("max_retries", "timeout_seconds", "colour", "opennai", "nowhere", "tier"):
        assert word in told, word

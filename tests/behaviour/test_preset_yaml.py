"""A preset in YAML: its fields, how it extends a built-in one, and its errors."""

from __future__ import annotations

import re
from pathlib import Path

import jsonschema
import pytest

from interlingua.client.behaviour import CORE_TOOLS, Behaviour, behaviour_from, load_preset, preset, preset_schema
from interlingua.client.config import Retry
from interlingua.client.models_file import ConfigError

yaml = pytest.importorskip("yaml")

DOCS = Path(__file__).resolve().parents[2] / "docs"
CODING = preset("coding-agent")

WHOLE = """
name: house
core_tools: [Read, Write]
default: {max_tools: 12}
families:
  openai:
    addendum: |
      Answer in English.
    strict: true
    parallel: false
    max_tools: 25
    force_first_tool: true
    max_retries: 4
    retry: {base: 0.5, cap: 8, classes: [rate_limit, tool_error]}
  groq:
"""


def example() -> str:
    """The example of the page, as a reader would copy it."""
    page = (DOCS / "behaviour.md").read_text(encoding="utf-8")
    found = re.search(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert found, "docs/behaviour.md has no YAML example"
    return found[1]


# ------------------------------------------------------------------------------------------------------- what it says


def test_every_field() -> None:
    made = load_preset(WHOLE)
    assert (made.name, made.core_tools, made.default) == ("house", ("Read", "Write"), Behaviour(max_tools=12))
    assert made.behaviour_for("azure", "gpt-5") == Behaviour(
        addendum="Answer in English.\n",
        strict=True,
        parallel=False,
        max_tools=25,
        force_first_tool=True,
        max_retries=4,
        retry=Retry(base=0.5, cap=8, classes=("rate_limit", "tool_error")),  # type: ignore[arg-type]
    )
    assert made.behaviour_for("groq", "llama-3.3-70b") == Behaviour()
    assert made.behaviour_for("anthropic", "claude-opus-4-7") == Behaviour(max_tools=12)


def test_an_empty_file_switches_nothing_on() -> None:
    for text in ("\n", "name: nothing\n", "families:\ndefault:\n"):
        made = load_preset(text)
        assert (made.rows, made.default, made.core_tools) == ({}, Behaviour(), CORE_TOOLS)


def test_a_makers_name_is_its_family() -> None:
    made = load_preset("families:\n  anthropic: {max_tools: 7}\n  google: {max_tools: 8}\n")
    assert made.behaviour_for("bedrock", "us.anthropic.claude-opus-4-7-v1:0").max_tools == 7
    assert made.behaviour_for("openrouter", "google/gemini-2.5-pro").max_tools == 8


def test_laid_over_a_built_in_one() -> None:
    made = load_preset(
        "extends: coding-agent\nfamilies:\n  openai: {max_tools: 40, addendum: null, retry: {cap: 90}}\n"
    )
    mine, theirs = made.rows["openai"], CODING.rows["openai"]
    assert (mine.max_tools, mine.addendum, mine.strict, mine.max_retries) == (40, None, True, 5)
    assert mine.retry is not None
    assert theirs.retry is not None
    assert (mine.retry.base, mine.retry.cap, mine.retry.classes) == (2, 90, theirs.retry.classes)
    assert made.rows["claude"] == CODING.rows["claude"]
    assert (made.default, made.core_tools) == (CODING.default, CODING.core_tools)
    assert preset("coding-agent") == CODING


def test_null_switches_off_what_is_extended() -> None:
    made = load_preset("extends: coding-agent\nfamilies:\n  openai: {retry: null, force_first_tool: false}\n")
    assert (made.rows["openai"].retry, made.rows["openai"].force_first_tool) == (None, False)


def test_the_name_is_the_files_if_it_gives_none(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("default: {max_tools: 3}\n", encoding="utf-8")
    for source in (path, str(path)):
        made = load_preset(source)
        assert (made.name, made.default.max_tools) == ("mine", 3)
    assert load_preset("default: {max_tools: 3}").name == "preset"


def test_the_example_of_the_page() -> None:
    made = load_preset(example())
    assert made.name == "house"
    assert made.behaviour_for("openai", "gpt-5").max_tools == 32
    assert made.behaviour_for("openai", "gpt-5").force_first_tool is False
    assert made.behaviour_for("openai", "gpt-5").addendum == CODING.rows["openai"].addendum
    assert made.behaviour_for("anthropic", "claude-opus-4-7").addendum == "Prefer the house style guide.\n"
    assert "Deploy" in made.core_tools


# --------------------------------------------------------------------------------------------------------- how it errs


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("families:\n  xai: {max_tool: 3}", "preset:2: families.xai.max_tool: unknown key; did you mean `max_tools`?"),
        ("familys:\n  openai:\n", "preset:1: familys: unknown key; did you mean `families`?"),
        ("wholly: 1\n", "preset:1: wholly: unknown key; known: name, extends, core_tools, default, families"),
        ("default:\n  retry:\n    bsae: 3\n", "preset:3: default.retry.bsae: unknown key; did you mean `base`?"),
        ("default:\n  max_tools: 0\n", "preset:2: default.max_tools: expected `int` >= 1"),
        ("default:\n  max_retries: -1\n", "preset:2: default.max_retries: expected `int` >= 0"),
        ("default:\n  strict: maybe\n", "preset:2: default.strict: expected `bool | null`, got `str`"),
        ("default:\n  retry: {classes: [other, x]}\n", "preset:2: default.retry.classes.1: invalid enum value 'x'"),
        ("core_tools: Read\n", "preset:1: core_tools: expected `array | null`, got `str`"),
        ("default: 3\n", "preset:1: default: expected `object | null`, got `int`"),
        ("families:\n  openai: 3\n", "preset:2: families.openai: expected `object`, got `int`"),
        ("families: [openai]\n", "preset:1: families: expected `object`, got `array`"),
        ("\nextends: codign-agent\n", "preset:2: no preset is called 'codign-agent'; known: coding-agent"),
        ("families:\n  cluade:\n", "preset:2: families: 'cluade' is not known; did you mean `claude`?"),
        ("families:\n  claude:\n  anthropic:\n", "preset:3: families: 'anthropic' and 'claude' are the same"),
        ("- a\n- b\n", "preset:1: the file must be a mapping with `families`, `default`, …"),
        ("a: [\n", "preset:2: not YAML:"),
        ("default: {}\ndefault: {}\n", "preset:2: `default` occurs twice; remove one of them"),
    ],
)  # fmt: skip
def test_mistakes_are_reported_with_their_lines(text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_preset(text)
    assert str(caught.value).startswith(told)


def test_all_mistakes_at_once() -> None:
    with pytest.raises(ConfigError) as caught:
        load_preset("default: {max_tools: none}\nfamilies:\n  openai: {strict: 1}\n  gemni:\n")
    assert [problem.line for problem in caught.value.problems] == [1, 3, 4]


def test_a_file_that_cannot_be_read_says_why(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no such file"):
        load_preset(tmp_path / "absent.yaml")
    (tmp_path / "odd.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        load_preset(tmp_path / "odd.yaml")
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(ConfigError, match="is a folder, not a file"):
        load_preset(tmp_path / "folder.yaml")


def test_a_single_behaviour_from_plain_fields() -> None:
    """As a model's entry in models.yaml may hold it."""
    made = behaviour_from({"strict": True, "retry": {"base": 3}}, "models.yaml")
    assert made == Behaviour(strict=True, retry=Retry(base=3))
    with pytest.raises(ConfigError, match=r"^models.yaml: stict: unknown key; did you mean `strict`\?$"):
        behaviour_from({"stict": True}, "models.yaml")


# ------------------------------------------------------------------------------------------------------------- schema


def test_the_schema_accepts_good_files_and_refuses_bad_ones() -> None:
    check = jsonschema.Draft202012Validator(preset_schema())
    assert check.is_valid(yaml.safe_load(WHOLE.replace("  groq:\n", "")))
    assert check.is_valid(yaml.safe_load(example()))
    for bad in ({"familys": {}}, {"default": {"max_tools": 0}}, {"default": {"retry": {"classes": ["tomorrow"]}}}):
        assert not check.is_valid(bad)

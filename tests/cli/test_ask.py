"""``interlingua ask``, and the first mistakes of a new user: each gets a sentence that says what to do."""

from __future__ import annotations

import json
import sys
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from cli.support import closed_port
from interlingua import Base64Source, DocumentBlock, ErrorClass, ImageBlock, RefusalBlock, StopReason, TextBlock
from interlingua.embedded import LoopbackServer, Step

PIXEL = b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=")


def test_an_answer_is_written(here: Any) -> None:
    done = here("ask", "-m", "embedded:", "Hello there!")
    assert (done.code, done.out, done.err) == (0, b"You said: Hello there!\n", "")


def test_what_stdin_holds_is_asked_too(here: Any) -> None:
    assert here("ask", "-m", "embedded:", stdin=b"From a pipe").out == b"You said: From a pipe\n"
    output = here("ask", "-m", "embedded:", "--json", "Sum up:", stdin=b"a long text").out
    assert json.loads(output)["text"] == "You said: Sum up: a long text"


def test_json_has_all_that_is_known(here: Any) -> None:
    result = json.loads(here("ask", "-m", "embedded:gemini", "--json", "hi").out)
    assert (result["provider"], result["stop_reason"], result["cost_usd"]) == ("embedded", "end_turn", 0.0)
    assert result["usage"]["output_tokens"] > 0


def test_files_are_sent(here: Any, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PIXEL)
    (tmp_path / "b.pdf").write_bytes(b"%PDF-1.4")
    (tmp_path / "c.md").write_text("# words")
    files = [word for name in ("a.png", "b.pdf", "c.md") for word in ("-f", str(tmp_path / name))]
    with LoopbackServer.in_thread() as server:
        done = here("ask", *files, "What is this?", ANTHROPIC_API_KEY="key", ANTHROPIC_BASE_URL=server.url)
        picture, paper, text, question = server.script.seen[0].messages[0].content
    assert done.code == 0
    assert isinstance(picture, ImageBlock)
    assert isinstance(picture.source, Base64Source)
    assert b64decode(picture.source.data) == PIXEL
    assert isinstance(paper, DocumentBlock)
    assert isinstance(text, TextBlock)
    assert text.text == "File c.md:\n\n# words"
    assert question == TextBlock("What is this?")


def test_a_schema_is_kept_to(here: Any, tmp_path: Path) -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    (tmp_path / "s.json").write_text(json.dumps(schema))
    done = here("ask", "-m", "embedded:openai-chat", "--schema", str(tmp_path / "s.json"), "Who?")
    assert json.loads(done.out) == {"name": "example"}
    piped = here("ask", "-m", "embedded:openai-chat", "--schema", "-", "Who?", stdin=json.dumps(schema).encode())
    assert json.loads(piped.out) == {"name": "example"}


ANSWERS = [
    (Step(content=(RefusalBlock("No."),)), "the model refused"),
    (Step(content=(TextBlock("half a"),), stop=StopReason.max_tokens), "--max-tokens raises it"),
]


@pytest.mark.parametrize(("step", "says"), ANSWERS)
def test_half_an_answer_is_a_failure(step: Step, says: str, here: Any) -> None:
    with LoopbackServer.in_thread(step) as server:
        done = here("ask", "hi", ANTHROPIC_API_KEY="key", ANTHROPIC_BASE_URL=server.url)
    assert done.code == 1
    assert says in done.err


def test_losses_are_told(here: Any) -> None:
    with LoopbackServer.in_thread() as server:
        words = ("ask", "-m", "openai:gpt-4o", "--effort", "high", "hi")
        done = here(*words, OPENAI_API_KEY="key", OPENAI_BASE_URL=server.url)
    assert done.code == 0
    assert "thinking" in done.err


# ---------------------------------------------------------------------------------------------------- first mistakes


def refused(error: ErrorClass, message: str, status: int | None = None) -> Step:
    return Step(act="fail", error=error, message=message, status=status)


MISTAKES: dict[str, tuple[tuple[str, ...], dict[str, str], int, tuple[str, ...]]] = {
    # the mistake: the words, the environment, the exit code, parts of the message
    "no key": (("hi",), {}, 3, ("no provider has a key", "ANTHROPIC_API_KEY")),
    "no key for this one": (("-m", "mistral:fast", "hi"), {}, 3, ("set MISTRAL_API_KEY",)),
    "misspelt provider": (("-m", "antropic:opus", "hi"), {}, 3, ("did you mean 'anthropic'?",)),
    "the way of LiteLLM": (
        ("-m", "anthropic/claude-opus-5-5", "hi"),
        {},
        3,
        ("set ANTHROPIC_API_KEY",),
    ),  # the name itself is accepted
    "no scheme": (("hi",), {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "llm.example.com"}, 3, ("http:// or https://",)),
    "local server down": (
        ("-m", "ollama:llama3", "hi"),
        {"OLLAMA_HOST": "127.0.0.1:9"},
        1,
        ("no connection", "is ollama running"),
    ),
    "no such tier of a known provider's": (("-m", "sonet", "hi"), {}, 2, ("did you mean 'sonnet'?",)),
    "no number": (("--max-tokens", "-5", "hi"), {}, 2, ("'-5' is not a whole number from 1", "ask --help")),
    "misspelt option": (("--josn", "hi"), {}, 2, ("did you mean --json? `interlingua ask --help`",)),
    "half a schema": (("--schema", "half.json", "hi"), {}, 2, ("half.json: this is no JSON: ",)),
    "no question": ((), {}, 2, ("there is no question", "stdin")),
    "no such file": (("-f", "nowhere.png", "hi"), {}, 2, ("nowhere.png: No such file",)),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_first_mistake_is_one_sentence(
    mistake: str, here: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words, environment, code, says = MISTAKES[mistake]
    monkeypatch.chdir(tmp_path)
    Path("half.json").write_text('{"type": ')
    done = here("ask", *words, **environment)
    assert (done.code, done.out) == (code, b"")
    assert done.err.startswith("interlingua: ")
    assert done.err.count("\n") == 1
    for word in says:
        assert word in done.err


@pytest.mark.parametrize(
    ("step", "code", "says"),
    [
        (refused(ErrorClass.auth, "invalid x-api-key"), 3, ("answered 401", "ANTHROPIC_API_KEY")),
        (
            refused(ErrorClass.invalid_request, "model: nope", 404),
            1,
            ("answered 404", "`interlingua models anthropic`"),
        ),
    ],
    ids=["wrong key", "wrong model"],
)
def test_what_a_provider_refuses(step: Step, code: int, says: tuple[str, ...], here: Any) -> None:
    with LoopbackServer.in_thread(step) as server:
        done = here("ask", "-m", "anthropic:nope", "hi", ANTHROPIC_API_KEY="key", ANTHROPIC_BASE_URL=server.url)
    assert done.code == code
    assert done.err.count("\n") == 1
    for word in says:
        assert word in done.err


def test_a_provider_that_is_down(here: Any) -> None:
    with closed_port() as url:
        done = here("ask", "hi", ANTHROPIC_API_KEY="key", ANTHROPIC_BASE_URL=url)
    assert done.code == 1
    assert "no connection" in done.err
    assert "ANTHROPIC_BASE_URL" in done.err


@pytest.mark.parametrize(
    ("yaml", "says"),
    [
        ("adapters:\n  work: {type: openai\n", "m.yaml:3: not YAML"),
        ("adapters:\n  work: {type: opnai}\n", "did you mean `openai`?"),
    ],
)
def test_malformed_yaml(yaml: str, says: str, here: Any, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(yaml)
    done = here("ask", "--config", str(tmp_path / "m.yaml"), "hi")
    assert done.code == 2
    assert says in done.err


def test_a_key_in_the_file_is_a_note(here: Any, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text("adapters:\n  openai: {api_key: sk-canary-123456}\n")
    for words in (("ask", "-m", "embedded:", "hi"), ("check", "--all")):
        done = here(*words, "--config", str(tmp_path / "m.yaml"))
        assert done.code == 0
        output = (done.out + done.err.encode()).decode()
        assert output.count("adapters.openai contains a key") == 1
        assert "UserWarning" not in output
        assert "canary" not in output


def test_an_unsupported_file(here: Any, tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(bytes(range(128, 256)))
    done = here("ask", "-m", "embedded:", "-f", str(tmp_path / "a.bin"), "hi")
    assert done.code == 2
    assert "is neither text nor one of .png" in done.err


def test_a_missing_extra(here: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.yaml").write_text("models: {}\n")
    monkeypatch.setitem(sys.modules, "yaml", None)
    done = here("ask", "--config", str(tmp_path / "m.yaml"), "hi")
    assert done.code in (2, 3)
    assert "pip install 'interlingua[config]'" in done.err


def test_errors_as_json(here: Any) -> None:
    done = here("ask", "--json", "hi")
    error = json.loads(done.err)["error"]
    assert (error["class"], error["exit"]) == ("auth", 3)
    assert "ANTHROPIC_API_KEY" in error["message"]

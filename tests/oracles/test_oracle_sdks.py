"""Each SDK oracle on small bodies: accepted as they are, accused with one key more at any depth."""

from __future__ import annotations

import ast
import copy
import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import oracles
from lab.oracles import DIALECTS, MissingSdkError, problems, validate_request

Body = dict[str, Any]

LINES = [json.loads(line) for line in Path(__file__).with_name("bodies.jsonl").read_text(encoding="utf-8").splitlines()]
"""Good bodies; and changes of them, with what is said where they are wrong."""
GOOD: dict[str, Body] = {line["dialect"]: line["good"] for line in LINES if "good" in line}

FREE_KEYS = {
    "input", "input_schema", "schema", "parameters", "metadata", "labels", "args", "response", "responseJsonSchema",
    "responseSchema", "format", "arguments", "json", "additionalModelRequestFields", "requestMetadata",
}  # fmt: skip
"""Below these keys of the bodies above anything goes (`format` only in Ollama's)."""


def objects(value: Any, dialect: str, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all objects that are not free-form."""
    found = [path] if isinstance(value, dict) else []
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in steps:
        free = key in FREE_KEYS and not (key == "format" and dialect != "ollama") and not isinstance(inner, list)
        if not free:
            found += objects(inner, dialect, (*path, key))
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_good_body_passes(dialect: str) -> None:
    assert problems(GOOD[dialect], dialect) == []


CLOSED = [(dialect, path) for dialect in DIALECTS for path in objects(GOOD[dialect], dialect)]


@pytest.mark.parametrize(("dialect", "path"), CLOSED)
def test_an_unknown_key_is_found_at_every_depth(dialect: str, path: tuple[Any, ...]) -> None:
    found = validate_request(with_value(GOOD[dialect], (*path, "key_of_tomorrow"), 1), dialect)
    assert any("key_of_tomorrow" in line for line in found), found


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("junk", [None, 1, "x", [], [None], [[]]])
def test_a_wrong_type_is_found_and_nothing_falls_over_it(dialect: str, junk: Any) -> None:
    assert validate_request(junk, dialect)
    for path in objects(GOOD[dialect], dialect)[1:]:
        assert junk is None or validate_request(with_value(GOOD[dialect], path, junk), dialect), path


def with_value(body: Body, path: tuple[Any, ...], value: Any) -> Body:
    body = copy.deepcopy(body)
    place: Any = body
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return body


@pytest.mark.parametrize("line", [line for line in LINES if "changes" in line], ids=str)
def test_what_is_said_of_a_change(line: Body) -> None:
    found = validate_request({**GOOD[line["dialect"]], **line["changes"]}, line["dialect"])
    assert any(line["said"] in each for each in found) if "said" in line else not found, found


def test_an_unknown_dialect_is_named() -> None:
    with pytest.raises(ValueError, match="known are anthropic-messages"):
        validate_request({}, "smoke-signals")


def test_a_missing_sdk_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(oracles.SDKS, "ollama", ("sdk_of_nobody", "validate", "ollama>=0.6.3"))
    oracles.validator.cache_clear()
    try:
        with pytest.raises(MissingSdkError, match=r"pip install 'ollama>=0.6.3' \(or 'interlingua\[dev\]'\)"):
            validate_request({}, "ollama")
    finally:
        oracles.validator.cache_clear()


def test_no_sdk_is_loaded_before_it_is_asked_for() -> None:
    code = (
        "import sys; from lab.oracles import check_order, validate_request\n"
        "check_order({}, 'gemini')\n"
        "sdks = {'openai', 'anthropic', 'google.genai', 'ollama', 'botocore', 'pydantic'}\n"
        "assert not sdks & set(sys.modules), sdks & set(sys.modules)\n"
        "validate_request({}, 'bedrock-converse')\n"
        "assert sdks & set(sys.modules) == {'botocore'}, sdks & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


# Facts about the SDKs on which the oracles' own tables rest.


def moves(converter: str) -> Iterator[tuple[str, str, str, list[str]]]:
    """What google-genai's converters move: (type, field, object that receives it, keys on the wire), nested too."""
    from google.genai import models

    tree = ast.parse(inspect.getsource(getattr(models, converter)))
    owner, _, surface = converter.removeprefix("_").partition("_to_")
    for node in ast.walk(tree):
        match node:
            case ast.If(
                test=ast.Compare(left=ast.Call(args=[_, field])), body=[ast.Expr(ast.Call(args=[place, keys, _]))]
            ):
                yield owner, ast.literal_eval(field)[0], ast.unparse(place), ast.literal_eval(keys)
            case ast.Call(func=ast.Name(name)) if name.endswith(f"_to_{surface}"):
                yield from moves(name)


def converted() -> set[tuple[str, str, str, tuple[str, ...]]]:
    roots = [
        f"_{name}_to_{surface}" for name in ("GenerateContentConfig", "Content") for surface in ("mldev", "vertex")
    ]
    return {(owner, field, place, tuple(keys)) for root in roots for owner, field, place, keys in moves(root)}


def test_the_layout_is_that_of_the_converters() -> None:
    from google.genai import types

    from lab.oracles import sdk_google

    config = {(field, place) for owner, field, place, _ in converted() if owner == "GenerateContentConfig"}
    assert {field for field, place in config if place == "parent_object"} == set(sdk_google.TOP)
    assert {field for field, _ in config} == set(types.GenerateContentConfig.model_fields) - set(
        sdk_google.IN_PYTHON_ONLY
    )


def test_the_names_are_those_of_the_converters() -> None:
    from google.genai import types

    from lab.oracles import sdk_google

    other = {
        (owner, field, keys)
        for owner, field, _, keys in converted()
        if keys != (getattr(types, owner).model_fields[field].alias,)
    }
    renamed = {("GenerateContentConfig", field, (key,)) for field, key in sdk_google.RENAMED.items()}
    nested = {("ImageConfig", field, ("imageOutputOptions", key)) for field, key in sdk_google.IMAGE_OUTPUT.items()}
    assert other == renamed | nested


def test_header_parameters_are_not_in_anthropics_bodies() -> None:
    import anthropic
    import httpx2

    from lab.oracles import sdk_anthropic

    sent: list[Body] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(json.loads(request.content))
        return httpx2.Response(
            200, json={"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []}
        )

    with httpx2.Client(transport=httpx2.MockTransport(answer)) as http:
        client = anthropic.Anthropic(api_key="none", http_client=http)
        client.beta.messages.create(
            model="m", max_tokens=1, messages=[{"role": "user", "content": "?"}],
            betas=["x"], workspace_id="w", user_profile_id="u",
        )  # fmt: skip
    assert sent
    assert not set(sdk_anthropic.HEADERS) & set(sent[0])
    assert validate_request(sent[0], "anthropic-messages") == []


def test_sampling_is_gone_from_anthropics_types() -> None:
    from anthropic.types.message_create_params import MessageCreateParamsBase

    from lab.oracles import sdk_anthropic

    assert not set(sdk_anthropic.SAMPLING) & set(MessageCreateParamsBase.__annotations__)


def test_ollamas_sdk_still_lacks_what_the_server_reads() -> None:
    """When it no longer does, the row in SERVER can go."""
    from lab.oracles import sdk_ollama

    for model, extra in sdk_ollama.SERVER.items():
        assert not set(extra) & set(model.model_fields), model

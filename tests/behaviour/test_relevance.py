"""Does filtering find the tool that a question is about? Measured on tools of real agents; and the small parts."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from behaviour.questions import QUESTIONS, Asked
from behaviour.recorded_tools import recorded_tools
from interlingua import Message, Request, ToolDefinition
from interlingua.client.behaviour import CORE_TOOLS, apply, preset, relevance
from interlingua.client.behaviour.relevance import scores
from interlingua.client.behaviour.stemming import STOP_WORDS, content_words, stem
from interlingua.client.behaviour.thesaurus import SYNONYMS
from shared_data import needs_shared

NAMED = [asked.named for asked in QUESTIONS]
LATER = [asked.later for asked in QUESTIONS]
FREE = [asked.free for asked in QUESTIONS]


def the_tools() -> list[ToolDefinition]:
    found = recorded_tools()
    return [found[asked.client, asked.tool] for asked in QUESTIONS]


def ranks(questions: list[str]) -> list[int]:
    """The rank of each question's own tool, 1 at the top; far behind if the two have no word in common."""
    tools, places = the_tools(), list[int]()
    for own, question in enumerate(questions):
        marks = scores(question, tools)
        order = sorted(range(len(tools)), key=lambda i: (-marks[i], i))
        places.append(order.index(own) + 1 if marks[own] > 0 else len(tools) + 1)
    return places


def recall(places: list[int], at: int) -> float:
    return sum(place <= at for place in places) / len(places)


# --------------------------------------------------------------------------------------------------- the set is fair


def test_sixty_tools_and_three_questions_for_each() -> None:
    assert len(QUESTIONS) == len({asked.tool for asked in QUESTIONS}) == 60
    assert len({*NAMED, *LATER, *FREE}) == 180


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked.tool)
def test_no_question_holds_a_word_of_the_name(asked: Asked) -> None:
    name, squeezed = set(content_words(asked.tool)), asked.tool.lower().replace("_", "")
    for question in (asked.named, asked.later, asked.free):
        words = set(content_words(question))
        assert not words & name
        assert [word for word in words if len(word) > 3 and word in squeezed] == []  # nor a part of it


@needs_shared
@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked.tool)
def test_a_question_that_names_the_subject_has_a_word_of_the_definition(asked: Asked) -> None:
    """In a word of the description or of a parameter, as it stands there: synonyms do not count."""
    tool = recorded_tools()[asked.client, asked.tool]
    parameters = tool.input_schema.get("properties") or {}
    said = " ".join([tool.description or "", *parameters, *map(str, parameters.values())])
    assert set(content_words(asked.named)) & set(content_words(said))
    assert set(content_words(asked.later)) & set(content_words(said))


# ------------------------------------------------------------------------------------------------------- the measure


@needs_shared
@pytest.mark.parametrize("synonyms", [True, False])
def test_recall(monkeypatch: pytest.MonkeyPatch, synonyms: bool) -> None:
    """The numbers of docs/behaviour.md; a random order finds k of 60."""
    if not synonyms:
        monkeypatch.setattr(relevance, "SYNONYM", 0.0)
        monkeypatch.setattr(relevance, "_meanings", relevance._meanings.__wrapped__)  # what is kept holds them
    print("" if synonyms else "\nwithout synonyms")
    for label, questions, floor in (("named", NAMED, 0.95), ("later", LATER, 0.95), ("free", FREE, None)):
        places = ranks(questions)
        at_1, at_10, at_20 = (recall(places, at) for at in (1, 10, 20))
        print(f"{label:6} @1 {at_1:.1%}  @10 {at_10:.1%}  @20 {at_20:.1%}")
        assert floor is None or at_20 >= floor
    print(f"random @1 {1 / 60:.1%}  @10 {10 / 60:.1%}  @20 {20 / 60:.1%}")


@needs_shared
def test_recall_of_a_whole_request() -> None:
    """The same through the preset: twenty tools in all, with the core tools first."""
    behaviour, tools = preset("coding-agent").behaviour_for("openai", "gpt-5"), the_tools()
    found = 0
    for asked, question in [*zip(QUESTIONS, NAMED, strict=True), *zip(QUESTIONS, LATER, strict=True)]:
        request = Request(messages=(Message(role="user", content=question),), tools=tools)
        applied = apply(request, behaviour)
        names = [tool.name for tool in applied.request.tools if isinstance(tool, ToolDefinition)]
        assert len(names) == 20
        assert set(names) >= set(CORE_TOOLS) & {tool.name for tool in tools}
        found += asked.tool in names
    print(f"\nthrough the preset, 20 tools: {found / (2 * len(QUESTIONS)):.1%}")
    assert found / (2 * len(QUESTIONS)) >= 0.95


# ----------------------------------------------------------------------------------------------------------- the parts


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("TodoWrite", ["todo", "writ", "todowrit"]),
        ("mcp__github.create_issue", ["mcp", "github", "creat", "issu"]),
        ("HTTPServer", ["http", "server", "httpserver"]),
        ("read2Files", ["read2", "fil", "read2fil"]),
        ("Use the files!", ["fil"]),
        ("Grüße an Jürgen", ["grüß", "jürgen"]),
        ("", []),
    ],
)
def test_content_words(text: str, words: list[str]) -> None:
    assert content_words(text) == words


@pytest.mark.parametrize(
    "kin",
    [
        "schedule schedules scheduled scheduling",
        "run runs running",
        "stop stops stopped stopping",
        "match matches matched matching",
        "copy copies",
        "process processes processed processing",
        "call calls called calling",
        "image images",
        "file files filed",
        "box boxes",
        "status",
    ],
)
def test_endings_come_off(kin: str) -> None:
    assert len({stem(word) for word in kin.split()}) == 1


@pytest.mark.parametrize("word", ["string", "bring", "class", "this", "red", "thing", "need"])
def test_letters_that_only_look_like_an_ending_stay(word: str) -> None:
    assert stem(word) == word


def test_synonyms_are_mutual_and_never_empty() -> None:
    assert all(word in SYNONYMS[other] for word, others in SYNONYMS.items() for other in others)
    assert not STOP_WORDS & SYNONYMS.keys()


def tool(name: str, description: str = "", **parameters: str) -> ToolDefinition:
    properties = {key: {"type": "string", "description": said} for key, said in parameters.items()}
    return ToolDefinition(name=name, description=description, input_schema={"properties": properties})


def test_every_part_of_a_definition_counts() -> None:
    tools = [
        tool("fetch_invoice"),
        tool("b", "Fetches an invoice."),
        tool("c", invoice=""),
        tool("d", x="The invoice."),
    ]
    assert all(mark > 0 for mark in scores("Where is my invoice?", [*tools, tool("other", "Something else.")])[:4])


def test_nested_parameters_count_and_other_keywords_do_not() -> None:
    nested = {"properties": {"lines": {"items": {"properties": {"sku": {"description": "Article number"}}}}}}
    deep = ToolDefinition(name="a", input_schema=nested)
    shared = ToolDefinition(name="b", input_schema={"$defs": {"Line": {"properties": {"sku": {"type": "string"}}}}})
    named = ToolDefinition(name="c", input_schema={"properties": {"description": {"type": "string"}}})
    assert scores("article", [deep, shared])[0] > 0
    assert min(scores("sku", [deep, shared])) > 0
    assert scores("description", [named, deep])[0] > 0
    assert scores("string properties type", [shared, named]) == [0.0, 0.0]


def test_a_rare_word_outweighs_a_common_one() -> None:
    tools = [tool("v", "a file"), tool("w", "an invoice"), tool("x", "a file"), tool("y", "a file")]
    marks = scores("the file of the invoice", tools)
    assert marks[1] > marks[0] == marks[2]


def test_a_synonym_counts_less_than_the_word_itself() -> None:
    marks = scores("folder", [tool("a", "one folder"), tool("b", "one directory"), tool("c", "one cloud")])
    assert marks[0] > marks[1] > marks[2] == 0.0


def test_no_common_word_scores_zero() -> None:
    assert scores("", [tool("a", "text")]) == [0.0]
    assert scores("the of and", [tool("the", "of")]) == [0.0]
    assert scores("anything", []) == []
    assert scores("anything", [tool("")]) == [0.0]


def test_a_schema_edited_in_place_is_read_anew() -> None:
    mine = tool("a", "one", x="two")
    assert scores("zebra", [mine, tool("b")]) == [0.0, 0.0]
    mine.input_schema["properties"]["zebra"] = {"type": "string"}
    assert scores("zebra", [mine, tool("b")])[0] > 0


SAME = """
from interlingua import ToolDefinition
from interlingua.client.behaviour.relevance import scores
words = "run the shell command, show the log of the process, stop the job, send a mail, make a chart of the table"
tools = [ToolDefinition(name=f"t{i}", description=" ".join(words.split()[i:] + words.split()[:i])) for i in range(24)]
print(scores(words, tools))
"""


def test_the_scores_do_not_depend_on_the_hash_seed() -> None:
    told = {
        subprocess.run(
            [sys.executable, "-c", SAME],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(told) == 1

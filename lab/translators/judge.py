"""Judges one translation: by the vendor's types and ordering rules, by the content that is lost, by how it ends."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from lab.cuts.check import target_faults
from lab.cuts.frames import read_frames
from lab.cuts.words import read_state
from lab.oracles import WARNING, check_order, validate_request
from lab.oracles.leaves import is_object
from lab.translators.sample import Task
from lab.translators.stops import content_of, why_stopped
from lab.translators.strings import all_text, missing, proofs, strings

__all__ = ["Counts", "judge"]

Counts = Counter[str]

FILLED_IN: Final = re.compile(r"(?:strict|detail): missing, ")
"""Keys of Responses that the types require but the service does not: it has defaults for them."""
CLAUDE: Final = {"anthropic-messages", "bedrock-converse"}
"""Two protocols for the models of one issuer."""
IN_URL: Final = ("gemini", "bedrock-converse")


def judge(task: Task, target: str, done: dict[str, Any], lost: Callable[[str, str], object] | None = None) -> Counts:
    """The counts for one translation. ``lost`` is called with the place and the text of each string that is lost."""
    counts: Counts = Counter({"asked": 1})
    if "refused" in done:
        counts["refused"] += 1
    elif "error" in done or done.get("body") is None:
        counts["exceptions"] += 1
    else:
        counts += JUDGES[task.verb](task, target, done, lost or (lambda place, text: None))
    return counts


def _request(task: Task, target: str, done: dict[str, Any], lost: Callable[[str, str], object]) -> Counts:
    counts: Counts = Counter()
    body = sent(done["body"], task, target)
    if task.valid:
        counts["judged"] += 1
        faults = [line for line in validate_request(body, target) if not FILLED_IN.search(line)]
        counts["not valid"] += bool(faults)
        unordered = [line for line in check_order(body, target) if not line.startswith(WARNING)]
        counts["out of order"] += bool(unordered)
        for line in [*faults[:1], *unordered[:1]]:
            lost("!" + re.sub(r"\d+", "#", line)[:120], "")
    written = all_text(body)
    counts += _strings(task.body, written, done, lost)
    if {task.source, target} != CLAUDE:
        counts["proofs"] += len(held := proofs(task.body))
        counts["proofs sent on"] += sum(proof in written for proof in held)
    return counts


def sent(body: Any, task: Task, target: str) -> Any:
    """A body with the model if the protocol has it in the body, and without it if the protocol has it in the URL."""
    if not is_object(body):
        return body
    rest = {key: value for key, value in body.items() if key not in ("model", "modelId")}
    return rest if target in IN_URL else {"model": body.get("model") or task.model, **rest}


def _strings(source: Any, written: str, done: dict[str, Any], lost: Callable[[str, str], object]) -> Counts:
    counts: Counts = Counter()
    for place, text in strings(source):
        counts["strings"] += 1
        if missing(text, written):
            counts["lost"] += 1
            counts["lost silently"] += not done.get("told")
            lost("/".join("*" if isinstance(step, int) else step for step in place), text)
    return counts


def _answer(task: Task, target: str, done: dict[str, Any], lost: Callable[[str, str], object]) -> Counts:
    body = done["body"]
    if not is_object(body):
        return Counter({"exceptions": 1})
    counts = _strings(content_of(task.body, task.source), all_text(content_of(body, target)), done, lost)
    if (expected := why_stopped(task.body, task.source)) is not None:
        counts["stops"] += 1
        counts["wrong stop"] += why_stopped(body, target) != expected
    return counts


def _stream(task: Task, target: str, done: dict[str, Any], lost: Callable[[str, str], object]) -> Counts:
    written = str(done["body"]).encode()
    source = read_state(task.source, read_frames(task.source, task.body.encode()))
    result = read_state(target, read_frames(target, written))
    if source.is_finished:
        return Counter({"whole": 1, "not finished": int(not result.is_finished)})
    faults = list(target_faults(source, target, written, failed=True))
    return Counter({
        "cut": 1,
        "looks finished": int(result.is_finished),
        "unfinished call finished": int(any("call is finished" in fault for fault in faults)),
        "no error told": int(not result.failed),
    })  # fmt: skip


JUDGES: Final = {"request": _request, "answer": _answer, "stream": _stream}

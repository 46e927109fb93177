"""Many questions, a few at a time, with rate limits, progress, and a journal that lets a stopped run go on.

    python examples/batch.py anthropic:haiku answers.jsonl

Without a model's name a scripted model answers. Stop it with Ctrl-C and start it again: questions whose answers are in
the journal are not sent again.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from interlingua import map_requests_sync


def main(model: str, journal: Path) -> None:
    questions = [f"What is {number} squared?" for number in range(200)]
    with map_requests_sync(questions, model, concurrency=20, rate=6000, journal=journal) as results:
        for done, result in enumerate(results, 1):
            if result.error is not None:
                print(f"question {result.index} failed: {result.error}")
            if done % 50 == 0:
                print(f"{done} of {len(questions)}, {results.report.usage.total_tokens} tokens")
    report = results.report
    print(f"{report.done} done, {report.failed} failed, {report.resumed} from the journal")


if __name__ == "__main__":
    given = dict(enumerate(sys.argv))
    place = Path(given[2]) if 2 in given else Path(tempfile.mkdtemp()) / "answers.jsonl"
    main(given.get(1, "embedded:"), place)
    main(given.get(1, "embedded:"), place)  # everything is in the journal now

"""What Anthropic Messages refuses in a value that another dialect or the caller made, and what is written instead."""

from __future__ import annotations

from msgspec.structs import replace

from ...codec.ledger import Ledger
from ...codec.rows.row import Rule
from ...codec.rules import (
    among,
    at_most,
    by_id_rule,
    drop,
    filled,
    hosted_here,
    is_json_call,
    lacking,
    present,
    rule,
    sendable,
    stands_in,
    when,
)
from ...types.blocks import (
    Base64Source,
    Citation,
    DocumentBlock,
    ImageBlock,
    RedactedThinkingBlock,
    TextSource,
    ThinkingBlock,
)
from ...types.request import Request
from ...types.tools import ToolChoice
from .facts import IDS, IMAGE_TYPES, NAME, PDF, PLAIN

BAD_ID = f"{NAME} takes ids of letters, digits, _ and -; one was derived"
FREE_TEXT = f"{NAME} has no free-text calls; sent as a call with one string argument `input`"

# ------------------------------------------------------------------------------------------------------------- blocks


def _is_picture(block: ImageBlock) -> bool:
    source = block.source
    return source.media_type in IMAGE_TYPES if type(source) is Base64Source else type(source) is not TextSource


def _is_document(block: DocumentBlock) -> bool:
    return type(block.source) is not Base64Source or block.source.media_type == PDF


def _without_cache(
    block: ThinkingBlock | RedactedThinkingBlock, ledger: Ledger
) -> ThinkingBlock | RedactedThinkingBlock:
    ledger.lose("dropped", f"thinking blocks of {NAME} take no cache marks", "cache")
    return replace(block, cache=None)


def _as_plain_text(source: TextSource, ledger: Ledger) -> TextSource:
    ledger.lose_form("approximated", f"{NAME} takes {PLAIN} only", "media_type")
    return replace(source, media_type=PLAIN)


def _is_ours(citation: Citation) -> bool:
    return NAME in citation.extras


def _has_proof(citation: Citation) -> bool:
    return "encrypted_index" in citation.extras.get(NAME, ())


UNSIGNED = drop(f"{NAME} accepts only signed reasoning", "state")
NOT_A_PICTURE = drop(f"{NAME} takes images of {', '.join(IMAGE_TYPES)} only")
NOT_A_PDF = drop(f"{NAME} takes documents as data only if they are PDF, not {{0.source.media_type}}")
STORED_ELSEWHERE = drop(f"the file is stored with {{0.dialect}}, which {NAME} cannot read", "state")
NO_PROOF = drop(f"a web citation of {NAME} needs its issuer's `encrypted_index`")
NO_WORD = drop(f"{NAME} has no {{0.kind}} citations")

# fmt: off
#                   what is accepted                           what is written otherwise
FILLED        = filled(NAME)
SIGNED        = rule(present("signature"),                     UNSIGNED, history=True)
UNCACHED      = rule(lacking("cache"),                         _without_cache, history=True)
HOSTED_HERE   = hosted_here(NAME)
STORED_HERE   = rule(among("dialect", (None, NAME)),           STORED_ELSEWHERE)
PLAIN_TEXT    = rule(among("media_type", (PLAIN,)),            _as_plain_text)
PICTURE       = rule(when("source", _is_picture),              NOT_A_PICTURE)
DOCUMENT      = rule(when("source", _is_document),             NOT_A_PDF)
TITLED        = stands_in("filename", "title", f"documents of {NAME} have a title; the file name was taken")
PROVED        = rule(when("extras", _has_proof),               NO_PROOF)
OUR_CITATION  = rule(when("kind", _is_ours),                   NO_WORD)
JSON_CALL     = is_json_call(FREE_TEXT)
CALL_ID       = by_id_rule("id", IDS, BAD_ID)
RESULT_ID     = by_id_rule("tool_use_id", IDS, BAD_ID)
# fmt: on


def whole(kind: str, needed: list[str]) -> Rule:
    """A citation that says all that the protocol wants of its kind."""

    def is_whole(citation: Citation) -> bool:
        return None not in [getattr(citation, field) for field in needed]

    return rule(when("fields", is_whole), drop(f"a {kind} citation of {NAME} needs its {', '.join(needed)}"))


# ---------------------------------------------------------------------------------------------------------- parameters


def _may_be_parallel(choice: ToolChoice) -> bool:
    return choice.mode != "none" or choice.parallel is None


def _as_auto(choice: ToolChoice, ledger: Ledger) -> ToolChoice:
    ledger.lose_form("added", f"a tool choice of {NAME} needs a mode; auto was added", "mode")
    return replace(choice, mode="auto")


def _without_parallel(choice: ToolChoice, ledger: Ledger) -> ToolChoice:
    ledger.lose_form("dropped", "no tool may be called, also not in parallel", "parallel")
    return replace(choice, parallel=None)


def _at_most_1(request: Request, ledger: Ledger) -> Request:
    ledger.lose("approximated", f"{NAME} takes a temperature of at most 1", "temperature")
    return replace(request, temperature=1)


# fmt: off
SENDABLE      = sendable(NAME)
HAS_MODE      = rule(present("mode"),                          _as_auto)
NOT_PARALLEL  = rule(when("parallel", _may_be_parallel),       _without_parallel)
TEMPERATE     = rule(at_most("temperature", 1),                _at_most_1)
# fmt: on

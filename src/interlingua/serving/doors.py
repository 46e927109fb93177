"""The endpoints of every dialect, as a table: method, path, dialect, and kind.

A path is a pattern: ``{model}`` is the name of the model, which may hold colons and slashes, ``{stream}`` the word that
requests a stream, ``{v}`` a version, ``{_}`` any segment, and a part in parentheses is optional, because some clients
leave it out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal
from urllib.parse import unquote

from msgspec import Struct
from msgspec.structs import replace

__all__ = ["DOORS", "PREFIXES", "Door", "Entrance", "Kind", "find_entrance", "is_name"]

Kind = Literal[
    "generate", "invoke", "count", "compact", "list", "show", "version", "probe", "accept", "upgrade", "pass"
]
"""What an endpoint does. ``invoke``: answer a body of Messages, at an endpoint of Bedrock. ``compact``: replace a
conversation by one item. ``probe``: show that the server runs. ``accept``: take a body and drop it. ``upgrade``: refuse
a WebSocket, so that clients use HTTP. ``pass``: pass on what is not a conversation, such as files."""

ANTHROPIC, CHAT, RESPONSES = "anthropic-messages", "openai-chat", "openai-responses"
GEMINI, OLLAMA, BEDROCK = "gemini", "ollama", "bedrock-converse"


class Door(Struct, frozen=True):
    """One endpoint."""

    method: str
    path: str
    dialect: str
    kind: Kind
    streams: bool = False
    """Whether the answer is a stream unless the body says otherwise."""


class Entrance(Struct, frozen=True):
    """The endpoint that a request line names, and the model and the stream flag in its path."""

    door: Door
    model: str | None = None
    stream: bool | None = None
    rest: str = ""
    """The path at the provider, for requests that are passed on. ``{model}`` is replaced by its name of the model."""


# fmt: off
DOORS = (
    #    method   path                                                     dialect    kind
    Door("POST", "(/v1)/messages",                                         ANTHROPIC, "generate"),
    Door("POST", "(/v1)/messages/count_tokens",                            ANTHROPIC, "count"),
    Door("POST", "/api/event_logging/batch",                               ANTHROPIC, "accept"),
    Door("HEAD", "/api/hello",                                             ANTHROPIC, "probe"),
    Door("GET",  "/api/hello",                                             ANTHROPIC, "probe"),
    Door("POST", "(/openai)(/v1)/chat/completions",                        CHAT,      "generate"),
    Door("POST", "(/openai)/deployments/{model}/chat/completions",         CHAT,      "generate"),
    Door("GET",  "(/openai)(/v1)/models",                                  CHAT,      "list"),
    Door("GET",  "(/openai)(/v1)/models/{model}",                          CHAT,      "show"),
    Door("POST", "(/openai)(/v1)/responses",                               RESPONSES, "generate"),
    Door("GET",  "(/openai)(/v1)/responses",                               RESPONSES, "upgrade"),
    Door("POST", "(/openai)(/v1)/responses/compact",                       RESPONSES, "compact"),
    Door("POST", "(/openai)(/v1)/responses/input_tokens",                  RESPONSES, "count"),
    # Gemini's own server, and Vertex; some clients write the model twice
    Door("POST", "(/{v})(/models/{_})/models/{model}:{stream}enerateContent",       GEMINI, "generate"),
    Door("POST", "(/{v})(/models/{_})/models/{model}:countTokens",                  GEMINI, "count"),
    Door("POST", "(/{v})({project})/publishers/{_}/models/{model}:{stream}enerateContent", GEMINI, "generate"),
    Door("POST", "(/{v})({project})/publishers/{_}/models/{model}:countTokens",     GEMINI, "count"),
    # the AI SDK takes a name with a slash for a path
    Door("POST", "/{v}/{model}:{stream}enerateContent",                     GEMINI,   "generate"),
    Door("POST", "/{v}/{model}:countTokens",                                GEMINI,   "count"),
    Door("GET",  "/v1beta/models",                                         GEMINI,    "list"),
    Door("GET",  "/v1beta/models/{model}",                                 GEMINI,    "show"),
    Door("POST", "/api/chat",                                              OLLAMA,    "generate", streams=True),
    Door("POST", "/api/generate",                                          OLLAMA,    "generate", streams=True),
    Door("GET",  "/api/tags",                                              OLLAMA,    "list"),
    Door("GET",  "/api/ps",                                                OLLAMA,    "list"),
    Door("POST", "/api/show",                                              OLLAMA,    "show"),
    Door("GET",  "/api/version",                                           OLLAMA,    "version"),
    Door("HEAD", "/",                                                      OLLAMA,    "probe"),
    Door("GET",  "/",                                                      OLLAMA,    "probe"),
    Door("POST", "/model/{model}/converse",                                BEDROCK,   "generate"),
    Door("POST", "/model/{model}/converse-{stream}",                       BEDROCK,   "generate"),
    Door("POST", "/model/{model}/invoke",                                  BEDROCK,   "invoke"),
    Door("POST", "/model/{model}/invoke-with-response-{stream}",           BEDROCK,   "invoke"),
    Door("POST", "/model/{model}/count-tokens",                            BEDROCK,   "count"),
    Door("GET",  "/inference-profiles",                                    BEDROCK,   "list"),
    Door("GET",  "/inference-profiles/{model}",                            BEDROCK,   "show"),
)
"""Every endpoint that a server answers in these dialects."""
# fmt: on

PREFIXES: dict[str, tuple[str, ...]] = {
    "anthropic": (ANTHROPIC,),
    "openai": (CHAT, RESPONSES),
    "genai": (GEMINI,),
    "gemini": (GEMINI,),
    "bedrock": (BEDROCK,),
    "ollama": (OLLAMA, CHAT),
}
"""The first segments that may precede a path, and the dialects whose endpoints are below. Shared endpoints are too."""


class Passed(Struct, frozen=True):
    """The endpoints of a dialect that are not conversations: the paths below these roots."""

    dialect: str
    version: str
    roots: tuple[str, ...]


# fmt: off
PASSED = (
    Passed(ANTHROPIC, "/v1",     ("messages/batches", "files", "skills", "complete")),
    Passed(CHAT,      "/v1",     ("files", "uploads", "batches", "images", "audio", "videos", "embeddings",
                                  "moderations", "completions", "vector_stores", "responses", "conversations",
                                  "chat/completions", "fine_tuning", "evals", "containers", "assistants", "threads")),
    Passed(GEMINI,    "/v1beta", ("files", "cachedContents", "batches", "fileSearchStores")),
    Passed(OLLAMA,    "/api",    ("embed", "embeddings")),
)
# fmt: on
PASSED_METHODS = frozenset({"GET", "POST", "DELETE"})
MODEL_VERBS = re.compile(
    "(?:/v1(?:beta)?)?/models/(?P<model>[^/]+):(?P<verb>embedContent|batchEmbedContents|batchGenerateContent|predict\\w*)"
)
SEGMENTS = r"(?:/(?!\.\.?(?:/|$))[\w.:@=~-]{1,256})*"

DIALECT_HEADERS = {"anthropic-version": ANTHROPIC, "x-goog-api-key": GEMINI}
"""The headers that show the client's dialect at a path that several dialects share, such as the list of models."""
LISTS = ("list", "show")

PATTERNS = {
    "{model}": "(?P<model>.+)",
    "{stream}": "(?P<stream>streamG|g|stream)",
    "{project}": "/projects/[^/]+/locations/[^/]+",
    "{v}": r"v1(?:beta|alpha)?\d*",
    "{_}": "[^/]+",
}
STREAMS = {"streamG": True, "stream": True, "g": False}
NAME = re.compile(r"[\w.:@/+~\[\] -]{1,256}", re.ASCII)
LONGEST_PATH = 2048


def _compile(path: str) -> re.Pattern[str]:
    parts = re.split(r"(\{\w+\}|[()])", path)
    marks = {"(": "(?:", ")": ")?", **PATTERNS}
    return re.compile("".join(marks.get(part) or re.escape(part) for part in parts) + "/?")


_COMPILED = tuple((door, _compile(door.path)) for door in DOORS)


def find_entrance(method: str, path: str, headers: Mapping[str, str] | None = None) -> Entrance | None:
    """The endpoint that a request line names; None if no dialect has it.

    ``path`` is without the query. The list of models has the same path in three dialects: ``headers``, with names in
    lower case, decide. A name that no model can have, such as one with a line break or ``..``, gives None too.
    """
    if len(path) > LONGEST_PATH:
        return None
    found = _find(method, path)
    if found is None:
        return _find_passed(method, path, headers or {})
    if headers is None or not (_is_shared(found.door) and found.door.dialect == CHAT):
        return found
    return _in_dialect(found, _dialect_of(headers))


def _dialect_of(headers: Mapping[str, str]) -> str:
    return next((dialect for name, dialect in DIALECT_HEADERS.items() if name in headers), CHAT)


@lru_cache(maxsize=1024)
def _find(method: str, path: str) -> Entrance | None:
    prefix, _, rest = path[1:].partition("/")
    family = PREFIXES.get(prefix, ())
    found = _match(method, f"/{rest}", family) if family else None
    if found is None:
        return _match(method, path)
    return _in_dialect(found, CHAT if CHAT in family else family[0]) if _is_shared(found.door) else found


def _match(method: str, path: str, family: tuple[str, ...] = ()) -> Entrance | None:
    for door, pattern in _COMPILED:
        if door.method != method or (family and door.dialect not in family and not _is_shared(door)):
            continue
        match = pattern.fullmatch(path)
        if match is not None:
            return _entrance(door, match.groupdict())
    return None


def _entrance(door: Door, named: dict[str, str | None]) -> Entrance | None:
    model = unquote(named.get("model") or "") or None
    if model is not None and not is_name(model):
        return None
    word = named.get("stream")
    return Entrance(door, model, _default_stream(door) if word is None else STREAMS[word])


_ROOTS = tuple(
    (row, re.compile(f"(?:{row.version})?(/(?:{'|'.join(row.roots)}){SEGMENTS})/?", re.ASCII)) for row in PASSED
)


def _find_passed(method: str, path: str, headers: Mapping[str, str]) -> Entrance | None:
    """An endpoint that is not a conversation. Several dialects have files: a prefix or a header decides which."""
    if method not in PASSED_METHODS:
        return None
    prefix, _, rest = path[1:].partition("/")
    family = PREFIXES.get(prefix, ())
    if family:
        path = f"/{rest}"
    found = [(row, match[1]) for row, pattern in _ROOTS if (match := pattern.fullmatch(path)) is not None]
    if family:
        found = [(row, below) for row, below in found if row.dialect in family]
    elif len(found) > 1:
        dialect = _dialect_of(headers)
        found = [(row, below) for row, below in found if row.dialect == dialect] or found
    if found:
        row, below = found[0]
        return Entrance(Door(method, path, row.dialect, "pass"), None, None, f"{row.version}{below}")
    match = MODEL_VERBS.fullmatch(path) if method == "POST" and (not family or GEMINI in family) else None
    if match is None or not is_name(unquote(match["model"])):
        return None
    door = Door(method, path, GEMINI, "pass")
    return Entrance(door, unquote(match["model"]), None, f"/v1beta/models/{{model}}:{match['verb']}")


def _is_shared(door: Door) -> bool:
    """Whether several dialects share this path: a list of models, or the root, which clients probe."""
    return (door.dialect == CHAT and door.kind in LISTS) or door.path == "/"


def _in_dialect(found: Entrance, dialect: str) -> Entrance:
    return found if dialect == found.door.dialect else replace(found, door=replace(found.door, dialect=dialect))


def _default_stream(door: Door) -> bool | None:
    """The stream flag of a path without ``{stream}``: False for Bedrock; elsewhere None, because the body decides."""
    return False if door.dialect == BEDROCK and door.kind in ("generate", "invoke") else None


def is_name(model: str) -> bool:
    """Whether a model can have this name. It must be safe in URLs and headers."""
    return NAME.fullmatch(model) is not None and not {".", ".."} & set(re.split("[/:]", model))

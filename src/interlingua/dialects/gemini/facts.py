"""Facts of Gemini that are not rows: its name, path, limits, media types, and how its keys are spelled."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...codec.json import is_array
from ...codec.rows.key_spelling import KeySpelling
from ...codec.schema.subsets import SHAPE, Subset, is_strings_or_numbers, words
from ...codec.tools.hosted_tools import HostedTool
from ...codec.tools.tool_names import NameRule
from ...types.base import Json

NAME = "gemini"
NAMES = NameRule("a-zA-Z0-9_.:-", 64, first="a-zA-Z_", results=True)
VERSION = "v1beta"
SIGNATURE = "thoughtSignature"
PLACEHOLDERS = ("skip_thought_signature_validator", "context_engineering_is_the_way_to_go")
"""Values that the documentation allows in place of a signature that does not exist."""
CODE = "code_execution"
"""The name of our blocks for code that the provider runs: its parts have no name."""
JSON_TYPE = "application/json"
LEVELS = ("minimal", "low", "medium", "high")
MAX_STOPS = 5
GENERATION = re.compile(r"gemini-(\d+)")
COLLECTION = re.compile(r"(models|tunedModels|publishers|projects)/")
LABEL = re.compile(r"[a-z][a-z0-9_-]{0,62}")
LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
YOUTUBE = re.compile(r"https?://(www\.|m\.)?(youtube\.com|youtu\.be)/")
STORED = re.compile(r"gs://|https://generativelanguage\.googleapis\.com/|(?!\w+://)")
"""URLs of files that the provider itself stores."""
MEDIA_TYPES = {
    **{end: f"image/{end}" for end in ("png", "gif", "webp", "heic", "heif", "bmp")},
    **{end: f"audio/{end}" for end in ("wav", "aac", "ogg", "flac", "aiff", "opus")},
    "jpg": "image/jpeg", "jpeg": "image/jpeg", "mp3": "audio/mpeg", "m4a": "audio/mp4",
    "mp4": "video/mp4", "mov": "video/quicktime", "webm": "video/webm", "mpeg": "video/mpeg", "mpg": "video/mpeg",
    "avi": "video/x-msvideo", "wmv": "video/wmv", "flv": "video/x-flv", "3gp": "video/3gpp", "mkv": "video/x-matroska",
    "pdf": "application/pdf", "json": "application/json", "txt": "text/plain", "md": "text/markdown",
    "html": "text/html", "htm": "text/html", "csv": "text/csv", "xml": "text/xml", "rtf": "text/rtf",
    "css": "text/css", "js": "text/javascript", "py": "text/x-python",
}  # fmt: skip
"""Media types by the extension of a URL."""

# The servers read keys in snake_case too. Keys below the free keys are never respelled: they are the caller's
# (arguments, results, schemas, labels), or have a reader of their own (turns, parts, tools).
WORDS = """
thoughtSignature inlineData fileData functionCall functionResponse executableCode codeExecutionResult toolCall
toolResponse toolType mimeType fileUri displayName mediaResolution audioTranscription partialArgs jsonPath stringValue
numberValue boolValue nullValue willContinue
systemInstruction generationConfig toolConfig functionCallingConfig allowedFunctionNames serviceTier maxOutputTokens
topP topK stopSequences responseMimeType responseSchema responseJsonSchema thinkingConfig includeThoughts
thinkingBudget thinkingLevel functionDeclarations parametersJsonSchema
finishReason usageMetadata promptTokenCount cachedContentTokenCount candidatesTokenCount thoughtsTokenCount
toolUsePromptTokenCount totalTokenCount modelVersion responseId promptFeedback blockReason logprobsResult
groundingMetadata groundingChunks groundingSupports groundingChunkIndices retrievedContext citationMetadata
citationSources startIndex endIndex partIndex
"""
FREE = "args response parameters parametersJsonSchema responseSchema responseJsonSchema labels contents tools parts"
KEYS = KeySpelling(WORDS.split(), FREE.split())

# https://ai.google.dev/api/caching#Tool
HOSTED = (
    HostedTool("web_search", {"googleSearch": {}}, "googleSearch|google_search|googleSearchRetrieval",
               {"blocked_domains": "excludeDomains"}),
    HostedTool("web_fetch", {"urlContext": {}}, "urlContext|url_context"),
    HostedTool("code_execution", {"codeExecution": {}}, "codeExecution|code_execution"),
)  # fmt: skip


def original_value(mark: Mapping[str, Json], key: str) -> list[Json] | None:
    """What the wire had under a key, if we would write something else: ``[value]``, or ``[]`` for no such key.

    None if nothing is marked. An earlier release may have saved another mark of this name, which is no list.
    """
    found = mark.get(key)
    return found if is_array(found) else None


# https://ai.google.dev/api/generate-content#FIELDS.response_json_schema
# The bounds of strings, `default` and `uniqueItems` as recorded.
SUBSET = Subset(
    keywords=SHAPE
    | words("$schema $id $anchor $ref $defs prefixItems minItems maxItems minimum maximum oneOf additionalProperties")
    | words("propertyOrdering format default minLength maxLength pattern uniqueItems"),
    accepts={"enum": is_strings_or_numbers},
    null_in_enum=False,
)

"""Keys in camelCase, as the protocol writes them, or in snake_case, as its servers read them too.

Only words that are read here are respelled; what is residue stays as it came. The mark ``snake`` lists the places, in
camelCase, whose last key was in snake_case.
"""

from __future__ import annotations

import re
from typing import Any, TypeGuard

from ...types.base import Json

Wire = dict[str, Json]


def is_object(value: Json) -> TypeGuard[Wire]:
    return type(value) is dict


def is_array(value: Json) -> TypeGuard[list[Json]]:
    return type(value) is list


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
""".split()


def _snake(word: str) -> str:
    return re.sub(r"[A-Z]", lambda letter: f"_{letter[0].lower()}", word)


CAMEL = {_snake(word): word for word in WORDS}
SNAKE = {word: snake for snake, word in CAMEL.items()}

# What lies under these keys is the caller's own: arguments, results, schemas, maps.
FREE = frozenset(
    ("args", "response", "parameters", "parametersJsonSchema", "responseSchema", "responseJsonSchema", "labels")
)


def camel(wire: Wire, found: list[str], path: str = "") -> Wire:
    """A private copy in camelCase; ``found`` gets the places that were not. Free values are shared, not copied."""
    said: Wire = {}
    for key, value in wire.items():
        if "_" in key and key in CAMEL and CAMEL[key] not in wire:
            key = CAMEL[key]
            found.append(path + key)
        if is_object(value):
            value = value if key in FREE else camel(value, found, f"{path}{key}/")
        elif is_array(value):
            value = [camel(v, found, f"{path}{key}/{i}/") if is_object(v) else v for i, v in enumerate(value)]
        said[key] = value
    return said


def respell(wire: Wire, found: list[str]) -> Wire:
    """``wire`` as it was spelled; what is shared with others is not altered."""
    said: Wire = _respelled(wire, frozenset(found), "")
    return said


def _respelled(value: Any, found: frozenset[str], path: str) -> Any:
    if is_array(value):
        return [_respelled(item, found, f"{path}{i}/") for i, item in enumerate(value)]
    if not is_object(value) or not any(place.startswith(path) for place in found):
        return value
    return {
        SNAKE[key] if path + key in found else key: _respelled(item, found, f"{path}{key}/")
        for key, item in value.items()
    }

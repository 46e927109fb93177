"""One language for conversations with language models, and exact translators between it and every wire protocol.

Everything public is here, loaded on first use: importing the package loads no dialect and no HTTP library.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .dialects import DIALECTS as DIALECTS
    from .dialects import Dialect as Dialect
    from .dialects import StreamDecoder as StreamDecoder
    from .dialects import StreamEncoder as StreamEncoder
    from .dialects import dialect as dialect
    from .dialects import register_dialect as register_dialect
    from .detect import detect_dialect as detect_dialect
    from .errors import *
    from .folding import fold as fold
    from .folding import unfold as unfold
    from .grammar import StreamGrammar as StreamGrammar
    from .schema import restore_optional as restore_optional
    from .schema import strict_schema as strict_schema
    from .translate import *
    from .types import *

__version__ = "0.1.0"

_PLACES: dict[str, tuple[str, ...]] = {
    # module: the public names it gives
    "detect": ("detect_dialect",),
    "dialects": ("DIALECTS", "Dialect", "StreamDecoder", "StreamEncoder", "dialect", "register_dialect"),
    "errors": (
        "AdapterError", "AuthError", "CancelledError", "ContextOverflowError", "InvalidRequestError",
        "LossyTranslation", "NetworkError", "NotConfigured", "ParseError", "RateLimitError", "RequestTimeoutError",
        "ServerError", "ToolStateError", "error_type",
    ),
    "folding": ("fold", "unfold"),
    "grammar": ("StreamGrammar",),
    "schema": ("restore_optional", "strict_schema"),
    "translate": (
        "build_tool_results", "decode_stream", "parse_tool_calls", "translate_request",
        "translate_response", "translate_stream", "validate_tool_results",
    ),
    "types": (
        "AdapterCapabilities", "AudioBlock", "Base64Source", "Block", "BlockBase", "BlockComplete", "BlockStart",
        "CacheMark", "Citation", "CitationDelta", "DocumentBlock", "Encoded", "ErrorClass", "Event", "EventBase",
        "FileSource", "ImageBlock", "Json", "JsonBlock", "Loss", "LossKind", "Message", "MessageComplete",
        "MessageStart", "OpaqueBlock", "Origin", "RedactedThinkingBlock", "RefusalBlock", "Request", "Response",
        "Role", "ServerTool", "ServerToolResultBlock", "ServerToolUseBlock", "Source", "StopReason", "Target",
        "TextBlock", "TextDelta", "TextSource", "Thinking", "ThinkingBlock", "ThinkingDelta", "TokenUsage", "Tool",
        "ToolAnnotations", "ToolChoice", "ToolDefinition", "ToolOutput", "ToolResultBlock", "ToolUseBlock",
        "ToolUseEnd", "ToolUseInputDelta", "ToolUseStart", "Unknown", "UrlSource", "UsageUpdate", "Value",
        "VideoBlock", "WireError",
    ),
}  # fmt: skip

__all__ = [
    "AdapterCapabilities",
    "AdapterError",
    "AudioBlock",
    "AuthError",
    "Base64Source",
    "Block",
    "BlockBase",
    "BlockComplete",
    "BlockStart",
    "CacheMark",
    "CancelledError",
    "Citation",
    "CitationDelta",
    "ContextOverflowError",
    "DIALECTS",
    "Dialect",
    "DocumentBlock",
    "Encoded",
    "ErrorClass",
    "Event",
    "EventBase",
    "FileSource",
    "ImageBlock",
    "InvalidRequestError",
    "Json",
    "JsonBlock",
    "Loss",
    "LossKind",
    "LossyTranslation",
    "Message",
    "MessageComplete",
    "MessageStart",
    "NetworkError",
    "NotConfigured",
    "OpaqueBlock",
    "Origin",
    "ParseError",
    "RateLimitError",
    "RedactedThinkingBlock",
    "RefusalBlock",
    "Request",
    "RequestTimeoutError",
    "Response",
    "Role",
    "ServerError",
    "ServerTool",
    "ServerToolResultBlock",
    "ServerToolUseBlock",
    "Source",
    "StopReason",
    "StreamDecoder",
    "StreamEncoder",
    "StreamGrammar",
    "Target",
    "TextBlock",
    "TextDelta",
    "TextSource",
    "Thinking",
    "ThinkingBlock",
    "ThinkingDelta",
    "TokenUsage",
    "Tool",
    "ToolAnnotations",
    "ToolChoice",
    "ToolDefinition",
    "ToolOutput",
    "ToolResultBlock",
    "ToolStateError",
    "ToolUseBlock",
    "ToolUseEnd",
    "ToolUseInputDelta",
    "ToolUseStart",
    "Unknown",
    "UrlSource",
    "UsageUpdate",
    "Value",
    "VideoBlock",
    "WireError",
    "build_tool_results",
    "decode_stream",
    "detect_dialect",
    "dialect",
    "error_type",
    "fold",
    "parse_tool_calls",
    "register_dialect",
    "restore_optional",
    "strict_schema",
    "translate_request",
    "translate_response",
    "translate_stream",
    "unfold",
    "validate_tool_results",
]

_MODULES = {name: module for module, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])

"""One language for conversations with language models, and exact translators between it and every wire protocol.

The names that most programs need are here, loaded on first use: importing the package loads no dialect and no HTTP
library. Public, too, is the ``__all__`` of these modules, of which only the usual names are repeated here:
``interlingua.behaviour``, ``interlingua.bus``, ``interlingua.catalogue``, ``interlingua.embedded``,
``interlingua.pricing``, ``interlingua.providers``, ``interlingua.routing``, ``interlingua.schema``,
``interlingua.session``, ``interlingua.tools``, ``interlingua.testing.cassettes``, ``interlingua.testing.conformance``
and ``interlingua.testing.strategies``. All other modules are internal and may change without notice.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .behaviour import (
        Behaviour as Behaviour,
        Preset as Preset,
        load_preset as load_preset,
        preset as preset,
    )
    from .bus import subscribe as subscribe
    from .catalogue import (
        Catalogue as Catalogue,
        ConfigError as ConfigError,
        Price as Price,
    )
    from .client import (
        AsyncClient as AsyncClient,
        Client as Client,
        ProviderAdapter as ProviderAdapter,
        connect as connect,
        connect_sync as connect_sync,
    )
    from .config import (
        AdapterConfig as AdapterConfig,
        Retry as Retry,
    )
    from .detect import detect_dialect as detect_dialect
    from .dialects import (
        DIALECTS as DIALECTS,
        Dialect as Dialect,
        StreamDecoder as StreamDecoder,
        StreamEncoder as StreamEncoder,
        dialect as dialect,
        register_dialect as register_dialect,
    )
    from .errors import (
        AdapterError as AdapterError,
        AuthError as AuthError,
        CancelledError as CancelledError,
        ContextOverflowError as ContextOverflowError,
        InvalidRequestError as InvalidRequestError,
        LossyTranslation as LossyTranslation,
        NetworkError as NetworkError,
        NotConfigured as NotConfigured,
        OverloadedError as OverloadedError,
        ParseError as ParseError,
        RateLimitError as RateLimitError,
        RequestTimeoutError as RequestTimeoutError,
        ServerError as ServerError,
        StoreError as StoreError,
        ToolStateError as ToolStateError,
        error_type as error_type,
    )
    from .export import (
        log_calls as log_calls,
        trace_calls as trace_calls,
    )
    from .folding import (
        fold as fold,
        unfold as unfold,
    )
    from .grammar import StreamGrammar as StreamGrammar
    from .limits import Limits as Limits
    from .manager import ProviderManager as ProviderManager
    from .media import (
        FetchLimits as FetchLimits,
        fetch_media as fetch_media,
        fetch_media_sync as fetch_media_sync,
    )
    from .pricing import (
        Pricing as Pricing,
        reprice as reprice,
    )
    from .providers import (
        PROVIDERS as PROVIDERS,
        Auth as Auth,
        Provider as Provider,
    )
    from .routing import Router as Router
    from .saving import (
        from_json as from_json,
        to_json as to_json,
    )
    from .schema import (
        restore_optional as restore_optional,
        strict_schema as strict_schema,
    )
    from .secrets import Secret as Secret
    from .session import (
        JsonStore as JsonStore,
        Session as Session,
        SqliteStore as SqliteStore,
        SyncSession as SyncSession,
    )
    from .swap import (
        SwapPlan as SwapPlan,
        plan_swap as plan_swap,
    )
    from .tools import (
        McpTools as McpTools,
        Toolbox as Toolbox,
        ToolContext as ToolContext,
        tool as tool,
    )
    from .translate import (
        build_tool_results as build_tool_results,
        decode_stream as decode_stream,
        parse_tool_calls as parse_tool_calls,
        repair_tool_results as repair_tool_results,
        translate_request as translate_request,
        translate_response as translate_response,
        translate_stream as translate_stream,
        validate_request as validate_request,
        validate_tool_results as validate_tool_results,
    )
    from .types import (
        AdapterCapabilities as AdapterCapabilities,
        AudioBlock as AudioBlock,
        Base64Source as Base64Source,
        Block as Block,
        BlockBase as BlockBase,
        BlockComplete as BlockComplete,
        BlockStart as BlockStart,
        CacheMark as CacheMark,
        Citation as Citation,
        CitationDelta as CitationDelta,
        DocumentBlock as DocumentBlock,
        Encoded as Encoded,
        ErrorClass as ErrorClass,
        Event as Event,
        EventBase as EventBase,
        FileSource as FileSource,
        ImageBlock as ImageBlock,
        Json as Json,
        JsonBlock as JsonBlock,
        Loss as Loss,
        LossKind as LossKind,
        LossWeight as LossWeight,
        Message as Message,
        MessageComplete as MessageComplete,
        MessageStart as MessageStart,
        OpaqueBlock as OpaqueBlock,
        Origin as Origin,
        RedactedThinkingBlock as RedactedThinkingBlock,
        RefusalBlock as RefusalBlock,
        Request as Request,
        Response as Response,
        Role as Role,
        ServerTool as ServerTool,
        ServerToolResultBlock as ServerToolResultBlock,
        ServerToolUseBlock as ServerToolUseBlock,
        Source as Source,
        StopReason as StopReason,
        Target as Target,
        TextBlock as TextBlock,
        TextDelta as TextDelta,
        TextSource as TextSource,
        Thinking as Thinking,
        ThinkingBlock as ThinkingBlock,
        ThinkingDelta as ThinkingDelta,
        TokenUsage as TokenUsage,
        Tool as Tool,
        ToolAnnotations as ToolAnnotations,
        ToolChoice as ToolChoice,
        ToolDefinition as ToolDefinition,
        ToolOutput as ToolOutput,
        ToolResultBlock as ToolResultBlock,
        ToolUseBlock as ToolUseBlock,
        ToolUseEnd as ToolUseEnd,
        ToolUseInputDelta as ToolUseInputDelta,
        ToolUseStart as ToolUseStart,
        Unknown as Unknown,
        UrlSource as UrlSource,
        UsageUpdate as UsageUpdate,
        Value as Value,
        VideoBlock as VideoBlock,
        WireError as WireError,
    )

__version__ = "0.1.0"

_PLACES: dict[str, tuple[str, ...]] = {
    # module: the public names it gives
    "behaviour": ("Behaviour", "Preset", "load_preset", "preset"),
    "bus": ("subscribe",),
    "catalogue": ("Catalogue", "ConfigError", "Price"),
    "client": ("AsyncClient", "Client", "ProviderAdapter", "connect", "connect_sync"),
    "config": ("AdapterConfig", "Retry"),
    "detect": ("detect_dialect",),
    "dialects": ("DIALECTS", "Dialect", "StreamDecoder", "StreamEncoder", "dialect", "register_dialect"),
    "errors": (
        "AdapterError", "AuthError", "CancelledError", "ContextOverflowError", "InvalidRequestError",
        "LossyTranslation", "NetworkError", "NotConfigured", "OverloadedError", "ParseError", "RateLimitError",
        "RequestTimeoutError", "ServerError", "StoreError", "ToolStateError", "error_type",
    ),
    "export": ("log_calls", "trace_calls"),
    "folding": ("fold", "unfold"),
    "grammar": ("StreamGrammar",),
    "limits": ("Limits",),
    "manager": ("ProviderManager",),
    "media": ("FetchLimits", "fetch_media", "fetch_media_sync"),
    "pricing": ("Pricing", "reprice"),
    "providers": ("Auth", "PROVIDERS", "Provider"),
    "routing": ("Router",),
    "saving": ("from_json", "to_json"),
    "schema": ("restore_optional", "strict_schema"),
    "secrets": ("Secret",),
    "session": ("JsonStore", "Session", "SqliteStore", "SyncSession"),
    "swap": ("SwapPlan", "plan_swap"),
    "tools": ("McpTools", "ToolContext", "Toolbox", "tool"),
    "translate": (
        "build_tool_results", "decode_stream", "parse_tool_calls", "repair_tool_results", "translate_request",
        "translate_response", "translate_stream", "validate_request",
        "validate_tool_results",
    ),
    "types": (
        "AdapterCapabilities", "AudioBlock", "Base64Source", "Block", "BlockBase", "BlockComplete",
        "BlockStart", "CacheMark", "Citation", "CitationDelta", "DocumentBlock", "Encoded", "ErrorClass",
        "Event", "EventBase", "FileSource", "ImageBlock", "Json", "JsonBlock", "Loss", "LossKind", "LossWeight",
        "Message", "MessageComplete", "MessageStart", "OpaqueBlock", "Origin", "RedactedThinkingBlock", "RefusalBlock",
        "Request", "Response", "Role", "ServerTool", "ServerToolResultBlock", "ServerToolUseBlock", "Source",
        "StopReason", "Target", "TextBlock", "TextDelta", "TextSource", "Thinking", "ThinkingBlock",
        "ThinkingDelta", "TokenUsage", "Tool", "ToolAnnotations", "ToolChoice", "ToolDefinition",
        "ToolOutput", "ToolResultBlock", "ToolUseBlock", "ToolUseEnd", "ToolUseInputDelta", "ToolUseStart",
        "Unknown", "UrlSource", "UsageUpdate", "Value", "VideoBlock", "WireError",
    ),
}  # fmt: skip

__all__ = [
    "AdapterCapabilities",
    "AdapterConfig",
    "AdapterError",
    "AsyncClient",
    "AudioBlock",
    "Auth",
    "AuthError",
    "Base64Source",
    "Behaviour",
    "Block",
    "BlockBase",
    "BlockComplete",
    "BlockStart",
    "CacheMark",
    "CancelledError",
    "Catalogue",
    "Citation",
    "CitationDelta",
    "Client",
    "ConfigError",
    "ContextOverflowError",
    "DIALECTS",
    "Dialect",
    "DocumentBlock",
    "Encoded",
    "ErrorClass",
    "Event",
    "EventBase",
    "FetchLimits",
    "FileSource",
    "ImageBlock",
    "InvalidRequestError",
    "Json",
    "JsonBlock",
    "JsonStore",
    "Limits",
    "Loss",
    "LossKind",
    "LossWeight",
    "LossyTranslation",
    "McpTools",
    "Message",
    "MessageComplete",
    "MessageStart",
    "NetworkError",
    "NotConfigured",
    "OpaqueBlock",
    "Origin",
    "OverloadedError",
    "PROVIDERS",
    "ParseError",
    "Preset",
    "Price",
    "Pricing",
    "Provider",
    "ProviderAdapter",
    "ProviderManager",
    "RateLimitError",
    "RedactedThinkingBlock",
    "RefusalBlock",
    "Request",
    "RequestTimeoutError",
    "Response",
    "Retry",
    "Role",
    "Router",
    "Secret",
    "ServerError",
    "ServerTool",
    "ServerToolResultBlock",
    "ServerToolUseBlock",
    "Session",
    "Source",
    "SqliteStore",
    "StopReason",
    "StoreError",
    "StreamDecoder",
    "StreamEncoder",
    "StreamGrammar",
    "SwapPlan",
    "SyncSession",
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
    "ToolContext",
    "ToolDefinition",
    "ToolOutput",
    "ToolResultBlock",
    "ToolStateError",
    "ToolUseBlock",
    "ToolUseEnd",
    "ToolUseInputDelta",
    "ToolUseStart",
    "Toolbox",
    "Unknown",
    "UrlSource",
    "UsageUpdate",
    "Value",
    "VideoBlock",
    "WireError",
    "build_tool_results",
    "connect",
    "connect_sync",
    "decode_stream",
    "detect_dialect",
    "dialect",
    "error_type",
    "fetch_media",
    "fetch_media_sync",
    "fold",
    "from_json",
    "load_preset",
    "log_calls",
    "parse_tool_calls",
    "plan_swap",
    "preset",
    "register_dialect",
    "repair_tool_results",
    "reprice",
    "restore_optional",
    "strict_schema",
    "subscribe",
    "to_json",
    "tool",
    "trace_calls",
    "translate_request",
    "translate_response",
    "translate_stream",
    "unfold",
    "validate_request",
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

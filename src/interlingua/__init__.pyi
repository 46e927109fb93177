"""The public names for type checkers. ``tests/test_public_names.py`` compares them with ``__init__.py``."""

from .agent.many import map_requests as map_requests, map_requests_sync as map_requests_sync
from .agent.routing import Router as Router
from .agent.session import (
    JsonStore as JsonStore,
    Session as Session,
    SqliteStore as SqliteStore,
    SyncSession as SyncSession,
)
from .agent.swap import SwapPlan as SwapPlan, plan_swap as plan_swap
from .agent.tools import McpTools as McpTools, Toolbox as Toolbox, ToolContext as ToolContext, tool as tool
from .client.behaviour import Behaviour as Behaviour, Preset as Preset, load_preset as load_preset, preset as preset
from .client.bus import subscribe as subscribe
from .client.config import AdapterConfig as AdapterConfig, Retry as Retry
from .client.connect import (
    AsyncClient as AsyncClient,
    Client as Client,
    ProviderAdapter as ProviderAdapter,
    connect as connect,
    connect_sync as connect_sync,
)
from .client.content import audio as audio, document as document, file as file, image as image
from .client.export import log_calls as log_calls, trace_calls as trace_calls
from .client.limiter import Limiter as Limiter
from .client.manager import ProviderManager as ProviderManager
from .client.many import (
    AsyncMap as AsyncMap,
    MapReport as MapReport,
    MapResult as MapResult,
    SyncMap as SyncMap,
)
from .client.media import FetchLimits as FetchLimits, fetch_media as fetch_media, fetch_media_sync as fetch_media_sync
from .client.models_file import ConfigError as ConfigError
from .client.secrets import Secret as Secret
from .codec.limits import Limits as Limits
from .codec.saving import from_json as from_json, to_json as to_json
from .codec.schema import restore_optional as restore_optional, strict_schema as strict_schema
from .codec.streams.fold import fold as fold, unfold as unfold
from .codec.streams.grammar import StreamGrammar as StreamGrammar
from .codec.translate import (
    StreamTranslation as StreamTranslation,
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
from .dialects import (
    DIALECTS as DIALECTS,
    Dialect as Dialect,
    StreamDecoder as StreamDecoder,
    StreamEncoder as StreamEncoder,
    dialect as dialect,
    register_dialect as register_dialect,
)
from .dialects.detect import detect_dialect as detect_dialect
from .errors import (
    AdapterError as AdapterError,
    AuthError as AuthError,
    CancelledError as CancelledError,
    ContextOverflowError as ContextOverflowError,
    InvalidRequestError as InvalidRequestError,
    LossyTranslation as LossyTranslation,
    NetworkError as NetworkError,
    NotConfigured as NotConfigured,
    OutputError as OutputError,
    OverloadedError as OverloadedError,
    ParseError as ParseError,
    RateLimitError as RateLimitError,
    RequestTimeoutError as RequestTimeoutError,
    ServerError as ServerError,
    StoreError as StoreError,
    ToolStateError as ToolStateError,
    error_type as error_type,
)
from .models.catalogue import Catalogue as Catalogue, Price as Price
from .models.pricing import Pricing as Pricing, reprice as reprice
from .models.providers import PROVIDERS as PROVIDERS, Auth as Auth, Provider as Provider
from .relaying import (
    Relayed as Relayed,
    RelayStream as RelayStream,
    SyncRelayStream as SyncRelayStream,
    relay as relay,
    relay_stream as relay_stream,
    relay_stream_sync as relay_stream_sync,
    relay_sync as relay_sync,
)
from .types import (
    AdapterCapabilities as AdapterCapabilities,
    ApprovalAsked as ApprovalAsked,
    ApprovalGiven as ApprovalGiven,
    ApprovalRefused as ApprovalRefused,
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
    OutputType as OutputType,
    RedactedThinkingBlock as RedactedThinkingBlock,
    RefusalBlock as RefusalBlock,
    Request as Request,
    Response as Response,
    Role as Role,
    ServerTool as ServerTool,
    ServerToolResultBlock as ServerToolResultBlock,
    ServerToolUseBlock as ServerToolUseBlock,
    SessionEvent as SessionEvent,
    Source as Source,
    StepEnd as StepEnd,
    StepStart as StepStart,
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
    ToolEvent as ToolEvent,
    ToolFailure as ToolFailure,
    ToolOutput as ToolOutput,
    ToolResult as ToolResult,
    ToolResultBlock as ToolResultBlock,
    ToolStart as ToolStart,
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
    code_execution as code_execution,
    web_fetch as web_fetch,
    web_search as web_search,
)

__version__: str
__all__: list[str] = [
    "AdapterCapabilities", "AdapterConfig", "AdapterError", "ApprovalAsked", "ApprovalGiven", "ApprovalRefused",
    "AsyncClient", "AsyncMap", "AudioBlock", "Auth", "AuthError", "Base64Source", "Behaviour", "Block", "BlockBase",
    "BlockComplete", "BlockStart", "CacheMark", "CancelledError", "Catalogue", "Citation", "CitationDelta",
    "Client", "ConfigError", "ContextOverflowError", "DIALECTS", "Dialect", "DocumentBlock", "Encoded",
    "ErrorClass", "Event", "EventBase", "FetchLimits", "FileSource", "ImageBlock", "InvalidRequestError", "Json",
    "JsonBlock", "JsonStore", "Limiter", "Limits", "Loss", "LossKind", "LossWeight", "LossyTranslation",
    "MapReport", "MapResult", "McpTools", "Message", "MessageComplete", "MessageStart", "NetworkError",
    "NotConfigured", "OpaqueBlock", "Origin", "OutputError", "OutputType", "OverloadedError", "PROVIDERS",
    "ParseError", "Preset", "Price", "Pricing", "Provider", "ProviderAdapter", "ProviderManager", "RateLimitError",
    "RedactedThinkingBlock", "RefusalBlock", "RelayStream", "Relayed", "Request", "RequestTimeoutError", "Response",
    "Retry", "Role", "Router", "Secret", "ServerError", "ServerTool", "ServerToolResultBlock", "ServerToolUseBlock",
    "Session", "SessionEvent", "Source", "SqliteStore", "StepEnd", "StepStart", "StopReason", "StoreError",
    "StreamDecoder", "StreamEncoder", "StreamGrammar", "StreamTranslation", "SwapPlan", "SyncMap",
    "SyncRelayStream", "SyncSession", "Target", "TextBlock", "TextDelta", "TextSource", "Thinking", "ThinkingBlock",
    "ThinkingDelta", "TokenUsage", "Tool", "ToolAnnotations", "ToolChoice", "ToolContext", "ToolDefinition",
    "ToolEvent", "ToolFailure", "ToolOutput", "ToolResult", "ToolResultBlock", "ToolStart", "ToolStateError",
    "ToolUseBlock", "ToolUseEnd", "ToolUseInputDelta", "ToolUseStart", "Toolbox", "Unknown", "UrlSource",
    "UsageUpdate", "Value", "VideoBlock", "WireError", "audio", "build_tool_results", "code_execution", "connect",
    "connect_sync", "decode_stream", "detect_dialect", "dialect", "document", "error_type", "fetch_media",
    "fetch_media_sync", "file", "fold", "from_json", "image", "load_preset", "log_calls", "map_requests",
    "map_requests_sync", "parse_tool_calls", "plan_swap", "preset", "register_dialect", "relay", "relay_stream",
    "relay_stream_sync", "relay_sync", "repair_tool_results", "reprice", "restore_optional", "strict_schema",
    "subscribe", "to_json", "tool", "trace_calls", "translate_request", "translate_response", "translate_stream",
    "unfold", "validate_request", "validate_tool_results", "web_fetch", "web_search",
]  # fmt: skip

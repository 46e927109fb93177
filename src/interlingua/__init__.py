"""One language for conversations with language models, and exact translators between it and every wire protocol.

Where to begin; each name has a docstring (``help(interlingua.Session)``):

- a conversation: ``Session``, ``SyncSession``; a tool: ``tool``, ``Toolbox``; an MCP server's: ``McpTools``
- one call: ``connect``, ``connect_sync``, which give an ``AsyncClient`` or a ``Client``; many: ``map_requests``
- requests and answers: ``Request``, ``Message``, blocks such as ``TextBlock`` and ``ToolUseBlock``, ``Response``,
  ``TokenUsage``; content from files: ``image``, ``document``, ``audio``, ``file``
- streams: ``Event`` and its kinds, ``fold``; failures: ``AdapterError`` and its kinds
- only the translators: ``dialect``, ``translate_request``, ``translate_response``, ``translate_stream``, ``Loss``
- answering another program's requests: ``relay``, ``relay_stream``; another model if one fails: ``Router``
- what a call costs: ``Pricing``; what changing the model of a conversation would lose: ``plan_swap``; where sessions
  are saved: ``JsonStore``, ``SqliteStore``

The names that most programs need are here, loaded on first use: importing the package loads no dialect and no HTTP
library. The names in ``__all__`` of these modules are public too; only the usual ones are repeated here:
``interlingua.agent.routing``, ``interlingua.agent.session``, ``interlingua.agent.tools``, ``interlingua.behaviour``,
``interlingua.bus``, ``interlingua.catalogue``, ``interlingua.codec.schema``, ``interlingua.embedded``,
``interlingua.models.pricing``, ``interlingua.providers``, ``interlingua.serving``,
``interlingua.testing.cassettes``, ``interlingua.testing.conformance`` and ``interlingua.testing.strategies``. All other
modules are internal and may change without notice. Type checkers read ``__init__.pyi``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_NAMES = {
    # module: the public names that it gives
    "types": """
        AdapterCapabilities ApprovalAsked ApprovalGiven ApprovalRefused AudioBlock Base64Source Block BlockBase
        BlockComplete BlockStart CacheMark Citation CitationDelta DocumentBlock Encoded ErrorClass Event
        EventBase FileSource ImageBlock Json JsonBlock Loss LossKind LossWeight Message MessageComplete
        MessageStart OpaqueBlock Origin OutputType RedactedThinkingBlock RefusalBlock Request Response Role ServerTool
        ServerToolResultBlock ServerToolUseBlock SessionEvent Source StepEnd StepStart StopReason Target
        TextBlock TextDelta TextSource Thinking ThinkingBlock ThinkingDelta TokenUsage Tool ToolAnnotations
        ToolChoice ToolDefinition ToolEvent ToolFailure ToolOutput ToolResult ToolResultBlock ToolStart
        ToolUseBlock ToolUseEnd ToolUseInputDelta ToolUseStart Unknown UrlSource UsageUpdate Value VideoBlock
        WireError code_execution web_fetch web_search
    """,
    "errors": """
        AdapterError AuthError CancelledError ContextOverflowError InvalidRequestError LossyTranslation NetworkError
        NotConfigured OutputError OverloadedError ParseError RateLimitError RequestTimeoutError ServerError StoreError
        ToolStateError error_type
    """,
    "codec.streams.fold": "fold unfold",
    "codec.streams.grammar": "StreamGrammar",
    "codec.limits": "Limits",
    "codec.saving": "from_json to_json",
    "codec.schema": "restore_optional strict_schema",
    "codec.translate": """
        StreamTranslation build_tool_results decode_stream parse_tool_calls repair_tool_results translate_request
        translate_response translate_stream validate_request validate_tool_results
    """,
    "dialects.detect": "detect_dialect",
    "dialects": "DIALECTS Dialect StreamDecoder StreamEncoder dialect register_dialect",
    "models.catalogue": "Catalogue Price",
    "models.pricing": "Pricing reprice",
    "models.providers": "Auth PROVIDERS Provider",
    "client.behaviour": "Behaviour Preset load_preset preset",
    "client.bus": "subscribe",
    "client.config": "AdapterConfig Retry",
    "client.content": "audio document file image",
    "client.connect": "AsyncClient Client ProviderAdapter connect connect_sync",
    "client.export": "log_calls trace_calls",
    "client.limiter": "Limiter",
    "client.manager": "ProviderManager",
    "client.many": "AsyncMap MapReport MapResult SyncMap",
    "client.media": "FetchLimits fetch_media fetch_media_sync",
    "client.models_file": "ConfigError",
    "client.secrets": "Secret",
    "agent.many": "map_requests map_requests_sync",
    "agent.routing": "Router",
    "agent.session": "JsonStore Session SqliteStore SyncSession",
    "agent.swap": "SwapPlan plan_swap",
    "agent.tools": "McpTools ToolContext Toolbox tool",
    "relaying": "RelayStream Relayed SyncRelayStream relay relay_stream relay_stream_sync relay_sync",
}  # fmt: skip

_MODULES = {name: module for module, names in _NAMES.items() for name in names.split()}

# Type checkers read __init__.pyi.
__all__ = sorted(_MODULES)  # noqa: PLE0605  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f".{module}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Every public name; ``inspect`` gets only those of this file, because ``help`` prints each class that it finds."""
    caller = sys._getframe(1).f_globals.get("__name__")  # pyright: ignore[reportPrivateUsage]
    return sorted(["__all__", "__version__"] if caller == "inspect" else [*globals(), *__all__])

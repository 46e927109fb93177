"""Facts of Anthropic Messages that no row states: its name, paths, limits and what its servers accept."""

from __future__ import annotations

import re

from ...codec.tools.hosted_tools import HostedTool
from ...codec.tools.ids import IdRule
from ...codec.tools.tool_names import NameRule

NAME = "anthropic-messages"
NAMES = NameRule("a-zA-Z0-9_-", 128)
PATH = "/v1/messages"
VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = 8192
"""Sent if the caller sets no limit and the limit of the model is unknown: the protocol requires one."""
MIN_BUDGET = 1024
EFFORTS = ("low", "medium", "high", "xhigh", "max")
PLAIN, PDF = "text/plain", "application/pdf"
IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
IDS = IdRule(re.compile(r"[a-zA-Z0-9_-]+"), prefix="toolu_")

# https://platform.claude.com/docs/en/agents-and-tools/tool-use/web-search-tool: the version that every model has
WEB_SETTINGS = {name: name for name in ("allowed_domains", "blocked_domains", "max_uses")}
HOSTED = (
    HostedTool("web_search", {"type": "web_search_20250305", "name": "web_search"}, r"web_search_\d{8}",
               {**WEB_SETTINGS, "user_location": "user_location"}),
    HostedTool("web_fetch", {"type": "web_fetch_20250910", "name": "web_fetch"}, r"web_fetch_\d{8}", WEB_SETTINGS),
    HostedTool("code_execution", {"type": "code_execution_20250825", "name": "code_execution"},
               r"code_execution_\d{8}"),
)  # fmt: skip

"""Facts of Anthropic Messages that are no phrases: its name, paths, limits and what its servers accept."""

from __future__ import annotations

import re

from ...codec.ids import IdRule
from ...types.base import Json

NAME = "anthropic-messages"
Wire = dict[str, Json]
PATH = "/v1/messages"
VERSION = "2023-06-01"
DEFAULT_MAX_TOKENS = 8192
"""Sent where the caller sets no limit and the model's is not known: the protocol requires one."""
LEAST_BUDGET = 1024
EFFORTS = ("low", "medium", "high", "xhigh", "max")
PLAIN, PDF = "text/plain", "application/pdf"
IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
IDS = IdRule(re.compile(r"[a-zA-Z0-9_-]+"), prefix="toolu_")

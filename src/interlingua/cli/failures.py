"""Errors as the user sees them: one line that says what to do, and the exit code."""

from __future__ import annotations

import errno
import re
import sys
from typing import Any, NamedTuple

__all__ = [
    "FAILED",
    "INTERRUPTED",
    "LOST",
    "NOT_CONFIGURED",
    "USAGE",
    "CommandError",
    "Failure",
    "explain",
    "is_full",
    "missing_extra",
]

FAILED = 1
USAGE = 2
NOT_CONFIGURED = 3
LOST = 4
INTERRUPTED = 130


class CommandError(Exception):
    """An error that the user can correct: the message says what happened and what to do."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code


class Failure(NamedTuple):
    """The exit code, the sentence for the user, and the error class of an ``AdapterError``."""

    code: int
    sentence: str
    error_class: str | None = None

    def line(self, as_json: bool = False) -> str:
        """The line for stderr, as text or as JSON."""
        if not as_json:
            return f"interlingua: {self.sentence}\n"
        import json

        return json.dumps({"error": {"class": self.error_class, "message": self.sentence, "exit": self.code}}) + "\n"


def missing_extra(what: str, extra: str) -> CommandError:
    """The error for something that works only if an extra is installed."""
    return CommandError(f"{what} needs the extra `{extra}`: pip install 'interlingua[{extra}]'", NOT_CONFIGURED)


def explain(error: Exception) -> Failure | None:
    """What to tell the user about an error; None for a bug of ours, whose traceback should be seen."""
    if isinstance(error, CommandError):
        return Failure(error.code, str(error))
    if isinstance(error, OSError) and error.filename is not None:
        return Failure(USAGE, f"{error.filename}: {error.strerror or error}")
    if is_full(error):
        return Failure(FAILED, "the output is incomplete, because there is no room to write it")
    if isinstance(error, UnicodeDecodeError):
        return Failure(USAGE, f"this is no UTF-8 text: {error}")
    errors = sys.modules.get("interlingua.errors")
    if errors is not None and isinstance(error, errors.AdapterError):
        return _explain_adapter_error(error)
    files = sys.modules.get("interlingua.client.models_file")
    if files is not None and isinstance(error, files.ConfigError):
        return Failure(USAGE, str(error))
    gateway: Any = sys.modules.get("interlingua.gateway.config")
    if gateway is not None and isinstance(error, gateway.StartError):
        return Failure(vars(error)["code"], str(error))
    return None


def is_full(error: BaseException) -> bool:
    """Whether an error means that the disk or the quota is full."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


FOR_PROGRAMS = re.compile(
    r", or (?:give|from) AdapterConfig\(api_key=\.\.\.\)"
    r"|; this address comes from AdapterConfig\(.*"
    r"|; [\w-]+ was asked for the model .*"
)
"""Advice in messages for callers of the library; it is removed, because users of the command have other ways."""
CODES = {
    "NotConfigured": NOT_CONFIGURED,
    "AuthError": NOT_CONFIGURED,
    "LossyTranslation": LOST,
    "ParseError": USAGE,
    "InvalidRequestError": USAGE,
}


def _explain_adapter_error(error: Any) -> Failure:
    """The failure for an ``AdapterError``: its message, and advice if there is any."""
    advice = _advice(error)
    sentence = FOR_PROGRAMS.sub("", " ".join(str(error.message or error.error_class).split()))
    if error.provider_status is not None:
        sentence = f"{error.provider or 'the provider'} answered {error.provider_status}: {sentence}"
    if advice and not sentence.endswith("?"):
        sentence = f"{sentence.rstrip('.')}. {advice}"
    code = CODES.get(type(error).__name__, FAILED)
    if code == USAGE and error.provider_status is not None:
        code = FAILED  # the request was sent and the provider refused it: no mistake in the command line
    return Failure(code, sentence, str(error.error_class))


def _advice(error: Any) -> str:
    """What to do about an error; empty if there is no advice beyond its message."""
    from ..client.environment import base_url_variable
    from ..models.providers import PROVIDERS

    row = PROVIDERS.get(error.provider or "")
    kind = str(error.error_class)
    if kind == "auth" and error.provider_status is not None:
        variable = row.auth.keys[0] if row is not None and row.auth.keys else "the key"
        return f"Look at {variable}: the provider does not take it for this model."
    if kind == "network":
        return f"Is the address right? {base_url_variable(error.provider or '')} sets another." if row else ""
    if error.provider_status == 404:
        return f"`interlingua models {error.provider or ''}`".rstrip(" `") + "` lists the names that are known."
    return ADVICE.get(kind, "")


ADVICE = {
    "rate_limit": "Wait, or ask another model.",
    "timeout": "Try again, or ask for less.",
    "server_error": "Try again later, or ask another model.",
    "context_overflow": "Shorten what is sent, or take a model with a longer window.",
}

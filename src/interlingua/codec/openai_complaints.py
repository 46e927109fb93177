"""How OpenAI's two protocols complain of a request: a sentence, the parameter and a code."""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import InvalidRequestError
from .validate import Complaint, brackets, refused

__all__ = ["complain"]

CODES = {
    "missing": "missing_required_parameter",
    "type": "invalid_type",
    "value": "invalid_value",
    "empty": "empty_array",
}


def complain(dialect: str, wrong: Complaint, order: Mapping[str, str]) -> InvalidRequestError:
    """The error for a complaint; ``order`` has the sentences about calls and results."""
    param, code = brackets(wrong.path) or None, CODES.get(wrong.fault)
    named = f"'{param}'" if param else "the body"
    message = {
        "missing": f"The parameter {named} is required; expected {wrong.expected}.",
        "type": f"Invalid type for {named}: expected {wrong.expected}, but got {wrong.got} instead.",
        "value": f"Invalid value for {named}: expected one of {wrong.expected}, but got {wrong.got}.",
        "empty": f"Invalid {named}: expected {wrong.expected}, but got {wrong.got}.",
        "order": order.get(wrong.expected, "").format(wrong.got),
    }[wrong.fault]
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return refused(dialect, message, {"error": error}, code or "invalid_request_error")

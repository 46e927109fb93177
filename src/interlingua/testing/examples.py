"""The parameters of a request, each with the values that tests and generated pages use: one line per parameter.

Samples and pages use the first value, property tests any of them. Some lists of words end in ``UNKNOWN_WORD``.
"""

from __future__ import annotations

from typing import Any

__all__ = ["PARAMETERS", "UNKNOWN_WORD"]

UNKNOWN_WORD = "unheard-of"

PARAMETERS: dict[str, tuple[Any, ...]] = {
    "temperature": (0.5, 0, 1, 1.5),
    "top_p": (0.9, 0.1, 1),
    "top_k": (40, 1, 99),
    "stop_sequences": (("END", "STOP"), ("END",)),
    "seed": (7, 0, 99),
    "service_tier": ("default", "auto", "flex", "priority", UNKNOWN_WORD),
    "verbosity": ("low", "medium", "high", UNKNOWN_WORD),
    "frequency_penalty": (0.5, 0),
    "presence_penalty": (0.5, -0.5, 0),
    "n": (2, 1, 3),
    "logprobs": (True, False),
    "prompt_cache_key": ("agents-1",),
    "store": (True, False),
    "user": ("u-1",),
    "json_output": (True, False),
    "stream": (True, False),
    "betas": (("beta-one", "beta-two"),),
}

"""Estimates of the tokens of a prompt or an answer, without a network and without a tokenizer.

The counts of features (``counting.py``) are multiplied by a few coefficients per family of models and server
(``families.py``, ``weights.py``), fitted on half the sources of the recorded traffic and checked on the other half by
``bench/fit_estimate.py``: the errors per provider are in ``docs/estimates.md``. A number that a provider reports is
always preferred to an estimate.

Once a provider has reported the tokens of some prompts, a client corrects its further estimates by them
(``learning.py``).
"""

from __future__ import annotations

from .estimating import estimate_input_tokens, estimate_output, estimate_request, tokenizer
from .learning import Learner

__all__ = ["Learner", "estimate_input_tokens", "estimate_output", "estimate_request", "tokenizer"]

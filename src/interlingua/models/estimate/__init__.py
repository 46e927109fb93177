"""How many tokens a prompt will be, or an answer is, without a network and without a tokenizer.

What is counted (``counting.py``) is weighed with a few coefficients per family of models and server (``families.py``,
``weights.py``), fitted on half the sources of the recorded traffic and checked on the other half by
``bench/fit_estimate.py``: the errors per provider are in ``docs/estimates.md``. A number that a provider reports
always wins over these.

An estimate is of a prompt nobody has counted yet. Once a provider has reported counts, a client's own estimates follow
them (``learning.py``).
"""

from __future__ import annotations

from .estimating import estimate_input_tokens, estimate_output, estimate_request, tokenizer
from .learning import Learner

__all__ = ["Learner", "estimate_input_tokens", "estimate_output", "estimate_request", "tokenizer"]

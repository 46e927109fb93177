"""Recorded traffic with something changed in it, and what must hold all the same: see ``mutations`` and ``trials``."""

from .mutations import mutated, near_miss
from .trials import TRIALS, Fault, try_record

__all__ = ["TRIALS", "Fault", "mutated", "near_miss", "try_record"]

"""Random changes to recorded traffic, and the checks that must hold nevertheless: see ``mutations`` and ``trials``."""

from .mutations import mutated, near_miss
from .trials import TRIALS, Fault, try_record

__all__ = ["TRIALS", "Fault", "mutated", "near_miss", "try_record"]

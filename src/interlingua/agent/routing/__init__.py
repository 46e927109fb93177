"""Several models that replace each other on failure: order, weights, availability, one budget, and a record."""

from .availability import Availability, Breaker, Rules
from .route import Candidate, Choice, Route
from .router import Router

__all__ = ["Availability", "Breaker", "Candidate", "Choice", "Route", "Router", "Rules"]

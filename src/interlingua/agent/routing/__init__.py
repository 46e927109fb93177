"""Several models that replace each other on failure: their order, weights, availability and budget, and the record."""

from .availability import Availability, Breaker, Rules
from .route import Candidate, Choice, Route
from .router import Router

__all__ = ["Availability", "Breaker", "Candidate", "Choice", "Route", "Router", "Rules"]

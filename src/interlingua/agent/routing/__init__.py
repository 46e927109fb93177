"""Several models that stand in for each other: order, weights, availability, one budget, and a record of why."""

from .availability import Availability, Breaker, Rules
from .router import Router
from .routes import Candidate, Choice, Route

__all__ = ["Availability", "Breaker", "Candidate", "Choice", "Route", "Router", "Rules"]

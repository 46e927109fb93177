"""Models: names, abilities, limits, prices, configuration. Layered data; nothing is fetched, or read at import."""

from .facts import Facts
from .layers import Families, FetchedModels, GenaiPrices, Layer, ModelsDev
from .models import Catalogue, capabilities_for, default_catalogue, rejected_parameters, resolve

__all__ = [
    "Catalogue",
    "Facts",
    "Families",
    "FetchedModels",
    "GenaiPrices",
    "Layer",
    "ModelsDev",
    "capabilities_for",
    "default_catalogue",
    "rejected_parameters",
    "resolve",
]

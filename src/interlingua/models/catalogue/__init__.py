"""Models: names, abilities, limits, prices. The data come in layers; nothing is fetched, or read at import."""

from .facts import Facts
from .layers import Families, FetchedModels, GenaiPrices, Layer, ModelsDev
from .models import Catalogue, capabilities_for, default_catalogue, rejected_parameters, resolve
from .prices import Price, PriceTable, Rates

__all__ = [
    "Catalogue",
    "Facts",
    "Families",
    "FetchedModels",
    "GenaiPrices",
    "Layer",
    "ModelsDev",
    "Price",
    "PriceTable",
    "Rates",
    "capabilities_for",
    "default_catalogue",
    "rejected_parameters",
    "resolve",
]

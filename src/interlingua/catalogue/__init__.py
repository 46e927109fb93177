"""Models: names, abilities, limits, prices, configuration. Layered data; nothing is fetched, or read at import."""

from .configuration import Adapter, Configuration, Place
from .facts import Facts
from .layers import Families, FetchedModels, GenaiPrices, Layer, ModelsDev
from .lines import ConfigError
from .loading import LiveConfiguration, find_models_file, load_configuration
from .models import Catalogue, capabilities_for, default_catalogue, rejected_parameters, resolve
from .models_yaml import models_schema, parse_models
from .prices import Price, PriceTable, Rates

__all__ = [
    "Adapter",
    "Catalogue",
    "ConfigError",
    "Configuration",
    "Facts",
    "Families",
    "FetchedModels",
    "GenaiPrices",
    "Layer",
    "LiveConfiguration",
    "ModelsDev",
    "Place",
    "Price",
    "PriceTable",
    "Rates",
    "capabilities_for",
    "default_catalogue",
    "find_models_file",
    "load_configuration",
    "models_schema",
    "parse_models",
    "rejected_parameters",
    "resolve",
]

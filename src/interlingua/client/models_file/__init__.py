"""``models.yaml``: finding it, reading and checking it, and the configuration that it and the environment make."""

from .configuration import Adapter, Configuration, Place
from .loading import find_models_file, load_configuration, watch_configuration
from .models_yaml import models_schema, parse_models
from .yaml_lines import ConfigError

__all__ = [
    "Adapter",
    "ConfigError",
    "Configuration",
    "Place",
    "find_models_file",
    "load_configuration",
    "models_schema",
    "parse_models",
    "watch_configuration",
]

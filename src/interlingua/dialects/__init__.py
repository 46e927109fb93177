"""One folder for each wire protocol. The table of their names is in ``codec/registry.py``."""

from ..codec.base import Dialect, StreamDecoder, StreamEncoder
from ..codec.registry import DIALECTS, dialect, register_dialect

__all__ = ["DIALECTS", "Dialect", "StreamDecoder", "StreamEncoder", "dialect", "register_dialect"]

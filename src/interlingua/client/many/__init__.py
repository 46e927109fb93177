"""Many requests at once: ``client.map`` and ``map_requests``. What is done is decided in ``work.py``, without waiting;
``async_map.py`` and ``sync_map.py`` wait, in tasks and in threads."""

from .async_map import AsyncMap
from .results import MapReport, MapResult
from .settings import MapOptions, MapSettings
from .sync_map import SyncMap

__all__ = ["AsyncMap", "MapOptions", "MapReport", "MapResult", "MapSettings", "SyncMap"]

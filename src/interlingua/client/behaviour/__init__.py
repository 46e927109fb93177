"""How requests differ by provider, as data: all off by default. Presets, tool filtering; no network, no wire words."""

from .applying import Applied, apply, apply_preset, is_first_turn
from .loading import behaviour_from, load_preset, preset_schema
from .presets import PRESETS, preset
from .values import CORE_TOOLS, Behaviour, Preset

__all__ = [
    "CORE_TOOLS",
    "PRESETS",
    "Applied",
    "Behaviour",
    "Preset",
    "apply",
    "apply_preset",
    "behaviour_from",
    "is_first_turn",
    "load_preset",
    "preset",
    "preset_schema",
]

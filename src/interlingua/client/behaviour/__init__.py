"""How requests differ by provider, as data: presets and tool filtering. Everything is off by default."""

from .applying import Applied, apply, apply_preset, is_first_turn
from .preset_file import behaviour_from, load_preset, preset_schema
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

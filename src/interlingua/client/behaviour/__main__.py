"""``python -m interlingua.client.behaviour`` writes the JSON Schema of a preset in YAML, for editors."""

from __future__ import annotations

import json
import sys

from .preset_file import preset_schema

if __name__ == "__main__":
    sys.stdout.write(json.dumps(preset_schema(), indent=2, ensure_ascii=False) + "\n")

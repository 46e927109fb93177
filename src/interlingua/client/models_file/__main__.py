"""``python -m interlingua.client.models_file`` writes the JSON Schema of models.yaml, for editors."""

from __future__ import annotations

import json
import sys

from .models_yaml import models_schema

if __name__ == "__main__":
    sys.stdout.write(json.dumps(models_schema(), indent=2, ensure_ascii=False) + "\n")

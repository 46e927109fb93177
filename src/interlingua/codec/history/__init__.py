"""What may be said again of a history: opaque state, what was cut off, tool results, neighbouring texts."""

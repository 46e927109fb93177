"""What of a history may be sent again: opaque state, blocks that were cut off, tool results, neighbouring texts."""

"""Tools: their names, call ids and arguments, those that providers run, and outputs that are forced by a tool."""

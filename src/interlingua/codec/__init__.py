"""The engine that all dialects are built on: values in, values out. No module here imports a dialect or does I/O."""

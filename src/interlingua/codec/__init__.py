"""What every dialect is made with: values in, values out. No module here imports a dialect, and none does I/O."""

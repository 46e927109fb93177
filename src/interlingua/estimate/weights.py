WEIGHTS: dict[str, tuple[float, ...]] = {}

"""Facts about providers and models: provider rows, catalogue, prices, token estimates. No I/O."""

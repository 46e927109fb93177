"""What is known of providers and models: rows, catalogue, prices, estimates. No I/O."""

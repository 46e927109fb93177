"""What we test with, for others to test with: oracles, the conformance suite, strategies, the fidelity report."""

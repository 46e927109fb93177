"""What we test with, for others to test with: cassettes, the conformance suite, strategies."""

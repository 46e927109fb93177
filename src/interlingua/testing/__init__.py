"""Tools for tests, ours and yours: cassettes, the conformance suite, strategies."""

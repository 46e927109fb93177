"""``python -m interlingua.demo``: an agent that moves from provider to provider; it needs no key, only loopback."""

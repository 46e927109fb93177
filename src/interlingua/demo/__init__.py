"""``python -m interlingua.demo``: an agent at work, moved from provider to provider; no key, only loopback."""

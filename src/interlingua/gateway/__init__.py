"""The gateway: a server that speaks every dialect to its clients, and every dialect to providers.

``app.py`` finds the endpoint, ``relay.py`` is one call. Clients of the same dialect as the provider get its bytes;
all others get a translation, and a receipt of what it lost. Needs the extra ``gateway``.
"""

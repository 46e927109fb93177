"""Real coding agents, installed from their registries, finish a task through ``interlingua serve`` on loopback."""

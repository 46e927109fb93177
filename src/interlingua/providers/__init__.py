"""Who can be spoken to, as data: a provider is a row, and a compatible server needs no code."""

from .table import PROVIDERS, Auth, Provider, provider

__all__ = ["PROVIDERS", "Auth", "Provider", "provider"]

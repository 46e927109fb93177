"""A provider's settings as arguments of the transports: its proxy, and the certificates to trust and to show."""

from __future__ import annotations

import os
import ssl
from functools import lru_cache
from pathlib import Path
from typing import TypedDict

from ...errors import NotConfigured
from ..config import AdapterConfig

__all__ = ["NetworkSettings", "network_settings"]


class NetworkSettings(TypedDict):
    """The arguments that both transports take."""

    proxy: str | None
    trust_env: bool
    tls: ssl.SSLContext | bool


def network_settings(config: AdapterConfig) -> NetworkSettings:
    """The arguments for the transport of a client with these settings. What they leave unset, the environment decides:
    proxies by ``HTTPS_PROXY`` and its like, certificates by ``SSL_CERT_FILE`` and ``SSL_CERT_DIR``."""
    return {"proxy": config.proxy, "trust_env": True, "tls": _tls(config)}


def _tls(config: AdapterConfig) -> ssl.SSLContext | bool:
    if config.client_key is not None and config.client_cert is None:
        raise NotConfigured("client_key is the key of a certificate: give client_cert too")
    trusted = (os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    if config.ca_bundle is None and config.client_cert is None and not any(trusted):
        return True
    return _context(config.ca_bundle, config.client_cert, config.client_key, trusted)


@lru_cache(maxsize=16)
def _context(
    ca_bundle: str | None, cert: str | None, key: str | None, trusted: tuple[str | None, str | None]
) -> ssl.SSLContext:
    """``trusted`` are variables that OpenSSL reads by itself; they are arguments only as a part of the cache's key."""
    name, path = "ca_bundle", ca_bundle
    try:
        context = _context_trusting(ca_bundle)
        if cert is not None:
            name, path = "client_cert", cert
            context.load_cert_chain(cert, key)
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        why = getattr(error, "strerror", None) or getattr(error, "reason", None) or type(error).__name__
        raise NotConfigured(f"{name} {path!r} cannot be used: {why}") from None
    return context


def _context_trusting(ca_bundle: str | None) -> ssl.SSLContext:
    if ca_bundle is None:
        return ssl.create_default_context()
    is_folder = Path(ca_bundle).is_dir()
    return ssl.create_default_context(capath=ca_bundle) if is_folder else ssl.create_default_context(cafile=ca_bundle)

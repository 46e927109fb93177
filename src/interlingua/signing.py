"""Signatures over a request, for providers that take no plain key. AWS's comes from botocore, if it is installed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from msgspec.structs import replace

from .config import AdapterConfig
from .errors import NotConfigured
from .http import HttpRequest
from .providers.table import Provider

__all__ = ["Signer", "signer_for"]

Signer = Callable[[HttpRequest], HttpRequest]

SERVICE = "bedrock"
NOT_SIGNED = ("user-agent", "accept", "accept-encoding")


def signer_for(provider: Provider, config: AdapterConfig) -> Signer | None:
    """How requests to this provider are signed; None where a header says it all."""
    if provider.auth.kind != "sigv4" or config.secret or "authorization" in {h.lower() for h in config.extra_headers}:
        return None
    return AwsSigner(provider, config)


class AwsSigner:
    """AWS Signature Version 4, with the credentials that botocore finds: environment, files, roles.

    They are looked for at the first request; botocore renews those that expire.
    """

    def __init__(self, provider: Provider, config: AdapterConfig) -> None:
        self._provider, self._region = provider, str(config.options.get("region", ""))
        self._credentials: Any = None

    def __call__(self, request: HttpRequest) -> HttpRequest:
        auth, requests = (_botocore(name, self._provider) for name in ("auth", "awsrequest"))
        self._credentials = self._credentials or self._find()
        headers = {name: value for name, value in request.headers.items() if name not in NOT_SIGNED}
        order = requests.AWSRequest(request.method, request.url, headers=headers, data=request.body)
        auth.SigV4Auth(self._credentials.get_frozen_credentials(), SERVICE, self._region).add_auth(order)
        signed = {name.lower(): value for name, value in order.headers.items()}
        return replace(request, headers={**request.headers, **signed})

    def _find(self) -> Any:
        found = _botocore("session", self._provider).get_session().get_credentials()
        if found is None:
            raise NotConfigured(
                f"no AWS credentials for {self._provider.name}: set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and"
                " AWS_SECRET_ACCESS_KEY, or configure a profile",
                provider=self._provider.name,
            )
        return found


def _botocore(name: str, provider: Provider) -> Any:
    try:
        return import_module(f"botocore.{name}")
    except ImportError:
        raise NotConfigured(
            f"{provider.name} without a key needs botocore to sign requests: pip install 'interlingua[bedrock]',"
            " or set AWS_BEARER_TOKEN_BEDROCK",
            provider=provider.name,
        ) from None

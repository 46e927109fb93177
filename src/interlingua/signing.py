"""Proofs made for each request, for providers that take no plain key.

AWS's signature comes from botocore and Google's token from google-auth, if they are installed. Both look for
credentials where their own command lines do, at the first request, and renew those that expire; that may block.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from threading import Lock
from typing import Any

from msgspec.structs import replace

from .config import AdapterConfig
from .errors import NotConfigured
from .http import HttpRequest
from .providers.table import Provider

__all__ = ["Signer", "signer_for"]

Signer = Callable[[HttpRequest], HttpRequest]

SERVICE = "bedrock"
GOOGLE_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
NOT_SIGNED = ("user-agent", "accept", "accept-encoding")


def signer_for(provider: Provider, config: AdapterConfig) -> Signer | None:
    """How requests to this provider are signed; None where a header says it all."""
    maker = SIGNERS.get(provider.auth.kind)
    if maker is None or config.secret or "authorization" in {h.lower() for h in config.extra_headers}:
        return None
    return maker(provider, config)


class AwsSigner:
    """AWS Signature Version 4, with the credentials that botocore finds: environment, files, roles."""

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


class GoogleSigner:
    """Google's access tokens, from the credentials that google-auth finds: a service account's file, gcloud, a role."""

    def __init__(self, provider: Provider, config: AdapterConfig) -> None:
        self._provider = provider
        self._credentials: Any = None
        self._lock = Lock()

    def __call__(self, request: HttpRequest) -> HttpRequest:
        with self._lock:  # several calls may find the token expired at once
            token = self._token()
        return replace(request, headers={**request.headers, "authorization": f"Bearer {token}"})

    def _token(self) -> str:
        auth, transport = (_google(name, self._provider) for name in ("auth", "auth.transport.requests"))
        try:
            if self._credentials is None:
                self._credentials, _ = auth.default(scopes=[GOOGLE_SCOPE])
            if not self._credentials.valid:
                self._credentials.refresh(transport.Request())
        except auth.exceptions.GoogleAuthError as error:
            raise NotConfigured(
                f"no Google credentials for {self._provider.name} ({type(error).__name__}): set"
                " GOOGLE_APPLICATION_CREDENTIALS to a service account's file, run `gcloud auth application-default"
                " login`, or give an access token in GOOGLE_OAUTH_ACCESS_TOKEN",
                provider=self._provider.name,
            ) from None
        return str(self._credentials.token)


SIGNERS: dict[str, Callable[[Provider, AdapterConfig], Signer]] = {"sigv4": AwsSigner, "google": GoogleSigner}


def _google(name: str, provider: Provider) -> Any:
    try:
        return import_module(f"google.{name}")
    except ImportError:
        raise NotConfigured(
            f"{provider.name} needs google-auth to find credentials: pip install 'interlingua[vertex]', or give an"
            " access token in GOOGLE_OAUTH_ACCESS_TOKEN or AdapterConfig(api_key=...)",
            provider=provider.name,
        ) from None


def _botocore(name: str, provider: Provider) -> Any:
    try:
        return import_module(f"botocore.{name}")
    except ImportError:
        raise NotConfigured(
            f"{provider.name} without a key needs botocore to sign requests: pip install 'interlingua[bedrock]',"
            " or set AWS_BEARER_TOKEN_BEDROCK",
            provider=provider.name,
        ) from None

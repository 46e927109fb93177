"""Signatures and tokens made for each request, for providers that take no plain key.

botocore makes AWS signatures and google-auth makes Google tokens, if they are installed. Both look for credentials in
the places of their command line tools, at the first request, and renew credentials that expire; that may block.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from threading import Lock
from typing import Any

from msgspec.structs import replace

from ..errors import AdapterError, NetworkError, NotConfigured
from ..models.providers import Provider
from .config import AdapterConfig
from .http import HttpRequest

__all__ = ["Signer", "signer_for"]

Signer = Callable[[HttpRequest], HttpRequest]

SERVICE = "bedrock"
GOOGLE_SCOPE = "https://www.googleapis.com/auth/cloud-platform"
NOT_SIGNED = ("user-agent", "accept", "accept-encoding")
AWS_REMEDY = (
    "set AWS_BEARER_TOKEN_BEDROCK, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,"
    " or name a profile in AWS_PROFILE or options['profile']"
)
GOOGLE_REMEDY = (
    "set GOOGLE_APPLICATION_CREDENTIALS to a service account's file, run `gcloud auth application-default login`,"
    " or give an access token in GOOGLE_OAUTH_ACCESS_TOKEN"
)


def signer_for(provider: Provider, config: AdapterConfig) -> Signer | None:
    """The signer for this provider's requests; None if a key or a header of the configuration is used."""
    maker = SIGNERS.get(provider.auth.kind)
    if maker is None or config.secret or "authorization" in {h.lower() for h in config.extra_headers}:
        return None
    return maker(provider, config)


class AwsSigner:
    """AWS Signature Version 4, with the credentials that botocore finds: environment, files, roles."""

    def __init__(self, provider: Provider, config: AdapterConfig) -> None:
        self._provider, self._region = provider, config.options.get("region")
        self._profile = config.options.get("profile")
        self._credentials: Any = None

    def __call__(self, request: HttpRequest) -> HttpRequest:
        auth, requests = (_load("botocore", name, self._provider) for name in ("auth", "awsrequest"))
        headers = {name: value for name, value in request.headers.items() if name not in NOT_SIGNED}
        aws_request = requests.AWSRequest(request.method, request.url, headers=headers, data=request.body)
        auth.SigV4Auth(self._current_credentials(), SERVICE, self._region).add_auth(aws_request)
        signed = {name.lower(): value for name, value in aws_request.headers.items()}
        return replace(request, headers={**request.headers, **signed})

    def _current_credentials(self) -> Any:
        """The current credentials. Those of a role are renewed if they have expired."""
        errors = _load("botocore", "exceptions", self._provider)
        if not self._region:
            raise self._not_configured("no region", "set AWS_REGION")
        try:
            if self._credentials is None:
                session = _load("botocore", "session", self._provider).Session(profile=self._profile)
                self._credentials = session.get_credentials()
            if self._credentials is not None:
                return self._credentials.get_frozen_credentials()
        except (errors.ConnectionError, errors.HTTPClientError) as error:
            name, kind = self._provider.name, type(error).__name__
            raise NetworkError(f"the AWS credentials for {name} could not be loaded ({kind})", provider=name) from None
        except errors.BotoCoreError as error:
            raise self._not_configured(f"no AWS credentials ({type(error).__name__})", AWS_REMEDY) from None
        raise self._not_configured("no AWS credentials", AWS_REMEDY)

    def _not_configured(self, what: str, remedy: str) -> NotConfigured:
        return NotConfigured(f"{what} for {self._provider.name}: {remedy}", provider=self._provider.name)


class GoogleSigner:
    """Google access tokens, with the credentials that google-auth finds: a service account's file, gcloud, a role."""

    def __init__(self, provider: Provider, config: AdapterConfig) -> None:
        self._provider = provider
        self._credentials: Any = None
        self._lock = Lock()

    def __call__(self, request: HttpRequest) -> HttpRequest:
        auth, transport = (_load("google", name, self._provider) for name in ("auth", "auth.transport.requests"))
        headers: dict[str, str] = {}
        try:
            with self._lock:  # several calls at once may find the token expired
                if self._credentials is None:
                    self._credentials, _ = auth.default(scopes=[GOOGLE_SCOPE])
                self._credentials.before_request(transport.Request(), request.method, request.url, headers)
        except auth.exceptions.GoogleAuthError as error:
            raise self._error(error, auth.exceptions.TransportError) from None
        return replace(request, headers={**request.headers, **{name.lower(): value for name, value in headers.items()}})

    def _error(self, error: Any, unreachable: type[Exception]) -> AdapterError:
        """Our error for one of google-auth, without its message, which may quote the token server's answer."""
        name, kind = self._provider.name, type(error).__name__
        if isinstance(error, unreachable) or error.retryable:
            return NetworkError(f"the access token for {name} could not be fetched ({kind})", provider=name)
        return NotConfigured(f"no Google credentials for {name} ({kind}): {GOOGLE_REMEDY}", provider=name)


SIGNERS: dict[str, Callable[[Provider, AdapterConfig], Signer]] = {"sigv4": AwsSigner, "google": GoogleSigner}


NEEDED = {
    "google": "{} needs google-auth to find credentials: pip install 'interlingua[vertex]', or give an access token in"
    " GOOGLE_OAUTH_ACCESS_TOKEN or AdapterConfig(api_key=...)",
    "botocore": "{} without a key needs botocore to sign requests: pip install 'interlingua[bedrock]', or set"
    " AWS_BEARER_TOKEN_BEDROCK",
}
"""What to say of a provider if a package is not installed."""


def _load(package: str, name: str, provider: Provider) -> Any:
    try:
        return import_module(f"{package}.{name}")
    except ImportError:
        raise NotConfigured(NEEDED[package].format(provider.name), provider=provider.name) from None

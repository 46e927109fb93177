"""Our errors for what the HTTP libraries raise."""

from __future__ import annotations

from ssl import SSLCertVerificationError

from ...errors import AdapterError, NetworkError

__all__ = ["Failures"]


class Failures:
    """What a library raises, the error of ours for it, and the words that say what happened. The first row that fits is
    used."""

    def __init__(self, *rows: tuple[type[BaseException], type[AdapterError], str]) -> None:
        self.rows = rows

    def as_error(self, raised: BaseException, host: str) -> AdapterError:
        """Our error for one of the library's. Its own text is left out, because it may contain headers."""
        cause = getattr(raised, "certificate_error", raised)
        if isinstance(cause, SSLCertVerificationError):
            return _certificate_error(host, cause)
        if "ALERT_CERTIFICATE_REQUIRED" in str(raised):
            why = "the server asks for a certificate; give AdapterConfig(client_cert=...)"
            return NetworkError(f"{host}: {why}", retryable=False)
        for kind, ours, what in self.rows:
            if isinstance(raised, kind):
                return ours(f"{host}: {what} ({type(raised).__name__})")
        return NetworkError(f"{host}: {type(raised).__name__}")


def _certificate_error(host: str, error: SSLCertVerificationError) -> NetworkError:
    """The error for a certificate that was not accepted. Trying again would not help."""
    why = error.verify_message or str(error.reason)
    advice = "if you trust it, give AdapterConfig(ca_bundle=...), or set SSL_CERT_FILE in the environment"
    return NetworkError(f"{host}: its certificate was not accepted: {why}; {advice}", retryable=False)

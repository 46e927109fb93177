"""The URL and the headers of a request, from a provider's row and the settings. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import cast
from urllib.parse import SplitResult, parse_qsl, quote, urlsplit

from msgspec import Struct

from ..errors import AdapterError, NotConfigured
from ..models.providers import Provider
from ..types.base import Json
from .config import AdapterConfig, scheme_problem
from .explaining import explain
from .secrets import MaskedHeaders, Secret, named_secrets

__all__ = [
    "Address",
    "HOSTED_DIALECTS",
    "KeylessAddress",
    "betas_of",
    "headers_for",
    "hosted_form",
    "key_sentence",
    "merge_json",
    "url_for",
]

VERSION = re.compile(r"v\d+(?:(?:alpha|beta)\d*)?")
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
DEPLOYMENTS = "deployments"
PLACEHOLDER = re.compile(r"{(\w+)}")
PRINTABLE = re.compile(r"[\x20-\x7e]*")
SHORTEST_KEY = 8
MOST_REMEMBERED = 64
KEYLESS = frozenset({"none", "sigv4", "google"})
KEY_PARAMETERS = frozenset({"key", "api_key", "api-key", "apikey", "token", "access_token"})

# ``options["api_version"]`` is sent as a header, or in the query; else it replaces the version in the path.
VERSION_HEADERS = {"anthropic-messages": "anthropic-version"}
VERSION_QUERIES = {"openai-chat": "api-version", "openai-responses": "api-version"}

# Options that are sent as headers, by dialect or by provider.
OPTION_HEADERS: dict[str, dict[str, str]] = {
    "openai-chat": {"organization": "openai-organization", "project": "openai-project"},
    "openai-responses": {"organization": "openai-organization", "project": "openai-project"},
    "openrouter": {"referer": "http-referer", "title": "x-title"},
}
# Providers whose project is a part of the URL and not a header.
PROJECT_IN_URL = frozenset({"vertex", "vertex-anthropic"})
# The environment variables of options that are a part of the base URL.
URL_VARIABLES: dict[str, dict[str, str]] = {
    "bedrock": {"region": "AWS_REGION"},
    "azure": {"resource": "AZURE_OPENAI_ENDPOINT"},
    "vertex": {"project": "GOOGLE_CLOUD_PROJECT", "region": "GOOGLE_CLOUD_LOCATION"},
    "vertex-anthropic": {"project": "GOOGLE_CLOUD_PROJECT", "region": "GOOGLE_CLOUD_LOCATION"},
}


class Address:
    """URLs and headers for one provider and configuration, cached: most calls repeat an earlier one."""

    def __init__(self, provider: Provider, config: AdapterConfig) -> None:
        self.provider, self.config = provider, config
        self.secrets = _secrets(config)
        self._urls: dict[str, str] = {}
        self._headers: dict[tuple[tuple[str, str], ...], dict[str, str]] = {}

    def url(self, path: str) -> str:
        """As ``url_for``, cached."""
        url = self._urls.get(path)
        if url is None:
            url = url_for(self.provider, self.config, path)
            if len(self._urls) < MOST_REMEMBERED:
                self._urls[path] = url
        return url

    def headers(self, encoded: dict[str, str]) -> dict[str, str]:
        """As ``headers_for``, cached: the caller must not change them."""
        key = tuple(encoded.items())
        headers = self._headers.get(key)
        if headers is None:
            headers = headers_for(self.provider, self.config, encoded)
            if len(self._headers) < MOST_REMEMBERED:
                self._headers[key] = headers
        return headers

    def explain(self, error: AdapterError, url: str, model: str | None) -> None:
        """Add to the message where the call failed and what can be done, but nothing that may be a key."""
        explain(error, self.provider, self.config, url, model)


class KeylessAddress(Address):
    """For requests that the caller sends: the URL is only a path, and the headers contain no key."""

    def url(self, path: str) -> str:
        """The path alone."""
        route, mark, query = path.partition("?")
        _, after = _azure_path([], _segments(route), self.config.options.get("api_version"))
        return f"/{'/'.join(after)}{mark}{query}"

    def headers(self, encoded: dict[str, str]) -> dict[str, str]:
        """The headers without the key and without ``extra_headers``, which may contain one."""
        return _public_headers(self.provider, self.config, encoded)


def url_for(provider: Provider, config: AdapterConfig, path: str) -> str:
    """The whole URL: the dialect's path below the base URL, which may or may not end with the version segment."""
    options = config.options
    base = _base_of(provider, config)
    usual = _segments(urlsplit(provider.base_url).path)
    route, _, query = path.partition("?")
    before, after = _segments(base.path), _segments(route)
    if not before and _is_home(base.netloc, provider):
        before = usual
    before, after = _azure_path(before, after, options.get("api_version"))
    if VERSION.fullmatch(after[0]):
        before, after = _with_version(before, usual), after[1:]
        if provider.dialect not in VERSION_HEADERS and provider.dialect not in VERSION_QUERIES:
            before = _with_api_version(before, options.get("api_version"))
    elif before and VERSION.fullmatch(before[-1]):
        before = before[:-1]  # this dialect has no versions in its paths
    queries = [base.query, query, _version_query(provider, options)]
    joined = "/".join([*_without_overlap(before, after), *after])
    return f"{base.scheme}://{base.netloc}/{joined}" + "?".join(["", "&".join(filter(None, queries))]).rstrip("?")


def _is_home(host: str, provider: Provider) -> bool:
    """Whether this is the provider's own host; then a base URL without a path gets the provider's usual path."""
    pattern = PLACEHOLDER.sub(
        "[^.]+", re.escape(urlsplit(provider.base_url).netloc).replace(r"\{", "{").replace(r"\}", "}")
    )
    return re.fullmatch(pattern, host) is not None


def _azure_path(before: list[str], after: list[str], version: Json) -> tuple[list[str], list[str]]:
    """Both parts of the path for Azure: with a date as API version it names the model; else only the body does."""
    if after[1:2] != [DEPLOYMENTS]:
        return before, after
    if DEPLOYMENTS in before or not (version and DATE.match(str(version))):
        return before, [after[0], *after[3:]]
    return [part for part in before if not VERSION.fullmatch(part)], after[1:]


def _segments(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _with_version(before: list[str], usual: list[str]) -> list[str]:
    """The base URL's segments with a version: its own, else the row's, inserted at the same distance from the end."""
    place = next((index for index, part in enumerate(usual) if VERSION.fullmatch(part)), None)
    if place is None or DEPLOYMENTS in before or any(map(VERSION.fullmatch, before)):
        return before
    behind = len(usual) - place - 1
    cut = len(before) - behind
    return [*before[:cut], usual[place], *before[cut:]] if cut >= 0 else before


def _with_api_version(before: list[str], version: Json) -> list[str]:
    return [str(version) if version and VERSION.fullmatch(part) else part for part in before]


def _without_overlap(before: list[str], after: list[str]) -> list[str]:
    """The base URL's segments without those that the path repeats: the URL may be copied from an example."""
    for size in range(min(len(before), len(after)), 0, -1):
        if before[-size:] == after[:size]:
            return before[:-size]
    return before


def _version_query(provider: Provider, options: dict[str, Json]) -> str:
    name, version = VERSION_QUERIES.get(provider.dialect), options.get("api_version")
    return f"{name}={quote(str(version))}" if name and version else ""


def _fill_placeholders(base: str, provider: Provider, options: dict[str, Json]) -> str:
    """The base URL with its placeholders replaced by options."""

    def value(name: re.Match[str]) -> str:
        found = options.get(name[1])
        if not found:
            variable = URL_VARIABLES.get(provider.name, {}).get(name[1])
            advice = f": set {variable} in the environment, or give AdapterConfig(options=...)" if variable else ""
            raise NotConfigured(
                f"{provider.name} needs options[{name[1]!r}], a part of its URL {provider.base_url}{advice}",
                provider=provider.name,
            )
        return quote(str(found), safe="")

    return PLACEHOLDER.sub(value, base).replace("//global-aiplatform.", "//aiplatform.")


def _base_of(provider: Provider, config: AdapterConfig) -> SplitResult:
    """The base URL. No local variable contains it where an error is raised, because it may contain a key."""
    problem = _base_url_problem(_fill_placeholders(config.base_url or provider.base_url, provider, config.options))
    if problem is not None:
        raise NotConfigured(problem, provider=provider.name)
    return urlsplit(_fill_placeholders(config.base_url or provider.base_url, provider, config.options))


def _base_url_problem(base: str) -> str | None:
    if (problem := scheme_problem(base)) is not None:
        return problem
    parts = urlsplit(base)
    parameters = {name.lower() for name, _ in parse_qsl(parts.query)}
    if "@" in parts.netloc or parameters & KEY_PARAMETERS:
        return "base_url contains a user name or a key; keys are sent in headers: use api_key or extra_headers"
    return None if parts.netloc else f"base_url {base.partition('?')[0]!r} is not a URL"


def headers_for(provider: Provider, config: AdapterConfig, encoded: dict[str, str]) -> dict[str, str]:
    """All headers but the signature, in lower case: from the row, the dialect, the options, the key, the caller."""
    headers = MaskedHeaders(_public_headers(provider, config, encoded) | _key_header(provider, config))
    for name, value in config.extra_headers.items():
        headers[name.lower()] = value.reveal() if isinstance(value, Secret) else value
    _check_headers(headers, provider)
    return headers


def _public_headers(provider: Provider, config: AdapterConfig, encoded: dict[str, str]) -> dict[str, str]:
    headers = {"content-type": "application/json", "user-agent": "interlingua", **provider.headers, **encoded}
    for owner in (provider.dialect, provider.name):
        for option, name in OPTION_HEADERS.get(owner, {}).items():
            if config.options.get(option) and not (option == "project" and provider.name in PROJECT_IN_URL):
                headers[name] = str(config.options[option])
    if provider.dialect in VERSION_HEADERS and config.options.get("api_version"):
        headers[VERSION_HEADERS[provider.dialect]] = str(config.options["api_version"])
    return headers


def _bearer_key(provider: Provider, key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


def _header_key(provider: Provider, key: str) -> dict[str, str]:
    return {(provider.auth.header or "authorization").lower(): key}


KEY_HEADERS: dict[str, Callable[[Provider, str], dict[str, str]]] = {
    "bearer": _bearer_key,
    "header": _header_key,
    "sigv4": _bearer_key,  # with a key, nothing is signed
    "google": _bearer_key,
    "none": _bearer_key,
}


def _key_header(provider: Provider, config: AdapterConfig) -> dict[str, str]:
    key = config.secret
    if key:
        return KEY_HEADERS[provider.auth.kind](provider, key)
    named = {name.lower() for name in config.extra_headers}
    if provider.auth.kind in KEYLESS or named & {"authorization", (provider.auth.header or "").lower()}:
        return {}
    raise NotConfigured(key_sentence(provider), provider=provider.name)


def key_sentence(provider: Provider) -> str:
    """The error message for a missing key."""
    where = " or ".join(provider.auth.keys)
    return f"no key for {provider.name}: set {where} in the environment, or give AdapterConfig(api_key=...)"


SCHEMES = ("bearer ", "basic ", "token ", "apikey ")


def _secrets(config: AdapterConfig) -> list[str]:
    """The values to mask. Short header values are left out: they are no keys, and occur in many other texts."""
    values = [value.reveal() if isinstance(value, Secret) else value for value in config.extra_headers.values()]
    values += [value.partition(" ")[2] for value in values if value.lower().startswith(SCHEMES)]
    values += named_secrets(config.options)
    return [value for value in (config.secret or "", *values) if len(value) >= SHORTEST_KEY]


def _check_headers(headers: dict[str, str], provider: Provider) -> None:
    """Check the headers here, because HTTP libraries quote a bad value in their error, and it may be a key."""
    bad = [name for name in headers if not PRINTABLE.fullmatch(headers[name])]
    if bad:
        raise NotConfigured(
            f"the header {bad[0]} for {provider.name} contains a line break or a character that is not ASCII;"
            " was the key copied with something around it?",
            provider=provider.name,
        )


# ------------------------------------------------------------------------------------------------------- the body


class HostedDialect(Struct, frozen=True):
    """How a cloud serves a dialect: its path, another path for streams, keys dropped from the body, keys added."""

    dialect: str
    whole: str
    stream: str | None = None
    drops: tuple[str, ...] = ()
    adds: dict[str, Json] = {}


HOSTED_DIALECTS = {
    # the older path, which names the model; ``_azure_path`` removes the model for newer API versions
    "azure": HostedDialect("openai-chat", "/v1/deployments/{model}/chat/completions"),
    "vertex-anthropic": HostedDialect(
        "anthropic-messages",
        "/v1/models/{model}:rawPredict",
        "/v1/models/{model}:streamRawPredict",
        drops=("model",),
        adds={"anthropic_version": "vertex-2023-10-16"},
    ),
}


def hosted_form(
    provider: Provider, model: str | None, path: str | None, body: Json, *, stream: bool
) -> tuple[str | None, Json]:
    """Path and body for this provider. For most providers they are those of the dialect."""
    hosted = HOSTED_DIALECTS.get(provider.name)
    if hosted is None or model is None or hosted.dialect != provider.dialect:
        return path, body
    place = ((stream and hosted.stream) or hosted.whole).format(model=quote(model, safe="@"))
    return place, {**{key: value for key, value in body.items() if key not in hosted.drops}, **hosted.adds}


def betas_of(betas: tuple[str, ...], config: AdapterConfig) -> tuple[str, ...]:
    """The betas of the request, then those of the configuration."""
    more = config.options.get("betas")
    return tuple(dict.fromkeys((*betas, *more))) if more else betas


def merge_json(body: Json, top: Json) -> Json:
    """A JSON body with ``top`` merged into it: objects are merged, anything else is replaced."""
    if not (isinstance(body, dict) and isinstance(top, dict)):
        return top
    below, above = cast("dict[str, Json]", body), cast("dict[str, Json]", top)
    return {**below, **{key: merge_json(below.get(key), value) for key, value in above.items()}}

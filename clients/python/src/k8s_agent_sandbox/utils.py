"""Small functions without state."""

import functools
import inspect
import ipaddress
import json
import os
import string
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, ParamSpec, TypeVar, cast

from .constants import SANDBOX_NAME_HASH_LABEL
from .models import SandboxClaimEnvVar

P = ParamSpec("P")
R = TypeVar("R")


def merge_headers(*layers: Mapping[str, str] | None) -> dict[str, str]:
    """Joins headers. Of several with the same name, in any case, the last one counts."""
    merged = {name.lower(): (name, value) for layer in layers for name, value in (layer or {}).items()}
    return dict(merged.values())


def record_latency(metric: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes a method observe its duration in a histogram with the label `status`.

    A result counts as a success if its field `success` is true. The method sets `self._skip_latency_metric` if it did nothing.
    """

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(method)
        def measured(self: Any, *args: Any, **kwargs: Any) -> R:
            self._skip_latency_metric = False
            start = time.perf_counter()
            status = "failure"
            try:
                result = cast(Callable[..., R], method)(self, *args, **kwargs)
                status = "success" if getattr(result, "success", False) else "failure"
                return result
            finally:
                if not self._skip_latency_metric:
                    metric.labels(status=status).observe((time.perf_counter() - start) * 1000)

        return cast(Callable[P, R], measured)

    return decorate


def construct_sandbox_claim_lifecycle_spec(shutdown_after_seconds: int) -> dict[str, str]:
    """Returns `spec.lifecycle` of a claim that is deleted after that time. Raises ValueError unless it is a positive integer."""
    if type(shutdown_after_seconds) is not int:
        raise ValueError(f"shutdown_after_seconds must be an integer, not {type(shutdown_after_seconds).__name__}")
    if shutdown_after_seconds <= 0:
        raise ValueError(f"shutdown_after_seconds must be positive, not {shutdown_after_seconds}")
    try:
        end = datetime.now(UTC) + timedelta(seconds=shutdown_after_seconds)
    except OverflowError:
        raise ValueError(f"shutdown_after_seconds is too large: {shutdown_after_seconds}") from None
    return {"shutdownTime": end.strftime("%Y-%m-%dT%H:%M:%SZ"), "shutdownPolicy": "Delete"}


def construct_sandbox_claim_env_spec(env: Mapping[str, str] | None) -> list[SandboxClaimEnvVar]:
    """Returns `spec.env` of a claim."""
    return [SandboxClaimEnvVar(name=name, value=value) for name, value in (env or {}).items()]


def select_pod_ip(ips: Sequence[object] | None) -> str | None:
    """Returns the first IPv4 address in its canonical form, or else the first IPv6 address, or None.

    An entry is a text, or a mapping or an object with `ip`. Invalid entries are skipped. `::ffff:10.0.0.1` counts as IPv4.
    """
    first: str | None = None
    for entry in ips or ():
        text = entry.get("ip") if isinstance(entry, Mapping) else entry if isinstance(entry, str) else getattr(entry, "ip", None)
        try:
            address = ipaddress.ip_address(text.strip() if isinstance(text, str) else "")
        except ValueError:
            continue
        mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else address
        if mapped is not None:
            return str(mapped)
        first = first or str(address)
    return first


def is_valid_ip(s: str) -> bool:
    """Whether a text is an IPv4 or IPv6 address."""
    if not isinstance(s, str):
        return False
    try:
        ipaddress.ip_address(s)
    except ValueError:
        return False
    return True


_LABEL_CHARACTERS = frozenset(string.ascii_letters + string.digits + "-")


def is_valid_gateway_hostname(s: str) -> bool:
    """Whether a text is a host name, and none that a resolver takes for an address, such as `2130706433` or `0x7f.1`."""
    if not isinstance(s, str) or not s or len(s) > 253:
        return False
    labels = s.split(".")
    if all(_is_number(label) for label in labels):
        return False
    return all(
        0 < len(label) <= 63 and _LABEL_CHARACTERS.issuperset(label) and label[0] != "-" and label[-1] != "-" for label in labels
    )


def _is_number(label: str) -> bool:
    lower = label.lower()
    if lower.startswith("0x"):
        return all(character in string.hexdigits for character in lower[2:])
    return label.isdigit()


def extract_sandbox_name_hash(sandbox_object: dict[str, Any]) -> str | None:
    """Returns the hash that selects the Pod of a Sandbox, from `status.selector`."""
    selector = (sandbox_object.get("status") or {}).get("selector") or ""
    for requirement in selector.split(","):
        key, _, value = requirement.partition("=")
        if key.strip() == SANDBOX_NAME_HASH_LABEL:
            return value.strip() or None
    return None


def kubeconfig_from_configuration(
    configuration: Any, authorization: str | None, default_headers: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Returns a kubeconfig for kubectl with the settings of a client of the package `kubernetes`.

    `authorization` is the value of its `Authorization` header. Only bearer tokens and impersonation are kept.
    """
    headers = {name.lower(): value for name, value in (default_headers or {}).items()}
    cluster: dict[str, Any] = {"server": configuration.host}
    if not configuration.verify_ssl:
        # kubectl refuses an authority together with this.
        cluster["insecure-skip-tls-verify"] = True
    elif configuration.ssl_ca_cert:
        cluster["certificate-authority"] = configuration.ssl_ca_cert
    for field, name in (("tls_server_name", "tls-server-name"), ("proxy", "proxy-url")):
        if getattr(configuration, field, None):
            cluster[name] = getattr(configuration, field)
    user: dict[str, Any] = {}
    if configuration.cert_file:
        user["client-certificate"] = configuration.cert_file
    if configuration.key_file:
        user["client-key"] = configuration.key_file
    scheme, _, token = (authorization or headers.get("authorization") or "").partition(" ")
    if scheme.lower() == "bearer" and token:
        user["token"] = token
    if headers.get("impersonate-user"):
        user["as"] = headers["impersonate-user"]
    if headers.get("impersonate-group"):
        user["as-groups"] = [headers["impersonate-group"]]
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "sandbox", "cluster": cluster}],
        "users": [{"name": "sandbox", "user": user}],
        "contexts": [{"name": "sandbox", "context": {"cluster": "sandbox", "user": "sandbox"}}],
        "current-context": "sandbox",
    }


# Where versions of the package `kubernetes` keep the token.
_TOKEN_KEYS = ("BearerToken", "authorization")


@contextmanager
def _temporary_kubeconfig(api_client: Any, authorization: str | None) -> Iterator[list[str]]:
    config = kubeconfig_from_configuration(api_client.configuration, authorization, api_client.default_headers)
    # Only this user can read the file, which may have a token.
    descriptor, path = tempfile.mkstemp(prefix="sandbox-kubeconfig-", suffix=".json")
    try:
        with os.fdopen(descriptor, "w") as file:
            json.dump(config, file)
        yield ["--kubeconfig", path]
    finally:
        with suppress(FileNotFoundError):
            os.unlink(path)


@contextmanager
def kubectl_kubeconfig_args(api_client: Any | None) -> Iterator[list[str]]:
    """The flags that make kubectl use the cluster of an `ApiClient`. Without one, there are none.

    The flags name a file that is deleted at the end of the block, so kubectl must have read it by then.
    """
    if api_client is None:
        yield []
        return
    values = (api_client.configuration.get_api_key_with_prefix(key) for key in _TOKEN_KEYS)
    with _temporary_kubeconfig(api_client, next((value for value in values if value), None)) as flags:
        yield flags


@asynccontextmanager
async def async_kubectl_kubeconfig_args(api_client: Any | None) -> AsyncIterator[list[str]]:
    """As `kubectl_kubeconfig_args`, for an `ApiClient` of the package `kubernetes_asyncio`."""
    if api_client is None:
        yield []
        return
    authorization: Any = None
    for key in _TOKEN_KEYS:
        authorization = authorization or api_client.configuration.get_api_key_with_prefix(key)
        if inspect.isawaitable(authorization):
            authorization = await authorization
    with _temporary_kubeconfig(api_client, authorization) as flags:
        yield flags

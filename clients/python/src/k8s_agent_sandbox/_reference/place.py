"""Where the drop-in finds the API server and, on a box, the router."""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._core.discover import find_box
from .._kube.credentials import Credential, Credentials
from .._kube.fields import ConfigProblem
from .._kube.kubeconfig import ClusterAccess, Tls, load_default, load_in_cluster
from ..exceptions import SandboxError

_TOKEN_KEYS = ("BearerToken", "authorization")


@dataclass(frozen=True)
class Place:
    access: ClusterAccess
    #: The router of the box, if the API server is that of a box on this machine.
    router_url: str | None = None
    #: The kubeconfig that kubectl does not find by itself.
    kubeconfig: str | None = None


def find_place(api_client: Any = None) -> Place:
    """The cluster of an `ApiClient`, of this Pod, of KUBECONFIG, the running box, or the cluster of `~/.kube/config`.

    The first that exists is used. This is the order of the reference's client, which does not know the box.
    """
    if api_client is not None:
        return Place(_access_of(api_client))
    kubeconfig, router_url = find_box()
    server = None if kubeconfig is None else _server_of(kubeconfig)
    try:
        if os.environ.get("KUBERNETES_SERVICE_HOST"):
            return Place(load_in_cluster())
        if server is None or os.environ.get("KUBECONFIG"):
            access = load_default()
            return Place(access, router_url if access.server == server else None)
        return Place(load_default(kubeconfig), router_url, kubeconfig)
    except ConfigProblem as problem:
        raise SandboxError(str(problem), reason="Unreachable") from None


def _server_of(kubeconfig: str) -> str | None:
    """The API server of a box. None if this user may not read its kubeconfig."""
    try:
        return load_default(kubeconfig).server
    except ConfigProblem:
        return None


def _access_of(api_client: Any) -> ClusterAccess:
    """The settings of a client of the package `kubernetes` or `kubernetes_asyncio`."""
    configuration = api_client.configuration
    if getattr(configuration, "proxy", None):
        raise SandboxError("Cannot use the ApiClient: proxies are not supported", reason="Unsupported")
    ca = configuration.ssl_ca_cert if configuration.verify_ssl else None
    tls = Tls(
        ca=Path(ca).read_text() if ca else None,
        server_name=getattr(configuration, "tls_server_name", None),
        is_insecure=not configuration.verify_ssl,
    )
    pairs = dict(api_client.default_headers).items()
    headers = [(name, value) for name, value in pairs if name.lower().startswith("impersonate-")]
    return ClusterAccess(configuration.host.rstrip("/"), "default", tls, _ClientCredentials(api_client), headers)


class _ClientCredentials(Credentials):
    """What an `ApiClient` would send now. It may renew its token, so it is asked each time."""

    def __init__(self, api_client: Any) -> None:
        self._client = api_client

    def known(self) -> Credential | None:
        return None if getattr(self._client.configuration, "refresh_api_key_hook", None) else self.load()

    def load(self, refused: Credential | None = None) -> Credential:
        configuration = self._client.configuration
        certificate = Path(configuration.cert_file).read_text() if configuration.cert_file else None
        key = Path(configuration.key_file).read_text() if configuration.key_file else None
        return Credential(self._authorization(), certificate, key)

    def _authorization(self) -> str | None:
        for name in _TOKEN_KEYS:
            value = self._client.configuration.get_api_key_with_prefix(name)
            if inspect.isawaitable(value):
                import asyncio

                value = asyncio.run(_wait_for(value))
            if value:
                return str(value)
        found = {name.lower(): value for name, value in dict(self._client.default_headers).items()}
        return found.get("authorization")


async def _wait_for(value: Any) -> Any:
    return await value

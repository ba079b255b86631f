from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urlsplit

from .._kube.credentials import Credential, Credentials, FixedCredentials
from .._kube.fields import ConfigProblem
from .._kube.kubeconfig import Tls, load_default
from ..exceptions import SandboxArgumentError, SandboxRequestError

#: A bearer token, or a function that returns the present one. The functions of asynchronous clients may be coroutines.
Token = str | Callable[[], str] | Callable[[], Awaitable[str]]


@dataclass(frozen=True)
class ConnectOptions:
    #: The address of the router. Default: ``AGENT_SANDBOX_ROUTER_URL``, or the router of the running box.
    router: str | None = None
    #: The address of the API server. Default: that of the box, the kubeconfig or the cluster that this program runs in.
    server: str | None = None
    #: For both. Default: that of the kubeconfig.
    token: Token | None = field(default=None, repr=False)
    #: The certificate authority of the API server, in PEM.
    ca: str | None = None
    #: Default: ``default``, or the namespace of the kubeconfig's context.
    namespace: str | None = None
    #: A kubeconfig file. Default: as kubectl.
    kubeconfig: str | None = None
    context: str | None = None
    #: The data folder of the box. Default: ``AGENT_SANDBOX_DATA_DIR``, or ``/var/lib/agent-sandbox``.
    data_dir: str | None = None


class Found(NamedTuple):
    """Where the API server and the router are, and as whom to talk to them."""

    server: str
    router: str
    namespace: str
    tls: Tls
    credentials: Credentials
    #: Impersonation, for the API server.
    headers: Sequence[tuple[str, str]]
    #: Replaces the credentials.
    token: Token | None


_DEFAULT_DATA_DIR = "/var/lib/agent-sandbox"


def discover(options: ConnectOptions) -> Found:
    """Finds the API server and the router: from the options, else the running box, else the kubeconfig or the Pod's account."""
    is_named = any(value is not None for value in (options.kubeconfig, options.context, options.server))
    kubeconfig, box_router = (None, None) if is_named else find_box(options.data_dir)
    router = options.router or os.environ.get("AGENT_SANDBOX_ROUTER_URL") or box_router
    if router is None:
        hint = 'start a box with "agent-sandbox up", or set the option router or AGENT_SANDBOX_ROUTER_URL'
        text = f"Cannot find a router: no box is running here; {hint}"
        raise SandboxRequestError(text, reason="Unreachable")
    router = _address_of(router, "router")
    if options.server is not None:
        server = _address_of(options.server, "server")
        nobody = FixedCredentials(Credential())
        namespace = options.namespace or "default"
        return Found(server, router, namespace, Tls(ca=options.ca), nobody, (), options.token)
    try:
        access = load_default(options.kubeconfig or kubeconfig, options.context)
    except ConfigProblem as problem:
        raise SandboxRequestError(str(problem), reason="Unreachable") from None
    namespace = options.namespace or access.namespace
    return Found(access.server, router, namespace, access.tls, access.credentials, access.headers, options.token)


def _address_of(url: str, option: str) -> str:
    """Without a slash at the end, so that paths can be appended."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise SandboxArgumentError(f"Cannot connect: {option} must be an address like https://host:8443, without a user")
    return url.rstrip("/")


def find_box(data_dir: str | None = None) -> tuple[str | None, str | None]:
    """The kubeconfig and the router of the box that runs on this machine, if this user may use it."""
    data_dir = data_dir or os.environ.get("AGENT_SANDBOX_DATA_DIR") or _DEFAULT_DATA_DIR
    try:
        with open(os.path.join(data_dir, "box.json"), encoding="utf-8") as file:
            router = json.load(file)["routerUrl"]
    except (OSError, ValueError, KeyError, TypeError):
        return None, None
    return (os.path.join(data_dir, "kubeconfig"), router) if isinstance(router, str) else (None, None)

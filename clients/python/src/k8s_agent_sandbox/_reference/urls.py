"""Addresses of routers and sandboxes."""

from __future__ import annotations

import base64
from pathlib import Path
from urllib.parse import unquote, urlsplit, urlunsplit

from .._kube.credentials import Credential
from .._kube.kubeconfig import Tls
from ..models import SandboxDirectConnectionConfig


def host_of(address: str) -> str:
    """An address as part of a URL."""
    return f"[{address}]" if ":" in address else address


def with_port(url: str, port: int) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, f"{host_of(parts.hostname or '')}:{port}", "", "", ""))


def without_user(url: str) -> tuple[str, str | None]:
    """The URL without a user and a password, and the `Authorization` header for them."""
    parts = urlsplit(url)
    if parts.username is None:
        return url.rstrip("/"), None
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=host)).rstrip("/"), f"Basic {base64.b64encode(pair.encode()).decode()}"


def tls_of(config: object) -> Tls | None:
    has_authority = isinstance(config, SandboxDirectConnectionConfig) and config.ca_cert is not None
    return Tls(ca=Path(config.ca_cert).read_text()) if has_authority else None  # type: ignore[attr-defined]


def certificate_of(config: object) -> Credential | None:
    """The client certificate of a connection."""
    if not isinstance(config, SandboxDirectConnectionConfig) or config.client_cert is None:
        return None
    certificate, key = (Path(path).read_text() for path in config.client_cert)
    return Credential(certificate=certificate, key=key)

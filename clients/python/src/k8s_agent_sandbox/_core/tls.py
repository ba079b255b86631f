from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from .._kube.credentials import Credential
from .._kube.kubeconfig import Tls
from ..exceptions import SandboxRequestError

# Modules for TLS are imported on first use.
if TYPE_CHECKING:
    import ssl


def ssl_context_of(url: str, tls: Tls | None) -> ssl.SSLContext:
    """Checks certificates against the given authority, else against those of the system."""
    import ssl

    if not url.startswith("https:"):
        # Reading the system's certificates takes 20 ms. This context knows none, so it could not trust anybody.
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    settings = tls or Tls()
    try:
        context = ssl.create_default_context(cadata=settings.ca)
    except ssl.SSLError as error:
        text = f"Cannot use the certificate authority of {url}: {error.reason or 'it is not valid'}"
        raise SandboxRequestError(text, reason="Unreachable") from None
    if settings.is_insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def use_certificate(context: ssl.SSLContext, credential: Credential) -> None:
    """Presents a client certificate on new connections."""
    if credential.certificate is None or credential.key is None:
        return
    import ssl
    import tempfile

    # Python reads certificates from files only.
    descriptor, path = tempfile.mkstemp(prefix="agent-sandbox-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(f"{credential.certificate}\n{credential.key}\n")
        context.load_cert_chain(path)
    except ssl.SSLError:
        text = "Cannot use the client certificate of the kubeconfig: it does not match its key, or is not valid"
        raise SandboxRequestError(text, reason="Unauthenticated") from None
    finally:
        os.unlink(path)


def proxy_of(url: str) -> str | None:
    """The proxy that the environment names for a server. None for addresses of this machine, such as those of a box."""
    from urllib.request import getproxies, proxy_bypass

    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_local(host) or proxy_bypass(host):
        return None
    proxies = getproxies()
    found = proxies.get(parts.scheme) or proxies.get("all")
    return found if found is None or "://" in found else f"http://{found}"


def is_local(host: str) -> bool:
    return host == "localhost" or host.endswith(".localhost") or host == "::1" or host.startswith("127.")

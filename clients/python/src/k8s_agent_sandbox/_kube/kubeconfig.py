"""Access to a cluster from kubeconfig files, merged like kubectl does, or with the service account of a Pod."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from .credentials import (
    Credential,
    CredentialProblem,
    Credentials,
    FixedCredentials,
    TokenFile,
    password_credential,
)
from .fields import ConfigProblem, Fields


class Tls(NamedTuple):
    #: The certificate authority, in PEM. Without it: those of the system.
    ca: str | None = None
    server_name: str | None = None
    is_insecure: bool = False


class ClusterAccess(NamedTuple):
    server: str
    namespace: str = "default"
    tls: Tls = Tls()
    credentials: Credentials = FixedCredentials(Credential())
    #: Impersonation. Names may repeat.
    headers: Sequence[tuple[str, str]] = ()


#: Far above a kubeconfig with a thousand clusters, which has a few MiB.
_LARGEST_FILE_BYTES = 16 << 20
_ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
_EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


def load_default(path: str | None = None, context: str | None = None) -> ClusterAccess:
    """Access from the kubeconfig if there is one, else with the service account of the Pod, like kubectl."""
    files = _paths() if path is None else [os.path.abspath(path)]
    roots = [Fields.parse(file, text) for file, text in _read_existing(files)]
    if not roots and path is None and context is None and _is_in_cluster():
        return load_in_cluster()
    if not roots:
        looked = " and no ".join(f'"{file}"' for file in files)
        raise ConfigProblem(f"Cannot find a kubeconfig: there is no {looked}")
    return _access_of(roots, context)


def load_in_cluster(folder: str = _ACCOUNT_FOLDER) -> ClusterAccess:
    """Access with the service account of the Pod."""
    if not _is_in_cluster():
        missing = "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"
        raise ConfigProblem(f"Cannot use the service account of a Pod: {missing}: this process does not run in a Pod")
    host, port = os.environ["KUBERNETES_SERVICE_HOST"], os.environ["KUBERNETES_SERVICE_PORT"]
    credentials = TokenFile(os.path.join(folder, "token"))
    try:
        with open(os.path.join(folder, "ca.crt"), encoding="utf-8") as file:
            ca = file.read()
        credentials.load()
    except (OSError, CredentialProblem) as error:
        raise ConfigProblem(f"Cannot use the service account of the Pod: {error}") from None
    try:
        with open(os.path.join(folder, "namespace"), encoding="utf-8") as file:
            namespace = file.read().strip()
    except OSError:
        namespace = ""
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return ClusterAccess(server, namespace or "default", Tls(ca=ca), credentials)


def _is_in_cluster() -> bool:
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST") and os.environ.get("KUBERNETES_SERVICE_PORT"))


def _paths() -> list[str]:
    listed = [entry for entry in os.environ.get("KUBECONFIG", "").split(os.pathsep) if entry]
    if not listed:
        return [os.path.join(os.path.expanduser("~"), ".kube", "config")]
    return list(dict.fromkeys(os.path.abspath(entry) for entry in listed))


def _read_existing(files: list[str]) -> list[tuple[str, str]]:
    texts = []
    for path in files:
        try:
            with open(path, encoding="utf-8") as file:
                text = file.read(_LARGEST_FILE_BYTES + 1)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigProblem(f'Cannot read kubeconfig "{path}": {error}') from None
        if len(text) > _LARGEST_FILE_BYTES:
            raise ConfigProblem(f'Cannot read kubeconfig "{path}": it is larger than {_LARGEST_FILE_BYTES} bytes')
        texts.append((path, text))
    return texts


def _access_of(roots: list[Fields], wanted: str | None) -> ClusterAccess:
    """The first file that sets a value or defines an entry wins."""
    contexts, clusters, users = (_entries(roots, name) for name in ("context", "cluster", "user"))
    files = ", ".join(f'"{root.file}"' for root in roots)
    names = [name for root in roots if (name := root.text("current-context")) is not None]
    name = wanted or (names[0] if names else None)
    if name is None:
        raise ConfigProblem(f"Cannot use kubeconfig {files}: no current-context is set, {_choices(contexts)}")
    context = contexts.get(name)
    if context is None:
        raise ConfigProblem(f'Cannot use kubeconfig {files}: there is no context "{name}", {_choices(contexts)}')
    cluster = _referred(context, "cluster", clusters)
    user = None if context.text("user") is None else _referred(context, "user", users)
    server, tls = _server_of(cluster), _tls_of(cluster)
    return ClusterAccess(
        server=server,
        namespace=context.text("namespace") or "default",
        tls=tls,
        credentials=FixedCredentials(Credential()) if user is None else _credentials_of(user, server, tls),
        headers=() if user is None else _impersonation_of(user),
    )


def _entries(roots: list[Fields], field: str) -> dict[str, Fields]:
    found: dict[str, Fields] = {}
    for root in roots:
        for entry in root.children(f"{field}s"):
            content = entry.child(field)
            if content is None:
                raise entry.problem(field, "is missing")
            found.setdefault(entry.require("name"), content)
    return found


def _referred(context: Fields, field: str, entries: Mapping[str, Fields]) -> Fields:
    name = context.require(field)
    if name not in entries:
        raise context.problem(field, f'is "{name}", which is not defined, {_choices(entries)}')
    return entries[name]


def _choices(entries: Mapping[str, Fields]) -> str:
    return f"there are {', '.join(map(repr, entries))}" if entries else "and none is defined"


def _server_of(cluster: Fields) -> str:
    server = cluster.require("server")
    url = urlsplit(server)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise cluster.problem("server", "must be an address like https://host:6443")
    if cluster.text("proxy-url") is not None:
        raise cluster.problem("proxy-url", "is not supported: reach the API server directly, or through a tunnel")
    return server.rstrip("/")


def _tls_of(cluster: Fields) -> Tls:
    ca, is_insecure = cluster.pem("certificate-authority"), cluster.flag("insecure-skip-tls-verify")
    if is_insecure and ca is not None:
        raise cluster.problem("insecure-skip-tls-verify", "is true together with certificate-authority: remove one")
    return Tls(ca=ca, server_name=cluster.text("tls-server-name"), is_insecure=is_insecure)


def _credentials_of(user: Fields, server: str, tls: Tls) -> Credentials:
    """In kubectl's order of precedence: exec, token file, token, password."""
    if user.child("auth-provider") is not None:
        raise user.problem("auth-provider", "is no longer supported by Kubernetes: use an exec plugin in its place")
    certificate, key = user.pem("client-certificate"), user.pem("client-key")
    if (certificate is None) != (key is None):
        missing = "client-certificate" if certificate is None else "client-key"
        raise user.problem(missing, "is missing, but the other one of client-certificate and client-key is set")
    plugin = user.child("exec")
    if plugin is not None:
        if certificate is not None:
            raise user.problem("exec", "is set together with client-certificate: remove one of them")
        return _plugin_of(plugin, server, tls)
    own = Credential(certificate=certificate, key=key)
    token_file, token, username = user.path("tokenFile"), user.text("token"), user.text("username")
    if token_file is not None:
        return TokenFile(token_file, own)
    authorization = None
    if token is not None:
        authorization = f"Bearer {token}"
    elif username is not None:
        authorization = password_credential(username, user.text("password") or "").authorization
    return FixedCredentials(Credential(authorization, certificate, key))


def _plugin_of(plugin: Fields, server: str, tls: Tls) -> Credentials:
    # Imported on first use: it needs modules that start processes.
    from .exec_plugin import ExecCredentials, ExecPlugin

    version = plugin.text("apiVersion") or ""
    if version not in _EXEC_VERSIONS:
        raise plugin.problem("apiVersion", f'is "{version}", known are {" and ".join(_EXEC_VERSIONS)}')
    if plugin.text("interactiveMode") == "Always":
        raise plugin.problem("interactiveMode", "is Always, but this program cannot prompt")
    command = plugin.require("command")
    return ExecCredentials(
        ExecPlugin(
            api_version=version,
            # A name without "/" is looked up in PATH; other paths are relative to the kubeconfig.
            command=os.path.join(os.path.dirname(plugin.file), command) if "/" in command else command,
            args=plugin.texts("args"),
            env={entry.require("name"): entry.text("value") or "" for entry in plugin.children("env")},
            install_hint=plugin.text("installHint"),
            cluster=_cluster_info(server, tls) if plugin.flag("provideClusterInfo") else None,
        )
    )


def _cluster_info(server: str, tls: Tls) -> dict[str, str | bool]:
    from base64 import b64encode

    info: dict[str, str | bool] = {"server": server}
    if tls.ca is not None:
        info["certificate-authority-data"] = b64encode(tls.ca.encode()).decode("ascii")
    if tls.server_name is not None:
        info["tls-server-name"] = tls.server_name
    return {**info, "insecure-skip-tls-verify": True} if tls.is_insecure else info


def _impersonation_of(user: Fields) -> list[tuple[str, str]]:
    name, uid, groups, extra = (
        user.text("as"),
        user.text("as-uid"),
        user.texts("as-groups"),
        user.child("as-user-extra"),
    )
    if name is None:
        if uid is not None or groups or extra is not None:
            raise user.problem("as", "is missing: as-uid, as-groups and as-user-extra describe the user that it names")
        return []
    headers = [("impersonate-user", name)]
    if uid is not None:
        headers.append(("impersonate-uid", uid))
    headers.extend(("impersonate-group", group) for group in groups)
    if extra is not None:
        for key in extra.names():
            headers.extend((f"impersonate-extra-{quote(key, safe='')}", value) for value in extra.texts(key))
    return headers

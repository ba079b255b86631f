# Generated from _async/connect.py by tools/make_sync.py: do not edit.
from __future__ import annotations

from .._core.discover import ConnectOptions, Token
from .client import Client
from .connection import Connection


def connect(
    *,
    router: str | None = None,
    server: str | None = None,
    token: Token | None = None,
    ca: str | None = None,
    namespace: str | None = None,
    kubeconfig: str | None = None,
    context: str | None = None,
    data_dir: str | None = None,
) -> Client:
    """Connects to the running box, or to the cluster of the kubeconfig. Nothing is sent yet.

    `router` and `server` are the addresses of the router and the API server. By default they are those of the box; or
    the router is ``AGENT_SANDBOX_ROUTER_URL``, and the API server that of the kubeconfig or of the Pod's service account.
    `token` is a bearer token for both, or a function that returns the present one. `ca` is the certificate authority of
    `server`, in PEM. `data_dir` is the data folder of the box.
    """
    connection = Connection(
        ConnectOptions(
            router=router,
            server=server,
            token=token,
            ca=ca,
            namespace=namespace,
            kubeconfig=kubeconfig,
            context=context,
            data_dir=data_dir,
        )
    )
    connection.open()
    return Client(connection)

from __future__ import annotations

from .._core.discover import ConnectOptions, Token
from .client import AsyncClient
from .connection import AsyncConnection


async def connect_async(
    *,
    router: str | None = None,
    server: str | None = None,
    token: Token | None = None,
    ca: str | None = None,
    namespace: str | None = None,
    kubeconfig: str | None = None,
    context: str | None = None,
    data_dir: str | None = None,
) -> AsyncClient:
    """Connects to the running box, or to the cluster of the kubeconfig. Nothing is sent yet.

    `router` and `server` are the addresses of the router and the API server. By default they are those of the box; or
    the router is ``AGENT_SANDBOX_ROUTER_URL``, and the API server that of the kubeconfig or of the Pod's service account.
    `token` is a bearer token for both, or a function that returns the present one. `ca` is the certificate authority of
    `server`, in PEM. `data_dir` is the data folder of the box.
    """
    connection = AsyncConnection(
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
    return AsyncClient(connection)

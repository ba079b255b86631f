"""Connections through `kubectl port-forward`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from .._aio import Lock, run_blocking
from .._reference.discovery import Discovery
from .._reference.forward import PortForward
from ..exceptions import SandboxPortForwardError
from ..models import SandboxdPodTunnelConnectionConfig, SandboxLocalTunnelConnectionConfig
from ..utils import async_kubectl_kubeconfig_args
from .strategies import SANDBOXD_RPC_PORT, AsyncConnectionStrategy, AsyncLookup

ROUTER_SERVICE_NAME = "svc/sandbox-router-svc"
ROUTER_NAMESPACE_HINT = "If the router is in another namespace, set router_namespace of SandboxLocalTunnelConnectionConfig"
_ROUTER_PORT = 8080


class AsyncTunnel(AsyncConnectionStrategy):
    """A connection through `kubectl port-forward`."""

    #: The label of the metric.
    mode: str

    def __init__(self, timeout: float, api_client: Any, kubeconfig: str | None) -> None:
        self.base_url: str | None = None
        self._timeout = timeout
        self._api_client = api_client
        self._kubeconfig = kubeconfig
        self._forward: PortForward | None = None
        self._locals: list[int] = []
        self._lock = Lock()

    @property
    def port_forward_process(self) -> Any:
        """The process of kubectl, if it runs."""
        return None if self._forward is None else self._forward.process

    @abstractmethod
    async def _target(self) -> tuple[str, str, list[int]]:
        """A Pod or Service, its namespace and its ports."""

    async def connect(self) -> str:
        async with self._lock:
            if self.base_url is not None and self._forward is not None and self._forward.is_alive:
                return self.base_url
            await self._stop()
            with Discovery(self.mode):
                return await self._start()

    async def _start(self) -> str:
        target, namespace, ports = await self._target()
        async with async_kubectl_kubeconfig_args(self._api_client) as own:
            flags = own or (["--kubeconfig", self._kubeconfig] if self._kubeconfig is not None else [])
            self._forward = forward = await run_blocking(lambda: PortForward(target, ports, namespace, flags))
            try:
                self._locals = await run_blocking(lambda: forward.wait(self._timeout))
            except BaseException:
                await self._stop()
                raise
        self.base_url = f"http://127.0.0.1:{self._locals[0]}"
        return self.base_url

    async def close(self) -> None:
        async with self._lock:
            await self._stop()

    async def _stop(self) -> None:
        forward, self._forward, self.base_url = self._forward, None, None
        if forward is not None:
            await run_blocking(forward.stop)

    async def verify_connection(self) -> None:
        if self._forward is not None and not self._forward.is_alive:
            raise SandboxPortForwardError(f"kubectl port-forward has ended: {self._forward.said}")

    def stop_at_exit(self) -> None:
        """Ends kubectl without an event loop."""
        if self._forward is not None:
            self._forward.stop()


class AsyncLocalTunnelConnectionStrategy(AsyncTunnel):
    """A router behind a port-forward."""

    mode = "port_forward"

    def __init__(
        self,
        sandbox_id: str,
        namespace: str,
        config: SandboxLocalTunnelConnectionConfig,
        api_client: Any | None = None,
        kubeconfig: str | None = None,
    ) -> None:
        super().__init__(config.port_forward_ready_timeout, api_client, kubeconfig)
        self.sandbox_id = sandbox_id
        self.namespace = namespace
        self.config = config
        self.server_port = config.server_port

    async def _target(self) -> tuple[str, str, list[int]]:
        return ROUTER_SERVICE_NAME, self.config.router_namespace, [_ROUTER_PORT]

    async def _start(self) -> str:
        try:
            return await super()._start()
        except SandboxPortForwardError as error:
            if "not found" not in str(error).lower():
                raise
            namespace = self.config.router_namespace
            text = f'{error}. There is no router in namespace "{namespace}". {ROUTER_NAMESPACE_HINT}'
            raise SandboxPortForwardError(text) from error

    def should_inject_router_headers(self) -> bool:
        return True


class AsyncSandboxdPodTunnelStrategy(AsyncTunnel):
    """sandboxd in the Pod behind a port-forward."""

    mode = "sandboxd_pod_tunnel"

    def __init__(
        self,
        sandbox_id: str,
        namespace: str,
        config: SandboxdPodTunnelConnectionConfig,
        get_pod_name: AsyncLookup | None = None,
        api_client: Any | None = None,
        kubeconfig: str | None = None,
    ) -> None:
        super().__init__(config.port_forward_ready_timeout, api_client, kubeconfig)
        self.sandbox_id = sandbox_id
        self.namespace = namespace
        self.config = config
        self._get_pod_name = get_pod_name

    def url_of(self, base_url: str, port: int) -> str:
        return f"http://{self.grpc_target}" if port == SANDBOXD_RPC_PORT else base_url

    @property
    def grpc_target(self) -> str | None:
        """The address of the API for processes, once there is a connection."""
        return None if self.base_url is None else f"127.0.0.1:{self._locals[1]}"

    async def _target(self) -> tuple[str, str, list[int]]:
        pod = None if self._get_pod_name is None else await self._get_pod_name()
        if not pod:
            raise SandboxPortForwardError(f'Cannot connect to sandbox "{self.sandbox_id}": the name of its Pod is not known')
        return f"pod/{pod}", self.namespace, [self.config.rest_port, self.config.grpc_port]

    def should_inject_router_headers(self) -> bool:
        return False

# Generated from _async/strategies.py by tools/make_sync.py: do not edit.
"""The ways to a sandbox: one class for each kind of connection of the reference's client."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING

from .._reference.discovery import Discovery
from .._reference.urls import host_of, with_port
from ..exceptions import SandboxNoServiceError, SandboxNotReadyError
from ..models import (
    SandboxdInClusterConnectionConfig,
    SandboxDirectConnectionConfig,
    SandboxGatewayConnectionConfig,
    SandboxInClusterConnectionConfig,
)
from ..utils import is_valid_gateway_hostname

if TYPE_CHECKING:
    from .authorize import Authorizer
    from .k8s_helper import K8sHelper

Found = str | None
Lookup = Callable[[], Found]

#: Of the API for processes.
SANDBOXD_RPC_PORT = 9090


class ConnectionStrategy(ABC):
    """Finds the address that requests for a sandbox go to."""

    #: The port that requests without another one are for.
    server_port = 8888

    @abstractmethod
    def connect(self) -> str:
        """Returns the address, and makes the connection if there is none."""

    @abstractmethod
    def close(self) -> None:
        """Ends the connection. The next `connect` makes a new one."""

    def verify_connection(self) -> None:  # noqa: B027
        """Raises SandboxPortForwardError if the connection has ended."""

    @abstractmethod
    def should_inject_router_headers(self) -> bool:
        """Whether the address is that of a router, which needs to know the sandbox."""

    def invalidate_pod_ip(self) -> None:  # noqa: B027
        """Looks up the address of the Pod again before the next request."""

    def url_of(self, base_url: str, port: int) -> str:
        """The address of another port of the sandbox. A router has one address for all of them."""
        return base_url


class DirectConnectionStrategy(ConnectionStrategy):
    """A router at a known address."""

    def __init__(self, config: SandboxDirectConnectionConfig) -> None:
        self.config = config
        self.server_port = config.server_port

    def connect(self) -> str:
        return self.config.api_url

    def close(self) -> None:
        pass

    def should_inject_router_headers(self) -> bool:
        return True


class GatewayConnectionStrategy(ConnectionStrategy):
    """A router behind a Gateway."""

    def __init__(self, config: SandboxGatewayConnectionConfig, k8s_helper: K8sHelper) -> None:
        self.config = config
        self.k8s_helper = k8s_helper
        self.base_url: str | None = None
        self.server_port = config.server_port

    def connect(self) -> str:
        if self.base_url is None:
            with Discovery("gateway"):
                address = self.k8s_helper.wait_for_gateway_ip(
                    self.config.gateway_name, self.config.gateway_namespace, self.config.gateway_ready_timeout
                )
                self.base_url = f"http://{host_of(address)}"
        return self.base_url

    def close(self) -> None:
        self.base_url = None

    def should_inject_router_headers(self) -> bool:
        return True


class BoxConnectionStrategy(ConnectionStrategy):
    """The router of the box on this machine, as the user of the kubeconfig."""

    def __init__(self, router_url: str, server_port: int, authorizer: Authorizer) -> None:
        self.router_url = router_url
        self.server_port = server_port
        self.authorizer = authorizer

    def connect(self) -> str:
        return self.router_url

    def close(self) -> None:
        pass

    def should_inject_router_headers(self) -> bool:
        return True


class SandboxdInClusterStrategy(ConnectionStrategy):
    """sandboxd in the Pod, from inside the cluster."""

    def __init__(
        self,
        config: SandboxdInClusterConnectionConfig,
        get_pod_ip: Lookup | None,
        get_service_fqdn: Lookup | None,
    ) -> None:
        self.config = config
        self._get_pod_ip = get_pod_ip
        self._get_service_fqdn = get_service_fqdn
        self._service: str | None = None
        self.grpc_target: str | None = None

    def connect(self) -> str:
        self.grpc_target = None
        host = (self._find_service() if self.config.mode == "in-cluster-service" else self._find_pod())
        self.grpc_target = f"{host_of(host)}:{self.config.grpc_port}"
        return f"http://{host_of(host)}:{self.config.rest_port}"

    def url_of(self, base_url: str, port: int) -> str:
        return f"http://{self.grpc_target}" if port == SANDBOXD_RPC_PORT else base_url

    def _find_service(self) -> str:
        if self._service is None and self._get_service_fqdn is not None:
            self._service = self._get_service_fqdn()
        if not self._service or not is_valid_gateway_hostname(self._service):
            raise SandboxNoServiceError("The Sandbox has no Service: set spec.service to true in its template")
        return self._service

    def _find_pod(self) -> str:
        address = None if self._get_pod_ip is None else self._get_pod_ip()
        if not address:
            raise SandboxNotReadyError("The Pod of the sandbox has no address yet")
        return address

    def invalidate_service_fqdn(self) -> None:
        """Looks up the Service again before the next request."""
        self._service = None
        self.grpc_target = None

    def close(self) -> None:
        self.invalidate_service_fqdn()

    def should_inject_router_headers(self) -> bool:
        return False


class InClusterConnectionStrategy(ConnectionStrategy):
    """The legacy runtime in the Pod, from inside the cluster."""

    def __init__(
        self,
        sandbox_id: str,
        namespace: str,
        config: SandboxInClusterConnectionConfig,
        get_pod_ip: Lookup | None = None,
    ) -> None:
        self.server_port = config.server_port
        self._service_url = f"http://{sandbox_id}.{namespace}.svc.cluster.local:{config.server_port}"
        self._get_pod_ip = get_pod_ip
        self._pod_url: str | None = None

    def connect(self) -> str:
        if self._pod_url is None and self._get_pod_ip is not None:
            address = self._get_pod_ip()
            if address:
                self._pod_url = f"http://{host_of(address)}:{self.server_port}"
        return self._pod_url or self._service_url

    def url_of(self, base_url: str, port: int) -> str:
        return with_port(base_url, port)

    def close(self) -> None:
        self._pod_url = None

    def invalidate_pod_ip(self) -> None:
        self._pod_url = None

    def should_inject_router_headers(self) -> bool:
        return False

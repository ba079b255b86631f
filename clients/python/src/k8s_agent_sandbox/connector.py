"""Connections to sandboxes."""

from ._sync.connector import RETRYABLE_METHODS as RETRYABLE_METHODS
from ._sync.connector import SandboxConnector as SandboxConnector
from ._sync.strategies import ConnectionStrategy as ConnectionStrategy
from ._sync.strategies import DirectConnectionStrategy as DirectConnectionStrategy
from ._sync.strategies import GatewayConnectionStrategy as GatewayConnectionStrategy
from ._sync.strategies import InClusterConnectionStrategy as InClusterConnectionStrategy
from ._sync.strategies import SandboxdInClusterStrategy as SandboxdInClusterStrategy
from ._sync.tunnels import ROUTER_NAMESPACE_HINT as ROUTER_NAMESPACE_HINT
from ._sync.tunnels import ROUTER_SERVICE_NAME as ROUTER_SERVICE_NAME
from ._sync.tunnels import LocalTunnelConnectionStrategy as LocalTunnelConnectionStrategy
from ._sync.tunnels import SandboxdPodTunnelStrategy as SandboxdPodTunnelStrategy

"""Connections to sandboxes."""

from ._async.connector import BACKOFF_FACTOR as BACKOFF_FACTOR
from ._async.connector import MAX_RETRIES as MAX_RETRIES
from ._async.connector import RETRYABLE_METHODS as RETRYABLE_METHODS
from ._async.connector import RETRYABLE_STATUS_CODES as RETRYABLE_STATUS_CODES
from ._async.connector import AsyncSandboxConnector as AsyncSandboxConnector
from ._async.strategies import AsyncSandboxdInClusterStrategy as AsyncSandboxdInClusterStrategy
from ._async.tunnels import AsyncSandboxdPodTunnelStrategy as AsyncSandboxdPodTunnelStrategy

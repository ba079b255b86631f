"""Requests to one sandbox, by the way that the connection config names."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from .._aio import sleep
from .._core.failures import ConnectionLost
from .._core.identity import SandboxIdentity, new_request_id
from .._core.responses import Refusal
from .._reference._async import open_channel
from .._reference.config import UndecidedConnectionConfig
from .._reference.failures import refused_request
from .._reference.idle import IdleTimeout
from ..exceptions import ErrorReason, SandboxError, SandboxPortForwardError, SandboxRequestError
from ..models import (
    SandboxConnectionConfig,
    SandboxdInClusterConnectionConfig,
    SandboxDirectConnectionConfig,
    SandboxdPodTunnelConnectionConfig,
    SandboxGatewayConnectionConfig,
    SandboxInClusterConnectionConfig,
    SandboxLocalTunnelConnectionConfig,
)
from ..utils import merge_headers
from .http import AsyncRequest, AsyncResponse
from .router import AsyncRouter
from .strategies import (
    SANDBOXD_RPC_PORT,
    AsyncBoxConnectionStrategy,
    AsyncConnectionStrategy,
    AsyncDirectConnectionStrategy,
    AsyncGatewayConnectionStrategy,
    AsyncInClusterConnectionStrategy,
    AsyncLookup,
    AsyncSandboxdInClusterStrategy,
)
from .strategy_http import AsyncStrategyHttp
from .tunnels import AsyncLocalTunnelConnectionStrategy, AsyncSandboxdPodTunnelStrategy

if TYPE_CHECKING:
    import httpx

    from .k8s_helper import AsyncK8sHelper

RETRYABLE_METHODS = frozenset({"GET", "PUT", "DELETE"})
RETRYABLE_STATUS_CODES = {500, 502, 503, 504}
MAX_RETRIES = 5
BACKOFF_FACTOR = 0.5

_DEFAULT_TIMEOUT = 60.0


class AsyncSandboxConnector:
    """The connection to a sandbox. It is made at the first request, and again after `close`."""

    def __init__(
        self,
        sandbox_id: str,
        namespace: str,
        connection_config: SandboxConnectionConfig,
        k8s_helper: AsyncK8sHelper,
        get_pod_ip: AsyncLookup | None = None,
        get_pod_name: AsyncLookup | None = None,
        get_service_fqdn: AsyncLookup | None = None,
    ) -> None:
        self.id = sandbox_id
        self.namespace = namespace
        self.connection_config = connection_config
        self.k8s_helper = k8s_helper
        self.strategy = self._choose(get_pod_ip, get_pod_name, get_service_fqdn)
        #: What the native API uses.
        self.target = SandboxIdentity(sandbox_id, namespace)
        http = AsyncStrategyHttp(self.strategy, connection_config)
        self.session = self.client = http
        self.router = AsyncRouter(http, getattr(self.strategy, "authorizer", None))
        self._get_pod_ip = get_pod_ip
        self._pod_ip: str | None = None
        self._speaks_connect: bool | None = None

    def _choose(
        self, get_pod_ip: AsyncLookup | None, get_pod_name: AsyncLookup | None, get_service_fqdn: AsyncLookup | None
    ) -> AsyncConnectionStrategy:
        config, helper = self.connection_config, self.k8s_helper
        match config:
            case SandboxDirectConnectionConfig():
                return AsyncDirectConnectionStrategy(config)
            case SandboxGatewayConnectionConfig():
                return AsyncGatewayConnectionStrategy(config, helper)
            case UndecidedConnectionConfig() if helper.place.router_url is not None:
                return AsyncBoxConnectionStrategy(helper.place.router_url, config.server_port, helper.authorizer)
            case SandboxLocalTunnelConnectionConfig():
                client, kubeconfig = helper.injected_api_client, helper.place.kubeconfig
                return AsyncLocalTunnelConnectionStrategy(self.id, self.namespace, config, client, kubeconfig)
            case SandboxInClusterConnectionConfig():
                return AsyncInClusterConnectionStrategy(self.id, self.namespace, config, get_pod_ip)
            case SandboxdPodTunnelConnectionConfig() if helper.place.router_url is not None:
                # sandboxd of a box needs a credential, which only the router has.
                return AsyncBoxConnectionStrategy(helper.place.router_url, config.rest_port, helper.authorizer)
            case SandboxdPodTunnelConnectionConfig():
                client, kubeconfig = helper.injected_api_client, helper.place.kubeconfig
                return AsyncSandboxdPodTunnelStrategy(self.id, self.namespace, config, get_pod_name, client, kubeconfig)
            case SandboxdInClusterConnectionConfig():
                return AsyncSandboxdInClusterStrategy(config, get_pod_ip, get_service_fqdn)
        raise ValueError(f"Cannot connect with {type(config).__name__}: it is not a connection config")

    def is_sandboxd(self) -> bool:
        """Whether the config names sandboxd instead of the legacy runtime."""
        return isinstance(self.connection_config, (SandboxdPodTunnelConnectionConfig, SandboxdInClusterConnectionConfig))

    def should_inject_router_headers(self) -> bool:
        """Whether requests go through a router."""
        return self.strategy.should_inject_router_headers()

    @property
    def grpc_target(self) -> str | None:
        """The address of sandboxd's process service, if the connection leads there."""
        target: str | None = getattr(self.strategy, "grpc_target", None)
        return target

    async def grpc_channel(self) -> Any:
        """A channel of the package grpcio to sandboxd's process service, for callers that use it themselves."""
        if not self.is_sandboxd():
            raise RuntimeError("Only connections to sandboxd have a gRPC channel")
        await self.connect()
        return open_channel(self.grpc_target or "")

    async def speaks_connect(self) -> bool:
        """Whether sandboxd can be called over HTTP/1.1. The reference's has only gRPC, and ends such connections."""
        if not isinstance(self.strategy, (AsyncSandboxdPodTunnelStrategy, AsyncSandboxdInClusterStrategy)):
            return True
        if self._speaks_connect is None:
            deadline = IdleTimeout(_DEFAULT_TIMEOUT, f'Cannot communicate with sandbox "{self.id}"')
            port = [("x-sandbox-port", str(SANDBOXD_RPC_PORT))]
            try:
                await (await self.client.send(AsyncRequest("GET", "/", port, deadline))).close()
                self._speaks_connect = True
            except ConnectionLost as lost:
                self._speaks_connect = not lost.sent
        else:
            await self.connect()
        return self._speaks_connect

    async def invalidate_sandboxd_transport(self, channel: Any | None, *, transport_token: object | None = None) -> None:
        """Looks up the addresses of the sandbox again before the next request."""
        if isinstance(self.strategy, AsyncSandboxdInClusterStrategy):
            self.strategy.invalidate_service_fqdn()

    async def connect(self) -> str:
        """Makes the connection, and returns the address that requests go to."""
        return await self.strategy.connect()

    async def close(self) -> None:
        """Ends the connection."""
        self._pod_ip = None
        await self.strategy.close()
        await self.client.close()

    async def send_request(
        self,
        method: str,
        endpoint: str,
        *,
        stream: bool = False,
        allowed_statuses: Collection[int] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: Any = _DEFAULT_TIMEOUT,
        **content: Any,
    ) -> httpx.Response:
        """Sends a request to the sandbox and returns its response.

        Unsuccessful responses raise SandboxRequestError, except those with `allowed_statuses`. Redirects are not followed.
        `content` is `json`, `content`, `data`, `files` or `params`, as in httpx. A streamed response must be closed. `timeout`
        limits each wait.

        GET, PUT and DELETE are repeated after failures that may be over soon. Other requests are repeated only if the server has
        certainly not received them.
        """
        doing = f'Cannot communicate with sandbox "{self.id}"'
        seconds = timeout[-1] if isinstance(timeout, tuple) else timeout
        deadline = IdleTimeout(seconds, doing)
        path, body, own = await self._encode(method, endpoint, content)
        all_headers = merge_headers(own, {"X-Request-ID": new_request_id()}, headers, await self._routing(seconds))
        is_repeatable = method.upper() in (*RETRYABLE_METHODS, "HEAD") and (body is None or isinstance(body, bytes))
        for attempt in range(MAX_RETRIES + 1):
            is_last = attempt == MAX_RETRIES or (body is not None and not isinstance(body, bytes))
            try:
                found = await self._exchange(AsyncRequest(method, path, list(all_headers.items()), deadline, body))
                response = await self._finish(found, stream, allowed_statuses or (), doing)
                if not isinstance(response, SandboxRequestError):
                    return response
                if is_last or not is_repeatable or response.status not in RETRYABLE_STATUS_CODES:
                    raise response
            except ConnectionLost as lost:
                await self._forget()
                if is_last or (lost.sent and not is_repeatable):
                    reason: ErrorReason = "OutcomeUnknown" if lost.sent and not is_repeatable else "Unreachable"
                    raise SandboxRequestError(f"{doing}: {lost}", reason=reason) from lost
            await sleep(BACKOFF_FACTOR * 2**attempt)
        raise AssertionError("the last attempt returns or raises")

    async def _exchange(self, request: AsyncRequest) -> AsyncResponse:
        """Renews the credential once if the server refuses it."""
        authorizer = getattr(self.strategy, "authorizer", None)
        if authorizer is None:
            return await self.client.send(request)
        credential = await authorizer.for_router()
        response = await self.client.send(_with(request, credential.authorization))
        if response.status == 401 and (request.body is None or isinstance(request.body, bytes)):
            await response.close()
            response = await self.client.send(_with(request, (await authorizer.for_router(credential)).authorization))
        return response

    async def _finish(
        self, response: AsyncResponse, stream: bool, allowed: Collection[int], doing: str
    ) -> httpx.Response | SandboxRequestError:
        raw = response.raw
        if response.status < 400 or response.status in allowed:
            if not stream:
                await _load(raw)
            return raw
        text = await response.error_text()
        if response.status >= 500:
            self._pod_ip = None
            self.strategy.invalidate_pod_ip()
        return refused_request(Refusal(response.status, text, response.header("x-sandbox-reason")), raw, doing)

    async def _encode(self, method: str, endpoint: str, content: dict[str, Any]) -> tuple[str, Any, dict[str, str]]:
        """The path, the body and its headers. A body that is a stream is passed on."""
        path = f"/{endpoint.lstrip('/')}"
        body = content.pop("content", None)
        if body is None and not isinstance(content.get("data"), Mapping):
            body = content.pop("data", None)
        if isinstance(body, str):
            body = body.encode()
        if not content:
            return path, body, {}
        import httpx

        request = httpx.Request(method, f"http://sandbox{path}", **content)
        encoded = await request.aread()
        own = {name: value for name, value in request.headers.items() if name.startswith("content-type")}
        return request.url.raw_path.decode("ascii"), body if body is not None else encoded or None, own

    async def _routing(self, seconds: Any) -> dict[str, str]:
        if not self.strategy.should_inject_router_headers():
            return {}
        headers = {
            "X-Sandbox-ID": self.id,
            "X-Sandbox-Namespace": self.namespace,
            "X-Sandbox-Port": str(self.strategy.server_port),
        }
        if isinstance(seconds, (int, float)) and math.isfinite(seconds) and seconds > 0:
            headers["X-Sandbox-Timeout"] = str(seconds)
        address = await self._find_pod()
        return headers if address is None else {**headers, "X-Sandbox-Pod-IP": address}

    async def _find_pod(self) -> str | None:
        """A router that does not watch Pods needs the address. That of a box does not."""
        if isinstance(self.strategy, AsyncBoxConnectionStrategy):
            return None
        if self._pod_ip is None and self._get_pod_ip is not None:
            try:
                self._pod_ip = await self._get_pod_ip()
            except SandboxError as error:
                if error.reason in ("Forbidden", "Unauthenticated"):
                    self._get_pod_ip = None
        return self._pod_ip

    async def _forget(self) -> None:
        """The connection may be dead, and the Pod may have another address."""
        self._pod_ip = None
        self.strategy.invalidate_pod_ip()
        await self.invalidate_sandboxd_transport(None)
        try:
            await self.strategy.verify_connection()
        except SandboxPortForwardError:
            await self.strategy.close()


async def _load(response: httpx.Response) -> None:
    import httpx

    try:
        await response.aread()
    except httpx.TransportError as error:
        raise ConnectionLost(True, error) from error


def _with(request: AsyncRequest, authorization: str | None) -> AsyncRequest:
    headers = merge_headers(dict(request.headers), {"Authorization": authorization or ""})
    return AsyncRequest(request.method, request.path, list(headers.items()), request.deadline, request.body)

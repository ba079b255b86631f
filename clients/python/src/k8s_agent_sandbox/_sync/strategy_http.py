# Generated from _async/strategy_http.py by tools/make_sync.py: do not edit.
from __future__ import annotations

from .._blocking import Lock
from .._reference.urls import certificate_of, tls_of, without_user
from ..models import SandboxConnectionConfig
from ..utils import merge_headers
from .http import Http, Request, Response
from .strategies import ConnectionStrategy

_ROUTING_HEADER = "x-sandbox-"
#: A sandbox has three ports.
_KEPT_SERVERS = 8


class StrategyHttp(Http):
    """Requests to wherever the strategy leads at the time. Serves `send_request` and the native API."""

    def __init__(self, strategy: ConnectionStrategy, config: SandboxConnectionConfig) -> None:
        super().__init__("")
        self._strategy = strategy
        self._config = config
        self._servers: dict[str, Http] = {}
        self._lock = Lock()

    def send(self, request: Request) -> Response:
        base_url = self._strategy.connect()
        self.url, authorization = without_user(base_url)
        url = self.url
        headers = list(request.headers)
        if self._strategy.should_inject_router_headers():
            extra = dict(getattr(self._config, "extra_headers", {}))
            own = {} if authorization is None else {"Authorization": authorization}
            headers = list(merge_headers(own, extra, dict(headers)).items())
        else:
            port = next((value for name, value in headers if name.lower() == "x-sandbox-port"), None)
            if port is not None:
                url = self._strategy.url_of(url, int(port))
            headers = [pair for pair in headers if not pair[0].lower().startswith(_ROUTING_HEADER)]
        server = self._server(url)
        return server.send(Request(request.method, request.path, headers, request.deadline, request.body))

    def _server(self, url: str) -> Http:
        with self._lock:
            if url not in self._servers:
                # A tunnel that is made again has another port.
                if len(self._servers) >= _KEPT_SERVERS:
                    self._servers.pop(next(iter(self._servers))).close()
                server = Http(url, tls_of(self._config))
                certificate = certificate_of(self._config)
                if certificate is not None:
                    server.present(certificate)
                self._servers[url] = server
            return self._servers[url]

    def close(self) -> None:
        servers, self._servers = self._servers, {}
        for server in servers.values():
            server.close()

# Generated from _async/connection.py by tools/make_sync.py: do not edit.
from __future__ import annotations

from .._core.discover import ConnectOptions, Found, discover
from .api_server import ApiServer
from .authorize import Authorizer
from .http import Http
from .router import Router

#: API servers keep connections for minutes, and a new one costs a TLS handshake.
_API_IDLE_SECONDS = 60.0


class Connection:
    """The connections to an API server and a router. They are found when they are first used."""

    def __init__(self, options: ConnectOptions) -> None:
        self._options = options
        self._found: Found | None = None
        self._api: ApiServer | None = None
        self._router: Router | None = None
        self._https: list[Http] = []

    def open(self) -> Found:
        """Finds the servers. Nothing is sent."""
        if self._found is None:
            found = discover(self._options)
            authorizer = Authorizer(found.credentials, found.token)
            api = Http(found.server, found.tls, _API_IDLE_SECONDS)
            router = Http(found.router)
            self._https = [api, router]
            self._api = ApiServer(api, authorizer, found.headers)
            self._router = Router(router, authorizer)
            self._found = found
        return self._found

    @property
    def api(self) -> ApiServer:
        self.open()
        assert self._api is not None
        return self._api

    @property
    def router(self) -> Router:
        self.open()
        assert self._router is not None
        return self._router

    @property
    def namespace(self) -> str:
        """Of sandboxes whose namespace is not named."""
        return self.open().namespace

    def close(self) -> None:
        for http in self._https:
            http.close()

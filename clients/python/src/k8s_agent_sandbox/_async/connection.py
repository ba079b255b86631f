from __future__ import annotations

from .._core.discover import ConnectOptions, Found, discover
from .api_server import AsyncApiServer
from .authorize import AsyncAuthorizer
from .http import AsyncHttp
from .router import AsyncRouter

#: API servers keep connections for minutes, and a new one costs a TLS handshake.
_API_IDLE_SECONDS = 60.0


class AsyncConnection:
    """The connections to an API server and a router. They are found when they are first used."""

    def __init__(self, options: ConnectOptions) -> None:
        self._options = options
        self._found: Found | None = None
        self._api: AsyncApiServer | None = None
        self._router: AsyncRouter | None = None
        self._https: list[AsyncHttp] = []

    def open(self) -> Found:
        """Finds the servers. Nothing is sent."""
        if self._found is None:
            found = discover(self._options)
            authorizer = AsyncAuthorizer(found.credentials, found.token)
            api = AsyncHttp(found.server, found.tls, _API_IDLE_SECONDS)
            router = AsyncHttp(found.router)
            self._https = [api, router]
            self._api = AsyncApiServer(api, authorizer, found.headers)
            self._router = AsyncRouter(router, authorizer)
            self._found = found
        return self._found

    @property
    def api(self) -> AsyncApiServer:
        self.open()
        assert self._api is not None
        return self._api

    @property
    def router(self) -> AsyncRouter:
        self.open()
        assert self._router is not None
        return self._router

    @property
    def namespace(self) -> str:
        """Of sandboxes whose namespace is not named."""
        return self.open().namespace

    async def close(self) -> None:
        for http in self._https:
            await http.close()

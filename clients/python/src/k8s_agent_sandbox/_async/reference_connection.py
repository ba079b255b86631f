"""What the native parts of the reference's classes use in place of a connection that they found themselves."""

from __future__ import annotations

from .api_server import AsyncApiServer
from .connection import AsyncConnection
from .connector import AsyncSandboxConnector
from .k8s_helper import AsyncK8sHelper
from .router import AsyncRouter


class AsyncApiConnection(AsyncConnection):
    """What the native part of the client uses. Its handles have their own connections to a router."""

    def __init__(self, helper: AsyncK8sHelper) -> None:
        self._helper = helper

    @property
    def api(self) -> AsyncApiServer:
        return self._helper.api

    @property
    def namespace(self) -> str:
        return self._helper.place.access.namespace

    async def close(self) -> None:
        await self._helper.close()


class AsyncSandboxConnection(AsyncConnection):
    """What the native part of a handle uses: the API server of the client, and the router that the handle is connected to."""

    def __init__(self, helper: AsyncK8sHelper, connector: AsyncSandboxConnector) -> None:
        self._helper = helper
        self._connector = connector

    @property
    def namespace(self) -> str:
        return self._connector.namespace

    @property
    def api(self) -> AsyncApiServer:
        return self._helper.api

    @property
    def router(self) -> AsyncRouter:
        return self._connector.router

    async def close(self) -> None:
        await self._connector.close()

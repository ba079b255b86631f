# Generated from _async/reference_connection.py by tools/make_sync.py: do not edit.
"""What the native parts of the reference's classes use in place of a connection that they found themselves."""

from __future__ import annotations

from .api_server import ApiServer
from .connection import Connection
from .connector import SandboxConnector
from .k8s_helper import K8sHelper
from .router import Router


class ApiConnection(Connection):
    """What the native part of the client uses. Its handles have their own connections to a router."""

    def __init__(self, helper: K8sHelper) -> None:
        self._helper = helper

    @property
    def api(self) -> ApiServer:
        return self._helper.api

    @property
    def namespace(self) -> str:
        return self._helper.place.access.namespace

    def close(self) -> None:
        self._helper.close()


class SandboxConnection(Connection):
    """What the native part of a handle uses: the API server of the client, and the router that the handle is connected to."""

    def __init__(self, helper: K8sHelper, connector: SandboxConnector) -> None:
        self._helper = helper
        self._connector = connector

    @property
    def namespace(self) -> str:
        return self._connector.namespace

    @property
    def api(self) -> ApiServer:
        return self._helper.api

    @property
    def router(self) -> Router:
        return self._connector.router

    def close(self) -> None:
        self._connector.close()

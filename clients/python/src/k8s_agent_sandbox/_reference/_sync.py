"""What the synchronous drop-in has and the asynchronous one has not."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import Any, TypeVar

from ..exceptions import SandboxError
from .place import Place
from .results import grpc_error

R = TypeVar("R")


class OfficialApis:
    """Objects of the package `kubernetes`, for programs that use it. The SDK itself does not need it."""

    place: Place
    _injected_api_client: Any | None

    @cached_property
    def custom_objects_api(self) -> Any:
        """A `kubernetes.client.CustomObjectsApi` for the same cluster."""
        return self._official("CustomObjectsApi")

    @cached_property
    def core_v1_api(self) -> Any:
        """A `kubernetes.client.CoreV1Api` for the same cluster."""
        return self._official("CoreV1Api")

    def _official(self, name: str) -> Any:
        try:
            from kubernetes import client  # type: ignore[import-not-found, import-untyped, unused-ignore]
        except ImportError:
            raise ImportError("Install the package kubernetes to use its API objects") from None
        self._share_settings()
        return getattr(client, name)(self._injected_api_client)

    def _share_settings(self) -> None:
        """Loads the same kubeconfig into the package `kubernetes` if the program has imported it, like the reference's client."""
        config = sys.modules.get("kubernetes.config")
        if config is None or self._injected_api_client is not None:
            return
        try:
            config.load_incluster_config()
        except config.ConfigException:
            try:
                config.load_kube_config(config_file=self.place.kubeconfig)
            except (config.ConfigException, SandboxError):
                pass  # The first call reports that there is no cluster.


def shielded(result: R) -> R:
    """Threads are not cancelled, so the call has ended already."""
    return result


def open_channel(target: str) -> Any:
    """A channel of the package grpcio, which the SDK itself does not need."""
    try:
        import grpc  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise ImportError("Install the package grpcio to use gRPC channels") from None
    return grpc.insecure_channel(target)


def call_grpc(target: str, method: str, request: bytes, timeout: float) -> bytes:
    """Sends one message and returns the response. Raises SandboxTimeoutError, or SandboxRequestError with the code of gRPC."""
    with open_channel(target) as channel:
        import grpc

        try:
            response: bytes = channel.unary_unary(method)(request, timeout=timeout)
        except grpc.RpcError as error:
            raise grpc_error(error, timeout) from error
    return response

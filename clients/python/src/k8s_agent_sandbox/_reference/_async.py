"""What the asynchronous drop-in has instead of `_sync`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from .place import Place
from .results import grpc_error

R = TypeVar("R")


class OfficialApis:
    """The asynchronous helper has no objects of the package `kubernetes_asyncio`."""

    place: Place
    _injected_api_client: Any | None

    def _share_settings(self) -> None:
        pass


async def shielded(call: Awaitable[R]) -> R:
    """Finishes a call also if the task is cancelled meanwhile."""
    return await asyncio.shield(call)


def open_channel(target: str) -> Any:
    """A channel of the package grpcio, which the SDK itself does not need."""
    try:
        import grpc  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise ImportError("Install the package grpcio to use gRPC channels") from None
    return grpc.aio.insecure_channel(target)


async def call_grpc(target: str, method: str, request: bytes, timeout: float) -> bytes:
    """Sends one message and returns the response. Raises SandboxTimeoutError, or SandboxRequestError with the code of gRPC."""
    async with open_channel(target) as channel:
        import grpc

        try:
            response: bytes = await channel.unary_unary(method)(request, timeout=timeout)
        except grpc.RpcError as error:
            raise grpc_error(error, timeout) from error
    return response

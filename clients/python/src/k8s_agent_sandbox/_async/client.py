from __future__ import annotations

import builtins
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from .._aio import traced
from .._core.create_options import CreateOptions
from .._core.deadline import Deadline
from .._core.identity import SandboxIdentity, new_request_id, random_suffix
from .._core.parse import listed_of
from .._core.resources import CLAIMS, SANDBOXES, SNAPSHOTS, metadata_of, status_of
from .._core.results import Depth, ListedSandbox
from ..exceptions import SandboxError
from .api_server import AsyncApiServer
from .connection import AsyncConnection
from .creation import create_sandbox, identity_of
from .sandbox import AsyncSandboxHandle

_CREATE_TIMEOUT = 180.0
_CALL_TIMEOUT = 60.0


class AsyncClient:
    """Creates and finds sandboxes on a box or a cluster. `connect_async` makes one."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    @property
    def namespace(self) -> str:
        """Of sandboxes whose namespace is not named."""
        return self._connection.namespace

    @traced("create")
    async def create(
        self,
        *,
        image: str | None = None,
        pool: str | None = None,
        template: str | None = None,
        snapshot: str | None = None,
        name: str | None = None,
        namespace: str | None = None,
        labels: Mapping[str, str] | None = None,
        env: Mapping[str, str] | None = None,
        lifetime_seconds: float | None = None,
        request_id: str | None = None,
        command: Sequence[str] | None = None,
        runtime_class: str | None = None,
        cpu: str | float | None = None,
        memory: str | None = None,
        suspend_after_seconds: int | None = None,
        suspend_depth: Depth | None = None,
        timeout: float | None = None,
    ) -> AsyncSandboxHandle:
        """Creates a sandbox of an image, a pool, a template or a snapshot, and waits until it can be used.

        If it will not become ready, it is deleted again and the error has the cause. Default timeout: three minutes.

        With `lifetime_seconds` the sandbox is deleted after this time. With `name` and `request_id` a create that is
        repeated by another process returns the same sandbox. `command`, `runtime_class`, `cpu`, `memory`,
        `suspend_after_seconds` and `suspend_depth` can be used with `image` only.
        """
        options = CreateOptions(
            name=f"sandbox-{random_suffix()}" if name is None else name,
            namespace=namespace or self.namespace,
            request_id=request_id or new_request_id(),
            image=image,
            pool=pool,
            template=template,
            snapshot=snapshot,
            labels=labels,
            env=env,
            lifetime_seconds=lifetime_seconds,
            command=command,
            runtime_class=runtime_class,
            cpu=cpu,
            memory=memory,
            suspend_after_seconds=suspend_after_seconds,
            suspend_depth=suspend_depth,
        )
        options.check()
        deadline = Deadline(timeout, _CREATE_TIMEOUT, f'Cannot create sandbox "{options.name}"')
        return self._handle(await create_sandbox(self._api, options, deadline))

    @traced("get")
    async def get(self, name: str, *, namespace: str | None = None, timeout: float | None = None) -> AsyncSandboxHandle:
        """Attaches to a sandbox by its name or the name of its claim. It may be asleep: the first call wakes it."""
        place = namespace or self.namespace
        deadline = Deadline(timeout, _CALL_TIMEOUT, f'Cannot find sandbox "{name}"')
        try:
            claim = await self._api.get(CLAIMS, place, name, deadline)
        except SandboxError as error:
            if error.reason != "NotFound":
                raise
        else:
            if (status_of(claim).get("sandbox") or {}).get("name"):
                return self._handle(identity_of(claim, is_owned=False))
        found = await self._api.get(SANDBOXES, place, name, deadline)
        return self._handle(SandboxIdentity(name, place, metadata_of(found).get("uid")))

    def handle(self, name: str, *, namespace: str | None = None) -> AsyncSandboxHandle:
        """A handle of a sandbox that exists, by its name or the name of its claim.

        Nothing is sent, so this also works with a token for one sandbox and without an API server.
        """
        return self._handle(SandboxIdentity(name, namespace or self.namespace))

    @traced("list_sandboxes")
    async def list(
        self,
        *,
        labels: Mapping[str, str] | None = None,
        namespace: str | None = None,
        timeout: float | None = None,
    ) -> builtins.list[ListedSandbox]:
        """The sandboxes of a namespace; with `labels`, only those with all of these labels."""
        place = namespace or self.namespace
        deadline = Deadline(timeout, _CALL_TIMEOUT, "Cannot list sandboxes")
        selector = ",".join(f"{key}={value}" for key, value in (labels or {}).items())
        found = await self._api.list(SANDBOXES, place, deadline, selector)
        return [listed_of(sandbox, place) for sandbox in found]

    @traced("delete_claim")
    async def delete(self, name: str, *, namespace: str | None = None, timeout: float | None = None) -> None:
        """Deletes a sandbox by its name or the name of its claim. Succeeds if it is already gone."""
        try:
            handle = await self.get(name, namespace=namespace, timeout=timeout)
        except SandboxError as error:
            if error.reason != "NotFound":
                raise
        else:
            await handle.delete(timeout=timeout)

    @traced("delete_snapshot")
    async def delete_snapshot(self, name: str, *, namespace: str | None = None, timeout: float | None = None) -> None:
        """Deletes a snapshot. Succeeds if it is already gone."""
        deadline = Deadline(timeout, _CALL_TIMEOUT, f'Cannot delete snapshot "{name}"')
        await self._api.delete(SNAPSHOTS, namespace or self.namespace, name, deadline)

    async def close(self) -> None:
        """Closes the connections. Sandboxes go on."""
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    @property
    def _api(self) -> AsyncApiServer:
        return self._connection.api

    def _handle(self, identity: SandboxIdentity) -> AsyncSandboxHandle:
        return AsyncSandboxHandle(self._connection, identity)

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from types import TracebackType
from typing import Any, Self

from .._aio import Lock, traced
from .._core.create_options import CreateOptions, expiry_of
from .._core.deadline import Deadline
from .._core.identity import SandboxIdentity, new_request_id, random_suffix
from .._core.parse import sandbox_status_of, suspension_of, time_of, usage_of
from .._core.readiness import Judge, is_ready, is_suspended, is_taken
from .._core.resources import CLAIMS, REQUEST_ID_ANNOTATION, SANDBOXES, SNAPSHOTS, Object, status_of
from .._core.results import CodeResult, Depth, Language, SandboxStatus, Snapshot, Suspension, Usage
from ..exceptions import SandboxArgumentError, SandboxError
from .code import AsyncCodeContext
from .commands import AsyncCommands
from .connection import AsyncConnection
from .create_once import create_once
from .creation import create_sandbox
from .files import AsyncFiles
from .ports import AsyncPorts
from .rest import AsyncRest
from .wait import AsyncWait

_LIFECYCLE_TIMEOUT = 180.0
_CALL_TIMEOUT = 60.0


class AsyncSandboxHandle:
    """A sandbox: run commands and code in it, transfer files, suspend and resume it.

    The end of an ``async with`` block deletes a sandbox that `create` has returned. A sandbox from `get` goes on.
    """

    def __init__(self, connection: AsyncConnection, identity: SandboxIdentity) -> None:
        self._connection = connection
        self._identity = identity
        self._contexts: dict[Language, AsyncCodeContext] = {}
        self._contexts_lock = Lock()
        self._commands: AsyncCommands | None = None
        self._files: AsyncFiles | None = None
        self._ports: AsyncPorts | None = None

    @property
    def name(self) -> str:
        return self._identity.name

    @property
    def namespace(self) -> str:
        return self._identity.namespace

    @property
    def uid(self) -> str | None:
        """The UID of the Sandbox object, if it is known."""
        return self._identity.uid

    @property
    def claim_name(self) -> str | None:
        """The name of the claim that holds the sandbox."""
        return self._identity.claim_name

    @property
    def commands(self) -> AsyncCommands:
        if self._commands is None:
            self._commands = AsyncCommands(self._connection.router, self._identity)
        return self._commands

    @property
    def files(self) -> AsyncFiles:
        if self._files is None:
            self._files = AsyncFiles(self._connection.router, self._identity)
        return self._files

    @property
    def ports(self) -> AsyncPorts:
        if self._ports is None:
            self._ports = AsyncPorts(self._connection.router, self._identity)
        return self._ports

    @traced("status")
    async def status(self, *, timeout: float | None = None) -> SandboxStatus:
        deadline = Deadline(timeout, _CALL_TIMEOUT, f'Cannot get sandbox "{self.name}"')
        return sandbox_status_of(await self._connection.api.get(SANDBOXES, self.namespace, self.name, deadline))

    @traced("wait_for_sandbox_ready")
    async def wait_until_ready(self, *, timeout: float | None = None) -> None:
        """Waits until the sandbox can be used. Fails at once if it never will. Default: three minutes."""
        deadline = Deadline(timeout, _LIFECYCLE_TIMEOUT, f'Cannot wait for sandbox "{self.name}"')
        await self._wait(is_ready, deadline)

    @traced("run_code")
    async def run_code(
        self,
        code: str,
        timeout: float = 60.0,
        *,
        language: Language = "python",
        on_stdout: Callable[[str], object] | None = None,
        on_stderr: Callable[[str], object] | None = None,
        on_result: Callable[[Mapping[str, Any]], object] | None = None,
    ) -> CodeResult:
        """Runs code in a context that lasts as long as this handle, one for each language.

        Variables are kept between calls. If the context is gone, for example because the sandbox was restarted, the call
        raises `NotFound`, and the next one starts a new context.
        """
        async with self._contexts_lock:
            context = self._contexts.get(language)
            if context is None:
                context = self._contexts[language] = await self.create_context(language)
        try:
            return await context.run(code, timeout, on_stdout=on_stdout, on_stderr=on_stderr, on_result=on_result)
        except SandboxError as error:
            if error.reason == "NotFound" and self._contexts.get(language) is context:
                del self._contexts[language]
            raise

    @traced("create_context")
    async def create_context(
        self,
        language: Language = "python",
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        timeout: float | None = None,
    ) -> AsyncCodeContext:
        """Starts an interpreter that keeps its variables between calls. The image must have it."""
        rest = AsyncRest(self._connection.router, self._identity)
        return await AsyncCodeContext.create(rest, language, cwd=cwd, env=env, user=user, timeout=timeout)

    @traced("suspend")
    async def suspend(self, *, timeout: float | None = None) -> Suspension:
        """Suspends the sandbox and waits until it sleeps. What it keeps depends on its `suspendPolicy`."""
        deadline = Deadline(timeout, _LIFECYCLE_TIMEOUT, f'Cannot suspend sandbox "{self.name}"')
        return await self._set_mode("Suspended", is_suspended, deadline)

    @traced("resume")
    async def resume(self, *, timeout: float | None = None) -> Suspension:
        """Resumes the sandbox and waits until it can be used."""
        deadline = Deadline(timeout, _LIFECYCLE_TIMEOUT, f'Cannot resume sandbox "{self.name}"')
        return await self._set_mode("Running", is_ready, deadline)

    @traced("snapshot")
    async def snapshot(
        self,
        name: str | None = None,
        *,
        depth: Depth | None = None,
        ttl_seconds: int | None = None,
        timeout: float | None = None,
    ) -> Snapshot:
        """Saves the state of the sandbox, which goes on. Default depth: the deepest that the runtime can save."""
        deadline = Deadline(timeout, _LIFECYCLE_TIMEOUT, f'Cannot take a snapshot of sandbox "{self.name}"')
        own = name or f"{self.name}-{random_suffix()}"
        spec: Object = {"sandboxRef": {"name": self.name}}
        if depth is not None:
            spec["depth"] = depth
        if ttl_seconds is not None:
            spec["ttlSecondsAfterCreation"] = ttl_seconds
        wanted: Object = {
            "apiVersion": SNAPSHOTS.api_version,
            "kind": SNAPSHOTS.kind,
            "metadata": {
                "name": own,
                "namespace": self.namespace,
                "annotations": {REQUEST_ID_ANNOTATION: new_request_id()},
            },
            "spec": spec,
        }
        api = self._connection.api
        created = await create_once(api, SNAPSHOTS, wanted, deadline)
        wait = AsyncWait(api, SNAPSHOTS, self.namespace, own, is_taken, deadline)
        status = status_of(await wait.until_done(created))
        pause = status.get("pauseMilliseconds", 0) / 1000
        return Snapshot(own, status.get("depth", "Filesystem"), status.get("sizeBytes", 0), pause)

    @traced("fork")
    async def fork(
        self,
        name: str | None = None,
        *,
        labels: Mapping[str, str] | None = None,
        lifetime_seconds: float | None = None,
        timeout: float | None = None,
    ) -> AsyncSandboxHandle:
        """A new sandbox that continues from the present state of this one, which goes on.

        For many forks of the same state, take a snapshot and `create` from it.
        """
        own = name or f"{self.name}-{random_suffix()}"
        deadline = Deadline(timeout, _LIFECYCLE_TIMEOUT, f'Cannot fork sandbox "{self.name}"')
        snapshot = await self.snapshot(timeout=deadline.remaining)
        options = CreateOptions(
            name=own,
            namespace=self.namespace,
            request_id=new_request_id(),
            snapshot=snapshot.name,
            labels=labels,
            lifetime_seconds=lifetime_seconds,
        )
        try:
            options.check()
            return self._sibling(await create_sandbox(self._connection.api, options, deadline))
        finally:
            clean_up = Deadline(None, _CALL_TIMEOUT, f'Cannot delete snapshot "{snapshot.name}"')
            await self._connection.api.delete(SNAPSHOTS, self.namespace, snapshot.name, clean_up)

    @traced("extend")
    async def extend(self, lifetime_seconds: float, *, timeout: float | None = None) -> datetime:
        """Deletes the sandbox this many seconds from now, instead of at its present time."""
        deadline = Deadline(timeout, _CALL_TIMEOUT, f'Cannot extend sandbox "{self.name}"')
        if not 0 < lifetime_seconds < float("inf"):
            text = f"{deadline.doing}: lifetime_seconds is {lifetime_seconds} instead of a positive number"
            raise SandboxArgumentError(text)
        shutdown = expiry_of(lifetime_seconds)
        api, claim = self._connection.api, self._identity.claim_name
        if claim is None:
            await api.patch(SANDBOXES, self.namespace, self.name, {"spec": shutdown}, deadline)
        else:
            await api.patch(CLAIMS, self.namespace, claim, {"spec": {"lifecycle": shutdown}}, deadline)
        return time_of(shutdown["shutdownTime"])

    @traced("usage")
    async def usage(self, *, timeout: float | None = None) -> Usage:
        """What the sandbox uses now."""
        deadline = Deadline(timeout, _CALL_TIMEOUT, f'Cannot measure sandbox "{self.name}"')
        return usage_of(await AsyncRest(self._connection.router, self._identity).json(deadline, "GET", "/usage"))

    @traced("delete_claim")
    async def delete(self, *, timeout: float | None = None) -> None:
        """Deletes the sandbox and everything in it. Succeeds if it is already gone."""
        deadline = Deadline(timeout, _CALL_TIMEOUT, f'Cannot delete sandbox "{self.name}"')
        api, own = self._connection.api, self._identity
        if own.claim_name is None:
            await api.delete(SANDBOXES, own.namespace, own.name, deadline, own.uid)
        else:
            await api.delete(CLAIMS, own.namespace, own.claim_name, deadline, own.claim_uid)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._identity.is_owned:
            await self.delete()

    def _sibling(self, identity: SandboxIdentity) -> AsyncSandboxHandle:
        return AsyncSandboxHandle(self._connection, identity)

    async def _set_mode(self, mode: str, judge: Judge, deadline: Deadline) -> Suspension:
        patch = {"spec": {"operatingMode": mode}}
        start = await self._connection.api.patch(SANDBOXES, self.namespace, self.name, patch, deadline)
        return suspension_of(await self._wait(judge, deadline, start))

    async def _wait(self, judge: Judge, deadline: Deadline, start: Object | None = None) -> Object:
        wait = AsyncWait(self._connection.api, SANDBOXES, self.namespace, self.name, judge, deadline)
        return await wait.until_done(start)

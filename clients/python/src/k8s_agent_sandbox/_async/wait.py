from __future__ import annotations

from .._aio import sleep
from .._core.deadline import Deadline
from .._core.readiness import Judge, failure_of
from .._core.resources import Object, Resource, metadata_of
from ..exceptions import SandboxError, SandboxNotFoundError, SandboxNotReadyError
from .api_server import AsyncApiServer

#: Between two watches, so that a server that ends them at once is not overloaded.
_PAUSE = 0.1


class AsyncWait:
    """Watches an object until it is done or has failed."""

    def __init__(
        self, api: AsyncApiServer, resource: Resource, namespace: str, name: str, judge: Judge, deadline: Deadline
    ) -> None:
        self.api = api
        self.resource = resource
        self.namespace = namespace
        self.name = name
        self.judge = judge
        self.deadline = deadline
        self._why = "the server has not reported its state"

    async def until_done(self, start: Object | None = None) -> Object:
        """`start` is the state to start from; without it, the object is read first.

        Raises SandboxNotReadyError with the last state if the deadline comes first.
        """
        try:
            while True:
                current = start or await self.api.get(self.resource, self.namespace, self.name, self.deadline)
                start = None
                found = current if self._is_done(current) else await self._watch_from(current)
                if found is not None:
                    return found
        except SandboxError as error:
            if error.reason != "TimedOut":
                raise
            raise SandboxNotReadyError(f"{error}; last state: {self._why}") from error

    async def _watch_from(self, current: Object) -> Object | None:
        """Returns None when the connection ends: the object is then read again."""
        uid = metadata_of(current).get("uid")
        version = metadata_of(current).get("resourceVersion") or "0"
        events = None
        try:
            events = await self.api.watch(self.resource, self.namespace, self.name, version, self.deadline)
            async for event in events:
                item: Object = event.get("object") or {}
                if event.get("type") == "ERROR":
                    break
                if event.get("type") == "DELETED" or (uid is not None and metadata_of(item).get("uid") != uid):
                    text = f'{self.deadline.doing}: {self.resource.kind} "{self.name}" was deleted'
                    raise SandboxNotFoundError(text)
                if self._is_done(item):
                    return item
        except SandboxError as error:
            if error.reason not in ("Conflict", "Unreachable"):
                raise
        finally:
            if events is not None:
                await events.aclose()
        self.deadline.check()
        await sleep(min(_PAUSE, self.deadline.remaining))
        return None

    def _is_done(self, item: Object) -> bool:
        verdict = self.judge(item)
        if verdict.state == "failed":
            raise failure_of(verdict, self.deadline.doing)
        if verdict.state == "waiting":
            self._why = verdict.message
        return verdict.state == "done"

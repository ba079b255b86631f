from __future__ import annotations

import builtins
import json
from collections.abc import Mapping, Sequence
from typing import Any

from .._aio import Stream
from .._core.deadline import Deadline
from .._core.resources import Object, Resource, metadata_of
from .._core.responses import Refusal, api_error
from .._core.wire import query_of
from .._kube.credentials import Credential
from ..exceptions import SandboxError
from .authorize import AsyncAuthorizer
from .http import AsyncHttp, AsyncRequest, AsyncResponse
from .rest import json_lines
from .retry import retry

_PAGE_SIZE = 500


class AsyncApiServer:
    """The calls of the Kubernetes API that the SDK makes. All of them can be repeated."""

    def __init__(self, http: AsyncHttp, authorizer: AsyncAuthorizer, headers: Sequence[tuple[str, str]] = ()) -> None:
        self._http = http
        self._authorizer = authorizer
        #: Impersonation.
        self._headers = headers

    async def get(self, resource: Resource, namespace: str, name: str, deadline: Deadline) -> Object:
        return await self._json(resource, deadline, "GET", resource.path(namespace, name))

    async def list(
        self, resource: Resource, namespace: str, deadline: Deadline, label_selector: str | None = None
    ) -> builtins.list[Object]:
        items: builtins.list[Object] = []
        following: str | None = None
        while True:
            query = query_of({"limit": _PAGE_SIZE, "labelSelector": label_selector or None, "continue": following})
            page = await self._json(resource, deadline, "GET", f"{resource.path(namespace)}{query}")
            items.extend(page.get("items") or ())
            following = metadata_of(page).get("continue") or None
            if following is None:
                return items

    async def create(self, resource: Resource, item: Object, deadline: Deadline) -> Object:
        """A create that is repeated fails with `AlreadyExists` if the first one had an effect."""
        return await self._json(resource, deadline, "POST", resource.path(metadata_of(item)["namespace"]), item)

    async def patch(self, resource: Resource, namespace: str, name: str, patch: Mapping[str, Any], deadline: Deadline) -> Object:
        """A JSON merge patch, which has the same effect if it is sent twice."""
        path = resource.path(namespace, name)
        return await self._json(resource, deadline, "PATCH", path, patch, "application/merge-patch+json")

    async def delete(self, resource: Resource, namespace: str, name: str, deadline: Deadline, uid: str | None = None) -> None:
        """Deletes the object with this UID. Succeeds if it is already gone."""
        body = {} if uid is None else {"preconditions": {"uid": uid}}
        try:
            await self._json(resource, deadline, "DELETE", resource.path(namespace, name), body)
        except SandboxError as error:
            is_gone = error.reason == "NotFound" or error.server_reason == "Conflict"
            if not is_gone:
                raise

    async def watch(self, resource: Resource, namespace: str, name: str, version: str, deadline: Deadline) -> Stream[Object]:
        """The states of one object from this version on, until the connection ends or the deadline has passed."""
        query = query_of({"watch": True, "resourceVersion": version, "fieldSelector": f"metadata.name={name}"})
        return json_lines(await self._exchange(resource, deadline, "GET", f"{resource.path(namespace)}{query}"))

    async def _json(
        self,
        resource: Resource,
        deadline: Deadline,
        method: str,
        path: str,
        content: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
    ) -> Object:
        response = await self._exchange(resource, deadline, method, path, content, content_type, is_whole=True)
        found: Object = await response.json()
        return found

    async def _exchange(
        self,
        resource: Resource,
        deadline: Deadline,
        method: str,
        path: str,
        content: Mapping[str, Any] | None = None,
        content_type: str = "application/json",
        *,
        is_whole: bool = False,
    ) -> AsyncResponse:
        headers = [("accept", "application/json"), *self._headers]
        body = None
        if content is not None:
            headers.append(("content-type", content_type))
            body = json.dumps(content).encode()
        refused: Credential | None = None

        async def attempt(number: int) -> AsyncResponse:
            nonlocal refused
            while True:
                credential = await self._authorizer.credential(refused)
                self._http.present(credential)
                own = [] if credential.authorization is None else [("authorization", credential.authorization)]
                response = await self._http.send(AsyncRequest(method, path, [*headers, *own], deadline, body))
                if response.status < 400:
                    if is_whole:
                        await response.load()
                    return response
                refusal = Refusal(response.status, await response.error_text())
                error = api_error(refusal, resource.kind, deadline.doing)
                # A token may have been renewed since it was read.
                if error.reason != "Unauthenticated" or refused is not None:
                    raise error
                refused = credential

        return await retry(attempt, deadline, is_repeatable=True, is_read=method == "GET")

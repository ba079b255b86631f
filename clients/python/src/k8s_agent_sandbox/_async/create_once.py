from __future__ import annotations

from .._core.deadline import Deadline
from .._core.resources import REQUEST_ID_ANNOTATION, Object, Resource, metadata_of
from ..exceptions import SandboxError
from .api_server import AsyncApiServer

#: Somebody who has pressed Ctrl-C waits for it.
_CLEAN_UP_TIMEOUT = 10.0


async def create_once(api: AsyncApiServer, resource: Resource, wanted: Object, deadline: Deadline) -> Object:
    """Creates an object. If it exists because an earlier attempt of the same call created it, returns that."""
    try:
        return await api.create(resource, wanted, deadline)
    except BaseException as error:
        if not isinstance(error, SandboxError) or error.status is None:
            # The server may have received the request. Nobody would delete what it created.
            await delete_own(api, resource, wanted)
        if not isinstance(error, SandboxError) or error.reason != "AlreadyExists":
            raise
        metadata = metadata_of(wanted)
        existing = await api.get(resource, metadata["namespace"], metadata["name"], deadline)
        if _request_id_of(existing) != _request_id_of(wanted):
            raise
        return existing


async def delete_own(api: AsyncApiServer, resource: Resource, own: Object) -> None:
    """Deletes an object if this call created it. Does not raise: the error of the call matters more."""
    metadata = metadata_of(own)
    # The caller's deadline may be over, so this needs its own.
    deadline = Deadline(None, _CLEAN_UP_TIMEOUT, "Cannot clean up")
    try:
        existing = await api.get(resource, metadata["namespace"], metadata["name"], deadline)
        if _request_id_of(existing) == _request_id_of(own):
            uid = metadata_of(existing).get("uid")
            await api.delete(resource, metadata["namespace"], metadata["name"], deadline, uid)
    except SandboxError:
        pass


def _request_id_of(item: Object) -> object:
    return (metadata_of(item).get("annotations") or {}).get(REQUEST_ID_ANNOTATION)

from __future__ import annotations

from .._core.create_options import CreateOptions, claim_of, fork_of, sandbox_of
from .._core.deadline import Deadline
from .._core.identity import SandboxIdentity
from .._core.readiness import is_claimed, is_ready
from .._core.resources import CLAIMS, POOLS, SANDBOXES, SNAPSHOTS, Object, metadata_of, spec_of, status_of
from ..exceptions import SandboxError
from .api_server import AsyncApiServer
from .create_once import create_once, delete_own
from .wait import AsyncWait


async def create_sandbox(api: AsyncApiServer, options: CreateOptions, deadline: Deadline) -> SandboxIdentity:
    """Creates a sandbox or a claim, and waits until the sandbox can be used. Deletes it again if that fails."""
    pool = options.pool
    if options.template is not None:
        pool = await _pool_of(api, options.template, options.namespace, deadline)
    if pool is not None:
        claim = await create_once(api, CLAIMS, claim_of(pool, options), deadline)
        wait = AsyncWait(api, CLAIMS, options.namespace, options.name, is_claimed, deadline)
        return identity_of(await _wait_or_delete(wait, claim), is_owned=True)
    wanted = sandbox_of(options)
    if options.snapshot is not None:
        wanted = await _fork_of(api, options.snapshot, options, deadline)
    created = await create_once(api, SANDBOXES, wanted, deadline)
    await _wait_or_delete(AsyncWait(api, SANDBOXES, options.namespace, options.name, is_ready, deadline), created)
    return SandboxIdentity(options.name, options.namespace, metadata_of(created).get("uid"), is_owned=True)


def identity_of(claim: Object, *, is_owned: bool) -> SandboxIdentity:
    """Of the sandbox that a claim has."""
    metadata = metadata_of(claim)
    return SandboxIdentity(
        name=status_of(claim)["sandbox"]["name"],
        namespace=metadata["namespace"],
        claim_name=metadata["name"],
        claim_uid=metadata.get("uid"),
        is_owned=is_owned,
    )


async def _wait_or_delete(wait: AsyncWait, created: Object) -> Object:
    try:
        return await wait.until_done(created)
    except BaseException:
        await delete_own(wait.api, wait.resource, created)
        raise


async def _pool_of(api: AsyncApiServer, template: str, namespace: str, deadline: Deadline) -> str:
    """A pool of the template, which is created without members if there is none."""
    for pool in await api.list(POOLS, namespace, deadline):
        if _template_of(pool) == template:
            return str(metadata_of(pool)["name"])
    pool = {
        "apiVersion": POOLS.api_version,
        "kind": POOLS.kind,
        "metadata": {"name": template, "namespace": namespace},
        "spec": {"replicas": 0, "sandboxTemplateRef": {"name": template}},
    }
    try:
        await api.create(POOLS, pool, deadline)
    except SandboxError as error:
        if error.reason != "AlreadyExists":
            raise
        if _template_of(await api.get(POOLS, namespace, template, deadline)) != template:
            text = f'Cannot use template "{template}": no pool uses it, and a pool of that name uses another one'
            raise SandboxError(text, reason="Conflict") from error
    return template


async def _fork_of(api: AsyncApiServer, name: str, options: CreateOptions, deadline: Deadline) -> Object:
    snapshot = await api.get(SNAPSHOTS, options.namespace, name, deadline)
    named = (spec_of(snapshot).get("sandboxRef") or {}).get("name")
    source = status_of(snapshot).get("sourceName") or named or ""
    return fork_of(await api.get(SANDBOXES, options.namespace, source, deadline), options)


def _template_of(pool: Object) -> str | None:
    found = (spec_of(pool).get("sandboxTemplateRef") or {}).get("name")
    return found if isinstance(found, str) else None

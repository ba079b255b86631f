# Generated from _async/creation.py by tools/make_sync.py: do not edit.
from __future__ import annotations

from .._core.create_options import CreateOptions, claim_of, fork_of, sandbox_of
from .._core.deadline import Deadline
from .._core.identity import SandboxIdentity
from .._core.readiness import is_claimed, is_ready
from .._core.resources import CLAIMS, POOLS, SANDBOXES, SNAPSHOTS, Object, metadata_of, spec_of, status_of
from ..exceptions import SandboxError
from .api_server import ApiServer
from .create_once import create_once, delete_own
from .wait import Wait


def create_sandbox(api: ApiServer, options: CreateOptions, deadline: Deadline) -> SandboxIdentity:
    """Creates a sandbox or a claim, and waits until the sandbox can be used. Deletes it again if that fails."""
    pool = options.pool
    if options.template is not None:
        pool = _pool_of(api, options.template, options.namespace, deadline)
    if pool is not None:
        claim = create_once(api, CLAIMS, claim_of(pool, options), deadline)
        wait = Wait(api, CLAIMS, options.namespace, options.name, is_claimed, deadline)
        return identity_of(_wait_or_delete(wait, claim), is_owned=True)
    wanted = sandbox_of(options)
    if options.snapshot is not None:
        wanted = _fork_of(api, options.snapshot, options, deadline)
    created = create_once(api, SANDBOXES, wanted, deadline)
    _wait_or_delete(Wait(api, SANDBOXES, options.namespace, options.name, is_ready, deadline), created)
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


def _wait_or_delete(wait: Wait, created: Object) -> Object:
    try:
        return wait.until_done(created)
    except BaseException:
        delete_own(wait.api, wait.resource, created)
        raise


def _pool_of(api: ApiServer, template: str, namespace: str, deadline: Deadline) -> str:
    """A pool of the template, which is created without members if there is none."""
    for pool in api.list(POOLS, namespace, deadline):
        if _template_of(pool) == template:
            return str(metadata_of(pool)["name"])
    pool = {
        "apiVersion": POOLS.api_version,
        "kind": POOLS.kind,
        "metadata": {"name": template, "namespace": namespace},
        "spec": {"replicas": 0, "sandboxTemplateRef": {"name": template}},
    }
    try:
        api.create(POOLS, pool, deadline)
    except SandboxError as error:
        if error.reason != "AlreadyExists":
            raise
        if _template_of(api.get(POOLS, namespace, template, deadline)) != template:
            text = f'Cannot use template "{template}": no pool uses it, and a pool of that name uses another one'
            raise SandboxError(text, reason="Conflict") from error
    return template


def _fork_of(api: ApiServer, name: str, options: CreateOptions, deadline: Deadline) -> Object:
    snapshot = api.get(SNAPSHOTS, options.namespace, name, deadline)
    named = (spec_of(snapshot).get("sandboxRef") or {}).get("name")
    source = status_of(snapshot).get("sourceName") or named or ""
    return fork_of(api.get(SANDBOXES, options.namespace, source, deadline), options)


def _template_of(pool: Object) -> str | None:
    found = (spec_of(pool).get("sandboxTemplateRef") or {}).get("name")
    return found if isinstance(found, str) else None

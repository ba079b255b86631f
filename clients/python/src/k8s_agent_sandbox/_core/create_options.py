from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ..exceptions import SandboxArgumentError
from .resources import CLAIMS, REQUEST_ID_ANNOTATION, SANDBOXES, Object, spec_of
from .results import Depth


@dataclass(frozen=True)
class CreateOptions:
    """What a new sandbox is made of: exactly one of `image`, `pool`, `template` and `snapshot`."""

    name: str
    namespace: str
    request_id: str
    image: str | None = None
    pool: str | None = None
    template: str | None = None
    snapshot: str | None = None
    labels: Mapping[str, str] | None = None
    env: Mapping[str, str] | None = None
    lifetime_seconds: float | None = None
    command: Sequence[str] | None = None
    runtime_class: str | None = None
    cpu: str | float | None = None
    memory: str | None = None
    suspend_after_seconds: int | None = None
    suspend_depth: Depth | None = None

    def check(self) -> None:
        """Raises if the options contradict each other."""
        named = [source for source in _SOURCES if getattr(self, source) is not None]
        if len(named) != 1:
            what = f"{' and '.join(named)} are set" if named else "none of them is set"
            raise SandboxArgumentError(f"Cannot create a sandbox: name one of {', '.join(_SOURCES)}; {what}")
        for field in _IMAGE_ONLY:
            if self.image is None and getattr(self, field) is not None:
                raise SandboxArgumentError(f"Cannot create a sandbox: {field} can be used with image only")
        if self.snapshot is not None and self.env is not None:
            raise SandboxArgumentError("Cannot create a sandbox: env cannot be changed in a snapshot")
        if isinstance(self.command, str):
            raise SandboxArgumentError("Cannot create a sandbox: command is a text instead of a list of words")
        lifetime = self.lifetime_seconds
        if lifetime is not None and not (math.isfinite(lifetime) and lifetime > 0):
            text = f"Cannot create a sandbox: lifetime_seconds is {lifetime} instead of a positive number"
            raise SandboxArgumentError(text)


_SOURCES = ("image", "pool", "template", "snapshot")
_IMAGE_ONLY = ("command", "runtime_class", "cpu", "memory", "suspend_after_seconds", "suspend_depth")
_CREATED_BY = "agents.x-k8s.io/created-by"


def sandbox_of(options: CreateOptions) -> Object:
    """A Sandbox that runs an image."""
    limits = _without_none({"cpu": None if options.cpu is None else str(options.cpu), "memory": options.memory})
    container = _without_none(
        {
            "name": "main",
            "image": options.image,
            "command": None if options.command is None else list(options.command),
            "env": _variables_of(options.env),
            "resources": {"limits": limits} if limits else None,
        }
    )
    pod = _without_none({"containers": [container], "runtimeClassName": options.runtime_class})
    idle, depth = options.suspend_after_seconds, options.suspend_depth
    spec = _without_none(
        {
            "runtime": "Injected",
            "podTemplate": {"spec": pod},
            "idlePolicy": None if idle is None else {"suspendAfterSeconds": idle},
            "suspendPolicy": None if depth is None else {"depth": depth},
            **expiry_of(options.lifetime_seconds),
        }
    )
    return _object(SANDBOXES.api_version, SANDBOXES.kind, options, spec)


def fork_of(source: Object, options: CreateOptions) -> Object:
    """A Sandbox that continues from a snapshot, with the spec of the Sandbox that the snapshot was taken of."""
    dropped = ("operatingMode", "shutdownTime", "shutdownPolicy")
    kept = {name: value for name, value in spec_of(source).items() if name not in dropped}
    restore = {"restoreFrom": {"snapshotRef": {"name": options.snapshot}}}
    return _object(SANDBOXES.api_version, SANDBOXES.kind, options, {**kept, **restore, **expiry_of(options.lifetime_seconds)})


def claim_of(pool: str, options: CreateOptions) -> Object:
    """A claim of a pool."""
    spec = _without_none(
        {
            "warmPoolRef": {"name": pool},
            "env": _variables_of(options.env),
            "lifecycle": expiry_of(options.lifetime_seconds) or None,
        }
    )
    return _object(CLAIMS.api_version, CLAIMS.kind, options, spec)


def expiry_of(lifetime_seconds: float | None) -> dict[str, str]:
    """The fields that delete a sandbox this many seconds from now. The API has whole seconds."""
    if lifetime_seconds is None:
        return {}
    at = datetime.fromtimestamp(math.floor(time.time() + lifetime_seconds), UTC)
    return {"shutdownTime": at.strftime("%Y-%m-%dT%H:%M:%SZ"), "shutdownPolicy": "Delete"}


def _object(api_version: str, kind: str, options: CreateOptions, spec: dict[str, Any]) -> Object:
    metadata = {
        "name": options.name,
        "namespace": options.namespace,
        "labels": {_CREATED_BY: "python-client", **(options.labels or {})},
        "annotations": {REQUEST_ID_ANNOTATION: options.request_id},
    }
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec}


def _variables_of(env: Mapping[str, str] | None) -> list[dict[str, str]] | None:
    return None if env is None else [{"name": name, "value": value} for name, value in env.items()]


def _without_none(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}

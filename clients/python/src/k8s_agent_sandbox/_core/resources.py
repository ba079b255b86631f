"""The kinds of objects that the SDK reads and writes. Objects are dictionaries, as in JSON."""

from __future__ import annotations

from typing import Any, NamedTuple

Object = dict[str, Any]


class Resource(NamedTuple):
    api_version: str
    kind: str
    plural: str

    def path(self, namespace: str, name: str | None = None) -> str:
        from urllib.parse import quote

        collection = f"/apis/{self.api_version}/namespaces/{quote(namespace, safe='')}/{self.plural}"
        return collection if name is None else f"{collection}/{quote(name, safe='')}"


_EXTENSIONS = "extensions.agents.x-k8s.io/v1beta1"

SANDBOXES = Resource("agents.x-k8s.io/v1beta1", "Sandbox", "sandboxes")
CLAIMS = Resource(_EXTENSIONS, "SandboxClaim", "sandboxclaims")
POOLS = Resource(_EXTENSIONS, "SandboxWarmPool", "sandboxwarmpools")
TEMPLATES = Resource(_EXTENSIONS, "SandboxTemplate", "sandboxtemplates")
SNAPSHOTS = Resource("snapshots.agents.x-k8s.io/v1alpha1", "SandboxSnapshot", "sandboxsnapshots")

#: Names the call that created an object, so that a repeated call recognises its own object.
REQUEST_ID_ANNOTATION = "sdk.agents.x-k8s.io/request-id"


def metadata_of(item: Object) -> Object:
    found = item.get("metadata")
    return found if isinstance(found, dict) else {}


def spec_of(item: Object) -> Object:
    found = item.get("spec")
    return found if isinstance(found, dict) else {}


def status_of(item: Object) -> Object:
    found = item.get("status")
    return found if isinstance(found, dict) else {}


def conditions_of(item: Object) -> list[Object]:
    return status_of(item).get("conditions") or []


def current_condition(item: Object, kind: str) -> Object | None:
    """The condition of this type, unless it describes an older spec."""
    for condition in conditions_of(item):
        if condition.get("type") == kind:
            observed = condition.get("observedGeneration")
            is_old = observed is not None and observed < metadata_of(item).get("generation", 0)
            return None if is_old else condition
    return None

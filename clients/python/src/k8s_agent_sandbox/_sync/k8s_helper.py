# Generated from _async/k8s_helper.py by tools/make_sync.py: do not edit.
"""The calls of the Kubernetes API that the reference's client makes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from .._core.deadline import Deadline
from .._core.identity import new_request_id
from .._core.readiness import DONE, Verdict
from .._core.resources import CLAIMS, SANDBOXES, Object, Resource, metadata_of, status_of
from .._reference._sync import OfficialApis
from .._reference.claims import claim_manifest, judge_claim, judge_sandbox, sandbox_name_of
from .._reference.place import Place, find_place
from ..constants import GATEWAY_API_GROUP, GATEWAY_API_VERSION, GATEWAY_PLURAL
from ..exceptions import SandboxMetadataError, SandboxNotFoundError
from ..models import AdditionalPodMetadata
from ..utils import is_valid_gateway_hostname, is_valid_ip, select_pod_ip
from .api_server import ApiServer
from .authorize import Authorizer
from .create_once import create_once
from .http import Http
from .wait import Wait

_CALL_TIMEOUT = 60.0
_API_IDLE_SECONDS = 60.0
_GATEWAYS = Resource(f"{GATEWAY_API_GROUP}/{GATEWAY_API_VERSION}", "Gateway", GATEWAY_PLURAL)


class K8sHelper(OfficialApis):
    """Reads and writes claims, Sandboxes and Gateways. The API server is found at the first call."""

    def __init__(self, api_client: Any | None = None, *, kube_config_temp_dir: str | None = None) -> None:
        """`api_client` names the cluster. `kube_config_temp_dir` is not needed any more: no files are written."""
        self._injected_api_client = api_client
        self._share_settings()

    @property
    def injected_api_client(self) -> Any | None:
        """The client that the caller gave, for kubectl to use the same cluster."""
        return self._injected_api_client

    @cached_property
    def place(self) -> Place:  # type: ignore[override]
        """Where the API server is."""
        return find_place(self._injected_api_client)

    @cached_property
    def authorizer(self) -> Authorizer:
        return Authorizer(self.place.access.credentials, None)

    @cached_property
    def _http(self) -> Http:
        return Http(self.place.access.server, self.place.access.tls, _API_IDLE_SECONDS)

    @cached_property
    def api(self) -> ApiServer:
        """The calls that the native SDK makes."""
        return ApiServer(self._http, self.authorizer, self.place.access.headers)

    def create_sandbox_claim(
        self,
        name: str,
        warmpool: str,
        namespace: str,
        annotations: dict[str, str] | None = None,
        labels: dict[str, str] | None = None,
        lifecycle: dict[str, Any] | None = None,
        volume_claim_templates: list[dict[str, Any]] | None = None,
        pod_metadata: AdditionalPodMetadata | dict[str, Any] | None = None,
        env: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        """Creates a claim of a pool, once, also if the connection fails meanwhile."""
        wanted = claim_manifest(
            name=name,
            namespace=namespace,
            warmpool=warmpool,
            request_id=new_request_id(),
            annotations=annotations,
            labels=labels,
            lifecycle=lifecycle,
            volume_claim_templates=volume_claim_templates,
            pod_metadata=pod_metadata,
            env=env,
        )
        return create_once(self.api, CLAIMS, wanted, _deadline(f'create SandboxClaim "{name}"'))

    def resolve_sandbox_name(
        self, claim_name: str, namespace: str, timeout: float, resource_version: str | None = None
    ) -> str:
        """Waits until the claim has a sandbox, and returns its name. A claim that does not exist is reported at once."""
        start = _start(claim_name, resource_version, None)
        return self._wait_for_claim(claim_name, namespace, timeout, start, needs_ready=False)

    def wait_for_claim_ready(
        self,
        claim_name: str,
        namespace: str,
        timeout: float,
        resource_version: str | None = None,
        *,
        expected_uid: str | None = None,
        initial_claim: dict[str, Any] | None = None,
    ) -> str:
        """Waits until the claim has a sandbox that can be used, and returns its name.

        Raises TimeoutError, or at once if it will never have one or was deleted.
        """
        start = initial_claim or _start(claim_name, resource_version, expected_uid)
        return self._wait_for_claim(claim_name, namespace, timeout, start, needs_ready=True)

    def _wait_for_claim(
        self, claim_name: str, namespace: str, timeout: float, start: Object | None, *, needs_ready: bool
    ) -> str:
        deadline = Deadline(timeout, _CALL_TIMEOUT, f'Cannot wait for SandboxClaim "{claim_name}"')
        judge = judge_claim(needs_ready=needs_ready)
        wait = Wait(self.api, CLAIMS, namespace, claim_name, judge, deadline)
        try:
            return sandbox_name_of(wait.until_done(start)) or ""
        except SandboxNotFoundError as error:
            if start is None:
                raise
            raise SandboxMetadataError(str(error), reason="NotFound", status=error.status) from error

    def wait_for_sandbox_ready(self, name: str, namespace: str, timeout: float) -> str | None:
        """Waits until the Sandbox can be used, and returns the address of its Pod."""
        deadline = Deadline(timeout, _CALL_TIMEOUT, f'Cannot wait for Sandbox "{name}"')
        wait = Wait(self.api, SANDBOXES, namespace, name, judge_sandbox, deadline)
        return select_pod_ip(status_of(wait.until_done()).get("podIPs"))

    def delete_sandbox_claim(
        self, name: str, namespace: str, _request_timeout: Any = None, *, expected_uid: str | None = None
    ) -> None:
        """Deletes a claim, only that with `expected_uid` if it is given. Succeeds if it is already gone."""
        timeout = _request_timeout[-1] if isinstance(_request_timeout, tuple) else _request_timeout
        self.api.delete(CLAIMS, namespace, name, _deadline(f'delete SandboxClaim "{name}"', timeout), expected_uid)

    def get_sandbox(self, name: str, namespace: str) -> dict[str, Any] | None:
        """Returns the Sandbox, or None if it does not exist."""
        return self._find(SANDBOXES, name, namespace)

    def get_sandbox_claim(self, name: str, namespace: str) -> dict[str, Any] | None:
        """Returns the claim, or None if it does not exist."""
        return self._find(CLAIMS, name, namespace)

    def patch_sandbox_claim(self, name: str, namespace: str, body: dict[str, Any]) -> dict[str, Any]:
        """Changes a claim with a JSON merge patch."""
        return self.api.patch(CLAIMS, namespace, name, body, _deadline(f'change SandboxClaim "{name}"'))

    def list_sandbox_claims(self, namespace: str, label_selector: str | None = None) -> list[str]:
        """Returns the names of the claims in a namespace."""
        found = self.api.list(CLAIMS, namespace, _deadline("list SandboxClaims"), label_selector)
        return [name for each in found if (name := metadata_of(each).get("name"))]

    def wait_for_gateway_ip(self, gateway_name: str, namespace: str, timeout: float) -> str:
        """Waits until the Gateway has an address, and returns the first valid one."""
        deadline = Deadline(timeout, _CALL_TIMEOUT, f'Cannot find the address of Gateway "{gateway_name}"')
        wait = Wait(self.api, _GATEWAYS, namespace, gateway_name, _judge_gateway, deadline)
        return _address_of(wait.until_done()) or ""

    def _find(self, resource: Resource, name: str, namespace: str) -> Object | None:
        try:
            return self.api.get(resource, namespace, name, _deadline(f'get {resource.kind} "{name}"'))
        except SandboxNotFoundError:
            return None

    def close(self) -> None:
        """Closes the connections to the API server."""
        if "_http" in vars(self):
            self._http.close()


def _deadline(doing: str, timeout: float | None = None) -> Deadline:
    return Deadline(timeout, _CALL_TIMEOUT, f"Cannot {doing}")


def _start(name: str, version: str | None, uid: str | None) -> Object | None:
    """A state that says nothing yet, so that the watch begins at this version."""
    if version is None:
        return None
    return {"metadata": {"name": name, "resourceVersion": version, **({"uid": uid} if uid is not None else {})}}


def _judge_gateway(gateway: Object) -> Verdict:
    return DONE if _address_of(gateway) is not None else Verdict("waiting", "it has no valid address")


def _address_of(gateway: Object) -> str | None:
    for address in status_of(gateway).get("addresses") or ():
        value = address.get("value") if isinstance(address, dict) else None
        if isinstance(value, str) and (is_valid_ip(value) or is_valid_gateway_hostname(value)):
            return value
    return None

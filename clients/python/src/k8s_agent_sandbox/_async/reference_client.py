"""The client of the reference, with its methods and the native ones."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from .._aio import Lock
from .._core.identity import SandboxIdentity, random_suffix
from .._core.resources import metadata_of, spec_of
from .._reference._async import shielded
from .._reference.config import UndecidedConnectionConfig
from .._reference.results import span_now
from ..claim_adoption import validate_claim_for_adoption, validate_claim_name
from ..exceptions import SandboxError, SandboxMetadataError, SandboxNotFoundError
from ..models import AdditionalPodMetadata, SandboxConnectionConfig, SandboxTracerConfig
from ..pod_metadata import build_pod_metadata, validate_labels
from ..trace_manager import async_trace_span, create_tracer_manager, initialize_tracer
from ..utils import construct_sandbox_claim_lifecycle_spec
from .client import AsyncClient
from .k8s_helper import AsyncK8sHelper
from .reference_connection import AsyncApiConnection
from .reference_sandbox import AsyncSandbox

logger = logging.getLogger(__name__)

T = TypeVar("T", bound=AsyncSandbox)

_TRACE_ANNOTATION = "opentelemetry.io/trace-context"


class AsyncReferenceClient(AsyncClient, Generic[T]):
    """Creates and finds sandboxes, and remembers those of this client."""

    sandbox_class: type[T] = AsyncSandbox  # type: ignore[assignment]

    def __init__(
        self,
        connection_config: SandboxConnectionConfig | None = None,
        tracer_config: SandboxTracerConfig | None = None,
        api_client: Any | None = None,
    ) -> None:
        self.connection_config = connection_config or UndecidedConnectionConfig()
        self.tracer_config = tracer_config or SandboxTracerConfig()
        if self.tracer_config.enable_tracing:
            initialize_tracer(self.tracer_config.trace_service_name)
        self.trace_service_name = self.tracer_config.trace_service_name
        self.tracing_manager, self.tracer = create_tracer_manager(self.tracer_config)
        self.k8s_helper = AsyncK8sHelper(api_client=api_client)
        super().__init__(AsyncApiConnection(self.k8s_helper))
        self._tracked: dict[tuple[str, str], T] = {}
        #: Claims whose name the caller chose are the caller's to delete.
        self._explicit: set[tuple[str, str]] = set()
        self._lock = Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        """Deletes the sandboxes of this client, except those with a `claim_name`, and closes its connections."""
        try:
            await self._delete_automatic_sandboxes()
        finally:
            await self.close()

    async def close(self) -> None:
        """Closes all connections. Sandboxes go on."""
        async with self._lock:
            tracked, self._tracked = self._tracked, {}
        for sandbox in tracked.values():
            await sandbox.close_connection()
        await super().close()

    async def create_sandbox(
        self,
        warmpool: str,
        namespace: str = "default",
        sandbox_ready_timeout: int = 180,
        labels: dict[str, str] | None = None,
        *,
        claim_name: str | None = None,
        adopt_existing: bool = False,
        shutdown_after_seconds: int | None = None,
        volume_claim_templates: list[dict[str, Any]] | None = None,
        pod_labels: dict[str, str] | None = None,
        pod_annotations: dict[str, str] | None = None,
        env: dict[str, str] | None = None,
    ) -> T:
        """Takes a sandbox from a pool and waits until it can be used.

        `labels` are those of the claim, `pod_labels` and `pod_annotations` those of the Pod. With `shutdown_after_seconds` the
        sandbox is deleted after this time. `env` and `volume_claim_templates` start a new sandbox instead of one that is ready.

        A sandbox that will not become ready is deleted again, unless `claim_name` chose its name. With `adopt_existing` an
        existing claim of that name and pool is used as it is.
        """
        if not warmpool:
            raise ValueError("The name of the warm pool is empty")
        if adopt_existing and claim_name is None:
            raise ValueError("adopt_existing needs a claim_name")
        validate_labels(labels or {})
        pod_metadata = build_pod_metadata(pod_labels, pod_annotations)
        lifecycle = None if shutdown_after_seconds is None else construct_sandbox_claim_lifecycle_spec(shutdown_after_seconds)
        name = f"sandbox-claim-{random_suffix()}" if claim_name is None else claim_name
        if claim_name is not None:
            validate_claim_name(claim_name)
            self._explicit.add((namespace, claim_name))
        claim: dict[str, Any] | None = None
        try:
            claim = await self._create_or_adopt(
                name,
                warmpool,
                namespace,
                adopt_existing,
                labels=labels,
                lifecycle=lifecycle,
                volume_claim_templates=volume_claim_templates,
                pod_metadata=pod_metadata,
                env=env,
            )
            uid = metadata_of(claim).get("uid")
            sandbox_id = await self._wait_for_claim_ready(name, namespace, sandbox_ready_timeout, uid, claim)
        except BaseException:
            # Without a response it is not known whether the claim exists. Nobody else has this name.
            if claim_name is None:
                await self._roll_back(name, namespace, metadata_of(claim or {}).get("uid"))
            raise
        return await self._track(name, sandbox_id, namespace, uid)

    async def _create_or_adopt(
        self, name: str, warmpool: str, namespace: str, adopt_existing: bool, **options: Any
    ) -> dict[str, Any]:
        try:
            claim: dict[str, Any] | None = await self._make_claim(name, warmpool, namespace, **options)
        except SandboxError as error:
            if not adopt_existing or error.reason != "AlreadyExists":
                raise
            claim = await self.k8s_helper.get_sandbox_claim(name, namespace)
        validate_claim_for_adoption(claim, name, warmpool)
        return claim or {}

    async def _roll_back(self, name: str, namespace: str, uid: str | None) -> None:
        try:
            await shielded(self._delete_claim(name, namespace, expected_uid=uid))
        except SandboxError as error:
            # The first error matters more.
            logger.error('Cannot delete SandboxClaim "%s" after a failed create: %s', name, error)

    async def _track(self, name: str, sandbox_id: str, namespace: str, claim_uid: str | None = None) -> T:
        """The handle of a sandbox: the one that this client has, if its connection is open, or else a new one."""
        key = (namespace, name)
        async with self._lock:
            known = self._tracked.get(key)
            if known is not None and known.is_active and known.sandbox_id == sandbox_id:
                return known
            handle = self._new_handle(name, sandbox_id, namespace)
            # A later claim of the same name is not deleted in place of this one.
            handle._become(SandboxIdentity(sandbox_id, namespace, claim_name=name, claim_uid=claim_uid))
            self._tracked[key] = handle
        if known is not None:
            await known.close_connection()
        return handle

    def _new_handle(self, claim_name: str | None, sandbox_id: str, namespace: str) -> T:
        return self.sandbox_class(
            claim_name=claim_name,
            sandbox_id=sandbox_id,
            namespace=namespace,
            connection_config=self.connection_config,
            tracer_config=self.tracer_config,
            k8s_helper=self.k8s_helper,
        )

    def _handle(self, identity: SandboxIdentity) -> T:
        """The handles of the native methods are of the same class."""
        handle = self._new_handle(identity.claim_name, identity.name, identity.namespace)
        handle._become(identity)
        return handle

    async def get_sandbox(
        self,
        claim_name: str,
        namespace: str = "default",
        resolve_timeout: int = 30,
        warmpool_name: str | None = None,
    ) -> T:
        """Attaches to the sandbox of a claim. Raises ValueError if the claim is of another pool than `warmpool_name`.

        A failed lookup closes the connection of a handle that this client has, and changes nothing else.
        """
        try:
            if warmpool_name is not None:
                pool = await self.get_sandbox_claim_warmpool_name(claim_name, namespace)
                if pool != warmpool_name:
                    raise ValueError(f'SandboxClaim "{claim_name}" is of warm pool "{pool}", not of "{warmpool_name}"')
            sandbox_id = await self.k8s_helper.resolve_sandbox_name(claim_name, namespace, timeout=resolve_timeout)
            if await self.k8s_helper.get_sandbox(sandbox_id, namespace) is None:
                raise SandboxNotFoundError(f'There is no Sandbox "{sandbox_id}"')
        except (SandboxError, TimeoutError) as error:
            known = self._tracked.get((namespace, claim_name))
            if known is not None:
                await known.close_connection()
            details = {"status": getattr(error, "status", None), "server_reason": getattr(error, "server_reason", None)}
            text = f'Cannot find sandbox "{claim_name}" in namespace "{namespace}": {error}'
            raise SandboxNotFoundError(text, reason=getattr(error, "reason", None), **details) from error
        return await self._track(claim_name, sandbox_id, namespace)

    async def list_active_sandboxes(self) -> list[tuple[str, str]]:
        """The namespaces and claims of the handles that this client has, without those that were closed."""
        async with self._lock:
            self._tracked = {key: sandbox for key, sandbox in self._tracked.items() if sandbox.is_active}
            return list(self._tracked)

    async def list_all_sandboxes(self, namespace: str = "default", label_selector: str | None = None) -> list[str]:
        """The names of all claims in a namespace."""
        return await self.k8s_helper.list_sandbox_claims(namespace, label_selector=label_selector)

    async def delete_sandbox(self, claim_name: str, namespace: str = "default") -> None:
        """Deletes the sandbox of a claim. Succeeds if it is already gone; other failures raise."""
        sandbox = self._tracked.get((namespace, claim_name))
        if sandbox is None:
            await self._delete_claim(claim_name, namespace)
            return
        await sandbox.terminate()
        async with self._lock:
            self._tracked.pop((namespace, claim_name), None)

    async def delete_all(self) -> None:
        """Deletes the sandboxes of this client. A failure is logged, and the others are deleted."""
        for namespace, claim_name in list(self._tracked):
            await self._delete_quietly(claim_name, namespace)

    async def _delete_automatic_sandboxes(self) -> None:
        for key, sandbox in list(self._tracked.items()):
            if key in self._explicit:
                await sandbox.close_connection()
            else:
                await self._delete_quietly(key[1], key[0])

    async def _delete_quietly(self, claim_name: str, namespace: str) -> None:
        try:
            await self.delete_sandbox(claim_name, namespace=namespace)
        except SandboxError as error:
            logger.error('Cannot delete sandbox "%s" in namespace "%s": %s', claim_name, namespace, error)

    async def get_sandbox_claim_warmpool_name(self, claim_name: str, namespace: str) -> str:
        """The pool of a claim."""
        claim = await self.k8s_helper.get_sandbox_claim(claim_name, namespace)
        if claim is None:
            raise SandboxNotFoundError(f'There is no SandboxClaim "{claim_name}" in namespace "{namespace}"')
        pool = (spec_of(claim).get("warmPoolRef") or {}).get("name")
        if not isinstance(pool, str) or not pool:
            raise SandboxMetadataError(f'SandboxClaim "{claim_name}" has no spec.warmPoolRef.name')
        return pool

    @async_trace_span("create_claim")
    async def _make_claim(
        self,
        claim_name: str,
        warmpool_name: str,
        namespace: str,
        labels: dict[str, str] | None = None,
        lifecycle: dict[str, Any] | None = None,
        volume_claim_templates: list[dict[str, Any]] | None = None,
        pod_metadata: AdditionalPodMetadata | None = None,
        env: dict[str, str] | None = None,
    ) -> dict[str, Any]:
        span = span_now(self.tracer)
        span.set_attribute("sandbox.claim.name", claim_name)
        if lifecycle:
            span.set_attribute("sandbox.lifecycle.shutdown_time", lifecycle["shutdownTime"])
            span.set_attribute("sandbox.lifecycle.shutdown_policy", lifecycle["shutdownPolicy"])
        context = self.tracing_manager.get_trace_context_json() if self.tracing_manager is not None else ""
        return await self.k8s_helper.create_sandbox_claim(
            claim_name,
            warmpool_name,
            namespace,
            annotations={_TRACE_ANNOTATION: context} if context else None,
            labels=labels,
            lifecycle=lifecycle,
            volume_claim_templates=volume_claim_templates,
            pod_metadata=pod_metadata,
            env=env,
        )

    @async_trace_span("wait_for_claim_ready")
    async def _wait_for_claim_ready(
        self, claim_name: str, namespace: str, timeout: float, uid: str | None, claim: dict[str, Any]
    ) -> str:
        helper = self.k8s_helper
        return await helper.wait_for_claim_ready(claim_name, namespace, timeout, expected_uid=uid, initial_claim=claim)

    @async_trace_span("delete_claim")
    async def _delete_claim(self, claim_name: str, namespace: str, expected_uid: str | None = None) -> None:
        await self.k8s_helper.delete_sandbox_claim(claim_name, namespace, expected_uid=expected_uid)

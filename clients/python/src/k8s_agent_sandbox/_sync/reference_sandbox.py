# Generated from _async/reference_sandbox.py by tools/make_sync.py: do not edit.
"""The handle of a sandbox, with the reference's methods and the native ones."""

from __future__ import annotations

import logging
from typing import Any

from .._core.identity import SandboxIdentity
from .._core.resources import Object, current_condition, metadata_of, status_of
from .._reference.config import UndecidedConnectionConfig
from ..constants import POD_NAME_ANNOTATION
from ..models import SandboxConnectionConfig, SandboxTracerConfig
from ..trace_manager import create_tracer_manager
from ..utils import extract_sandbox_name_hash, select_pod_ip
from .command_executor import CommandExecutor
from .connector import SandboxConnector
from .filesystem import Filesystem
from .k8s_helper import K8sHelper
from .reference_connection import SandboxConnection
from .sandbox import SandboxHandle

logger = logging.getLogger(__name__)


class Sandbox(SandboxHandle):
    """A sandbox that a claim holds: run commands, transfer files, suspend, snapshot, delete."""

    #: None after `terminate`.
    claim_name: str | None = None

    def __init__(
        self,
        claim_name: str | None,
        sandbox_id: str,
        namespace: str = "default",
        connection_config: SandboxConnectionConfig | None = None,
        tracer_config: SandboxTracerConfig | None = None,
        k8s_helper: K8sHelper | None = None,
    ) -> None:
        self.connection_config = connection_config or UndecidedConnectionConfig()
        self.k8s_helper = k8s_helper or K8sHelper()
        self.connector = SandboxConnector(
            sandbox_id=sandbox_id,
            namespace=namespace,
            connection_config=self.connection_config,
            k8s_helper=self.k8s_helper,
            get_pod_ip=self.get_pod_ip,
            get_pod_name=self.get_pod_name,
            get_service_fqdn=self.get_service_fqdn,
        )
        identity = SandboxIdentity(sandbox_id, namespace, claim_name=claim_name)
        super().__init__(SandboxConnection(self.k8s_helper, self.connector), identity)
        self.claim_name = claim_name
        self.sandbox_id = sandbox_id
        self.tracer_config = tracer_config or SandboxTracerConfig()
        self.trace_service_name = self.tracer_config.trace_service_name
        self.tracing_manager, self.tracer = create_tracer_manager(self.tracer_config)
        self._commands: Any = CommandExecutor(self.connector, self.tracer, self.trace_service_name)
        self._files: Any = Filesystem(self.connector, self.tracer, self.trace_service_name)
        self._is_closed = False
        self._is_deleted = False
        self._pod_name: str | None = None
        self._name_hash: str | None = None

    @property
    def commands(self) -> CommandExecutor:
        """None after the connection was closed."""
        commands: CommandExecutor = self._commands
        return commands

    @property
    def files(self) -> Filesystem:
        """None after the connection was closed."""
        files: Filesystem = self._files
        return files

    @property
    def is_active(self) -> bool:
        """Whether the connection was not closed."""
        return not self._is_closed

    def _object(self) -> Object:
        return self.k8s_helper.get_sandbox(self.sandbox_id, self.namespace) or {}

    def get_pod_name(self) -> str:
        """The name of the sandbox's Pod. It is looked up once for each connection."""
        if self._pod_name is None:
            annotations = metadata_of(self._object()).get("annotations") or {}
            self._pod_name = annotations.get(POD_NAME_ANNOTATION) or self.sandbox_id
        return self._pod_name

    def get_pod_ip(self) -> str | None:
        """The present address of the sandbox's Pod."""
        return select_pod_ip(status_of(self._object()).get("podIPs"))

    def get_service_fqdn(self) -> str | None:
        """The name of the sandbox's Service, if it has one."""
        name = status_of(self._object()).get("serviceFQDN")
        return name if isinstance(name, str) and name else None

    def get_sandbox_name_hash(self) -> str | None:
        """The hash in the label that selects the sandbox's Pod and its snapshots."""
        if self._name_hash is None:
            self._name_hash = extract_sandbox_name_hash(self._object())
        return self._name_hash

    def status(self) -> tuple[str, str]:  # type: ignore[override]
        """Returns `SandboxReady`, `SandboxNotReady` or `SandboxNotFound`, and a message."""
        found = self.k8s_helper.get_sandbox(self.sandbox_id, self.namespace)
        if found is None:
            return "SandboxNotFound", f'There is no Sandbox "{self.sandbox_id}"'
        ready = current_condition(found, "Ready")
        if ready is None:
            return "SandboxNotReady", "The controller has not reported the state of the Sandbox"
        return "SandboxReady" if ready.get("status") == "True" else "SandboxNotReady", ready.get("message", "")

    def close_connection(self) -> None:
        """Ends the connection. The sandbox keeps running. Later calls do nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        self._pod_name = None
        self._commands = self._files = None
        self.connector.close()
        if self.tracing_manager is not None:
            self.tracing_manager.end_lifecycle_span()
        logger.info('Closed the connection to sandbox "%s"', self.sandbox_id)

    def terminate(self) -> None:
        """Ends the connection and deletes the sandbox. A delete that fails can be repeated. Later calls do nothing."""
        self.close_connection()
        if self._is_deleted:
            return
        if self.claim_name:
            self.k8s_helper.delete_sandbox_claim(self.claim_name, self.namespace, expected_uid=self._identity.claim_uid)
        elif self._identity.is_owned:
            super().delete()
        self.claim_name = None
        self._is_deleted = True

    def delete(self, *, timeout: float | None = None) -> None:
        """Deletes the sandbox and ends the connection."""
        super().delete(timeout=timeout)
        self.claim_name = None
        self._is_deleted = True
        self.close_connection()

    def _become(self, identity: SandboxIdentity) -> None:
        """Makes this the handle of what the native methods of the client have created or found."""
        self._identity = identity
        self.connector.target = identity
        self._commands = CommandExecutor(self.connector, self.tracer, self.trace_service_name)
        self._files = Filesystem(self.connector, self.tracer, self.trace_service_name)

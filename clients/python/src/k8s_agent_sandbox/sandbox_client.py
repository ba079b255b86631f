"""The synchronous client."""

import atexit
from typing import Any, TypeVar

from ._sync.reference_client import ReferenceClient
from .models import SandboxConnectionConfig, SandboxTracerConfig
from .sandbox import Sandbox

T = TypeVar("T", bound=Sandbox)


class SandboxClient(ReferenceClient[T]):
    """Creates and finds sandboxes on a box or a cluster.

    Without a `connection_config`, it uses the router of the box on this machine if there is one, and `kubectl port-forward` to
    the router of the cluster if not. With `cleanup`, the sandboxes of this client are deleted when the program ends, except those
    with a `claim_name`. The end of a `with` block does the same.
    """

    sandbox_class: type[T] = Sandbox  # type: ignore[assignment]

    def __init__(
        self,
        connection_config: SandboxConnectionConfig | None = None,
        tracer_config: SandboxTracerConfig | None = None,
        cleanup: bool = False,
        api_client: Any | None = None,
    ) -> None:
        """`api_client` is an `ApiClient` of the package `kubernetes`, for another cluster than that of the kubeconfig."""
        super().__init__(connection_config, tracer_config, api_client)
        if cleanup:
            atexit.register(self._delete_automatic_sandboxes)

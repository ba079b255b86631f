"""The asynchronous client."""

import atexit
import sys
from typing import Any, TypeVar

from ._async.reference_client import AsyncReferenceClient
from .async_sandbox import AsyncSandbox
from .k8s_helper import K8sHelper
from .models import SandboxConnectionConfig, SandboxTracerConfig

T = TypeVar("T", bound=AsyncSandbox)


class AsyncSandboxClient(AsyncReferenceClient[T]):
    """Creates and finds sandboxes on a box or a cluster, for programs with asyncio.

    The connections are those of `SandboxClient`. With `cleanup`, which is the default, the sandboxes of this client are deleted
    when the program ends, except those with a `claim_name`. The end of an `async with` block does the same.
    """

    sandbox_class: type[T] = AsyncSandbox  # type: ignore[assignment]

    def __init__(
        self,
        connection_config: SandboxConnectionConfig | None = None,
        tracer_config: SandboxTracerConfig | None = None,
        cleanup: bool = True,
        api_client: Any | None = None,
    ) -> None:
        """`api_client` is an `ApiClient` of the package `kubernetes_asyncio`, for another cluster than that of the kubeconfig."""
        super().__init__(connection_config, tracer_config, api_client)
        if cleanup:
            atexit.register(self._clean_up_at_exit)

    def _clean_up_at_exit(self) -> None:
        """No event loop runs any more, so the synchronous helper deletes the claims."""
        if not self._tracked:
            return
        helper = K8sHelper(api_client=self.k8s_helper.injected_api_client)
        for (namespace, name), sandbox in list(self._tracked.items()):
            try:
                stop = getattr(sandbox.connector.strategy, "stop_at_exit", None)
                if stop is not None:
                    stop()
                if (namespace, name) not in self._explicit:
                    helper.delete_sandbox_claim(name, namespace)
            except Exception as error:
                print(f'Cannot delete sandbox "{name}" in namespace "{namespace}": {error}', file=sys.stderr)
        helper.close()

import shlex
from typing import Any

from k8s_agent_sandbox import sandbox, sandbox_client
from k8s_agent_sandbox.models import ExecutionResult


class Sandbox(sandbox.Sandbox):
    """A sandbox. `delete` removes it, and everything of `k8s_agent_sandbox.sandbox.Sandbox` works too."""

    def execute(self, command: str, timeout: float = 60, **options: Any) -> ExecutionResult:
        """Runs a command line and returns its output and exit code. It is split into words and run without a shell.

        `options` are those of `commands.run`.
        """
        return self.commands.run(shlex.split(command), timeout, **options)


class SandboxClient(sandbox_client.SandboxClient[Sandbox]):
    """Creates and finds sandboxes on a box or a cluster."""

    sandbox_class = Sandbox

    def create_sandbox(
        self,
        warmpool: str | None = None,
        namespace: str = "default",
        sandbox_ready_timeout: int = 180,
        labels: dict[str, str] | None = None,
        *,
        name: str | None = None,
        image: str | None = None,
        **options: Any,
    ) -> Sandbox:
        """Creates a sandbox of an image, or takes one from a pool, and waits until it can be used.

        With `image`, `options` are those of `create`; with `warmpool`, those of the other clients' `create_sandbox`.
        """
        if (image is None) == (warmpool is None):
            raise ValueError("Cannot create a sandbox: name either image or warmpool")
        if image is None:
            options = {**options, "claim_name": name} if name is not None else options
            return super().create_sandbox(warmpool or "", namespace, sandbox_ready_timeout, labels, **options)
        made = self.create(image=image, name=name, namespace=namespace, labels=labels, timeout=sandbox_ready_timeout, **options)
        assert isinstance(made, Sandbox)
        return made

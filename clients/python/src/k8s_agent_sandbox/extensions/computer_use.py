"""Sandboxes with an agent that uses a browser."""

from .._reference.results import legacy_result
from ..models import ExecutionResult
from ..sandbox import Sandbox
from ..sandbox_client import SandboxClient
from ..trace_manager import trace_span


class SandboxWithComputerUseSupport(Sandbox):
    """A sandbox whose runtime answers `POST /agent`."""

    @trace_span("agent_query")
    def agent(self, query: str, timeout: int = 60) -> ExecutionResult:
        """Gives the agent a task and returns what it printed."""
        if not self.is_active:
            raise ConnectionError("Cannot ask the agent: the connection is closed")
        return legacy_result(self.connector.send_request("POST", "agent", json={"query": query}, timeout=timeout))


class ComputerUseSandboxClient(SandboxClient[SandboxWithComputerUseSupport]):
    """Creates sandboxes with such an agent."""

    sandbox_class = SandboxWithComputerUseSupport

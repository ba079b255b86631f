"""Sandboxes in few words: create one with a name and an image, execute commands, delete it."""

from k8s_agent_sandbox.exceptions import SandboxError as SandboxError

from .client import Sandbox as Sandbox
from .client import SandboxClient as SandboxClient

__all__ = ["Sandbox", "SandboxClient", "SandboxError"]

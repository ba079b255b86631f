"""Clients for sandboxes with special runtimes."""

from .computer_use import ComputerUseSandboxClient, SandboxWithComputerUseSupport

__all__ = ["ComputerUseSandboxClient", "SandboxWithComputerUseSupport"]

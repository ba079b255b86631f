"""The handle of a sandbox."""

from ._sync.reference_sandbox import Sandbox as Sandbox

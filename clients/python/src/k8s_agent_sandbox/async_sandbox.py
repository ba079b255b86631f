"""The handle of a sandbox."""

from ._async.reference_sandbox import AsyncSandbox as AsyncSandbox

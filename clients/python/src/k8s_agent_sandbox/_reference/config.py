"""What `SandboxClient()` uses if no connection is given."""

from ..models import SandboxLocalTunnelConnectionConfig


class UndecidedConnectionConfig(SandboxLocalTunnelConnectionConfig):
    """The router of the box on this machine, or else the tunnel."""

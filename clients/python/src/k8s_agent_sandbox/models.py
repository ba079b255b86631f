"""Settings and results, as pydantic models."""

import re
import warnings
from datetime import UTC, datetime
from typing import Any, Literal, Self, Union

from pydantic import BaseModel, Field, field_validator, model_validator

_VARIABLE_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
_DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_OLD_MODES = {"service-dns": "in-cluster-service", "pod-ip": "in-cluster-pod-ip"}


def _port(value: int) -> int:
    if not 1 <= value <= 65535:
        raise ValueError(f"Port {value} is not between 1 and 65535")
    return value


class ExecutionResult(BaseModel):
    """The result of a command."""

    stdout: str = ""
    stderr: str = ""
    exit_code: int = -1
    timed_out: bool = False
    """The command was killed because it took longer than its limit."""
    signal: int | None = None
    """The number of the signal that ended the command. The legacy runtime reports it as a negative `exit_code` instead."""
    truncated: bool = False
    """The output was longer than the limit of the call, and its end is missing."""


class LegacyExecuteRequest(BaseModel):
    """The body of `POST /execute` of the legacy runtime."""

    command: str
    timeout_seconds: float | None = None


class FileEntry(BaseModel):
    """A file or directory in a listing of either runtime."""

    name: str
    size: int
    type: Literal["file", "directory"]
    modified: datetime
    """Always with a time zone."""
    mode: str | None = None
    """Permission bits as four octal digits. The legacy runtime does not report them."""

    @classmethod
    def from_legacy(cls, entry: dict[str, Any]) -> "FileEntry":
        """Reads an entry of `GET /list` of the legacy runtime."""
        modified = datetime.fromtimestamp(entry.get("mod_time", 0), tz=UTC)
        return cls(name=entry["name"], size=entry["size"], type=entry["type"], modified=modified)

    @classmethod
    def from_sandboxd(cls, entry: dict[str, Any]) -> "FileEntry":
        """Reads an entry of a directory listing of sandboxd."""
        modified = datetime.fromisoformat(entry["modified_at"].replace("Z", "+00:00"))
        known = {"name": entry["name"], "size": entry["size"], "type": entry["type"]}
        return cls(**known, modified=modified, mode=entry.get("mode"))


class SandboxClaimEnvVar(BaseModel):
    """An environment variable of a SandboxClaim."""

    name: str
    value: str
    container_name: str | None = Field(default=None, serialization_alias="containerName")

    @field_validator("name")
    @classmethod
    def validate_name(cls, v: str) -> str:
        """Applies the rule of the Kubernetes API server."""
        if not _VARIABLE_NAME.fullmatch(v):
            raise ValueError(f"Environment variable {v!r} must consist of letters, digits, '_', '-' and '.', not a digit first")
        if v == "." or v.startswith(".."):
            raise ValueError(f"Environment variable {v!r} must not be '.' and not start with '..'")
        return v


class SandboxDirectConnectionConfig(BaseModel):
    """Connects to a router at a known address."""

    api_url: str
    server_port: int = 8888
    extra_headers: dict[str, str] = Field(default_factory=dict, repr=False)
    """Sent with every request, for example `Authorization`. Not shown in the representation, because it may be secret."""
    client_cert: tuple[str, str] | None = None
    """The files of a client certificate and its key."""
    ca_cert: str | None = None
    """The file of a certificate authority. Default: those of the machine."""

    @field_validator("extra_headers")
    @classmethod
    def validate_extra_headers(cls, v: dict[str, str]) -> dict[str, str]:
        """Refuses the headers that select the sandbox."""
        for name in v:
            if name.lower().startswith("x-sandbox-"):
                raise ValueError(f"Header {name!r} is reserved: the client sets X-Sandbox-* itself")
        return v

    @model_validator(mode="after")
    def validate_tls_requires_https(self) -> Self:
        """Refuses certificates for an address where they have no effect."""
        if (self.client_cert or self.ca_cert) and not self.api_url.lower().startswith("https://"):
            raise ValueError("client_cert and ca_cert need an api_url that starts with https://")
        return self


class SandboxGatewayConnectionConfig(BaseModel):
    """Connects through a Gateway of the Gateway API, whose address is read from its status."""

    gateway_name: str
    gateway_namespace: str = "default"
    gateway_ready_timeout: int = 180
    server_port: int = 8888


class SandboxLocalTunnelConnectionConfig(BaseModel):
    """Connects through `kubectl port-forward` to the router."""

    port_forward_ready_timeout: int = 30
    server_port: int = 8888
    router_namespace: str = "agent-sandbox-system"

    @field_validator("router_namespace")
    @classmethod
    def validate_namespace(cls, v: str) -> str:
        """Refuses what is not the name of a namespace."""
        if not _DNS_LABEL.fullmatch(v):
            raise ValueError(f"{v!r} is not the name of a namespace")
        return v


class SandboxdPodTunnelConnectionConfig(BaseModel):
    """Connects to sandboxd through `kubectl port-forward` to the Pod of the sandbox, without a router."""

    rest_port: int = 8080
    grpc_port: int = 9090
    port_forward_ready_timeout: int = 30

    @field_validator("rest_port", "grpc_port")
    @classmethod
    def validate_port(cls, v: int) -> int:
        """Refuses what is not a port."""
        return _port(v)


class SandboxdInClusterConnectionConfig(BaseModel):
    """Connects to sandboxd from inside the cluster: by the name of the sandbox's Service or by the address of its Pod."""

    mode: Literal["in-cluster-service", "in-cluster-pod-ip"]
    rest_port: int = 8080
    grpc_port: int = 9090

    @field_validator("mode", mode="before")
    @classmethod
    def map_deprecated_mode(cls, v: object) -> object:
        """Accepts earlier names of the modes."""
        new = _OLD_MODES.get(v) if isinstance(v, str) else None
        if new is None:
            return v
        warnings.warn(f"Mode {v!r} is deprecated: use {new!r}", DeprecationWarning, stacklevel=3)
        return new

    @field_validator("rest_port", "grpc_port")
    @classmethod
    def validate_port(cls, v: int) -> int:
        """Refuses what is not a port."""
        return _port(v)

    @model_validator(mode="after")
    def validate_distinct_ports(self) -> Self:
        """Refuses the same port for both APIs."""
        if self.rest_port == self.grpc_port:
            raise ValueError("rest_port and grpc_port must be different")
        return self


class SandboxInClusterConnectionConfig(BaseModel):
    """Connects to the Pod of the sandbox from inside the cluster, or to its Service if the Pod has no known address."""

    server_port: int = 8888


SandboxConnectionConfig = Union[  # noqa: UP007
    SandboxDirectConnectionConfig,
    SandboxGatewayConnectionConfig,
    SandboxLocalTunnelConnectionConfig,
    SandboxInClusterConnectionConfig,
    SandboxdPodTunnelConnectionConfig,
    SandboxdInClusterConnectionConfig,
]


class AdditionalPodMetadata(BaseModel):
    """Labels and annotations for the Pod of a sandbox: `spec.additionalPodMetadata` of a claim."""

    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class SandboxTracerConfig(BaseModel):
    """Settings of OpenTelemetry."""

    enable_tracing: bool = False
    trace_service_name: str = "sandbox-client"

"""Refuses every connection that leaves this machine, and remembers it. Frameworks send telemetry unless told not to."""

from __future__ import annotations

import ipaddress
import sys
from typing import Any

#: The hosts that somebody tried to reach.
attempts: list[str] = []


def _is_local(host: Any) -> bool:
    name = host.decode() if isinstance(host, bytes) else str(host)
    if name in ("", "None", "localhost") or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _refuse(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event == "socket.connect" and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    else:
        return
    if not _is_local(host):
        attempts.append(str(host))
        raise PermissionError(f"A test tried to reach {host}")


def install() -> None:
    sys.addaudithook(_refuse)

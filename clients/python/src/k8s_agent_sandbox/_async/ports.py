from __future__ import annotations

import builtins
import json
from urllib.parse import urlsplit

from .._aio import traced
from .._core.deadline import Deadline
from .._core.identity import SandboxIdentity
from .._core.results import OpenPort
from ..exceptions import SandboxTimeoutError
from .rest import AsyncRest
from .router import AsyncRouter, AsyncRouterCall, refuse_unknown

_DEFAULT_TIMEOUT = 60.0
#: The router ends a request after some time. A wait is therefore several requests.
_LONGEST_WAIT = 20.0


class AsyncPorts:
    """The ports that programs in a sandbox listen on."""

    def __init__(self, router: AsyncRouter, target: SandboxIdentity) -> None:
        self._router = router
        self._target = target
        self._rest = AsyncRest(router, target)

    def url(self, port: int) -> str:
        """The address of a port through the router. Requests need a credential; for a browser use `login_url`."""
        parts = urlsplit(self._router.url)
        host = parts.hostname or ""
        is_address = host == "localhost" or ":" in host or host.replace(".", "").isdigit()
        place = f":{parts.port}" if parts.port is not None else ""
        domain = "localhost" if is_address else host
        return f"{parts.scheme}://{port}-{self._target.name}.{self._target.namespace}.{domain}{place}/"

    @traced("login_url")
    async def login_url(self, port: int, *, timeout: float | None = None) -> str:
        """A link that opens a port in a browser. It is valid for one minute and can be used once."""
        call = AsyncRouterCall(
            deadline=Deadline(timeout, _DEFAULT_TIMEOUT, f"Cannot create a login link for port {port}"),
            port=port,
            method="POST",
            path=f"/router/v1/namespaces/{self._target.namespace}/sandboxes/{self._target.name}/logins",
            body=json.dumps({"ports": [port]}).encode(),
            is_repeatable=True,
            refuse=refuse_unknown,
        )
        return str((await (await self._router.control(call)).json())["url"])

    @traced("list_ports")
    async def list(self, *, timeout: float | None = None) -> builtins.list[OpenPort]:
        """The ports that are open now."""
        deadline = Deadline(timeout, _DEFAULT_TIMEOUT, "Cannot list the ports")
        found = (await self._rest.json(deadline, "GET", "/ports")).get("ports") or ()
        return [OpenPort(wire["port"], wire["address"], wire["command"]) for wire in found]

    @traced("wait_for_port")
    async def wait(self, port: int, *, http: str | None = None, timeout: float | None = None) -> None:
        """Waits until a program listens on the port; with `http`, until it answers there with a status below 500.

        Default timeout: one minute.
        """
        deadline = Deadline(timeout, _DEFAULT_TIMEOUT, f"Cannot wait for port {port}")
        while True:
            wait = min(_LONGEST_WAIT, max(0.1, deadline.remaining - 0.5))
            query = {"wait": f"{wait:.1f}s", "http": http}
            found = await self._rest.json(deadline, "GET", f"/ports/{port}", query=query)
            if found.get("ready"):
                return
            if deadline.remaining < 0.6:
                raise SandboxTimeoutError(f"{deadline.doing}: {found.get('reason') or 'nothing listens there'}")

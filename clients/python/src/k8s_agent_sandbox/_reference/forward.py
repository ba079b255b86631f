"""`kubectl port-forward` as a child process."""

from __future__ import annotations

import os
import re
import subprocess
import threading
import time
from collections import deque
from collections.abc import Sequence

from ..exceptions import SandboxPortForwardError

_FORWARDING = re.compile(r"Forwarding from 127\.0\.0\.1:(\d+) -> (\d+)")
_GRACE_SECONDS = 2.0
_KEPT_LINES = 20

# kubectl does not notice that its parent was killed. The shell does: its standard input then ends.
_WITH_PARENT = 'exec 3<&0; "$@" </dev/null & child=$!; { read -r _ <&3; kill "$child"; } >/dev/null 2>&1 & wait "$child"'


class PortForward:
    """Forwards ports of a Pod or Service to free local ports until it is stopped, or until this program ends."""

    def __init__(self, target: str, ports: Sequence[int], namespace: str, flags: Sequence[str]) -> None:
        words = ["kubectl", "port-forward", target, *(f":{port}" for port in ports), "-n", namespace, *flags]
        self._target = target
        self._ports = ports
        self._local: dict[int, int] = {}
        self._said: deque[str] = deque(maxlen=_KEPT_LINES)
        self._changed = threading.Condition()
        self._has_ended = False
        command = ["/bin/sh", "-c", _WITH_PARENT, "sh", *words] if os.name == "posix" else words
        try:
            self.process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
            )
        except OSError as error:
            raise SandboxPortForwardError(f"Cannot start kubectl: {error}") from error
        threading.Thread(target=self._read, name="port-forward", daemon=True).start()

    def wait(self, timeout: float) -> list[int]:
        """Returns the local ports. Raises SandboxPortForwardError if kubectl ends first, and TimeoutError after the timeout."""
        end = time.monotonic() + timeout
        with self._changed:
            while not all(port in self._local for port in self._ports):
                if self._has_ended:
                    raise SandboxPortForwardError(f"Cannot forward ports of {self._target}: {self.said or 'kubectl has ended'}")
                if not self._changed.wait(max(0.0, end - time.monotonic())) and time.monotonic() >= end:
                    raise TimeoutError(f"Cannot forward ports of {self._target}: it took longer than {timeout:g} seconds")
            return [self._local[port] for port in self._ports]

    @property
    def is_alive(self) -> bool:
        return not self._has_ended

    @property
    def said(self) -> str:
        """The last lines that kubectl printed."""
        return " ".join(self._said)

    def stop(self) -> None:
        """Ends kubectl. Later calls do nothing."""
        if self.process.stdin is not None:
            try:
                self.process.stdin.close()
            except OSError:
                pass
        if os.name != "posix":
            self.process.terminate()
        try:
            self.process.wait(_GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _read(self) -> None:
        """kubectl prints a line for each connection, and waits if nobody reads them."""
        assert self.process.stdout is not None
        with self.process.stdout as lines:
            for line in lines:
                found = _FORWARDING.search(line)
                with self._changed:
                    if found is not None:
                        self._local[int(found[2])] = int(found[1])
                        self._changed.notify_all()
                    elif not line.startswith(("Forwarding from", "Handling connection")):
                        self._said.append(line.strip())
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

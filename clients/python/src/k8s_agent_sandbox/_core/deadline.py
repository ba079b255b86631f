from __future__ import annotations

import math
import time

from ..exceptions import SandboxArgumentError, SandboxTimeoutError


class Deadline:
    """The end of a call, for all the requests that it consists of.

    `doing` is the beginning of the error message, for example ``Cannot run the command``.
    """

    def __init__(self, timeout: float | None, default: float, doing: str) -> None:
        seconds = default if timeout is None else timeout
        if not seconds > 0:
            raise SandboxArgumentError(f"{doing}: timeout is {seconds} instead of a positive number")
        self.doing = doing
        self._seconds = seconds
        self._ends_at = time.monotonic() + seconds

    @property
    def remaining(self) -> float:
        """Seconds, at least 0."""
        return max(0.0, self._ends_at - time.monotonic())

    @property
    def is_over(self) -> bool:
        return self.remaining <= 0

    def check(self) -> None:
        """Raises if the deadline has passed."""
        if self.is_over:
            raise self.error()

    def error(self) -> SandboxTimeoutError:
        return SandboxTimeoutError(f"{self.doing}: it took longer than {self._seconds:g} seconds")

    def disarm(self) -> None:
        """Lets a stream that has been opened last longer than the deadline."""
        self._ends_at = math.inf


_LONGEST_CONNECT = 30.0


class SocketTimeouts(dict[str, float | None]):
    """The timeouts of a request, in the form of httpx: each step gets the time that is left when it starts."""

    def __init__(self, deadline: Deadline) -> None:
        super().__init__()
        self._deadline = deadline

    def get(self, key: str, default: float | None = None) -> float | None:  # type: ignore[override]
        remaining = self._deadline.remaining
        if key == "connect":
            # A host that does not answer is tried again.
            remaining = min(remaining, _LONGEST_CONNECT)
        # Zero would mean that the socket does not block.
        return None if remaining == math.inf else max(remaining, 0.001)

from __future__ import annotations

import math

from .._core.deadline import Deadline


class IdleTimeout(Deadline):
    """Limits each wait for the server instead of the whole request, so that large files have the time they need."""

    def __init__(self, seconds: float | None, doing: str) -> None:
        super().__init__(seconds, math.inf, doing)

    @property
    def remaining(self) -> float:
        return self._seconds

    @property
    def is_over(self) -> bool:
        return False

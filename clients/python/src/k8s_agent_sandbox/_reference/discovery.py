from __future__ import annotations

import time


class Discovery:
    """Measures how long it takes to find a connection."""

    def __init__(self, mode: str) -> None:
        self._mode = mode

    def __enter__(self) -> None:
        self._start = time.monotonic()

    def __exit__(self, kind: object, *_: object) -> None:
        from ..metrics import sandbox_client_discovery_latency_ms

        labels = sandbox_client_discovery_latency_ms.labels(mode=self._mode, status="success" if kind is None else "failure")
        labels.observe((time.monotonic() - self._start) * 1000)

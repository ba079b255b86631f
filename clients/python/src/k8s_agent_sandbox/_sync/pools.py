# Generated from _async/pools.py by tools/make_sync.py: do not edit.
from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx

#: httpcore looks at all connections and waiting requests of a pool for each request. With one large pool, a thousand
#: parallel commands need twice as much processor time.
POOL_SIZE = 16
_MOST_POOLS = 32


class Pool:
    def __init__(self, transport: httpx.HTTPTransport) -> None:
        self.transport = transport
        #: Requests whose response is not yet complete.
        self.active = 0


class Pools:
    """The connections to one server. Each running command has one; requests beyond 512 wait."""

    def __init__(self, make: Callable[[], httpx.HTTPTransport]) -> None:
        self._make = make
        self._pools: list[Pool] = []
        self._lock = threading.Lock()

    def take(self) -> Pool:
        """The pool for a request. The first ones are preferred: their connections are open."""
        with self._lock:
            found = next((pool for pool in self._pools if pool.active < POOL_SIZE), None)
            if found is None and len(self._pools) < _MOST_POOLS:
                found = Pool(self._make())
                self._pools.append(found)
            if found is None:
                found = min(self._pools, key=lambda pool: pool.active)
            found.active += 1
            return found

    def give_back(self, pool: Pool) -> None:
        with self._lock:
            pool.active -= 1

    def close(self) -> None:
        with self._lock:
            pools, self._pools = self._pools, []
        for pool in pools:
            pool.transport.close()

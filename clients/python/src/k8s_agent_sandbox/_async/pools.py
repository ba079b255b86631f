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


class AsyncPool:
    def __init__(self, transport: httpx.AsyncHTTPTransport) -> None:
        self.transport = transport
        #: Requests whose response is not yet complete.
        self.active = 0


class AsyncPools:
    """The connections to one server. Each running command has one; requests beyond 512 wait."""

    def __init__(self, make: Callable[[], httpx.AsyncHTTPTransport]) -> None:
        self._make = make
        self._pools: list[AsyncPool] = []
        self._lock = threading.Lock()

    def take(self) -> AsyncPool:
        """The pool for a request. The first ones are preferred: their connections are open."""
        with self._lock:
            found = next((pool for pool in self._pools if pool.active < POOL_SIZE), None)
            if found is None and len(self._pools) < _MOST_POOLS:
                found = AsyncPool(self._make())
                self._pools.append(found)
            if found is None:
                found = min(self._pools, key=lambda pool: pool.active)
            found.active += 1
            return found

    def give_back(self, pool: AsyncPool) -> None:
        with self._lock:
            pool.active -= 1

    async def close(self) -> None:
        with self._lock:
            pools, self._pools = self._pools, []
        for pool in pools:
            await pool.transport.aclose()

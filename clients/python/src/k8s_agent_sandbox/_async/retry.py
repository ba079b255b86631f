from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from .._aio import sleep
from .._core.deadline import Deadline
from .._core.failures import ConnectionLost, TransientError, as_transient, final, outcome_unknown
from ..exceptions import SandboxRequestError

T = TypeVar("T")

_FIRST_PAUSE = 0.05
_LONGEST_PAUSE = 2.0


async def retry(attempt: Callable[[int], Awaitable[T]], deadline: Deadline, *, is_repeatable: bool, is_read: bool = False) -> T:
    """Repeats a call until it succeeds, fails for good, or its deadline has passed. Then the last failure is reported.

    A call is repeatable if it has the same effect when it is sent twice: it only reads, or it describes the final state,
    or the server recognises its request id. Other calls are repeated only if the server has certainly not received them.
    A call that may have had an effect fails with `OutcomeUnknown`, unless it is a read, which has none.
    """

    def last(error: TransientError) -> SandboxRequestError:
        return outcome_unknown(error, deadline.doing) if was_sent else final(error)

    number = 0
    failure: TransientError | None = None
    was_sent = False
    while True:
        number += 1
        if deadline.is_over:
            raise deadline.error() if failure is None else last(failure) from failure
        try:
            return await attempt(number)
        except (TransientError, ConnectionLost) as error:
            failure = as_transient(error, deadline.doing)
        was_sent = was_sent or (failure.sent and not is_read)
        if failure.sent and not is_repeatable:
            raise outcome_unknown(failure, deadline.doing) from failure
        # Imported on first use: most calls do not fail.
        import random

        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** (number - 1)) * random.uniform(0.5, 1)
        if pause >= deadline.remaining:
            raise last(failure) from failure
        await sleep(pause)

"""A model that follows a script: it makes the given tool calls one after the other, then answers with all their results.

The models of the frameworks only translate. They keep no state: what comes next depends on the results that the framework sent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Call:
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Script:
    calls: Sequence[Call]
    #: Makes the final answer.
    answer: Callable[[Sequence[str]], str] = "\n".join

    def next(self, results: Sequence[str]) -> Call | str:
        """The next tool call, or the final answer."""
        return self.calls[len(results)] if len(results) < len(self.calls) else self.answer(results)


program = "print([n for n in range(2, 30) if all(n % d for d in range(2, n))])\n"

#: What the examples of the guide play.
example = Script(
    [
        Call("write_file", {"path": "primes.py", "content": program}),
        Call("run_command", {"command": "python3 primes.py"}),
    ]
)

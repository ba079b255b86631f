"""Spans of OpenTelemetry, if the program uses it. This package does not depend on it and never imports it first."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from types import TracebackType
from typing import Any

_SERVICE = "sandbox-client"
_is_inside: ContextVar[bool] = ContextVar("sandbox_client_span", default=False)


class _Operation:
    """One span. Operations inside of it get none, so that a call is one span."""

    def __init__(self, trace: Any, span: AbstractContextManager[Any]) -> None:
        self._trace = trace
        self._span = span

    def __enter__(self) -> None:
        self._token = _is_inside.set(True)
        self._current = self._span.__enter__()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        _is_inside.reset(self._token)
        if error is not None:
            # Not the message: it may contain paths and output.
            self._current.set_attribute("error.type", getattr(error, "reason", type(error).__name__))
            self._current.set_status(self._trace.Status(self._trace.StatusCode.ERROR))
        self._span.__exit__(kind, error, where)


def operation(name: str) -> AbstractContextManager[None]:
    """The span of a call. Does nothing unless the program has set a tracer provider."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is None or _is_inside.get():
        return nullcontext()
    tracer = trace.get_tracer(_SERVICE.replace("-", "_"))
    span = tracer.start_as_current_span(f"{_SERVICE}.{name}", record_exception=False, set_status_on_exception=False)
    return _Operation(trace, span)


def note(key: str, value: str | int | bool) -> None:
    """Adds an attribute to the span of the present call."""
    trace = sys.modules.get("opentelemetry.trace")
    if trace is not None and _is_inside.get():
        trace.get_current_span().set_attribute(key, value)


def trace_headers() -> dict[str, str]:
    """The W3C headers of the current span. Baggage is not sent: it may be private."""
    if "opentelemetry.trace" not in sys.modules:
        return {}
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    headers: dict[str, str] = {}
    TraceContextTextMapPropagator().inject(headers)
    return headers

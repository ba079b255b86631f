"""OpenTelemetry for programs that ask for it with `SandboxTracerConfig`. Without its packages, nothing is traced."""

import atexit
import functools
import json
import logging
import threading
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from .models import SandboxTracerConfig

logger = logging.getLogger(__name__)

__all__ = [  # noqa: F822
    "OPENTELEMETRY_AVAILABLE",
    "TraceContextTextMapPropagator",
    "TracerManager",
    "async_trace_span",
    "context",
    "create_tracer_manager",
    "initialize_tracer",
    "trace",
    "trace_span",
]

P = ParamSpec("P")
R = TypeVar("R")

_MISSING = "Cannot trace: install opentelemetry-sdk and opentelemetry-exporter-otlp"

_provider: Any = None
_provider_lock = threading.Lock()


class MockSpan:
    """A span that records nothing."""

    def is_recording(self) -> bool:
        return False

    def set_attribute(self, key: str, value: Any) -> None:
        pass

    def end(self) -> None:
        pass


class MockTracer:
    """A tracer that records nothing."""

    def start_as_current_span(self, *args: Any, **kwargs: Any) -> nullcontext[None]:
        return nullcontext()

    def start_span(self, *args: Any, **kwargs: Any) -> MockSpan:
        return MockSpan()


class TraceStub:
    """Stands in for `opentelemetry.trace`."""

    @staticmethod
    def get_current_span() -> MockSpan:
        return MockSpan()

    @staticmethod
    def set_tracer_provider(_: Any) -> None:
        pass

    @staticmethod
    def get_tracer(name: str, version: str | None = None) -> MockTracer:
        return MockTracer()

    @staticmethod
    def set_span_in_context(span: Any, context: Any = None) -> None:
        pass


class ContextStub:
    """Stands in for `opentelemetry.context`."""

    @staticmethod
    def attach(*args: Any, **kwargs: Any) -> None:
        pass

    @staticmethod
    def detach(*args: Any, **kwargs: Any) -> None:
        pass


class _PropagatorStub:
    """Stands in for OpenTelemetry's `TraceContextTextMapPropagator`."""

    def inject(self, carrier: dict[str, str], context: Any = None, setter: Any = None) -> None:
        pass


@functools.cache
def _telemetry() -> dict[str, Any]:
    """The parts of OpenTelemetry, imported at their first use because that takes longer than the rest of this package."""
    try:
        from opentelemetry import context, trace
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
    except ImportError:
        stubs = {"trace": TraceStub, "context": ContextStub, "TraceContextTextMapPropagator": _PropagatorStub}
        return {"OPENTELEMETRY_AVAILABLE": False, **stubs}
    real = {"trace": trace, "context": context, "TraceContextTextMapPropagator": TraceContextTextMapPropagator}
    return {"OPENTELEMETRY_AVAILABLE": True, **real}


def __getattr__(name: str) -> Any:
    if name in ("OPENTELEMETRY_AVAILABLE", "trace", "context", "TraceContextTextMapPropagator"):
        return _telemetry()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def initialize_tracer(service_name: str) -> None:
    """Makes spans of this process go to the OTLP exporter, unless the program has set a tracer provider itself.

    The first call sets the name of the service, for all.
    """
    global _provider
    telemetry = _telemetry()
    if not telemetry["OPENTELEMETRY_AVAILABLE"]:
        logger.error(_MISSING)
        return
    with _provider_lock:
        if _provider is not None:
            known = _provider.resource.attributes.get("service.name")
            if known != service_name:
                logger.warning("Cannot trace as %r: this process already traces as %r", service_name, known)
            return
        trace = telemetry["trace"]
        if not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            return
        try:
            _provider = _new_provider(service_name)
        except ImportError:
            logger.error(_MISSING)
            return
        trace.set_tracer_provider(_provider)
        atexit.register(_provider.shutdown)


def _new_provider(service_name: str) -> Any:
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import (  # type: ignore[import-not-found, unused-ignore]
        OTLPSpanExporter,
    )
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    provider = TracerProvider(resource=Resource(attributes={"service.name": service_name}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _span_of(instance: Any, suffix: str) -> Any:
    tracer = getattr(instance, "tracer", None)
    if not tracer:
        return nullcontext()
    return tracer.start_as_current_span(f"{getattr(instance, 'trace_service_name', 'sandbox-client')}.{suffix}")


def trace_span(span_suffix: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Makes a method run in a span `<self.trace_service_name>.<span_suffix>` of `self.tracer`, if that is set."""

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(method)
        def traced(*args: P.args, **kwargs: P.kwargs) -> R:
            with _span_of(args[0] if args else None, span_suffix):
                return method(*args, **kwargs)

        return traced

    return decorate


def async_trace_span(span_suffix: str) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Awaitable[R]]]:
    """As `trace_span`, for coroutines."""

    def decorate(method: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        @functools.wraps(method)
        async def traced(*args: P.args, **kwargs: P.kwargs) -> R:
            with _span_of(args[0] if args else None, span_suffix):
                return await method(*args, **kwargs)

        return traced

    return decorate


class TracerManager:
    """The tracer of a client, and a span that lasts as long as the client."""

    def __init__(self, service_name: str) -> None:
        telemetry = _telemetry()
        self.tracer = telemetry["trace"].get_tracer(service_name.replace("-", "_"))
        self.lifecycle_span_name = f"{service_name}.lifecycle"
        self.parent_span: Any | None = None
        self.context_token: Any | None = None
        self.propagator = telemetry["TraceContextTextMapPropagator"]()

    def start_lifecycle_span(self) -> None:
        """Starts the span and makes it the parent of the spans that follow in this thread or task."""
        if not self.tracer:
            return
        telemetry = _telemetry()
        self.parent_span = self.tracer.start_span(self.lifecycle_span_name)
        self.context_token = telemetry["context"].attach(telemetry["trace"].set_span_in_context(self.parent_span))

    def end_lifecycle_span(self) -> None:
        """Ends the span. Later calls do nothing."""
        token, self.context_token = self.context_token, None
        span, self.parent_span = self.parent_span, None
        if token:
            _telemetry()["context"].detach(token)
        if span:
            span.end()

    def get_trace_context_json(self) -> str:
        """Returns the headers of the current span as a JSON object, or an empty text outside spans. Baggage is not part of it."""
        carrier: dict[str, str] = {}
        self.propagator.inject(carrier)
        return json.dumps(carrier) if carrier else ""


def create_tracer_manager(config: "SandboxTracerConfig") -> tuple[TracerManager | None, Any | None]:
    """Returns a manager and its tracer, or two times None if tracing is off or impossible."""
    if not config.enable_tracing:
        return None, None
    if not _telemetry()["OPENTELEMETRY_AVAILABLE"]:
        logger.error(_MISSING)
        return None, None
    manager = TracerManager(config.trace_service_name)
    return manager, manager.tracer

from __future__ import annotations

import base64

import pytest
from fake_server import fake_server, in_turn, json_answer, refusal
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from sdks import both, with_sandbox

from k8s_agent_sandbox import SandboxError

DONE = json_answer({"exitCode": 3, "stdout": base64.b64encode(b"private").decode()})


@pytest.fixture(scope="module")
def exporter() -> InMemorySpanExporter:
    found = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(found))
    trace.set_tracer_provider(provider)
    return found


@both
def test_a_call_is_one_span_and_its_requests_carry_the_trace(sdk: str, exporter: InMemorySpanExporter) -> None:
    exporter.clear()
    with fake_server(in_turn(refusal("SandboxStarting", 503), DONE)) as router:
        with_sandbox(sdk, lambda sandbox: sandbox.commands.run("echo private"), router=router.url)
    (span,) = exporter.get_finished_spans()
    assert span.name == "sandbox-client.run"
    assert dict(span.attributes or {}) == {"sandbox.exit_code": 3}
    assert span.context is not None
    wanted = f"00-{span.context.trace_id:032x}-{span.context.span_id:016x}-{span.context.trace_flags:02x}"
    assert [received.headers.get("traceparent") for received in router.received] == [wanted, wanted]


@both
def test_a_call_inside_another_one_has_no_span_of_its_own(sdk: str, exporter: InMemorySpanExporter) -> None:
    exporter.clear()
    missing = json_answer({"code": "NOT_FOUND", "message": "private"}, 404)
    with fake_server(in_turn(missing)) as router:
        assert with_sandbox(sdk, lambda sandbox: sandbox.files.exists("private"), router=router.url) is False
    assert [span.name for span in exporter.get_finished_spans()] == ["sandbox-client.exists"]


@both
def test_a_failed_call_has_its_reason_and_nothing_private(sdk: str, exporter: InMemorySpanExporter) -> None:
    exporter.clear()
    with fake_server(in_turn(refusal("SandboxNotFound", 404))) as router, pytest.raises(SandboxError):
        with_sandbox(sdk, lambda sandbox: sandbox.files.read("private"), router=router.url)
    (span,) = exporter.get_finished_spans()
    assert dict(span.attributes or {}) == {"error.type": "NotFound"}
    assert span.status.status_code is trace.StatusCode.ERROR
    assert "private" not in span.to_json()

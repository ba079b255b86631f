"""Spans of OpenTelemetry, with the tracer provider of the program."""

import asyncio
import logging

import pytest
from conftest import AsyncHelper, Helper, result
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from k8s_agent_sandbox import trace_manager
from k8s_agent_sandbox.async_sandbox import AsyncSandbox
from k8s_agent_sandbox.models import SandboxDirectConnectionConfig, SandboxTracerConfig
from k8s_agent_sandbox.sandbox import Sandbox


@pytest.fixture(scope="module")
def provider():
    provider = TracerProvider()
    trace.set_tracer_provider(provider)
    return provider


@pytest.fixture
def spans(provider):
    exporter = InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return exporter.get_finished_spans


def test_a_command_is_one_span_and_its_request_belongs_to_it(server, spans):
    config, tracing = (
        SandboxDirectConnectionConfig(api_url=server.url),
        SandboxTracerConfig(enable_tracing=True, trace_service_name="my-agent"),
    )
    trace_manager.initialize_tracer("my-agent")
    sandbox = Sandbox("claim", "box-1", "team", config, tracing, Helper())
    server.answers = [result(exit_code=3)]
    sandbox.commands.run("A=b /usr/bin/pay --card 1234")
    [span] = spans()
    assert span.name == "my-agent.run"
    assert dict(span.attributes) == {"sandbox.command.executable": "pay", "sandbox.exit_code": 3}
    assert format(span.context.trace_id, "032x") in server.requests[0][2]["traceparent"]


def test_asynchronous_calls_have_spans_too(server, spans):
    async def use():
        tracing = SandboxTracerConfig(enable_tracing=True)
        sandbox = AsyncSandbox(
            "claim", "box-1", "team", SandboxDirectConnectionConfig(api_url=server.url), tracing, AsyncHelper()
        )
        server.answers = [(200, {}, b"content")]
        assert await sandbox.files.read("a") == b"content"

    asyncio.run(use())
    [span] = spans()
    assert (span.name, dict(span.attributes)) == ("sandbox-client.read", {"sandbox.file.path": "a", "sandbox.file.size": 7})


def test_nothing_is_traced_by_default(server, spans):
    sandbox = Sandbox("claim", "box-1", "team", SandboxDirectConnectionConfig(api_url=server.url), k8s_helper=Helper())
    server.answers = [result()]
    sandbox.commands.run("echo")
    assert spans() == ()


def test_importing_configures_no_logging():
    assert (
        logging.getLogger("k8s_agent_sandbox").handlers == [] and logging.getLogger("k8s_agent_sandbox").level == logging.NOTSET
    )

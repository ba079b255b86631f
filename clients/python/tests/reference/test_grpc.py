"""Commands with a sandboxd that has only gRPC, as the reference's."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from conftest import AsyncHelper, Helper

from k8s_agent_sandbox._reference.process_messages import execute_request, execute_result
from k8s_agent_sandbox.async_sandbox import AsyncSandbox
from k8s_agent_sandbox.exceptions import SandboxRequestError
from k8s_agent_sandbox.models import SandboxdInClusterConnectionConfig
from k8s_agent_sandbox.sandbox import Sandbox

# As protoc encodes ExecuteRequest(config=ProcessConfig(command=["/bin/sh", "-c", "pay"], env_vars={"A": "b"}, cwd="work")).
REQUEST = b"\x0a\x20\x0a\x07/bin/sh\x0a\x02-c\x0a\x03pay\x12\x06\x0a\x01A\x12\x01b\x1a\x04work"
# ExecuteResponse(exit_code=3, stdout=b"out", stderr=b"\xff").
RESPONSE = b"\x08\x03\x12\x03out\x1a\x01\xff"


class Daemon(grpc.GenericRpcHandler):
    """Keeps the requests and answers with `answer`."""

    def __init__(self):
        self.requests = []
        self.answer = lambda context: RESPONSE

    def service(self, call):
        def handle(request, context):
            self.requests.append((call.method, request))
            return self.answer(context)

        return grpc.unary_unary_rpc_method_handler(handle)


@pytest.fixture
def daemon(monkeypatch):
    monkeypatch.setattr(Helper, "addresses", ("127.0.0.1",))
    daemon = Daemon()
    server = grpc.server(ThreadPoolExecutor(4), handlers=[daemon])
    daemon.port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield daemon
    server.stop(None)


def config_of(daemon):
    return SandboxdInClusterConnectionConfig(mode="in-cluster-pod-ip", grpc_port=daemon.port)


def test_a_command_is_sent_with_grpc(daemon):
    sandbox = Sandbox("claim", "box-1", "team", config_of(daemon), k8s_helper=Helper())
    found = sandbox.commands.run("pay", env={"A": "b"}, cwd="work")
    assert (found.stdout, found.stderr, found.exit_code) == ("out", "\N{REPLACEMENT CHARACTER}", 3)
    assert daemon.requests == [("/process.v1.ProcessService/Execute", REQUEST)]


def test_asyncio_does_the_same(daemon):
    async def use():
        sandbox = AsyncSandbox("claim", "box-1", "team", config_of(daemon), k8s_helper=AsyncHelper())
        assert (await sandbox.commands.run("pay", env={"A": "b"}, cwd="work")).exit_code == 3
        await sandbox.close_connection()

    asyncio.run(use())
    assert daemon.requests == [("/process.v1.ProcessService/Execute", REQUEST)]


def test_a_failed_command_is_not_sent_again(daemon):
    daemon.answer = lambda context: context.abort(grpc.StatusCode.UNAVAILABLE, "busy")
    sandbox = Sandbox("claim", "box-1", "team", config_of(daemon), k8s_helper=Helper())
    with pytest.raises(SandboxRequestError) as failed:
        sandbox.commands.run("pay")
    assert failed.value.server_reason == "UNAVAILABLE" and len(daemon.requests) == 1


def test_a_limit_of_the_command_is_a_result_and_one_of_the_call_an_error(daemon):
    daemon.answer = lambda context: time.sleep(0.5) or RESPONSE
    sandbox = Sandbox("claim", "box-1", "team", config_of(daemon), k8s_helper=Helper())
    found = sandbox.commands.run("sleep", command_timeout=0.1)
    assert (found.timed_out, found.exit_code) == (True, 124)
    with pytest.raises(TimeoutError):
        sandbox.commands.run("sleep", timeout=0.1)


def test_long_words_and_negative_codes_are_encoded():
    request = execute_request(["x" * 300], None, None)
    assert request[:6] == b"\x0a\xaf\x02\x0a\xac\x02" and len(request) == 306
    assert execute_result(b"\x08" + b"\xff" * 9 + b"\x01").exit_code == -1
    assert execute_result(b"\x28\x01").exit_code == 0


@pytest.mark.parametrize("message", [b"\x12\x05a", b"\x08", b"\x0d\x00\x00\x00\x00", b"\x0a\x01a", b"\xff" * 12])
def test_other_messages_are_refused(message):
    with pytest.raises(ValueError):
        execute_result(message)

"""What goes over the wire, seen by a server of the test. No box is needed."""

import asyncio
import io
import json

import pytest
from conftest import AsyncHelper, Helper, result

from k8s_agent_sandbox.async_sandbox import AsyncSandbox
from k8s_agent_sandbox.exceptions import SandboxRequestError
from k8s_agent_sandbox.models import SandboxDirectConnectionConfig, SandboxInClusterConnectionConfig
from k8s_agent_sandbox.sandbox import Sandbox

SECRET = "a-secret-token"


@pytest.fixture
def sandbox(server):
    config = SandboxDirectConnectionConfig(api_url=server.url, extra_headers={"Authorization": f"Bearer {SECRET}"})
    sandbox = Sandbox("claim", "box-1", "team", config, k8s_helper=Helper())
    yield sandbox
    sandbox.close_connection()


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr("k8s_agent_sandbox._sync.connector.BACKOFF_FACTOR", 0.01)
    monkeypatch.setattr("k8s_agent_sandbox._async.connector.BACKOFF_FACTOR", 0.01)


def test_a_command_names_the_sandbox_its_port_and_its_limit(server, sandbox):
    server.answers = [result(stdout="hi\n", exit_code=3)]
    found = sandbox.commands.run("echo hi", timeout=7, command_timeout=2.5)
    assert (found.stdout, found.exit_code, found.timed_out) == ("hi\n", 3, False)
    [(method, path, headers, body)] = server.requests
    assert (method, path) == ("POST", "/execute")
    assert json.loads(body) == {"command": "echo hi", "timeout_seconds": 2.5}
    sent = {name: headers.get(f"x-sandbox-{name}") for name in ("id", "namespace", "port", "timeout", "pod-ip")}
    assert sent == {"id": "box-1", "namespace": "team", "port": "8888", "timeout": "12.5", "pod-ip": "10.0.0.7"}
    assert headers["authorization"] == f"Bearer {SECRET}"


@pytest.mark.parametrize("answer", [(502, {}, b"bad gateway"), (503, {}, b""), (0, {}, b"")])
def test_a_command_is_never_sent_twice(server, sandbox, answer):
    server.answers = [answer, result()]
    with pytest.raises(SandboxRequestError) as failed:
        sandbox.commands.run("pay")
    assert len(server.requests) == 1
    assert failed.value.status_code == (answer[0] or None)
    assert failed.value.reason == ("OutcomeUnknown" if answer[0] == 0 else "Internal")


@pytest.mark.parametrize("answer", [(502, {}, b""), (0, {}, b"")])
def test_a_read_is_repeated_and_reports_its_last_status(server, sandbox, answer):
    server.answers = [answer, answer, (200, {}, b"content")]
    assert sandbox.files.read("a") == b"content"
    assert len(server.requests) == 3
    server.requests.clear()
    server.answers = [(503, {}, b"")]
    with pytest.raises(SandboxRequestError) as failed:
        sandbox.files.read("a")
    assert failed.value.status_code == 503 and len(server.requests) == 6


def test_a_stream_is_sent_once(server, sandbox):
    server.answers = [(502, {}, b"")]
    with pytest.raises(SandboxRequestError):
        sandbox.files.write("a", io.BytesIO(b"x" * 100_000))
    assert len(server.requests) == 1 and server.requests[0][3].count(b"x") >= 100_000


def test_redirects_are_refused(server, sandbox):
    server.answers = [(302, {"Location": "http://example.com/"}, b"")]
    with pytest.raises(SandboxRequestError) as failed:
        sandbox.files.read("a")
    assert failed.value.status_code == 302 and len(server.requests) == 1


def test_errors_and_settings_do_not_show_the_credential(server, sandbox, caplog):
    caplog.set_level("DEBUG")
    server.answers = [(401, {}, b"no")]
    with pytest.raises(SandboxRequestError) as failed:
        sandbox.commands.run("echo")
    assert failed.value.status_code == 401
    shown = f"{failed.value!r} {failed.value} {sandbox.connection_config!r} {caplog.text}"
    assert SECRET not in shown


def test_a_credential_in_the_address_becomes_a_header(server):
    address = server.url.replace("http://", f"http://token:{SECRET}@")
    sandbox = Sandbox("claim", "box-1", "team", SandboxDirectConnectionConfig(api_url=address), k8s_helper=Helper())
    server.answers = [(404, {}, b"")]
    with pytest.raises(SandboxRequestError) as failed:
        sandbox.files.read("a")
    assert server.requests[0][2]["authorization"].startswith("Basic ")
    assert SECRET not in str(failed.value)


def test_inside_a_cluster_requests_go_to_the_pod_without_routing_headers(server, monkeypatch):
    monkeypatch.setattr(Helper, "addresses", ("127.0.0.1",))
    config = SandboxInClusterConnectionConfig(server_port=server.server.server_port)
    sandbox = Sandbox("claim", "box-1", "team", config, k8s_helper=Helper())
    server.answers = [result(stdout="direct")]
    assert sandbox.commands.run("echo").stdout == "direct"
    assert not [name for name in server.requests[0][2] if name.startswith("x-sandbox-")]


def test_listings_and_names_with_odd_characters(server, sandbox):
    server.answers = [(200, {}, json.dumps([{"name": "a", "size": 1, "type": "file", "mod_time": 2.5}]).encode())]
    [entry] = sandbox.files.list("a b/ü?%#")
    assert (entry.name, entry.modified.timestamp(), entry.mode) == ("a", 2.5, None)
    assert server.requests[0][1] == "/list/a%20b%2F%C3%BC%3F%25%23"
    server.answers = [(200, {}, b"{}")]
    sandbox.files.write('say "hi".txt', b"x")
    assert b'filename="say %22hi%22.txt"' in server.requests[1][3]


@pytest.mark.parametrize("path", ["", "  ", ".", "/", "../x", "a/../../x", "a\0b", "a\nb"])
def test_paths_that_leave_the_root_are_refused_before_anything_is_sent(server, sandbox, path):
    for call in (lambda: sandbox.files.read(path), lambda: sandbox.files.write(path, b"")):
        with pytest.raises(ValueError):
            call()
    assert server.requests == []


def test_a_download_stops_at_its_limit(server, sandbox):
    server.answers = [(200, {}, b"x" * 100)]
    file = io.BytesIO()
    with pytest.raises(RuntimeError):
        sandbox.files.read_to("a", file, max_bytes=10)
    assert file.getvalue() == b""
    assert sandbox.files.read_to("a", file, max_bytes=100) == 100 and len(file.getvalue()) == 100


def test_a_closed_handle_has_no_engines(sandbox):
    sandbox.close_connection()
    assert (sandbox.commands, sandbox.files, sandbox.is_active) == (None, None, False)


def test_the_asynchronous_handle_sends_the_same(server):
    async def use():
        config = SandboxDirectConnectionConfig(api_url=server.url, extra_headers={"Authorization": f"Bearer {SECRET}"})
        sandbox = AsyncSandbox("claim", "box-1", "team", config, k8s_helper=AsyncHelper())
        server.answers = [result(stdout="one"), (502, {}, b""), (200, {}, b"content"), (502, {}, b"")]
        assert (await sandbox.commands.run("echo")).stdout == "one"
        assert await sandbox.files.read("a") == b"content"
        with pytest.raises(SandboxRequestError):
            await sandbox.commands.run("echo")
        await sandbox.close_connection()

    asyncio.run(use())
    assert [path for _, path, _, _ in server.requests] == ["/execute", "/download/a", "/download/a", "/execute"]
    assert server.requests[0][2]["x-sandbox-pod-ip"] == "10.0.0.7"

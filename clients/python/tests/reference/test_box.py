"""What our package does beyond the published one, against a box. KUBECONFIG is that of a user who may `edit` one namespace."""

import asyncio
import io
import os
import signal
import subprocess
import sys
import time

import pytest

from k8s_agent_sandbox import AsyncSandboxClient, SandboxClient
from k8s_agent_sandbox.exceptions import (
    SandboxClaimFailedError,
    SandboxNotFoundError,
    SandboxRequestError,
)
from k8s_agent_sandbox.models import ExecutionResult, SandboxdPodTunnelConnectionConfig, SandboxLocalTunnelConnectionConfig
from k8s_agent_sandbox.sandbox import Sandbox

NAMESPACE = os.environ.get("SANDBOX_NAMESPACE", "")
POOL = os.environ.get("SANDBOX_POOL", "")

pytestmark = pytest.mark.skipif(not NAMESPACE, reason="needs a box")


@pytest.fixture(scope="module")
def client():
    client = SandboxClient()
    yield client
    client.delete_all()
    client.close()


@pytest.fixture(scope="module")
def sandbox(client):
    return client.create_sandbox(POOL, namespace=NAMESPACE)


def test_a_box_on_this_machine_needs_no_kubectl(sandbox, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert sandbox.commands.run("echo hello").stdout == "hello\n"
    assert type(sandbox.connector.strategy).__name__ == "BoxConnectionStrategy"


def test_variables_directories_and_lists_use_sandboxd(sandbox):
    sandbox.files.write("work/here", "")
    assert sandbox.commands.run("echo $NAME | tr a-z A-Z", env={"NAME": "ann"}).stdout == "ANN\n"
    assert sandbox.commands.run("ls", cwd="work").stdout == "here\n"
    assert sandbox.commands.run(["printf", "%s", "$NAME"]).stdout == "$NAME"
    assert sandbox.commands.run("cat", stdin="typed").stdout == "typed"
    late = sandbox.commands.run(["sh", "-c", "echo started; sleep 30"], command_timeout=1)
    assert (late.timed_out, late.exit_code, late.stdout) == (True, 124, "started\n")
    with pytest.raises(ValueError):
        sandbox.commands.run("echo", env={"A=B": "c"})


def test_files_are_deleted(sandbox):
    sandbox.files.write("old/one", "1")
    with pytest.raises(SandboxRequestError) as refused:
        sandbox.files.delete("old")
    assert refused.value.status_code == 409
    sandbox.files.delete("old", recursive=True)
    assert not sandbox.files.exists("old")
    with pytest.raises(SandboxRequestError) as missing:
        sandbox.files.delete("old")
    assert missing.value.status_code == 404


def test_files_are_streamed(sandbox):
    content = os.urandom(3 * 1024 * 1024)
    sandbox.files.write("blob", io.BytesIO(content))
    file = io.BytesIO()
    assert sandbox.files.read_to("blob", file) == len(content) and file.getvalue() == content


def test_handles_have_the_native_methods(sandbox):
    with sandbox.commands.start("echo begun; read line; echo $line") as process:
        process.write("typed\n")
        assert "".join(piece.text for piece in process.output()) == "begun\ntyped\n"
        assert process.wait().exit_code == 0
    assert sandbox.usage().memory_bytes > 0
    assert sandbox.files.stat("blob").size > 0
    assert sandbox.name == sandbox.sandbox_id


def test_the_client_has_the_native_methods(client):
    with client.create(image="host", namespace=NAMESPACE, runtime_class="runc") as made:
        assert isinstance(made, Sandbox) and made.claim_name is None
        assert made.commands.run("echo native").stdout == "native\n"
        assert made.name in [each.name for each in client.list(namespace=NAMESPACE)]
        assert client.get(made.name, namespace=NAMESPACE).status()[0] == "SandboxReady"
    assert made.status()[0] == "SandboxNotFound"


def test_a_failed_lookup_deletes_nothing(client, monkeypatch):
    made = client.create_sandbox(POOL, namespace=NAMESPACE)
    name = made.claim_name

    def fail(*_, **__):
        raise SandboxRequestError("The API server is busy", status_code=503, reason="Unreachable")

    with monkeypatch.context() as patch:
        patch.setattr(client.k8s_helper, "resolve_sandbox_name", fail)
        with pytest.raises(SandboxNotFoundError) as failed:
            client.get_sandbox(name, namespace=NAMESPACE)
    assert failed.value.status == 503
    assert client.get_sandbox(name, namespace=NAMESPACE).commands.run("echo here").stdout == "here\n"
    client.delete_sandbox(name, namespace=NAMESPACE)
    assert name not in client.list_all_sandboxes(namespace=NAMESPACE)


def test_a_delete_reports_failures_and_accepts_what_is_gone(client):
    client.delete_sandbox("no-such-claim", namespace=NAMESPACE)
    with pytest.raises(SandboxRequestError) as refused:
        client.delete_sandbox("any", namespace="kube-system")
    assert refused.value.status_code == 403


def test_a_claim_that_failed_is_reported_at_once_and_deleted(client):
    with pytest.raises(SandboxClaimFailedError) as failed:
        client.create_sandbox(POOL, namespace=NAMESPACE, labels={"test": "failed"}, pod_labels={"example.com/team": "blue"})
    assert failed.value.server_reason == "InvalidMetadata"
    assert client.list_all_sandboxes(namespace=NAMESPACE, label_selector="test=failed") == []


def test_a_named_claim_is_adopted_and_stays():
    options = {"namespace": NAMESPACE, "claim_name": "mine", "adopt_existing": True}
    with SandboxClient() as first:
        one = first.create_sandbox(POOL, **options)
        one.files.write("kept", "yes")
    with SandboxClient() as second:
        two = second.create_sandbox(POOL, **options)
        assert two.sandbox_id == one.sandbox_id and two.files.read("kept") == b"yes"
        with pytest.raises(ValueError):
            second.create_sandbox("other-pool", **options)
        second.delete_sandbox("mine", namespace=NAMESPACE)


def test_asyncio_without_settings():
    async def use():
        async with AsyncSandboxClient() as client:
            sandbox = await client.create_sandbox(POOL, namespace=NAMESPACE)
            results = await asyncio.gather(*(sandbox.commands.run(f"echo {number}") for number in range(5)))
            assert [result.stdout for result in results] == [f"{number}\n" for number in range(5)]
            assert (await sandbox.commands.run("echo $A", env={"A": "b"})).stdout == "b\n"
            return sandbox.claim_name

    name = asyncio.run(use())
    with SandboxClient() as client:
        assert name not in client.list_all_sandboxes(namespace=NAMESPACE)


def test_a_cancelled_create_leaves_nothing(monkeypatch):
    async def use():
        async with AsyncSandboxClient() as client:
            is_waiting = asyncio.Event()

            async def wait_forever(*_, **__):
                is_waiting.set()
                await asyncio.Event().wait()

            monkeypatch.setattr(client.k8s_helper, "wait_for_claim_ready", wait_forever)
            task = asyncio.ensure_future(client.create_sandbox(POOL, namespace=NAMESPACE, labels={"test": "cancel"}))
            await is_waiting.wait()
            assert await client.list_all_sandboxes(NAMESPACE, label_selector="test=cancel") != []
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await client.list_all_sandboxes(NAMESPACE, label_selector="test=cancel") == []

    asyncio.run(use())


def test_the_mode_for_sandboxd_goes_through_the_router_of_a_box(sandbox):
    client = SandboxClient(SandboxdPodTunnelConnectionConfig())
    attached = client.get_sandbox(sandbox.claim_name, namespace=NAMESPACE)
    assert attached.connector.is_sandboxd()
    assert attached.commands.run("echo one | tr a-z A-Z; exit 3") == ExecutionResult(stdout="ONE\n", exit_code=3)
    attached.files.write("daemon/a file", b"\x00\xff")
    assert attached.files.read("daemon/a file") == b"\x00\xff"
    [entry] = attached.files.list("daemon")
    assert (entry.name, entry.size, entry.mode) == ("a file", 2, "0644")
    assert attached.files.exists("daemon") and not attached.files.exists("daemon/nothing")
    attached.files.delete("daemon", recursive=True)
    assert not attached.files.exists("daemon")
    late = attached.commands.run("echo started; sleep 30", command_timeout=1)
    assert (late.timed_out, late.exit_code) == (True, 124)
    client.close()


PROGRAM_THAT_FORGETS = f"""
import asyncio
from k8s_agent_sandbox import AsyncSandboxClient

async def use():
    client = AsyncSandboxClient()
    print((await client.create_sandbox({POOL!r}, namespace={NAMESPACE!r})).claim_name)

asyncio.run(use())
"""


def test_the_end_of_an_asynchronous_program_deletes_its_sandboxes(client):
    name = subprocess.run([sys.executable, "-c", PROGRAM_THAT_FORGETS], capture_output=True, text=True, check=True).stdout.strip()
    assert name.startswith("sandbox-claim-")
    assert name not in client.list_all_sandboxes(namespace=NAMESPACE)


PROGRAM_WITH_TUNNEL = """
import sys, time
from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.models import SandboxLocalTunnelConnectionConfig

sandbox = SandboxClient(SandboxLocalTunnelConnectionConfig()).get_sandbox(sys.argv[1], namespace=sys.argv[2])
sandbox.commands.run("echo")
print(sandbox.connector.strategy.port_forward_process.pid, flush=True)
time.sleep(60)
"""


def test_a_killed_program_leaves_no_port_forward(sandbox):
    words = [sys.executable, "-c", PROGRAM_WITH_TUNNEL, sandbox.claim_name, NAMESPACE]
    program = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    group = int(program.stdout.readline())
    program.send_signal(signal.SIGKILL)
    program.wait()
    children = subprocess.run(["ps", "-o", "pid=", "--pid", str(group), "--ppid", str(group)], capture_output=True, text=True)
    for pid in [group, *map(int, children.stdout.split())]:
        while os.path.exists(f"/proc/{pid}"):
            time.sleep(0.05)


def test_a_tunnel_is_made_again(sandbox):
    client = SandboxClient(SandboxLocalTunnelConnectionConfig())
    attached = client.get_sandbox(sandbox.claim_name, namespace=NAMESPACE)
    assert attached.commands.run("echo one").stdout == "one\n"
    attached.connector.strategy.port_forward_process.kill()
    attached.connector.strategy.port_forward_process.wait()
    assert attached.commands.run("echo two").stdout == "two\n"
    assert attached.commands.run("echo $A", env={"A": "through the tunnel"}).stdout == "through the tunnel\n"
    client.close()

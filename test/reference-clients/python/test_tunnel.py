"""The default mode of the synchronous client."""

import os
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest
from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.exceptions import (
    SandboxNotFoundError,
    SandboxRequestError,
    SandboxWarmPoolNotFoundError,
)
from k8s_agent_sandbox.models import SandboxLocalTunnelConnectionConfig

from conftest import NAMESPACE, POOL, needs_1_0


def test_runs_a_command(sandbox):
    result = sandbox.commands.run("echo hello")
    assert (result.stdout, result.stderr, result.exit_code) == ("hello\n", "", 0)


def test_reports_the_exit_code_and_the_error_output(sandbox):
    result = sandbox.commands.run("sh -c 'echo wrong >&2; exit 3'")
    assert (result.stdout, result.stderr, result.exit_code) == ("", "wrong\n", 3)


def test_reports_a_program_that_does_not_exist(sandbox):
    result = sandbox.commands.run("no-such-program")
    assert result.exit_code != 0 and "no-such-program" in result.stderr


@needs_1_0
def test_ends_a_command_after_its_time_limit(sandbox):
    result = sandbox.commands.run("sh -c 'echo started; sleep 30'", command_timeout=1)
    assert result.timed_out and result.exit_code != 0


def test_writes_reads_and_lists_files(sandbox):
    sandbox.files.write("data/notes.txt", "text: äöü")
    assert sandbox.files.read("data/notes.txt") == "text: äöü".encode()
    assert [(entry.name, entry.type, entry.size) for entry in sandbox.files.list("data")] == [("notes.txt", "file", 12)]
    assert sandbox.files.exists("data/notes.txt") and not sandbox.files.exists("data/nothing")
    assert "data" in [entry.name for entry in sandbox.files.list(".") if entry.type == "directory"]


def test_transfers_binary_files(sandbox):
    content = os.urandom(5 * 1024 * 1024)
    sandbox.files.write("blob", content)
    assert sandbox.files.read("blob") == content


def test_reports_a_missing_file(sandbox):
    with pytest.raises(SandboxRequestError) as missing:
        sandbox.files.read("nothing")
    assert missing.value.status_code == 404
    # The tunnel still works.
    assert sandbox.commands.run("echo again").stdout == "again\n"


def test_runs_commands_in_parallel(sandbox):
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda number: sandbox.commands.run(f"echo {number}").stdout, range(24)))
    assert results == [f"{number}\n" for number in range(24)]


def test_shows_the_status(sandbox):
    assert sandbox.status()[0] == "SandboxReady"
    assert sandbox.get_pod_name() and sandbox.get_pod_ip() and sandbox.get_sandbox_name_hash()


def test_lists_sandboxes(tunnel, sandbox):
    assert (NAMESPACE, sandbox.claim_name) in tunnel.list_active_sandboxes()
    assert sandbox.claim_name in tunnel.list_all_sandboxes(namespace=NAMESPACE)


def test_attaches_to_a_sandbox_of_another_client(sandbox):
    sandbox.files.write("kept", "from the first client")
    other = SandboxClient()
    attached = other.get_sandbox(sandbox.claim_name, namespace=NAMESPACE)
    assert attached.files.read("kept") == b"from the first client"
    attached.close_connection()
    assert not attached.is_active and sandbox.commands.run("echo open").stdout == "open\n"


def test_suspends_and_resumes(tunnel, sandbox):
    """The client has no method for this; users patch the Sandbox, as the reference documents it."""
    api = tunnel.k8s_helper.custom_objects_api

    def set_mode(mode):
        place = dict(group="agents.x-k8s.io", version="v1beta1", namespace=NAMESPACE, plural="sandboxes")
        api.patch_namespaced_custom_object(**place, name=sandbox.sandbox_id, body={"spec": {"operatingMode": mode}})

    sandbox.files.write("survives", "yes")
    set_mode("Suspended")
    with pytest.raises(SandboxRequestError) as refused:
        for _ in range(1000):
            sandbox.commands.run("echo")
    assert refused.value.status_code in (409, 502)
    set_mode("Running")
    tunnel.k8s_helper.wait_for_sandbox_ready(sandbox.sandbox_id, NAMESPACE, 60)
    assert sandbox.files.read("survives") == b"yes"


def test_passes_options_to_the_sandbox(tunnel):
    # Another version of the client may run this test in the same namespace.
    team = f"blue-{uuid.uuid4().hex[:8]}"
    made = tunnel.create_sandbox(
        POOL, namespace=NAMESPACE, labels={"team": team}, shutdown_after_seconds=3600, pod_labels={"sandbox.users.io/team": "blue"}
    )
    try:
        assert tunnel.list_all_sandboxes(namespace=NAMESPACE, label_selector=f"team={team}") == [made.claim_name]
        assert made.commands.run("echo hello").stdout == "hello\n"
    finally:
        tunnel.delete_sandbox(made.claim_name, namespace=NAMESPACE)
    assert not made.is_active
    assert made.claim_name not in tunnel.list_all_sandboxes(namespace=NAMESPACE)


@needs_1_0
def test_sets_environment_variables_and_cleans_up():
    with SandboxClient() as client:
        made = client.create_sandbox(POOL, namespace=NAMESPACE, env={"GREETING": "hello"})
        assert made.commands.run("sh -c 'echo $GREETING'").stdout == "hello\n"
    assert made.claim_name is None


def test_a_second_terminate_does_nothing(tunnel):
    made = tunnel.create_sandbox(POOL, namespace=NAMESPACE)
    made.terminate()
    made.terminate()
    with pytest.raises(SandboxNotFoundError):
        tunnel.get_sandbox("no-such-claim", namespace=NAMESPACE, resolve_timeout=1)


def test_reports_a_pool_that_does_not_exist(tunnel):
    with pytest.raises(SandboxWarmPoolNotFoundError):
        tunnel.create_sandbox("no-such-pool", namespace=NAMESPACE)


def test_finds_the_router_in_every_namespace(sandbox):
    client = SandboxClient(SandboxLocalTunnelConnectionConfig(router_namespace=NAMESPACE))
    attached = client.get_sandbox(sandbox.claim_name, namespace=NAMESPACE)
    assert attached.commands.run("echo hello").stdout == "hello\n"
    attached.close_connection()


# Earlier versions repeat the request for a quarter of a minute.
@needs_1_0
def test_reports_a_port_on_which_nothing_listens(sandbox):
    client = SandboxClient(SandboxLocalTunnelConnectionConfig(server_port=4000))
    attached = client.get_sandbox(sandbox.claim_name, namespace=NAMESPACE)
    with pytest.raises(SandboxRequestError) as refused:
        attached.commands.run("echo", timeout=10)
    assert refused.value.status_code == 502
    attached.close_connection()

"""The contract's script for the Python client of OpenSandbox. Numbers in names are those of the contract."""

import subprocess
import time
import urllib.error
import urllib.request
from datetime import datetime, timedelta, timezone

import pytest
from conftest import texts
from opensandbox.exceptions import SandboxApiException, SandboxException
from opensandbox.models.execd import RunCommandOpts
from opensandbox.models.filesystem import (
    ContentReplaceEntry,
    DirectoryListEntry,
    MoveEntry,
    SearchEntry,
    SetPermissionEntry,
    WriteEntry,
)
from opensandbox.models.sandboxes import PVC, NetworkPolicy, NetworkRule, SandboxFilter, SnapshotFilter, Volume


def until(condition):
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.1)
    assert condition()


def get(address, headers=None):
    request = urllib.request.Request(f"http://{address}", headers=headers or {})
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


def status_of(raised):
    return raised.value.status_code, raised.value.error.code


def test_01_02_create_and_info(sandbox, do):
    info = do(sandbox.get_info())
    assert (info.id, info.status.state, info.metadata) == (sandbox.id, "Running", {"a": "x y", "team": "python"})
    assert info.entrypoint == ["tail", "-f", "/dev/null"]
    assert info.expires_at > datetime.now(timezone.utc) + timedelta(minutes=8)
    assert do(sandbox.is_healthy())


def test_03_04_lines_and_exit_codes(sandbox, do):
    """Lines and exit codes (COMPAT-81, COMPAT-82)"""
    done = do(sandbox.commands.run("printf 'a\\nb\\n\\nc'"))
    assert (texts(done.logs.stdout), done.exit_code, done.error) == (["a", "b", "\n", "c"], 0, None)
    failed = do(sandbox.commands.run("exit 7"))
    assert (failed.exit_code, failed.error.value, failed.complete) == (7, "7", None)


def test_05_06_both_streams_and_handlers_in_order(client, sandbox, do):
    seen = []
    handlers = client.Handlers(
        on_init=client.handler(lambda _: seen.append("init")),
        on_stdout=client.handler(lambda message: seen.append(message.text)),
        on_stderr=client.handler(lambda message: seen.append(message.text)),
        on_execution_complete=client.handler(lambda _: seen.append("complete")),
    )
    done = do(sandbox.commands.run("echo out; sleep 0.2; echo err >&2", handlers=handlers))
    assert seen == ["init", "out", "err", "complete"]
    assert texts(done.logs.stderr) == ["err"]


def test_07_08_folder_and_variables(lines):
    assert lines("pwd", opts=RunCommandOpts(working_directory="/tmp")) == ["/tmp"]
    assert lines("echo $K $ONE", opts=RunCommandOpts(envs={"ONE": "1"})) == ["V 1"]


def test_09_time_limit(sandbox, do):
    late = do(sandbox.commands.run("sleep 60", opts=RunCommandOpts(timeout=timedelta(seconds=1))))
    assert (late.exit_code, late.complete) == (-1, None)


def test_10_user_and_group(lines):
    assert lines("id -u; id -g", opts=RunCommandOpts(uid=1234, gid=4321)) == ["1234", "4321"]


def test_11_a_list_is_run_without_a_shell(lines):
    assert lines(["echo", "$K", "a b"]) == ["$K a b"]


def test_12_to_14_background(sandbox, do):
    """Logs from a cursor have no overlap (COMPAT-84)"""
    script = "echo a; while [ ! -e /tmp/go ]; do sleep 0.1; done; echo b; exit 3"
    started = do(sandbox.commands.run(script, opts=RunCommandOpts(background=True)))

    def logs(cursor):
        return do(sandbox.commands.get_background_command_logs(started.id, cursor))

    until(lambda: logs(0).content == "a\n")
    assert do(sandbox.commands.get_command_status(started.id)).running
    cursor = logs(0).cursor
    do(sandbox.commands.run("touch /tmp/go"))
    until(lambda: do(sandbox.commands.get_command_status(started.id)).exit_code == 3)
    assert (logs(cursor).content, logs(cursor).cursor) == ("b\n", 4)
    do(sandbox.commands.run("rm /tmp/go"))


def test_15_interrupt(sandbox, do):
    started = do(sandbox.commands.run("sleep 600", opts=RunCommandOpts(background=True)))
    do(sandbox.commands.interrupt(started.id))
    assert not do(sandbox.commands.get_command_status(started.id)).running
    with pytest.raises(SandboxApiException) as raised:
        do(sandbox.commands.interrupt(started.id))
    assert status_of(raised) == (500, "RUNTIME_ERROR")


def test_16_17_sessions(sandbox, do):
    session = do(sandbox.commands.create_session(working_directory="/usr"))

    def run(command, **more):
        return texts(do(sandbox.commands.run_in_session(session, command, **more)).logs.stdout)

    assert run("pwd; cd /tmp; X=5") == ["/usr"]
    assert run("pwd; echo $X") == ["/tmp", "5"]
    assert run("pwd", working_directory="/") == ["/"]
    do(sandbox.commands.delete_session(session))
    with pytest.raises(SandboxApiException):
        run("pwd")


def test_18_variables_that_are_added(sandbox, do, lines):
    """Commands see variables that were added, and the request wins (COMPAT-86)"""
    for value in ["plain", "two words", "quote ' \" \\ $K", "two\nlines"]:
        do(sandbox.commands.set_env("ADDED", value))
        assert "\n".join(lines('echo "$ADDED"')) == value
    assert lines("echo $ADDED", opts=RunCommandOpts(envs={"ADDED": "mine"})) == ["mine"]


def test_19_20_write_and_read(sandbox, do):
    entries = [
        WriteEntry(path="/tmp/f/a.txt", data="one\ntwo\nthree\n", mode=644),
        WriteEntry(path="/tmp/f/deep/b.bin", data=bytes(range(256)) * 1000, mode=600),
        WriteEntry(path="/tmp/f/empty", data=""),
    ]
    do(sandbox.files.write_files(entries))
    assert do(sandbox.files.read_file("/tmp/f/a.txt")) == "one\ntwo\nthree\n"
    assert do(sandbox.files.read_bytes("/tmp/f/deep/b.bin")) == bytes(range(256)) * 1000
    assert do(sandbox.files.read_bytes("/tmp/f/empty")) == b""
    with pytest.raises(SandboxApiException) as raised:
        do(sandbox.files.read_file("/tmp/absent"))
    assert raised.value.status_code == 404


def test_21_22_parts_of_a_file(sandbox, do):
    assert do(sandbox.files.read_bytes("/tmp/f/a.txt", range_header="bytes=4-6")) == b"two"
    assert do(sandbox.files.read_file("/tmp/f/a.txt", offset=2, limit=1)) == "two\n"
    assert do(sandbox.files.read_file("/tmp/f/a.txt", offset=2)) == "two\nthree\n"
    with pytest.raises(SandboxApiException) as raised:
        do(sandbox.files.read_bytes("/tmp/f/a.txt", range_header="bytes=99-"))
    assert raised.value.status_code == 416


def test_23_info(sandbox, do):
    """A written file has the mode 755 by default (COMPAT-85)"""
    info = do(sandbox.files.get_file_info(["/tmp/f/a.txt", "/tmp/f/empty"]))
    shown = {path: (one.entry_type, one.size, one.mode, one.owner) for path, one in info.items()}
    assert shown == {"/tmp/f/a.txt": ("file", 14, 644, "root"), "/tmp/f/empty": ("file", 0, 755, "root")}
    with pytest.raises(SandboxApiException) as raised:
        do(sandbox.files.get_file_info(["/tmp/f/a.txt", "/tmp/absent"]))
    assert status_of(raised) == (404, "FILE_NOT_FOUND")


def test_24_25_directories(sandbox, do, lines):
    do(sandbox.files.create_directories([WriteEntry(path="/tmp/f/new/inner", mode=700), WriteEntry(path="/tmp/f")]))
    assert lines("stat -c %a /tmp/f/new/inner /tmp/f") == ["700", "755"]
    listed = do(sandbox.files.list_directory(DirectoryListEntry(path="/tmp/f", depth=2)))
    assert sorted((one.path, one.entry_type) for one in listed) == [
        ("/tmp/f/a.txt", "file"),
        ("/tmp/f/deep", "directory"),
        ("/tmp/f/deep/b.bin", "file"),
        ("/tmp/f/empty", "file"),
        ("/tmp/f/new", "directory"),
        ("/tmp/f/new/inner", "directory"),
    ]
    assert len(do(sandbox.files.list_directory(DirectoryListEntry(path="/tmp/f")))) == 4


def test_26_search(sandbox, do):
    def found(pattern):
        return sorted(one.path for one in do(sandbox.files.search(SearchEntry(path="/tmp/f", pattern=pattern))))

    assert found("*.txt") == ["/tmp/f/a.txt"]
    assert found("**/*.{txt,bin}") == ["/tmp/f/a.txt", "/tmp/f/deep/b.bin"]
    assert found("*.py") == []


def test_27_replace(sandbox, do, lines):
    do(sandbox.commands.run("chown 1234:4321 /tmp/f/a.txt"))
    change = ContentReplaceEntry(path="/tmp/f/a.txt", old_content="t", new_content="é")
    counts = do(sandbox.files.replace_contents_detailed([change]))
    assert [(one.path, one.replaced_count) for one in counts] == [("/tmp/f/a.txt", 2)]
    assert do(sandbox.files.read_file("/tmp/f/a.txt")) == "one\néwo\néhree\n"
    assert lines("stat -c '%u %g %a' /tmp/f/a.txt") == ["1234 4321 644"]
    do(sandbox.files.replace_contents([ContentReplaceEntry(path="/tmp/f/a.txt", old_content="zz", new_content="")]))
    with pytest.raises(SandboxApiException) as raised:
        do(sandbox.files.replace_contents([ContentReplaceEntry(path="/tmp/f/a.txt", old_content="", new_content="x")]))
    assert raised.value.status_code == 400


def test_28_to_30_move_permissions_delete(sandbox, do, lines):
    do(sandbox.files.move_files([MoveEntry(src="/tmp/f/empty", dest="/tmp/f/moved/x")]))
    do(sandbox.files.set_permissions([SetPermissionEntry(path="/tmp/f/moved/x", mode=600, owner="nobody")]))
    assert lines("stat -c '%a %U' /tmp/f/moved/x") == ["600 nobody"]
    with pytest.raises(SandboxApiException) as raised:
        do(sandbox.files.move_files([MoveEntry(src="/tmp/absent", dest="/tmp/f/y")]))
    assert raised.value.status_code == 404
    do(sandbox.files.delete_files(["/tmp/f/moved/x", "/tmp/f/absent"]))
    do(sandbox.files.delete_directories(["/tmp/f/deep", "/tmp/f/absent"]))
    assert lines("ls /tmp/f") == ["a.txt", "moved", "new"]


def test_31_32_endpoints(sandbox, do):
    server = "mkdir -p /tmp/www; cd /tmp/www; echo served > index.html; exec python3 -m http.server 8000 --bind 127.0.0.1"
    do(sandbox.commands.run(server, opts=RunCommandOpts(background=True)))
    endpoint = do(sandbox.get_endpoint(8000))
    until(lambda: get(endpoint.endpoint, endpoint.headers) == (200, "served\n"))
    assert get(endpoint.endpoint) == (401, "")
    signed = do(sandbox.get_signed_endpoint(8000, int(time.time()) + 600))
    assert get(signed.endpoint) == (200, "served\n")


def test_33_metrics(sandbox, do):
    metrics = do(sandbox.get_metrics())
    assert metrics.memory_used_in_mib > 0
    assert metrics.cpu_count >= 1


def test_34_egress(sandbox, do):
    policy = do(sandbox.get_egress_policy())
    assert (policy.default_action, policy.egress) == ("allow", [])
    with pytest.raises(SandboxApiException) as raised:
        do(sandbox.patch_egress_rules([NetworkRule(action="deny", target="example.com")]))
    assert raised.value.status_code == 501


def test_35_36_metadata_and_lists(client, sandbox, do):
    """The filter by metadata works with spaces (COMPAT-88)"""
    assert do(sandbox.patch_metadata({"a": None, "b": "c = d e"})).metadata == {"team": "python", "b": "c = d e"}
    manager = do(client.Manager.create())

    def found(**filters):
        return [one.id for one in do(manager.list_sandbox_infos(SandboxFilter(**filters))).sandbox_infos]

    assert found(metadata={"b": "c = d e"}) == [sandbox.id]
    assert found(metadata={"b": "other"}) == []
    assert sandbox.id in found(states=["Running"])
    assert sandbox.id not in found(states=["Paused"])
    do(manager.close())


def test_37_renew(sandbox, do):
    """A time in the past changes nothing (COMPAT-89)"""
    renewed = do(sandbox.renew(timedelta(hours=1)))
    assert do(sandbox.get_info()).expires_at == renewed.expires_at
    with pytest.raises(SandboxApiException) as raised:
        do(sandbox.renew(timedelta(seconds=-10)))
    assert raised.value.status_code == 400
    assert do(sandbox.get_info()).expires_at == renewed.expires_at


def test_38_39_pause_and_resume(client, sandbox, do):
    """Added variables survive a pause (COMPAT-79, COMPAT-86)"""
    do(sandbox.commands.set_env("KEPT", "yes"))
    do(sandbox.pause())
    until(lambda: do(sandbox.get_info()).status.state == "Paused")
    resumed = do(client.Sandbox.resume(sandbox.id))
    assert do(resumed.get_info()).status.state == "Running"
    assert do(resumed.files.read_file("/tmp/f/a.txt")) == "one\néwo\néhree\n"
    assert texts(do(resumed.commands.run("echo $KEPT")).logs.stdout) == ["yes"]
    do(resumed.close())


def test_40_kill(client, do):
    """A sandbox that was killed is not found (COMPAT-80)"""
    made = do(client.Sandbox.create("host"))
    do(made.kill())
    with pytest.raises(SandboxApiException) as raised:
        do(made.get_info())
    assert status_of(raised) == (404, "KUBERNETES::SANDBOX_NOT_FOUND")
    do(made.close())


def test_revoked_token(client, do):
    """A client whose token was revoked is told so at once (COMPAT-90)"""
    made = do(client.Sandbox.create("host"))
    later = (datetime.now(timezone.utc) + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    change = f"agents.x-k8s.io/tokens-not-before={later}"
    subprocess.run(["kubectl", "annotate", "sandbox", made.id, "-n", "team-a", change], check=True)
    until(lambda: not do(made.is_healthy()))
    with pytest.raises(SandboxException, match="401"):
        do(made.check_ready(timedelta(minutes=10), timedelta(seconds=1)))
    do(made.kill())
    do(made.close())


def test_templates(client, do):
    made = do(client.Sandbox.create_from_template("plain", timeout=timedelta(minutes=2), metadata={"of": "plain"}))
    assert texts(do(made.commands.run("echo hi")).logs.stdout) == ["hi"]
    assert do(made.get_egress_policy()).egress == []
    do(made.kill())
    do(made.close())


@pytest.mark.parametrize("source", ["image", "template"])
def test_snapshots(client, do, source):
    """A snapshot has the memory and the files, also when its sandbox is gone"""
    made = do(client.Sandbox.create("host") if source == "image" else client.Sandbox.create_from_template("plain", timeout=timedelta(minutes=5)))
    started = do(made.commands.run("echo kept > /tmp/kept; sleep 3600", opts=RunCommandOpts(background=True)))
    snapshot = do(made.create_snapshot("first"))
    manager = do(client.Manager.create())
    until(lambda: do(manager.get_snapshot(snapshot.id)).status.state == "Ready")
    do(made.kill())
    found = do(manager.list_snapshots(SnapshotFilter(sandbox_id=made.id, states=["Ready"], name="first"))).snapshot_infos
    assert [(one.id, one.sandbox_id, one.name) for one in found] == [(snapshot.id, made.id, "first")]
    copy = do(client.Sandbox.create(snapshot_id=snapshot.id, metadata={"of": "snapshot"}, timeout=timedelta(minutes=5)))
    assert texts(do(copy.commands.run("cat /tmp/kept")).logs.stdout) == ["kept"]
    assert do(copy.commands.get_command_status(started.id)).running
    info = do(copy.get_info())
    assert (info.status.state, info.metadata, info.snapshot_id) == ("Running", {"of": "snapshot"}, snapshot.id)
    with pytest.raises(SandboxApiException, match="env of a sandbox from a snapshot"):
        do(client.Sandbox.create(snapshot_id=snapshot.id, env={"A": "1"}))
    do(copy.kill())
    do(manager.delete_snapshot(snapshot.id))

    def is_deleted():
        try:
            assert do(manager.get_snapshot(snapshot.id)).status.state == "Deleting"
        except SandboxApiException as failure:
            return failure.status_code == 404

    until(is_deleted)
    for one in (made, copy, manager):
        do(one.close())


def test_volumes(client, do):
    """A volume is created when it is first used, and stays"""

    def with_volume(command, **options):
        volume = Volume(name="data", mountPath="/data", pvc=PVC(claimName=f"data-{client.Sandbox.__name__.lower()}", **options))
        made = do(client.Sandbox.create("host", volumes=[volume]))
        printed = texts(do(made.commands.run(command)).logs.stdout)
        do(made.kill())
        do(made.close())
        return printed

    with pytest.raises(SandboxApiException, match="there is no claim") as raised:
        with_volume("true", createIfNotExists=False)
    assert raised.value.status_code == 400
    assert with_volume("echo kept > /data/file; cat /data/file", storage="64Mi") == ["kept"]
    assert with_volume("cat /data/file", createIfNotExists=False) == ["kept"]


def test_what_is_refused(client, sandbox, do):
    denied = NetworkPolicy(default_action="deny", egress=[])
    for options, status, reason in [
        ({"network_policy": denied}, 501, "networkPolicy"),
        ({"extensions": {"poolRef": "absent"}}, 404, "KUBERNETES::POOL_NOT_FOUND"),
        ({"resource": {"nvidia.com/gpu": "1"}}, 501, "resourceLimits.nvidia.com/gpu"),
        ({"timeout": timedelta(seconds=10)}, 400, "timeout must be at least 60 seconds"),
    ]:
        with pytest.raises(SandboxApiException, match=reason) as raised:
            do(client.Sandbox.create("host", **options))
        assert raised.value.status_code == status
    with pytest.raises(SandboxApiException) as raised:
        do(sandbox.files_with_identity(1000, 1000).read_file("/etc/hostname"))
    assert raised.value.status_code == 501

"""The contract's script for the Python client of E2B. Numbers in names are those of the contract."""

import asyncio
import os
import time
import urllib.request

import pytest
from e2b import (
    AsyncSandbox,
    AuthenticationException,
    CommandExitException,
    FileNotFoundException,
    InvalidArgumentException,
    NotFoundException,
    Sandbox,
    SandboxException,
    SandboxNotFoundException,
    SandboxQuery,
    TimeoutException,
)


def test_01_the_id_has_no_hyphen(sandbox):
    assert sandbox.sandbox_id.isalnum()


def test_02_variables_and_user(sandbox):
    assert sandbox.commands.run("echo $K-$USER").stdout == "V-user\n"


def test_03_exit_codes(sandbox):
    with pytest.raises(CommandExitException) as raised:
        sandbox.commands.run("echo out; echo err >&2; exit 3")
    assert (raised.value.exit_code, raised.value.stdout, raised.value.stderr) == (3, "out\n", "err\n")


def test_04_both_streams(sandbox):
    done = sandbox.commands.run("echo o; echo e >&2")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "o\n", "e\n")


def test_05_working_directory(sandbox):
    assert sandbox.commands.run("pwd", cwd="/tmp").stdout == "/tmp\n"


def test_06_users(sandbox):
    assert sandbox.commands.run("id -u", user="root").stdout == "0\n"
    with pytest.raises(AuthenticationException):
        sandbox.commands.run("id -u", user="nobody2")


def test_07_time_limit(sandbox):
    with pytest.raises(TimeoutException):
        sandbox.commands.run("sleep 9", timeout=1)


def test_08_much_output(sandbox):
    assert len(sandbox.commands.run("seq 100000").stdout) == 588_895


def test_09_to_12_background_and_standard_input(sandbox):
    handle = sandbox.commands.run("cat", background=True, stdin=True)
    assert handle.pid in [one.pid for one in sandbox.commands.list()]
    sandbox.commands.send_stdin(handle.pid, "hi")
    sandbox.commands.close_stdin(handle.pid)
    assert handle.wait().stdout == "hi"


def test_13_to_16_disconnect_connect_kill(sandbox):
    handle = sandbox.commands.run("sleep 60", background=True)
    handle.disconnect()
    again = sandbox.commands.connect(handle.pid)
    assert sandbox.commands.kill(handle.pid)
    with pytest.raises(CommandExitException):
        again.wait()
    assert not sandbox.commands.kill(handle.pid)


def test_17_to_19_write_and_read(sandbox):
    assert sandbox.files.write("a/b.txt", "é").path == "/home/user/a/b.txt"
    assert sandbox.files.read("a/b.txt") == "é"
    written = sandbox.files.write_files([{"path": "m1", "data": "1"}, {"path": "/home/user/m2", "data": b"2"}])
    assert [one.path for one in written] == ["/home/user/m1", "/home/user/m2"]
    assert sandbox.files.read("m2", format="bytes") == b"2"
    sandbox.files.write("zipped", "z" * 100_000, gzip=True)
    assert b"".join(sandbox.files.read("zipped", format="stream")) == b"z" * 100_000


def test_20_to_22_list_exists_info(sandbox):
    assert [one.path for one in sandbox.files.list("a", depth=2)] == ["/home/user/a/b.txt"]
    assert sandbox.files.exists("a/b.txt") and not sandbox.files.exists("zz")
    info = sandbox.files.get_info("a/b.txt")
    assert (info.size, info.owner, info.permissions) == (2, "user", "-rw-r--r--")


def test_23_to_26_folders(sandbox):
    assert sandbox.files.make_dir("d") and not sandbox.files.make_dir("d")
    assert sandbox.files.rename("m1", "d/m3").path == "/home/user/d/m3"
    sandbox.files.remove("d")
    sandbox.files.remove("d")
    with pytest.raises(FileNotFoundException):
        sandbox.files.read("nope")


def test_27_watch_by_polling(sandbox):
    watch = sandbox.files.watch_dir("/home/user")
    sandbox.files.write("w.txt", "x")
    names = []
    for _ in range(200):
        names += [event.name for event in watch.get_new_events()]
        if "w.txt" in names:
            break
        time.sleep(0.05)
    assert "w.txt" in names
    watch.stop()
    with pytest.raises(SandboxException):
        watch.get_new_events()


def test_29_links(sandbox):
    with urllib.request.urlopen(sandbox.download_url("a/b.txt")) as answer:
        assert answer.read().decode() == "é"


def test_30_link_for_an_upload(sandbox):
    boundary = "x" * 20
    part = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="up.txt"\r\n\r\nup\r\n--{boundary}--\r\n'
    headers = {"content-type": f"multipart/form-data; boundary={boundary}"}
    request = urllib.request.Request(sandbox.upload_url("up.txt"), part.encode(), headers, method="POST")
    with urllib.request.urlopen(request) as answer:
        assert answer.status == 200
    assert sandbox.files.read("up.txt") == "up"


def test_31_terminal(sandbox):
    from e2b import PtySize

    shown = []
    terminal = sandbox.pty.create(PtySize(rows=24, cols=80))
    sandbox.pty.resize(terminal.pid, PtySize(rows=30, cols=100))
    sandbox.pty.send_stdin(terminal.pid, b"stty size; exit 4\n")
    with pytest.raises(CommandExitException) as raised:
        terminal.wait(on_pty=shown.append)
    assert raised.value.exit_code == 4
    assert b"30 100" in b"".join(shown)


def test_33_a_server_on_loopback(sandbox):
    sandbox.commands.run("exec python3 -m http.server 8000 --bind 127.0.0.1", background=True, timeout=0)
    sandbox.commands.run("until (echo > /dev/tcp/127.0.0.1/8000) 2>/dev/null; do sleep 0.05; done")
    host = sandbox.get_host(8000)
    assert host.startswith(f"8000-{sandbox.sandbox_id}.team-a.localhost:")
    headers = {"host": host, "e2b-traffic-access-token": sandbox.traffic_access_token}
    with urllib.request.urlopen(urllib.request.Request(os.environ["E2B_SANDBOX_URL"], headers=headers)) as answer:
        assert answer.status == 200


def test_34_to_37_state(sandbox):
    assert sandbox.is_running()
    sandbox.set_timeout(600)
    end = sandbox.get_info().end_at
    sandbox.set_timeout(300)
    assert sandbox.get_info().end_at < end
    assert sandbox.get_metrics()[0].mem_used > 0
    found = Sandbox.list(query=SandboxQuery(metadata={"t": "x y"})).next_items()
    assert [one.sandbox_id for one in found] == [sandbox.sandbox_id]


def test_38_39_pause_and_connect(sandbox):
    assert sandbox.pause()
    assert not sandbox.is_running()
    assert not sandbox.pause()
    assert Sandbox.connect(sandbox.sandbox_id, timeout=280).files.read("a/b.txt") == "é"


def test_the_deadline_pauses_and_traffic_resumes():
    made = Sandbox.create(timeout=60, lifecycle={"on_timeout": "pause", "auto_resume": True})
    made.files.write("kept", "yes")
    made.set_timeout(1)
    for _ in range(200):
        if made.get_info().state.value == "paused":
            break
        time.sleep(0.1)
    assert made.get_info().state.value == "paused"
    assert made.files.read("kept") == "yes"
    assert made.get_info().state.value == "running"
    made.kill()


def test_snapshots_are_templates(sandbox):
    sandbox.files.write("from-snapshot", "yes")
    snapshot = sandbox.create_snapshot()
    made = Sandbox.create(snapshot.snapshot_id, timeout=60)
    assert made.files.read("from-snapshot") == "yes"
    made.kill()
    assert Sandbox.delete_snapshot(snapshot.snapshot_id)
    assert not Sandbox.delete_snapshot(snapshot.snapshot_id)


def test_memory_of_any_template_is_in_snapshots_and_forks():
    made = Sandbox.create("plain", timeout=120)
    started = made.commands.run("sleep 1000", background=True, timeout=0)
    snapshot = made.create_snapshot()
    copies = [*made.fork(timeout=60), Sandbox.create(snapshot.snapshot_id, timeout=60)]
    for copy in copies:
        assert started.pid in [one.pid for one in copy.commands.list()]
        copy.kill()
    Sandbox.delete_snapshot(snapshot.snapshot_id)
    made.kill()


def test_40_kill():
    made = Sandbox.create(timeout=60)
    assert made.kill() and not made.is_running() and not made.kill()
    with pytest.raises(SandboxNotFoundException):
        made.get_info()


def test_errors():
    with pytest.raises(SandboxException, match="404"):
        Sandbox.create("nope")
    with pytest.raises(SandboxException, match="network.denyOut"):
        Sandbox.create(network={"deny_out": ["0.0.0.0/0"]})
    with pytest.raises(AuthenticationException):
        Sandbox.create(api_key="e2b_00")


def test_a_large_upload_that_is_refused_gets_the_reason(sandbox):
    with pytest.raises(AuthenticationException, match="nobody2"):
        sandbox.files.write("large", "x" * 20_000_000, user="nobody2")


def test_async_client():
    async def work():
        made = await AsyncSandbox.create(timeout=60)
        seen = []
        watch = await made.files.watch_dir("/home/user", on_event=seen.append)
        await made.files.write("w.txt", "x")
        both = await asyncio.gather(made.commands.run("echo a"), made.commands.run("echo b"))
        for _ in range(100):
            if seen:
                break
            await asyncio.sleep(0.05)
        await watch.stop()
        await made.kill()
        return [one.stdout for one in both], bool(seen)

    assert asyncio.run(work()) == (["a\n", "b\n"], True)

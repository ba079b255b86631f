"""Edge cases of the Python client of E2B. Numbers are those of the table in test/compat/README.md."""

import asyncio
import threading
import time

import pytest
from e2b import (
    AsyncSandbox,
    AuthenticationException,
    CommandExitException,
    InvalidArgumentException,
    Sandbox,
    SandboxException,
    SandboxNotFoundException,
    SandboxNotRunningException,
    SandboxQuery,
    SandboxState,
)


def until(condition):
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    assert condition()


def is_gone(made):
    try:
        made.get_info()
    except SandboxNotFoundException:
        return True
    return False


def test_no_key(monkeypatch):
    """The client makes no request without a key (COMPAT-1)"""
    monkeypatch.delenv("E2B_API_KEY")
    with pytest.raises(AuthenticationException):
        Sandbox.create(api_url="http://127.0.0.1:1")


def test_deadline_that_is_over():
    """A sandbox with a deadline that is over is gone (COMPAT-21, COMPAT-29)"""
    made = Sandbox.create(timeout=60)
    made.set_timeout(0)
    until(lambda: is_gone(made))
    assert not made.is_running()


def test_list_of_paused_sandboxes():
    """Lists by state (COMPAT-16)"""
    made = Sandbox.create(timeout=60, metadata={"list": "paused"})
    query = SandboxQuery(metadata={"list": "paused"}, state=[SandboxState.PAUSED])
    assert Sandbox.list(query=query).next_items() == []
    made.pause()
    assert [one.sandbox_id for one in Sandbox.list(query=query).next_items()] == [made.sandbox_id]
    made.kill()


def test_metadata_of_files(sandbox):
    """Metadata of a file is stored with it (COMPAT-56)"""
    sandbox.files.write("described", "x", metadata={"Author": "me"})
    assert sandbox.files.get_info("described").metadata == {"author": "me"}


@pytest.mark.parametrize("cwd", ["/absent", "/etc/passwd"])
def test_working_directory(sandbox, cwd):
    """A working directory that is absent or a file (COMPAT-46)"""
    with pytest.raises(InvalidArgumentException):
        sandbox.commands.run("pwd", cwd=cwd)


def test_recursive_watch():
    """A recursive watch of the asynchronous client (COMPAT-62)"""

    async def work():
        made = await AsyncSandbox.create(timeout=120)
        seen = []
        watch = await made.files.watch_dir("/home/user", on_event=seen.append, recursive=True)
        await made.files.write("fresh/w.txt", "x")
        for _ in range(200):
            if "fresh/w.txt" in [event.name for event in seen]:
                break
            await asyncio.sleep(0.05)
        names = {event.name for event in seen}
        await watch.stop()
        before = len(seen)
        await made.files.write("fresh/after", "x")
        await made.commands.run("sleep 0.2")
        await made.kill()
        return {"fresh", "fresh/w.txt"} <= names, len(seen) - before

    assert asyncio.run(work()) == (True, 0)


def test_signal(sandbox):
    """A command that a signal ends (COMPAT-38)"""
    with pytest.raises(CommandExitException) as raised:
        sandbox.commands.run("kill -9 $$")
    assert raised.value.exit_code == -1
    assert "signal: killed" in raised.value.error


def test_kill_during_a_command():
    """A command whose sandbox is killed (COMPAT-20)"""
    made = Sandbox.create(timeout=120)

    def kill_when_begun():
        until(lambda: made.files.exists("began"))
        made.kill()

    killer = threading.Thread(target=kill_when_begun)
    killer.start()
    with pytest.raises(SandboxNotRunningException):
        made.commands.run("touch began; sleep 1000", timeout=0)
    killer.join()


def test_many_events(sandbox):
    """A watcher that was not polled for long reports that once, and goes on (COMPAT-63)"""
    sandbox.files.make_dir("many")
    watch = sandbox.files.watch_dir("many")
    # A new directory is one event. So many events fit into the queue of the kernel, which would lose some otherwise.
    sandbox.commands.run("cd many && seq 10000 | xargs mkdir", timeout=0)

    def has_failed():
        try:
            watch.get_new_events()
        except SandboxException as failure:
            return "are lost" in str(failure)
        return False

    until(has_failed)
    seen = []

    def has_new():
        sandbox.files.write("many/new", "x")
        try:
            seen.extend(event.name for event in watch.get_new_events())
        except SandboxException as failure:
            assert "are lost" in str(failure)
        return "new" in seen

    until(has_new)
    watch.stop()


def test_many_commands_at_once():
    """200 commands at once are all answered (COMPAT-50)"""

    async def work():
        made = await AsyncSandbox.create(timeout=120)
        done = await asyncio.gather(*[made.commands.run(f"echo {number}", timeout=0) for number in range(200)])
        await made.kill()
        return [one.stdout for one in done]

    assert asyncio.run(work()) == [f"{number}\n" for number in range(200)]

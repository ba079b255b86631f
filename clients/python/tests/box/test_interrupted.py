"""A call that is interrupted ends what it has started in the sandbox."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from k8s_agent_sandbox import SandboxError, SandboxHandle, connect_async

PATIENCE = 60.0


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.2)


def _is_running(sandbox: SandboxHandle, name: str) -> bool:
    return sandbox.commands.run(f"kill -0 $(cat {name})").exit_code == 0


def _script(name: str) -> str:
    return f"echo $$ > {name}.new; mv {name}.new {name}; sleep 1000"


PROGRAM = """
import sys
from k8s_agent_sandbox import connect
with connect() as client:
    options = {"on_stdout": print} if sys.argv[3] == "stream" else {}
    client.get(sys.argv[1]).commands.run(sys.argv[2], 600, **options)
"""


async def _cancel(sandbox_name: str, name: str, is_stream: bool) -> None:
    async with await connect_async() as client:
        sandbox = await client.get(sandbox_name)
        options = {"on_stdout": print} if is_stream else {}
        task = asyncio.create_task(sandbox.commands.run(_script(name), 600, **options))  # type: ignore[arg-type]
        end = time.monotonic() + PATIENCE
        while not await sandbox.files.exists(name):
            assert time.monotonic() < end
            await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


def test_ctrl_c_and_the_cancellation_of_a_task_end_the_command(sandbox: SandboxHandle) -> None:
    kinds = ("stream", "plain")
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, sandbox.name, _script(f"ctrl-c-{kind}"), kind],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
        )
        for kind in kinds
    ]
    for kind in kinds:
        asyncio.run(_cancel(sandbox.name, f"cancel-{kind}", kind == "stream"))
        _until(lambda kind=kind: sandbox.files.exists(f"ctrl-c-{kind}"))  # type: ignore[misc]
    for program in programs:
        program.send_signal(signal.SIGINT)
    for program in programs:
        _, complaints = program.communicate(timeout=PATIENCE)
        assert b"KeyboardInterrupt" in complaints
    for name in (f"{how}-{kind}" for how in ("ctrl-c", "cancel") for kind in kinds):
        # The runtime waits ten seconds for a repeated call before it ends a plain command.
        _until(lambda name=name: not _is_running(sandbox, name))  # type: ignore[misc]


def test_another_thread_can_end_the_reading_of_output(sandbox: SandboxHandle) -> None:
    process = sandbox.commands.start("echo started; sleep 1000")
    raised: list[BaseException] = []
    started = threading.Event()

    def read() -> None:
        try:
            for _ in process.output():
                started.set()
        except SandboxError as error:
            raised.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    assert started.wait(PATIENCE)
    process.disconnect()
    reader.join(PATIENCE)
    assert not reader.is_alive()
    assert [getattr(error, "reason", None) for error in raised] == ["Conflict"]
    process.kill()
    assert process.wait(timeout=PATIENCE).signal == signal.SIGKILL


def test_a_create_that_is_cancelled_leaves_nothing_behind(sandbox: SandboxHandle) -> None:
    async def run() -> None:
        async with await connect_async() as client:
            for delay in (0.0, 0.01, 0.1):
                name = f"cancelled-{int(delay * 100)}"
                # This image does not exist, so the sandbox never becomes ready.
                task = asyncio.create_task(client.create(image="no-such-image.invalid/x", name=name))
                await asyncio.sleep(delay)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                with pytest.raises(SandboxError) as raised:
                    await _gone(client.get, name)
                assert raised.value.reason == "NotFound"

    asyncio.run(run())


async def _gone(get: Callable[[str], object], name: str) -> None:
    """Asks until the answer is an error: a deleted sandbox exists until its Pod has ended."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        await get(name)  # type: ignore[misc]
        await asyncio.sleep(0.2)

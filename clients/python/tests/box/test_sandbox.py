"""The parts of the native API that the contract of all SDKs does not have."""

from __future__ import annotations

import asyncio
import io
import tarfile
import threading
import time
from typing import Any

import pytest

from k8s_agent_sandbox import (
    AsyncSandboxHandle,
    Client,
    SandboxError,
    SandboxHandle,
    SandboxTemplateNotFoundError,
    TerminalSize,
    connect_async,
)

MIB = 1024 * 1024


async def _with_async(name: str, use: Any) -> Any:
    async with await connect_async() as client:
        return await use(await client.get(name))


def test_large_files_and_directories_go_there_and_back(sandbox: SandboxHandle) -> None:
    block = bytes(index % 251 for index in range(64 * 1024))
    sandbox.files.write("deep/large", (block for _ in range(128)))
    assert sandbox.files.stat("deep/large").size == 8 * MIB
    assert sandbox.files.read("deep/large", first=8 * MIB - 3) == block[-3:]
    assert b"".join(sandbox.files.read_stream("deep/large")) == block * 128
    archive = b"".join(sandbox.files.read_archive("deep", gzip=True))
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        assert "large" in [name.split("/")[-1] for name in tar.getnames()]
    sandbox.files.write_archive("copy", archive)
    assert sandbox.files.read("copy/large") == block * 128
    assert {entry.path.split("/")[-1] for entry in sandbox.files.tree("copy")} == {"large"}
    # Ending the iteration early leaves a client that works.
    for _ in sandbox.files.read_stream("copy/large"):
        break
    assert sandbox.files.exists("copy/large")


def test_streams_of_the_asynchronous_sdk(sandbox: SandboxHandle) -> None:
    async def use(other: AsyncSandboxHandle) -> None:
        async def pieces() -> Any:
            for _ in range(16):
                yield b"x" * MIB

        await other.files.write("async/large", pieces())
        assert (await other.files.stat("async/large")).size == 16 * MIB
        assert sum([len(piece) async for piece in other.files.read_stream("async/large")]) == 16 * MIB
        async with await other.commands.start(["sh"], terminal=TerminalSize(80, 24)) as shell:
            await shell.resize(TerminalSize(100, 30))
            await shell.write("stty size; exit 7\n")
            output = "".join([piece.text async for piece in shell.output()])
            assert "30 100" in output
            assert (await shell.wait()).exit_code == 7
        results = await asyncio.gather(*(other.commands.run(["echo", str(number)]) for number in range(20)))
        assert [result.stdout for result in results] == [f"{number}\n" for number in range(20)]

    asyncio.run(_with_async(sandbox.name, use))


def test_changes_of_files_are_watched(sandbox: SandboxHandle) -> None:
    sandbox.files.make_dir("watched")
    write = threading.Thread(target=lambda: sandbox.files.write("watched/new.txt", "x"))
    for change in sandbox.files.watch("watched", on_ready=write.start):
        if change.path.endswith("new.txt"):
            break
    write.join()


def test_ports_are_listed_waited_for_and_opened_in_a_browser(sandbox: SandboxHandle) -> None:
    with sandbox.commands.start(["python3", "-m", "http.server", "8000"]):
        sandbox.ports.wait(8000, http="/")
        assert 8000 in [port.port for port in sandbox.ports.list()]
        link = sandbox.ports.login_url(8000)
        assert link.startswith(sandbox.ports.url(8000))
        assert "8000-python-sdk.default.localhost" in link


def test_the_end_of_a_sandbox_can_be_moved(sandbox: SandboxHandle) -> None:
    before = sandbox.status().expires_at
    expires_at = sandbox.extend(7200)
    assert before is not None
    assert expires_at > before
    assert sandbox.status().expires_at == expires_at
    assert sandbox.usage().memory_bytes > 0


def test_a_create_with_the_same_id_returns_the_same_sandbox(client: Client) -> None:
    options: dict[str, Any] = {"image": "host", "name": "once"}
    with client.create(**options, request_id="id-1") as first:
        assert client.create(**options, request_id="id-1").uid == first.uid
        with pytest.raises(SandboxError) as raised:
            client.create(**options, request_id="id-2")
        assert raised.value.reason == "AlreadyExists"
        assert client.get("once").uid == first.uid
    client.delete("once")
    with pytest.raises(SandboxTemplateNotFoundError):
        client.create(template="nothing")


def test_memory_survives_sleep_and_forks_are_independent(client: Client) -> None:
    with client.create(image="host", suspend_depth="Memory", runtime_class="gvisor") as sandbox:
        sandbox.run_code("x = 41")
        assert sandbox.suspend().depth == "Memory"
        assert sandbox.status().phase == "Suspended"
        with pytest.raises(SandboxError) as raised:
            sandbox.commands.run("true")
        assert (raised.value.reason, raised.value.status) == ("Suspended", 409)
        resumed = sandbox.resume()
        assert (resumed.restored, resumed.epoch) == ("Memory", 1)
        assert sandbox.run_code("x + 1").text == "42"
        sandbox.files.write("state.txt", "of the source")
        with sandbox.fork() as fork:
            sandbox.files.write("state.txt", "changed")
            assert fork.files.read_text("state.txt") == "of the source"
            assert fork.name != sandbox.name


def test_contexts_of_several_languages_keep_their_variables(sandbox: SandboxHandle) -> None:
    heard: list[str] = []
    with sandbox.create_context(env={"A": "1"}) as context:
        result = context.run("import os\nprint(os.environ['A'])\nos.environ['A']", on_stdout=heard.append)
        assert (result.text, "".join(heard)) == ("'1'", "1\n")
    with pytest.raises(SandboxError) as raised:
        context.run("1")
    assert raised.value.reason == "NotFound"


def test_a_process_goes_on_without_its_program(sandbox: SandboxHandle) -> None:
    first = sandbox.commands.start("echo one; sleep 0.5; echo two", keep_running_seconds=float("inf"))
    first.disconnect()
    end = time.monotonic() + 60
    while any(info.id == first.id and info.exit is None for info in sandbox.commands.list()):
        assert time.monotonic() < end
        time.sleep(0.2)
    process = sandbox.commands.attach(first.id)
    assert "".join(piece.text for piece in process.output()) == "one\ntwo\n"
    again = sandbox.commands.attach(first.id, from_offset=4)
    assert "".join(piece.text for piece in again.output()) == "two\n"

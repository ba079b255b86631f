"""The mode with the router's address, of both clients."""

import asyncio

import pytest
from k8s_agent_sandbox import AsyncSandboxClient, SandboxClient
from k8s_agent_sandbox.exceptions import SandboxRequestError, SandboxWarmPoolNotFoundError

from conftest import NAMESPACE, POOL, direct_config


def test_runs_a_command_and_writes_a_file():
    client = SandboxClient(direct_config())
    sandbox = client.create_sandbox(POOL, namespace=NAMESPACE)
    try:
        assert sandbox.commands.run("echo hello").stdout == "hello\n"
        sandbox.files.write("a/b", b"\x00\xff")
        assert sandbox.files.read("a/b") == b"\x00\xff"
    finally:
        sandbox.terminate()


def test_refuses_a_wrong_token(sandbox):
    client = SandboxClient(direct_config("wrong"))
    attached = client.get_sandbox(sandbox.claim_name, namespace=NAMESPACE)
    with pytest.raises(SandboxRequestError) as refused:
        attached.commands.run("echo")
    assert refused.value.status_code == 401


def test_the_asynchronous_client():
    async def use():
        async with AsyncSandboxClient(direct_config()) as client:
            sandbox = await client.create_sandbox(POOL, namespace=NAMESPACE)
            results = await asyncio.gather(*(sandbox.commands.run(f"echo {number}") for number in range(10)))
            assert [result.stdout for result in results] == [f"{number}\n" for number in range(10)]
            await sandbox.files.write("data/notes.txt", "text")
            assert await sandbox.files.read("data/notes.txt") == b"text"
            assert [entry.name for entry in await sandbox.files.list("data")] == ["notes.txt"]
            assert "data" in [entry.name for entry in await sandbox.files.list(".")]
            assert await sandbox.files.exists("data/notes.txt") and not await sandbox.files.exists("nothing")
            with pytest.raises(SandboxRequestError) as missing:
                await sandbox.files.read("nothing")
            assert missing.value.status_code == 404
            assert (await sandbox.status())[0] == "SandboxReady"
            assert await client.list_active_sandboxes() == [(NAMESPACE, sandbox.claim_name)]
            assert sandbox.claim_name in await client.list_all_sandboxes(namespace=NAMESPACE)
            again = await client.get_sandbox(sandbox.claim_name, namespace=NAMESPACE)
            assert again.sandbox_id == sandbox.sandbox_id
            with pytest.raises(SandboxWarmPoolNotFoundError):
                await client.create_sandbox("no-such-pool", namespace=NAMESPACE)
            return sandbox.claim_name

    name = asyncio.run(use())
    # Leaving the block has deleted it.
    assert name not in SandboxClient(direct_config()).list_all_sandboxes(namespace=NAMESPACE)

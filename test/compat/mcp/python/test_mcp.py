import asyncio
import base64
import os

import pytest
from mcp import MCPError

PNG = base64.b64encode(b"\x89PNG").decode()


def test_negotiates_the_version_and_lists_the_tools(connection):
    async def script(tools):
        client = tools.client
        expected = "2026-07-28" if connection.mode == "auto" else "2025-11-25"
        assert client.protocol_version == expected
        assert "Delete a sandbox" in client.instructions
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == sorted(names)
        assert {"fork_sandbox", "run_code", "run_command", "search_files"} <= set(names)

    connection.run(script)


def test_commands(connection):
    async def script(tools):
        result = await tools.call("run_command", command="echo out; echo err >&2; exit 3")
        assert not result.is_error
        assert result.structured_content["exit_code"] == 3
        assert result.content[0].text == "out\n[stderr]\nerr\nexit code 3"
        placed = await tools.use("run_command", command="cat; pwd; echo $A", stdin="in\n", cwd="/tmp", env={"A": "b"})
        assert placed["stdout"] == "in\n/tmp\nb\n"
        assert (await tools.use("run_command", command="sleep 60", timeout_seconds=1))["timed_out"]
        long = await tools.use("run_command", command="seq 100000", max_output_bytes=1000)
        assert long["truncated"] and "bytes left out" in long["stdout"]

    connection.run(script)


def test_background_processes(connection):
    async def script(tools):
        process = (await tools.use("run_command", command="cat", background=True))["process_id"]
        await tools.use("write_process", process_id=process, input="line\n")
        read = await tools.use("read_process", process_id=process, wait_seconds=30)
        assert (read["output"], read["running"]) == ("line\n", True)
        await tools.use("kill_process", process_id=process)
        last = await tools.use("read_process", process_id=process, wait_seconds=30)
        assert not last["running"]

    connection.run(script)


def test_code_with_images_and_variables(connection):
    async def script(tools):
        assert (await tools.use("run_code", code="x = 40\nx + 2"))["result"] == "42"
        assert (await tools.use("run_code", code="x"))["result"] == "40"
        shown = await tools.call("run_code", code="from IPython.display import Image\nImage(b'\\x89PNG')")
        images = [(block.mime_type, block.data) for block in shown.content if block.type == "image"]
        assert images == [("image/png", PNG)]
        failed = await tools.use("run_code", code="1/0")
        assert failed["error"]["name"] == "ZeroDivisionError"

    connection.run(script)


def test_files(connection):
    async def script(tools):
        path = "/tmp/notes/é.txt"
        assert await tools.use("write_file", path=path, content="héllo\n") == {"bytes_written": 7}
        assert (await tools.use("read_file", path=path))["content"] == "héllo\n"
        assert await tools.use("edit_file", path=path, old="h", new="j") == {"replaced": 1}
        found = await tools.use("search_files", path="/tmp/notes", text="jéllo")
        assert found["matches"] == [{"path": path, "line": 1, "text": "jéllo"}]
        entries = (await tools.use("list_files", path="/tmp/notes"))["entries"]
        assert [(entry["path"], entry["size"]) for entry in entries] == [(path, 7)]
        assert "no such file" in await tools.failure("read_file", path="/tmp/absent")

    connection.run(script)


def test_resources(connection):
    async def script(tools):
        uri = f"sandbox://team-a/{tools.sandbox}"
        listed = await tools.client.list_resources()
        assert uri in [str(resource.uri) for resource in listed.resources]
        await tools.use("write_file", path="/tmp/large", content="y" * 200_000)
        read = await tools.client.read_resource(f"{uri}/files/tmp/large")
        assert read.contents[0].text == "y" * 200_000
        with pytest.raises(MCPError):
            await tools.client.read_resource(f"{uri}/files/absent")

    connection.run(script)


def test_progress_of_a_slow_command(connection):
    async def script(tools):
        seen = []

        async def tell(progress, total, message):
            seen.append(message)

        arguments = {"sandbox": tools.sandbox, "command": "for i in 1 2 3; do echo line $i; sleep 1.2; done"}
        await tools.client.call_tool("run_command", arguments, progress_callback=tell)
        assert seen[0].startswith("line ")

    connection.run(script)


def test_a_cancelled_command_is_killed(connection):
    async def running(tools):
        return (await tools.use("run_command", command="pgrep -fx 'sleep 4717' || true"))["stdout"]

    async def until(tools, wanted):
        while bool(await running(tools)) != wanted:
            await asyncio.sleep(0.2)

    async def script(tools):
        call = asyncio.create_task(tools.call("run_command", command="exec sleep 4717"))
        await until(tools, True)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(until(tools, False), 60)

    connection.run(script)


def test_another_user_finds_nothing(connection):
    async def script(tools):
        assert "Cannot find sandbox" in await tools.failure("run_command", command="true")
        assert (await tools.client.call_tool("list_sandboxes", {})).structured_content == {"sandboxes": []}
        assert await tools.use("delete_sandbox") == {"deleted": False}

    connection.run(script, token=os.environ["COLLEAGUE_TOKEN"])


def test_wrong_arguments_and_unknown_tools(connection):
    async def script(tools):
        assert "command" in await tools.failure("run_command", command=7)
        assert "comand" in await tools.failure("run_command", comand="true", command="true")
        with pytest.raises(MCPError):
            await tools.client.call_tool("no_such_tool", {})

    connection.run(script)


def test_lifetime(connection):
    async def script(tools):
        expires = (await tools.use("extend_sandbox", timeout_seconds=7200))["expires_at"]
        assert (await tools.use("sandbox_status"))["expires_at"].rstrip("Z")[:16] == expires.rstrip("Z")[:16]
        assert await tools.use("pause_sandbox") == {"status": "paused", "memory_kept": True}
        assert "resume_sandbox" in await tools.failure("run_command", command="true")
        assert (await tools.use("resume_sandbox"))["status"] == "running"
        assert (await tools.use("run_command", command="echo back"))["stdout"] == "back\n"

    connection.run(script)

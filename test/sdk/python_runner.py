"""Runs the cases of the contract with the Python SDK: reads cases and prints outcomes, one JSON document per line.

    python_runner.py sync|async <data folder of the box> <sandbox>

The calls are written once, for the asynchronous SDK. For the other one, each call runs in the main thread and returns its
result as something that can be awaited.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from k8s_agent_sandbox import SandboxError, TerminalSize, connect, connect_async


class Waiting:
    """An object of the synchronous SDK in the form of the asynchronous one."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if not callable(found):
            return wrap(found)

        def call(*args: Any, **kwargs: Any) -> Any:
            if name in ("output",):
                return _iterate(found(*args, **kwargs))
            return _wait(found, args, kwargs)

        return call

    async def __aenter__(self) -> Any:
        self._inner.__enter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        self._inner.__exit__(*error)


def wrap(value: Any) -> Any:
    is_object = type(value).__module__.startswith("k8s_agent_sandbox._sync")
    return Waiting(value) if is_object else value


async def _wait(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    return wrap(function(*args, **kwargs))


async def _iterate(items: Any) -> AsyncIterator[Any]:
    for item in items:
        yield item


def _given(wanted: dict[str, Any], **names: str) -> dict[str, Any]:
    """The parameters of a call by the names in the contract."""
    return {name: wanted[field] for name, field in names.items() if field in wanted}


class Calls:
    def __init__(self, client: Any, sandbox: Any, connect_again: Callable[[str], Awaitable[Any]]) -> None:
        self.client = client
        self.sandbox = sandbox
        self._connect_again = connect_again

    async def run(self, wanted: dict[str, Any]) -> Any:
        target, other = self.sandbox, None
        if "token" in wanted:
            other = await self._connect_again(wanted["token"])
            target = await other.get(self.sandbox.name)
        streamed: list[str] = []
        options = _given(
            wanted,
            env="env",
            cwd="cwd",
            user="user",
            stdin="stdin",
            timeout="timeout_seconds",
            max_output_bytes="max_output_bytes",
        )
        if wanted.get("stream"):
            options |= {"on_stdout": streamed.append, "on_stderr": streamed.append}
        result = await target.commands.run(wanted.get("script", wanted.get("argv", [])), **options)
        found = {name: getattr(result, name) for name in ("stdout", "stderr", "exit_code", "timed_out", "truncated")}
        if result.signal is not None:
            found["signal"] = result.signal
        return {**found, "streamed": "".join(streamed)} if wanted.get("stream") else found

    async def start(self, wanted: dict[str, Any]) -> Any:
        terminal = TerminalSize(**wanted["terminal"]) if "terminal" in wanted else None
        options = _given(wanted, keep_running_seconds="keep_running_seconds")
        async with await self.sandbox.commands.start(wanted["script"], terminal=terminal, **options) as process:
            if "write" in wanted:
                await process.write(wanted["write"])
            return await self._output_of(process, wanted.get("kill_after_output", False))

    async def attach(self, wanted: dict[str, Any]) -> Any:
        commands = self.sandbox.commands
        if "script" not in wanted:
            return await commands.attach(wanted["id"])
        first = await commands.start(wanted["script"])
        process = await commands.attach(first.id)
        await first.disconnect()
        return await self._output_of(process, False)

    async def _output_of(self, process: Any, is_killed: bool) -> Any:
        output = ""
        async for piece in process.output():
            if output == "" and is_killed:
                await process.kill()
            output += piece.text
        ended = await process.wait()
        found = {"output": output, "exit_code": ended.exit_code}
        return found if ended.signal is None else {**found, "signal": ended.signal}

    async def write(self, wanted: dict[str, Any]) -> Any:
        options = _given(wanted, mode="mode", create_only="create_only")
        await self.sandbox.files.write(wanted["path"], wanted["text"], **options)
        return {}

    async def append(self, wanted: dict[str, Any]) -> Any:
        await self.sandbox.files.append(wanted["path"], wanted["text"])
        return {}

    async def read(self, wanted: dict[str, Any]) -> Any:
        found = await self.sandbox.files.read(wanted["path"], **_given(wanted, first="first", last="last"))
        return {"text": found.decode()}

    async def list(self, wanted: dict[str, Any]) -> Any:
        found = await self.sandbox.files.list(wanted["path"])
        return {"entries": [{name: getattr(each, name) for name in ("name", "type", "size", "mode")} for each in found]}

    async def stat(self, wanted: dict[str, Any]) -> Any:
        found = await self.sandbox.files.stat(wanted["path"])
        return {name: getattr(found, name) for name in ("path", "name", "type", "size", "mode")}

    async def exists(self, wanted: dict[str, Any]) -> Any:
        return {"exists": await self.sandbox.files.exists(wanted["path"])}

    async def copy(self, wanted: dict[str, Any]) -> Any:
        await self.sandbox.files.copy(wanted["from"], wanted["to"])
        return {}

    async def move(self, wanted: dict[str, Any]) -> Any:
        await self.sandbox.files.move(wanted["from"], wanted["to"])
        return {}

    async def chmod(self, wanted: dict[str, Any]) -> Any:
        await self.sandbox.files.chmod(wanted["path"], wanted["mode"])
        return {}

    async def make_dir(self, wanted: dict[str, Any]) -> Any:
        await self.sandbox.files.make_dir(wanted["path"])
        return {}

    async def remove(self, wanted: dict[str, Any]) -> Any:
        await self.sandbox.files.remove(wanted["path"], **_given(wanted, recursive="recursive"))
        return {}

    async def run_code(self, wanted: dict[str, Any]) -> Any:
        result = await self.sandbox.run_code(wanted["code"])
        found = {"stdout": result.stdout}
        if result.text is not None:
            found["text"] = result.text
        if result.error is not None:
            found |= {"error_name": result.error.name, "error_message": result.error.message}
        return found

    async def wait_for_port(self, wanted: dict[str, Any]) -> Any:
        await self.sandbox.ports.wait(wanted["port"], timeout=wanted.get("timeout_seconds", 30))
        return {}

    async def status(self, wanted: dict[str, Any]) -> Any:
        return {"phase": (await self.sandbox.status()).phase}

    async def list_sandboxes(self, wanted: dict[str, Any]) -> Any:
        return {"count": len(await self.client.list(labels=wanted["labels"]))}

    async def get(self, wanted: dict[str, Any]) -> Any:
        return await self.client.get(wanted["name"])

    async def create(self, wanted: dict[str, Any]) -> Any:
        async with await self.client.create(**wanted) as created:
            return {"name": created.name}


#: The sleep makes it likely that a command is under way when the box dies.
def _script(number: int) -> str:
    return f"sleep 0.05; echo {number} >> ran; echo {number}"


class Many:
    """Runs numbered commands concurrently. Each appends its number to the file `ran`."""

    def __init__(self, count: int) -> None:
        self._numbers = iter(range(count))
        self._lock = threading.Lock()
        self.succeeded: list[int] = []
        self.failures: list[str] = []

    def next(self) -> int | None:
        with self._lock:
            return next(self._numbers, None)

    def ended(self, number: int, stdout: str) -> None:
        if stdout == f"{number}\n":
            self.succeeded.append(number)

    def failed(self, error: Exception) -> None:
        self.failures.append(f"{type(error).__name__}: {error}")

    async def worker(self, sandbox: Any) -> None:
        while (number := self.next()) is not None:
            try:
                self.ended(number, (await sandbox.commands.run(_script(number), 120)).stdout)
            except SandboxError as error:
                self.failed(error)

    def thread(self, sandbox: Any) -> None:
        while (number := self.next()) is not None:
            try:
                self.ended(number, sandbox.commands.run(_script(number), 120).stdout)
            except SandboxError as error:
                self.failed(error)

    async def run(self, sandbox: Any, concurrency: int) -> Any:
        if isinstance(sandbox, Waiting):
            threads = [threading.Thread(target=self.thread, args=(sandbox._inner,)) for _ in range(concurrency)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        else:
            await asyncio.gather(*(self.worker(sandbox) for _ in range(concurrency)))
        return {"succeeded": self.succeeded, "failures": self.failures}


async def main(kind: str, data_dir: str, name: str) -> None:
    async def open_client(**options: Any) -> Any:
        if kind == "async":
            return await connect_async(data_dir=data_dir, **options)
        return Waiting(connect(data_dir=data_dir, **options))

    client = await open_client()
    calls = Calls(client, await client.get(name), lambda token: open_client(token=token))
    for line in iter(sys.stdin.readline, ""):
        case = json.loads(line)
        outcome: dict[str, Any]
        try:
            if case["call"] == "run_many":
                result = await Many(case["with"]["count"]).run(calls.sandbox, case["with"]["concurrency"])
            else:
                result = await getattr(calls, case["call"])(case["with"])
            outcome = {"result": result}
        except SandboxError as error:
            details = {"reason": error.reason, "message": str(error)}
            outcome = {"error": details if error.status is None else {**details, "status": error.status}}
        print(json.dumps(outcome), flush=True)
    await client.close()


asyncio.run(main(*sys.argv[1:]))

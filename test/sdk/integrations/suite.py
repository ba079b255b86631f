"""Lets an agent of a framework use a sandbox: suite.py FRAMEWORK EXAMPLE. Prints one JSON line per test.

EXAMPLE is the framework's example of the guide. It runs in the same process, because importing a framework takes seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import runpy
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import no_internet

no_internet.install()

from script import Call, Script  # noqa: E402

from k8s_agent_sandbox import AsyncSandboxClient, SandboxClient, connect, connect_async  # noqa: E402

framework, example = sys.argv[1:]
integration = import_module(f"k8s_agent_sandbox.integrations.{framework}")
model = import_module(f"scripted_{framework}")

work = [
    Call("write_file", {"path": "made/by/agent.txt", "content": "six times seven\n"}),
    Call("run_command", {"command": "cat made/by/agent.txt; echo on stderr >&2"}),
    Call("read_file", {"path": "made/by/agent.txt"}),
    Call("list_files", {"path": "made/by"}),
    Call("run_code", {"code": "answer = 6 * 7"}),
    Call("run_code", {"code": "print('it is'); answer"}),
    # The same call twice: its result must not come from a cache.
    Call("run_command", {"command": "echo line >> log; wc -l < log"}),
    Call("run_command", {"command": "echo line >> log; wc -l < log"}),
]
failures = [
    Call("run_command", {"command": "echo reason >&2; exit 3"}),
    Call("run_command", {"command": "yes hostile | head -c 1000000"}),
    Call("run_code", {"code": "while True: print('hostile' * 1000)"}),
    Call("run_code", {"code": "1 / 0"}),
    Call("run_command", {"command": "echo before; sleep 60", "timeout_seconds": 1}),
    Call("read_file", {"path": "missing.txt"}),
    Call("read_file", {"path": "made/by/agent.txt", "offset": 17}),
    Call("run_command", {"command": "true", "timeout_seconds": 1_000_000}),
    Call("run_command", {"command": "", "timeout_seconds": None}),
]
use = [
    Call("run_command", {"command": "echo still there | tee note"}),
    Call("read_file", {"path": "note", "offset": 6}),
    Call("list_files", {}),
]

limits = integration.Limits(max_characters=1_000)


def script(calls: Sequence[Call]) -> Script:
    return Script(calls, json.dumps)


def report(test: str, **found: Any) -> None:
    print(json.dumps({"test": test, **found}), flush=True)


def use_sandbox() -> None:
    def ask(calls: Sequence[Call]) -> Any:
        if hasattr(model, "ask"):
            return json.loads(model.ask(tools, script(calls)))
        return json.loads(asyncio.run(model.ask_async(tools, script(calls))))

    with connect() as client, client.create(image="host") as sandbox:
        tools = integration.sandbox_tools(sandbox, limits)
        report("work with Sandbox", results=ask(work))
        report("failures with Sandbox", results=ask(failures))
        sandbox.delete()
        report("deleted Sandbox", results=ask(use))


async def use_async_sandbox() -> None:
    async def ask(calls: Sequence[Call]) -> Any:
        return json.loads(await model.ask_async(tools, script(calls)))

    async with await connect_async() as client, await client.create(image="host") as sandbox:
        if not hasattr(model, "ask_async"):
            try:
                integration.sandbox_tools(sandbox)
            except TypeError as error:
                report("refused AsyncSandbox", error=str(error))
            return
        tools = integration.sandbox_tools(sandbox, limits)
        report("work with AsyncSandbox", results=await ask(work))
        report("failures with AsyncSandbox", results=await ask(failures))
        await sandbox.delete()
        report("deleted AsyncSandbox", results=await ask(use))


def names_of_sandboxes() -> list[str]:
    with connect() as client:
        return [each.name for each in client.list(labels={"made-by": framework.replace("_", "-")})]


def use_temporary_sandbox() -> None:
    """With the clients of earlier versions, whose sandboxes have other methods."""
    options = {"image": "host", "labels": {"made-by": framework.replace("_", "-")}}
    if hasattr(model, "ask"):
        with SandboxClient() as client, integration.temporary_sandbox_tools(client=client, **options) as tools:
            inside = names_of_sandboxes()
            results = json.loads(model.ask(tools, script(use)))
        later = json.loads(model.ask(tools, script(use)))
    else:

        async def use_it() -> tuple[list[str], Any, Any]:
            async with (
                AsyncSandboxClient() as client,
                integration.temporary_sandbox_tools(client=client, **options) as tools,
            ):
                inside = await asyncio.to_thread(names_of_sandboxes)
                results = json.loads(await model.ask_async(tools, script(use)))
            return inside, results, json.loads(await model.ask_async(tools, script(use)))

        inside, results, later = asyncio.run(use_it())
    report("temporary", results=results, later=later, inside=len(inside), after=len(names_of_sandboxes()))


def run_example() -> None:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(example, run_name="__main__")
    report("example", printed=printed.getvalue())


use_sandbox()
asyncio.run(use_async_sandbox())
use_temporary_sandbox()
run_example()
report("internet", attempts=no_internet.attempts)

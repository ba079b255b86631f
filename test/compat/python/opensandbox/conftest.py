"""The sandbox of the scripts, once with the synchronous client and once with the asynchronous one."""

import asyncio
import threading
from datetime import timedelta
from types import SimpleNamespace

import pytest
from code_interpreter import CodeInterpreter, CodeInterpreterSync
from opensandbox import Sandbox, SandboxManager, SandboxManagerSync, SandboxSync
from opensandbox.models.execd import ExecutionHandlers
from opensandbox.models.execd_sync import ExecutionHandlersSync

sync_client = SimpleNamespace(
    Sandbox=SandboxSync,
    Manager=SandboxManagerSync,
    CodeInterpreter=CodeInterpreterSync,
    Handlers=ExecutionHandlersSync,
    # What a call returns, for each client.
    do=lambda value: value,
    handler=lambda function: function,
    close=lambda interpreter: interpreter.close(),
    # Makes a call while another one is running.
    soon=lambda call: threading.Timer(0.2, call).start(),
)


def async_client(loop):
    def handler(function):
        async def call(message):
            function(message)

        return call

    return SimpleNamespace(
        Sandbox=Sandbox,
        Manager=SandboxManager,
        CodeInterpreter=CodeInterpreter,
        Handlers=ExecutionHandlers,
        do=loop.run_until_complete,
        handler=handler,
        close=lambda interpreter: loop.run_until_complete(interpreter.aclose()),
        soon=lambda call: loop.call_later(0.2, lambda: loop.create_task(call())),
    )


@pytest.fixture(scope="session", params=["sync", "async"])
def client(request):
    if request.param == "sync":
        yield sync_client
        return
    loop = asyncio.new_event_loop()
    yield async_client(loop)
    loop.close()


@pytest.fixture(scope="session")
def do(client):
    return client.do


@pytest.fixture(scope="session")
def sandbox(client, do):
    made = do(
        client.Sandbox.create(
            "host", env={"K": "V"}, metadata={"a": "x y", "team": "python"}, timeout=timedelta(minutes=10)
        )
    )
    yield made
    do(made.kill())
    do(made.close())


def texts(messages):
    return [message.text for message in messages]


@pytest.fixture(scope="session")
def lines(sandbox, do):
    """The output of a command."""

    def run(command, **more):
        return texts(do(sandbox.commands.run(command, **more)).logs.stdout)

    return run

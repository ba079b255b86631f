"""Measures the Python SDK. Arguments: the data folder of a box, and a pool."""

import asyncio
import sys
import time

from orders import milliseconds_since, require, serve, timed

from k8s_agent_sandbox import connect, connect_async

_, data_dir, pool = sys.argv
client = connect(data_dir=data_dir)
opened = None


def first():
    started = time.perf_counter()
    sandbox = client.create(pool=pool)
    ready_ms = milliseconds_since(started)
    stdout = sandbox.commands.run("echo ready").stdout
    ms = milliseconds_since(started)
    require(stdout == "ready\n", stdout)
    sandbox.delete()
    return {"ms": ms, "ready_ms": ready_ms}


def open_sandbox(sandbox):
    global opened
    opened = client.get(sandbox)
    return {"ms": 0}


def execute():
    return timed(lambda: opened.commands.run(["true"]))


def parallel(count):
    """With the asynchronous SDK: a thread for each command would measure the threads."""

    async def run(sandbox, number):
        try:
            result = await sandbox.commands.run(f"echo {number}", timeout=120)
            return result.stdout == f"{number}\n"
        except Exception:
            return False

    async def run_all():
        async with await connect_async(data_dir=data_dir) as asynchronous:
            sandbox = await asynchronous.get(opened.name)
            started = time.perf_counter()
            succeeded = await asyncio.gather(*(run(sandbox, number) for number in range(count)))
            return {"ms": milliseconds_since(started), "failures": succeeded.count(False)}

    return asyncio.run(run_all())


def write(path, bytes):
    content = b"agent-sandbox\x00\xff\n" * (bytes // 16)
    return timed(lambda: opened.files.write(path, content))


def read(path, bytes):
    def work():
        size = len(opened.files.read(path))
        require(size == bytes, size)

    return timed(work)


serve({"first": first, "open": open_sandbox, "exec": execute, "parallel": parallel, "write": write, "read": read})

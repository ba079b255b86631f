"""Measures the Python SDK. Arguments: the data folder of a box, and a pool."""

import asyncio
import sys
import time

from orders import Bench, milliseconds_since

from k8s_agent_sandbox import connect, connect_async

_, data_dir, pool = sys.argv
client = connect(data_dir=data_dir)
bench = Bench(
    create=lambda: client.create(pool=pool),
    attach=client.get,
    delete=lambda sandbox: sandbox.delete(),
    true=["true"],
)


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
            sandbox = await asynchronous.get(bench.opened.name)
            started = time.perf_counter()
            succeeded = await asyncio.gather(*(run(sandbox, number) for number in range(count)))
            return {"ms": milliseconds_since(started), "failures": succeeded.count(False)}

    return asyncio.run(run_all())


bench.serve(parallel=parallel)

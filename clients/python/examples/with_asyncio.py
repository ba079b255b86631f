# The same calls with asyncio.
import asyncio

from k8s_agent_sandbox import connect_async


async def main() -> None:
    async with await connect_async() as client, await client.create(image="host") as sandbox:
        results = await asyncio.gather(*(sandbox.commands.run(["expr", str(n), "*", "2"]) for n in range(3)))
        print([int(result.stdout) for result in results])


asyncio.run(main())
# Output: [0, 2, 4]

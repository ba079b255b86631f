"""Creates many sandboxes at once and prints what it got as JSON. A create whose answer was lost is sent again with the same key."""

import asyncio
import json
import sys

from e2b import AsyncSandbox


async def create(number):
    error = None
    for _ in range(120):
        try:
            key = f"storm-{number}"
            made = await AsyncSandbox.create(timeout=600, metadata={"number": str(number)}, idempotency_key=key)
            return {"id": made.sandbox_id}
        except Exception as failure:
            error = f"{type(failure).__name__}: {failure}"
            await asyncio.sleep(1)
    return {"error": error}


async def main():
    print(json.dumps(await asyncio.gather(*[create(number) for number in range(int(sys.argv[1]))])))


asyncio.run(main())

import asyncio
import os

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

TOKEN = os.environ["AGENT_SANDBOX_TOKEN"]


class Connection:
    """Opens a client of one protocol generation over one transport."""

    def __init__(self, way, mode):
        self.way, self.mode = way, mode
        self.sandbox = f"py-{way}-{mode}"

    def open(self, token=TOKEN, query="", **options):
        if self.way == "http":
            http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=120)
            server = streamable_http_client(os.environ["MCP_URL"] + query, http_client=http)
        else:
            command, *args = os.environ["MCP_COMMAND"].split(" ")
            env = {"AGENT_SANDBOX_TOKEN": token, "PATH": os.environ["PATH"]}
            server = StdioServerParameters(command=command, args=args, env=env)
        # Without a cache, every call reaches the server.
        return Client(server, mode=self.mode, cache=None, **options)

    def run(self, script, **options):
        """Runs an asynchronous function with a client."""

        async def main():
            async with self.open(**options) as client:
                return await script(Tools(client, self.sandbox))

        return asyncio.run(main())


class Tools:
    """Calls tools for one sandbox."""

    def __init__(self, client, sandbox):
        self.client, self.sandbox = client, sandbox

    async def call(self, name, **arguments):
        return await self.client.call_tool(name, {"sandbox": self.sandbox, **arguments})

    async def use(self, name, **arguments):
        result = await self.call(name, **arguments)
        assert not result.is_error, result.content
        return result.structured_content

    async def failure(self, name, **arguments):
        result = await self.call(name, **arguments)
        assert result.is_error, result.content
        return result.content[0].text


@pytest.fixture(scope="session", params=[(way, mode) for way in ("stdio", "http") for mode in ("legacy", "auto")], ids="-".join)
def connection(request):
    made = Connection(*request.param)

    async def create(tools):
        wanted = {"name": made.sandbox, "template": "plain", "labels": {"team": made.sandbox}}
        result = await tools.client.call_tool("create_sandbox", wanted)
        assert not result.is_error, result.content

    async def delete(tools):
        assert await tools.use("delete_sandbox") == {"deleted": True}

    made.run(create)
    yield made
    made.run(delete)

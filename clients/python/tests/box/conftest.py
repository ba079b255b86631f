"""These tests need a running box, which `AGENT_SANDBOX_DATA_DIR` names. `make test-sdk` starts one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from k8s_agent_sandbox import Client, SandboxHandle, connect


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    with connect() as found:
        yield found


@pytest.fixture(scope="session")
def sandbox(client: Client) -> Iterator[SandboxHandle]:
    """For all tests that need no other one."""
    with client.create(image="host", name="python-sdk", lifetime_seconds=3600) as found:
        yield found

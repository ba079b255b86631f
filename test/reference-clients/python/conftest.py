"""Runs a published version of k8s-agent-sandbox, unmodified, against the box of KUBECONFIG as a user who may `edit` one namespace."""

import importlib.metadata
import os

import pytest
from k8s_agent_sandbox import SandboxClient
from k8s_agent_sandbox.models import SandboxDirectConnectionConfig

NAMESPACE = os.environ["SANDBOX_NAMESPACE"]
POOL = os.environ["SANDBOX_POOL"]
VERSION = tuple(int(part) for part in importlib.metadata.version("k8s-agent-sandbox").split(".")[:2])

# For tests of what earlier versions lack.
needs_1_0 = pytest.mark.needs_1_0


def pytest_configure(config):
    config.addinivalue_line("markers", "needs_1_0: only for version 1.0 and later")


def pytest_collection_modifyitems(items):
    items[:] = [item for item in items if VERSION >= (1, 0) or item.get_closest_marker("needs_1_0") is None]


def direct_config(token=os.environ["ROUTER_TOKEN"]):
    """Connects to the router with a token. Versions before 1.0 cannot set headers, so they put it in the URL."""
    if VERSION < (1, 0):
        return SandboxDirectConnectionConfig(api_url=f"http://token:{token}@{os.environ['ROUTER_ADDRESS']}")
    headers = {"Authorization": f"Bearer {token}"}
    return SandboxDirectConnectionConfig(api_url=f"http://{os.environ['ROUTER_ADDRESS']}", extra_headers=headers)


@pytest.fixture(scope="session")
def tunnel():
    """A client with the default settings: it starts `kubectl port-forward` by itself."""
    client = SandboxClient()
    yield client
    client.delete_all()


@pytest.fixture(scope="session")
def sandbox(tunnel):
    return tunnel.create_sandbox(POOL, namespace=NAMESPACE)

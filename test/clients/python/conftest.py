"""Tests the API server in KUBECONFIG with the unmodified Python client."""

import pytest
from kubernetes import client, config


@pytest.fixture(scope="session")
def api():
    config.load_kube_config()
    return client.ApiClient()


@pytest.fixture(scope="session")
def core(api):
    return client.CoreV1Api(api)


@pytest.fixture(scope="session")
def custom(api):
    return client.CustomObjectsApi(api)


@pytest.fixture
def namespace(core):
    body = client.V1Namespace(metadata=client.V1ObjectMeta(generate_name="python-"))
    name = core.create_namespace(body).metadata.name
    yield name
    core.delete_namespace(name)

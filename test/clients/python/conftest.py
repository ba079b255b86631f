"""Tests the API server in KUBECONFIG with the unmodified Python client."""

import json
import os

import pytest
from kubernetes import client, config

ACTIONS = {"passed": "pass", "failed": "fail", "skipped": "skip"}


def record(report):
    """Appends one result to the file in TEST_RESULTS, in the format of `go test -json`."""
    if "TEST_RESULTS" not in os.environ:
        return
    # The report of a skip contains a file, a line and the reason.
    why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr or "")
    event = {"Action": ACTIONS[report.outcome], "Test": report.nodeid, "Output": why}
    with open(os.environ["TEST_RESULTS"], "a", encoding="utf-8") as results:
        results.write(json.dumps(event) + "\n")


def pytest_runtest_logreport(report):
    if report.when == "call" or not report.passed:
        record(report)


def pytest_collectreport(report):
    if report.failed:
        record(report)


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

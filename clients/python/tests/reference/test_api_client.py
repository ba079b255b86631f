"""The settings of an `ApiClient` of the packages kubernetes and kubernetes_asyncio, which need not be installed."""

import asyncio
import json
from types import SimpleNamespace

import pytest

from k8s_agent_sandbox.async_k8s_helper import AsyncK8sHelper
from k8s_agent_sandbox.exceptions import SandboxClaimFailedError, SandboxError, SandboxMetadataError, SandboxRequestError
from k8s_agent_sandbox.k8s_helper import K8sHelper

SECRET = "Bearer a-secret-token"


def api_client(server, token, **more):
    configuration = SimpleNamespace(
        host=f"{server.url}/", verify_ssl=True, ssl_ca_cert=None, cert_file=None, key_file=None, proxy=None, **more
    )
    configuration.get_api_key_with_prefix = lambda key: token(key)
    return SimpleNamespace(configuration=configuration, default_headers={"Impersonate-User": "ann", "User-Agent": "x"})


def listing(*names):
    return 200, {}, json.dumps({"items": [{"metadata": {"name": name}} for name in names]}).encode()


def lines(*events):
    return 200, {}, b"".join(json.dumps(event).encode() + b"\n" for event in events)


def test_requests_go_to_its_server_with_its_token(server):
    helper = K8sHelper(api_client(server, lambda key: SECRET if key == "authorization" else None))
    server.answers = [listing("a", "b")]
    assert helper.list_sandbox_claims("team", "x=y") == ["a", "b"]
    [(_, path, headers, _)] = server.requests
    assert (
        path.startswith("/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/team/sandboxclaims?")
        and "labelSelector=x%3Dy" in path
    )
    assert (headers["authorization"], headers["impersonate-user"]) == (SECRET, "ann")


def test_a_token_that_is_renewed_is_asked_for_each_time(server):
    tokens = iter(["Bearer one", "Bearer two"])

    async def token(key):
        return next(tokens)

    async def use():
        helper = AsyncK8sHelper(api_client(server, token, refresh_api_key_hook=print))
        server.answers = [listing()]
        await helper.list_sandbox_claims("team")
        await helper.list_sandbox_claims("team")
        await helper.close()

    asyncio.run(use())
    assert [headers["authorization"] for _, _, headers, _ in server.requests] == ["Bearer one", "Bearer two"]


def test_a_proxy_is_refused(server):
    client = api_client(server, lambda key: SECRET)
    client.configuration.proxy = "http://proxy"
    with pytest.raises(SandboxError) as refused:
        K8sHelper(client).list_sandbox_claims("team")
    assert refused.value.reason == "Unsupported"


def test_failures_have_the_status_and_no_token(server):
    helper = K8sHelper(api_client(server, lambda key: SECRET))
    server.answers = [(403, {}, b'{"message": "not allowed", "reason": "Forbidden"}')]
    with pytest.raises(SandboxRequestError) as refused:
        helper.delete_sandbox_claim("a", "team")
    assert refused.value.status_code == 403 and SECRET not in str(refused.value)
    server.answers = [(404, {}, b"{}")]
    assert helper.get_sandbox("a", "team") is None
    assert helper.delete_sandbox_claim("a", "team") is None


def claim(reason=None, name=None, status="False"):
    conditions = [{"type": "Ready", "status": status, "reason": reason, "message": "because"}] if reason else []
    return {
        "metadata": {"name": "c", "uid": "u"},
        "status": {"conditions": conditions, "sandbox": {"name": name} if name else {}},
    }


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"type": "MODIFIED", "object": claim("Ready", "s", "True")}, "s"),
        ({"type": "MODIFIED", "object": claim("PodFailed", "s")}, SandboxClaimFailedError),
        ({"type": "MODIFIED", "object": claim("InvalidConfiguration")}, SandboxClaimFailedError),
        ({"type": "DELETED", "object": claim()}, SandboxMetadataError),
    ],
)
def test_a_claim_is_watched_from_its_version(server, event, expected):
    helper = K8sHelper(api_client(server, lambda key: SECRET))
    server.answers = [lines({"type": "MODIFIED", "object": claim("SandboxNotReady", "s")}, event)]
    wait = {"resource_version": "41", "expected_uid": "u"}
    if isinstance(expected, str):
        assert helper.wait_for_claim_ready("c", "team", 5, **wait) == expected
    else:
        with pytest.raises(expected):
            helper.wait_for_claim_ready("c", "team", 5, **wait)
    [(_, path, _, _)] = server.requests
    assert "resourceVersion=41" in path and "fieldSelector=metadata.name%3Dc" in path


def test_a_claim_that_does_not_become_ready_times_out(server):
    helper = K8sHelper(api_client(server, lambda key: SECRET))
    server.answers = [lines({"type": "MODIFIED", "object": claim("SandboxNotReady", "s")})]
    with pytest.raises(TimeoutError):
        helper.wait_for_claim_ready("c", "team", 0.3, initial_claim=claim("SandboxNotReady"))

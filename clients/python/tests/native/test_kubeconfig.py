from __future__ import annotations

import base64
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from k8s_agent_sandbox import SandboxError
from k8s_agent_sandbox._core.discover import ConnectOptions, discover
from k8s_agent_sandbox._kube.credentials import CredentialProblem, TokenFile
from k8s_agent_sandbox._kube.exec_plugin import ExecCredentials
from k8s_agent_sandbox._kube.fields import ConfigProblem
from k8s_agent_sandbox._kube.kubeconfig import load_default, load_in_cluster

PEM = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"

MINIMAL = """
apiVersion: v1
kind: Config
current-context: main
clusters:
- {name: c, cluster: {server: "https://host:6443/"}}
users:
- {name: u, user: {token: "0123"}}
contexts:
- {name: main, context: {cluster: c, user: u, namespace: team}}
- {name: nobody, context: {cluster: c}}
"""


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT", "AGENT_SANDBOX_ROUTER_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AGENT_SANDBOX_DATA_DIR", str(tmp_path / "no-box"))


def _load(folder: Path, text: str, context: str | None = None) -> Any:
    path = folder / "config"
    path.write_text(text)
    return load_default(str(path), context)


def _with_user(user: dict[str, Any]) -> str:
    config = {
        "current-context": "main",
        "clusters": [{"name": "c", "cluster": {"server": "https://host:6443"}}],
        "users": [{"name": "u", "user": user}],
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u"}}],
    }
    return json.dumps(config)


def test_a_context_names_server_namespace_and_credential(tmp_path: Path) -> None:
    access = _load(tmp_path, MINIMAL)
    assert (access.server, access.namespace) == ("https://host:6443", "team")
    assert access.credentials.known().authorization == "Bearer 0123"
    assert _load(tmp_path, MINIMAL, "nobody").credentials.known().authorization is None


def test_the_first_file_of_the_environment_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "first").write_text("current-context: main\nusers:\n- {name: u, user: {token: first}}\n")
    (tmp_path / "second").write_text(MINIMAL)
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path}/first::{tmp_path}/missing:{tmp_path}/second")
    assert load_default().credentials.known().authorization == "Bearer first"


@pytest.mark.parametrize(
    ("user", "authorization"),
    [
        ({"token": "t", "username": "n", "password": "p"}, "Bearer t"),
        ({"username": "n", "password": "p"}, f"Basic {base64.b64encode(b'n:p').decode()}"),
        ({}, None),
    ],
)
def test_credentials_have_the_precedence_of_kubectl(tmp_path: Path, user: dict[str, str], authorization: str | None) -> None:
    assert _load(tmp_path, _with_user(user)).credentials.known().authorization == authorization


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a list", "it must be a mapping"),
        ("{", "Cannot parse kubeconfig"),
        ("[" * 100_000, "Cannot parse kubeconfig"),
        ("clusters: []", "no current-context is set, and none is defined"),
        (MINIMAL.replace("current-context: main", "current-context: other"), 'there is no context "other"'),
        (MINIMAL.replace("cluster: c, user", "cluster: x, user"), "which is not defined"),
        (MINIMAL.replace("https://host:6443/", "ftp://host"), "must be an address"),
        (MINIMAL.replace("https://host:6443/", "https://host:6443', proxy-url: 'http://p").replace('"', "'"), "proxy-url"),
        (_with_user({"client-certificate-data": base64.b64encode(PEM.encode()).decode()}), "client-key is missing"),
        (_with_user({"client-key-data": "!!"}), "is not valid base64"),
        (_with_user({"auth-provider": {"name": "gcp"}}), "use an exec plugin"),
        (_with_user({"exec": {"apiVersion": "v0", "command": "x"}}), "known are"),
        (_with_user({"as-uid": "1"}), "as is missing"),
        (_with_user({"token": ["secret-in-a-list"]}), "users[0].user.token is a list"),
    ],
)
def test_problems_are_described_without_values(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigProblem) as raised:
        _load(tmp_path, text)
    assert message in str(raised.value)
    assert "secret" not in str(raised.value)


def test_impersonated_groups_are_separate_headers(tmp_path: Path) -> None:
    user = {"token": "t", "as": "jane", "as-groups": ["a", "b"], "as-user-extra": {"Scope s": ["x", "y"]}}
    assert list(_load(tmp_path, _with_user(user)).headers) == [
        ("impersonate-user", "jane"),
        ("impersonate-group", "a"),
        ("impersonate-group", "b"),
        ("impersonate-extra-Scope%20s", "x"),
        ("impersonate-extra-Scope%20s", "y"),
    ]


def test_a_token_file_is_read_again_and_survives_its_removal(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("first\n")
    credentials = TokenFile(str(path))
    assert credentials.load().authorization == "Bearer first"
    path.write_text("second\n")
    refused = credentials.known()
    assert credentials.load(refused).authorization == "Bearer second"
    path.unlink()
    assert credentials.load().authorization == "Bearer second"
    with pytest.raises(CredentialProblem):
        TokenFile(str(path)).load()


def _plugin(folder: Path, script: str) -> ExecCredentials:
    program = folder / "plugin"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    exec_user = {"apiVersion": "client.authentication.k8s.io/v1", "command": "./plugin", "args": ["one"]}
    access = _load(folder, _with_user({"exec": exec_user}))
    assert isinstance(access.credentials, ExecCredentials)
    return access.credentials


def _printed(**status: str) -> str:
    document = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    return f"cat <<'E'\n{json.dumps(document)}\nE"


def test_a_plugin_is_run_once_until_its_credential_expires_or_is_refused(tmp_path: Path) -> None:
    credentials = _plugin(tmp_path, f"echo run >> {tmp_path}/runs\n{_printed(token='from-plugin')}")
    assert credentials.known() is None
    first = credentials.load()
    assert first.authorization == "Bearer from-plugin"
    assert credentials.known() == first
    credentials.load()
    assert (tmp_path / "runs").read_text() == "run\n"
    credentials.load(first)
    # A server that refuses every credential does not cause a process per request.
    credentials.load(first)
    assert (tmp_path / "runs").read_text() == "run\nrun\n"


def test_an_expired_credential_of_a_plugin_is_not_used(tmp_path: Path) -> None:
    credentials = _plugin(tmp_path, _printed(token="t", expirationTimestamp="2001-01-01T00:00:00Z"))
    credentials.load()
    assert credentials.known() is None


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("exit 3", "it ended with exit code 3"),
        ("echo why >&2; exit 1", "it printed to stderr: why"),
        ("true", "it printed nothing"),
        ("echo secret", "it did not print valid JSON"),
        (_printed(clientKeyData="secret"), "only one of"),
        (_printed(token="t", expirationTimestamp="soon"), "is not a valid time"),
    ],
)
def test_problems_of_plugins_are_described(tmp_path: Path, script: str, message: str) -> None:
    with pytest.raises(CredentialProblem) as raised:
        _plugin(tmp_path, script).load()
    assert message in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_pod_uses_its_service_account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("token", "pod-token"), ("ca.crt", PEM), ("namespace", "of-the-pod\n")):
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    access = load_in_cluster(str(tmp_path))
    assert (access.server, access.namespace, access.tls.ca) == ("https://[fd00::1]:443", "of-the-pod", PEM)
    assert access.credentials.load().authorization == "Bearer pod-token"


def test_the_running_box_is_found_and_others_are_used_only_if_they_are_named(tmp_path: Path) -> None:
    (tmp_path / "box.json").write_text(json.dumps({"routerUrl": "http://127.0.0.1:7680"}))
    (tmp_path / "kubeconfig").write_text(_with_user({"token": "of-the-box"}))
    found = discover(ConnectOptions(data_dir=str(tmp_path)))
    assert (found.router, found.server) == ("http://127.0.0.1:7680", "https://host:6443")
    with pytest.raises(SandboxError) as raised:
        discover(ConnectOptions(data_dir=str(tmp_path), kubeconfig=str(tmp_path / "kubeconfig")))
    assert raised.value.reason == "Unreachable"
    assert "AGENT_SANDBOX_ROUTER_URL" in str(raised.value)


def test_a_damaged_record_of_a_box_is_no_box(tmp_path: Path) -> None:
    for text in ("", "[]", '{"routerUrl": 1}', "\xff"):
        (tmp_path / "box.json").write_text(text)
        with pytest.raises(SandboxError):
            discover(ConnectOptions(data_dir=str(tmp_path)))

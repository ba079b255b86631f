"""Prints what functions of the installed k8s_agent_sandbox return that need no cluster, as JSON. `surface.py` compares them."""

import datetime
import json
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from k8s_agent_sandbox import models, pod_metadata, utils
from k8s_agent_sandbox.claim_adoption import validate_claim_for_adoption, validate_claim_name
from k8s_agent_sandbox.files.filesystem import Filesystem
from k8s_agent_sandbox.gke_extensions.snapshots import snapshot_engine
from k8s_agent_sandbox.gke_extensions.snapshots import utils as snapshot_utils

ADDRESSES = [
    None,
    [],
    ["10.0.0.1"],
    ["fd00::1", "10.0.0.1"],
    [" 10.0.0.2 "],
    ["::ffff:10.0.0.3"],
    ["bad", {"ip": "10.0.0.4"}],
    [{"ip": None}, SimpleNamespace(ip="FD00::0:2")],
    [None, 7, "", "fe80::1%eth0"],
]
HOSTS = [
    "example.com", "a", "-a", "a-", "a..b", ".a", "a.", "1.2.3", "0x7f.1", "0x", "2130706433", "1a.2", "a_b", "x" * 64,
    "a." * 126 + "a", "a." * 127 + "a", "", "ünï", "a-.b", "A.B", "127.0.0.1", "::1", 5, None,
]  # fmt: skip
LABELS = [
    {}, {"a": ""}, {"a": "b"}, {"": "b"}, {"a/b": "c"}, {"A.b/c": "d"}, {"a/": "c"}, {"/a": "c"}, {"a/b/c": "d"}, {"-a": "b"},
    {"a": "b-"}, {"a": "x" * 63}, {"a": "x" * 64}, {"x" * 64: "a"}, {f"{'p' * 253}/a": "b"}, {f"{'p' * 254}/a": "b"},
    {"a b": "c"}, {"a": "ü"}, {"a\n": "b"},
]  # fmt: skip
NAMES = ["a", "a-b.c", "A", "", "a..b", "-a", "a-", "a" * 253, "a" * 254, 5, None, "a\n"]
PATHS = ["a", "/a", "//a", "a/b/../c", "../a", "a/../..", "", " ", ".", "/", "a\tb", "a\x7f", "..a", "a/..b", " a ", "./a", "ä"]
TIMES = [None, "2026-01-02T03:04:05Z", "2026-01-02T03:04:05", "2026-01-02", "nonsense", 5, datetime.datetime(2026, 1, 2)]
TTLS = [1, 0, -1, True, 1.5, "1", None, 10**20]
SELECTORS = [
    None,
    "",
    "a=b",
    "agents.x-k8s.io/sandbox-name-hash=abc",
    "x=y, agents.x-k8s.io/sandbox-name-hash = def",
    "agents.x-k8s.io/sandbox-name-hash=",
]
CLAIM = {"metadata": {"uid": "u", "resourceVersion": "1"}, "spec": {"warmPoolRef": {"name": "p"}}}
CLAIMS = [
    None,
    {},
    CLAIM,
    {**CLAIM, "metadata": {}},
    {**CLAIM, "metadata": {**CLAIM["metadata"], "deletionTimestamp": "now"}},
    {**CLAIM, "spec": {}},
]
MODELS: list[tuple[str, dict[str, Any]]] = [
    ("SandboxDirectConnectionConfig", {"api_url": "http://a"}),
    ("SandboxDirectConnectionConfig", {"api_url": "http://a", "extra_headers": {"X-Sandbox-ID": "b"}}),
    ("SandboxDirectConnectionConfig", {"api_url": "http://a", "ca_cert": "/ca"}),
    ("SandboxDirectConnectionConfig", {"api_url": "HTTPS://a", "ca_cert": "/ca", "client_cert": ("c", "k")}),
    ("SandboxLocalTunnelConnectionConfig", {"router_namespace": "Bad"}),
    ("SandboxLocalTunnelConnectionConfig", {"router_namespace": "good-1"}),
    ("SandboxLocalTunnelConnectionConfig", {"server_port": "x"}),
    ("SandboxdPodTunnelConnectionConfig", {"rest_port": 0}),
    ("SandboxdPodTunnelConnectionConfig", {"grpc_port": 65535}),
    ("SandboxdInClusterConnectionConfig", {"mode": "pod-ip"}),
    ("SandboxdInClusterConnectionConfig", {"mode": "in-cluster-service", "rest_port": 9090}),
    ("SandboxdInClusterConnectionConfig", {"mode": "other"}),
    ("SandboxGatewayConnectionConfig", {}),
    ("SandboxClaimEnvVar", {"name": "A", "value": "b", "container_name": "c"}),
    *(
        ("SandboxClaimEnvVar", {"name": name, "value": "b"})
        for name in ["", ".", "..", "..a", ".a", "1a", "a-b", "a=b", "a b", "A\n"]
    ),
    ("ExecutionResult", {"stdout": "a", "exit_code": 3, "more": 1}),
    ("ExecutionResult", {"stdout": 5}),
    ("FileEntry", {"name": "a", "size": 1, "type": "link", "modified": "2026-01-02T03:04:05Z"}),
]
ENTRIES = [
    {"name": "a", "size": 1, "type": "file", "mod_time": 2.5},
    {"name": "a", "size": 1, "type": "directory"},
    {"name": "a"},
]
DAEMON_ENTRIES = [
    {"name": "a", "size": 1, "type": "file", "modified_at": "2026-01-02T03:04:05.5Z", "mode": "0644"},
    {"name": "a"},
]
CONFIGURATION = SimpleNamespace(
    host="https://a", verify_ssl=True, ssl_ca_cert="/ca", cert_file="/c", key_file="/k", tls_server_name="n", proxy=None
)
HEADERS = [None, {"Authorization": "Bearer t"}, {"Impersonate-User": "u", "impersonate-group": "g"}, {"authorization": "Basic x"}]


def outcome(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result, or the kind of the error: its text is for people."""
    try:
        found = function(*arguments)
    except Exception as error:
        kinds = [kind.__name__ for kind in type(error).__mro__]
        return {"raises": next(kind for kind in kinds if not kind.startswith("Sandbox") or kind == "SandboxNotFoundError")}
    return found.model_dump(mode="json", exclude={"signal", "truncated"}) if isinstance(found, models.BaseModel) else found


def lifecycle(seconds: Any) -> list[str]:
    return sorted(utils.construct_sandbox_claim_lifecycle_spec(seconds))


def safe_path(path: str) -> str:
    """What `write` would send."""
    sent: list[str] = []
    connector = SimpleNamespace(
        is_sandboxd=lambda: True, send_request=lambda *args, **_: sent.append(args[1]), router=None, target=None
    )
    Filesystem(connector, None, "").write(path, b"")
    return sent[0]


def main() -> None:
    cases: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
        "select_pod_ip": (utils.select_pod_ip, [(each,) for each in ADDRESSES]),
        "is_valid_ip": (utils.is_valid_ip, [(each,) for each in HOSTS]),
        "is_valid_gateway_hostname": (utils.is_valid_gateway_hostname, [(each,) for each in HOSTS]),
        "validate_labels": (pod_metadata.validate_labels, [(each,) for each in LABELS]),
        "build_pod_metadata": (
            pod_metadata.build_pod_metadata,
            [(None, None), ({}, {}), ({"a": "b"}, None), (None, {"c": "d"}), ({"-": "b"}, None)],
        ),
        "validate_claim_name": (validate_claim_name, [(each,) for each in NAMES]),
        "validate_claim_for_adoption": (validate_claim_for_adoption, [(each, "c", "p") for each in CLAIMS]),
        "path": (safe_path, [(each,) for each in PATHS]),
        "normalize_datetime": (lambda v: str(snapshot_utils.normalize_datetime(v)), [(each,) for each in TIMES]),
        "SnapshotFilter": (lambda v: snapshot_engine.SnapshotFilter(created_after=v), [(each,) for each in TIMES]),
        "lifecycle": (lifecycle, [(each,) for each in TTLS]),
        "hash": (lambda v: utils.extract_sandbox_name_hash({"status": {"selector": v}}), [(each,) for each in SELECTORS]),
        "merge_headers": (utils.merge_headers, [(), (None, {"A": "1"}, {"a": "2", "B": "3"}), ({"X": "1"}, {})]),
        "model": (lambda name, fields: getattr(models, name)(**fields), MODELS),
        "env": (lambda: [each.model_dump(by_alias=True) for each in utils.construct_sandbox_claim_env_spec({"A": "b"})], [()]),
        "from_legacy": (models.FileEntry.from_legacy, [(each,) for each in ENTRIES]),
        "from_sandboxd": (models.FileEntry.from_sandboxd, [(each,) for each in DAEMON_ENTRIES]),
        "kubeconfig": (
            utils.kubeconfig_from_configuration,
            [(CONFIGURATION, "Bearer t", None), *((CONFIGURATION, None, each) for each in HEADERS)],
        ),
    }
    found = {
        f"{name}({', '.join(map(repr, arguments))})": outcome(function, *arguments)
        for name, (function, all_arguments) in cases.items()
        for arguments in all_arguments
    }
    json.dump(found, sys.stdout, default=str)


main()

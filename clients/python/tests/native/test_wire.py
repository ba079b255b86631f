from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from k8s_agent_sandbox import SandboxArgumentError, SandboxError
from k8s_agent_sandbox._core.create_options import CreateOptions, claim_of, fork_of, sandbox_of
from k8s_agent_sandbox._core.parse import time_of
from k8s_agent_sandbox._core.wire import Envelopes, JsonLines, encode_path, envelope, query_of


@pytest.mark.parametrize(
    ("path", "encoded"),
    [("a/b", "a/b"), ("/a//b/.", "a/b"), (".", ""), ("a/../b", "b"), ("ü %41?#", "%C3%BC%20%2541%3F%23"), ("..a", "..a")],
)
def test_paths_are_encoded_once(path: str, encoded: str) -> None:
    assert encode_path(path) == encoded


@pytest.mark.parametrize("path", ["..", "/..", "a/../..", "a/../../etc/passwd"])
def test_a_path_that_leaves_the_root_is_refused(path: str) -> None:
    with pytest.raises(SandboxError) as raised:
        encode_path(path)
    assert raised.value.reason == "Forbidden"


def test_parameters_that_are_not_set_are_left_out() -> None:
    assert query_of({"a": None, "b": True, "c": 1, "d": "x y&z"}) == "?b=true&c=1&d=x+y%26z"
    assert query_of({"a": None}) == ""


def test_lines_are_found_however_the_body_is_cut() -> None:
    body = b'{"a": "\xc3\xbc"}\n\n{"b": 2}\n{"incompl'
    for size in range(1, len(body)):
        lines = JsonLines()
        pieces = [body[start : start + size] for start in range(0, len(body), size)]
        assert [found for piece in pieces for found in lines.feed(piece)] == [{"a": "ü"}, {"b": 2}]


def test_messages_are_found_however_the_stream_is_cut() -> None:
    last = json.dumps({}).encode()
    body = envelope({"text": "ü"}) + envelope({}) + b"\x02" + len(last).to_bytes(4, "big") + last
    for size in range(1, len(body)):
        envelopes = Envelopes()
        pieces = [body[start : start + size] for start in range(0, len(body), size)]
        found = [message for piece in pieces for message in envelopes.feed(piece)]
        assert found == [(False, {"text": "ü"}), (False, {}), (True, {})]


def test_a_message_that_is_too_large_is_refused_before_it_is_kept() -> None:
    with pytest.raises(SandboxError):
        list(Envelopes().feed(b"\0\xff\xff\xff\xff"))


@pytest.mark.parametrize("text", ["2026-01-02T03:04:05.123456789Z", "2026-01-02T03:04:05.1Z", "2026-01-02T03:04:05Z"])
def test_times_of_go_are_understood(text: str) -> None:
    assert time_of(text).replace(microsecond=0) == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def _options(**options: object) -> CreateOptions:
    return CreateOptions(name="n", namespace="ns", request_id="id", **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"image": "a", "pool": "b"},
        {"pool": "p", "memory": "1Gi"},
        {"template": "t", "command": ["x"]},
        {"snapshot": "s", "env": {}},
        {"image": "a", "lifetime_seconds": 0},
        {"image": "a", "lifetime_seconds": float("nan")},
        {"image": "a", "command": "a text"},
    ],
)
def test_options_that_contradict_each_other_are_refused(options: dict[str, object]) -> None:
    with pytest.raises(SandboxArgumentError) as raised:
        _options(**options).check()
    assert isinstance(raised.value, ValueError)


def test_an_image_becomes_a_sandbox_with_the_runtime() -> None:
    options = _options(
        image="i", env={"A": "1"}, cpu=0.5, memory="1Gi", suspend_after_seconds=9, suspend_depth="Memory", labels={"l": "v"}
    )
    found = sandbox_of(options)
    assert found["metadata"] == {
        "name": "n",
        "namespace": "ns",
        "labels": {"agents.x-k8s.io/created-by": "python-client", "l": "v"},
        "annotations": {"sdk.agents.x-k8s.io/request-id": "id"},
    }
    limits = {"limits": {"cpu": "0.5", "memory": "1Gi"}}
    container = {"name": "main", "image": "i", "env": [{"name": "A", "value": "1"}], "resources": limits}
    assert found["spec"] == {
        "runtime": "Injected",
        "podTemplate": {"spec": {"containers": [container]}},
        "idlePolicy": {"suspendAfterSeconds": 9},
        "suspendPolicy": {"depth": "Memory"},
    }


def test_a_fork_has_the_spec_of_its_source_but_not_its_end() -> None:
    source = {"spec": {"podTemplate": {}, "operatingMode": "Suspended", "shutdownTime": "t", "shutdownPolicy": "Delete"}}
    found = fork_of(source, _options(snapshot="s"))["spec"]
    assert found == {"podTemplate": {}, "restoreFrom": {"snapshotRef": {"name": "s"}}}


def test_a_lifetime_of_a_claim_is_whole_seconds_in_utc() -> None:
    lifecycle = claim_of("p", _options(pool="p", lifetime_seconds=10.9))["spec"]["lifecycle"]
    assert lifecycle["shutdownPolicy"] == "Delete"
    assert time_of(lifecycle["shutdownTime"]).microsecond == 0
    assert lifecycle["shutdownTime"].endswith("Z")

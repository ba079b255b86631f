"""When a call is repeated, and that no call can have its effect twice."""

from __future__ import annotations

import base64
import socket
from typing import Any

import pytest
from fake_server import Answer, Drop, Hang, fake_server, in_turn, json_answer, refusal
from sdks import both, collect, with_client, with_sandbox

from k8s_agent_sandbox import SandboxError, SandboxNotFoundError, SandboxRequestError, SandboxTimeoutError

DONE = json_answer({"stdout": base64.b64encode(b"hello\n").decode()})


@both
def test_a_command_whose_connection_was_lost_is_sent_again_with_the_same_id_and_its_age(sdk: str) -> None:
    with fake_server(in_turn(Drop, refusal("SandboxStopped", 502), DONE)) as router:
        result = with_sandbox(sdk, lambda sandbox: sandbox.commands.run("echo hello"), router=router.url)
    assert (result.stdout, result.exit_code) == ("hello\n", 0)
    assert len({received.json()["requestId"] for received in router.received}) == 1
    ages = [received.headers.get("x-request-age") for received in router.received]
    assert ages[0] is None
    assert all(age is not None and int(age) >= 0 for age in ages[1:])


@both
@pytest.mark.parametrize(
    "call",
    [
        lambda sandbox: sandbox.files.append("log", "x"),
        lambda sandbox: sandbox.files.write("once", "x", create_only=True),
        lambda sandbox: sandbox.files.write("stream", iter([b"x"])),
    ],
    ids=["append", "conditional write", "write of a stream"],
)
def test_what_cannot_be_repeated_is_reported_with_an_unknown_outcome(sdk: str, call: object) -> None:
    with fake_server(in_turn(Drop, Answer())) as router, pytest.raises(SandboxError) as raised:
        with_sandbox(sdk, call, router=router.url)  # type: ignore[arg-type]
    assert raised.value.reason == "OutcomeUnknown"
    assert len(router.received) == 1


@both
def test_what_the_router_has_not_passed_on_is_always_sent_again(sdk: str) -> None:
    with fake_server(in_turn(refusal("SandboxStarting", 503), Answer())) as router:
        with_sandbox(sdk, lambda sandbox: sandbox.files.append("log", "x"), router=router.url)
    assert [received.body for received in router.received] == [b"x", b"x"]


@both
def test_a_large_file_is_sent_in_pieces_with_its_length_and_can_be_sent_again(sdk: str) -> None:
    content = bytes(range(256)) * 4096
    with fake_server(in_turn(Drop, Answer())) as router:
        with_sandbox(sdk, lambda sandbox: sandbox.files.write("large", content), router=router.url)
    assert [received.body == content for received in router.received] == [True, True]
    assert all(received.headers["content-length"] == str(len(content)) for received in router.received)
    assert all("transfer-encoding" not in received.headers for received in router.received)


@both
def test_an_error_of_the_sandbox_is_not_taken_for_one_of_the_router(sdk: str) -> None:
    answer = json_answer({"code": "NOT_FOUND", "message": "no such file", "detail": "x"}, 404)
    with fake_server(in_turn(answer)) as router, pytest.raises(SandboxRequestError) as raised:
        with_sandbox(sdk, lambda sandbox: sandbox.files.read("x"), router=router.url)
    assert (raised.value.reason, raised.value.status_code, raised.value.server_reason) == ("NotFound", 404, "NOT_FOUND")
    assert not isinstance(raised.value, SandboxNotFoundError)
    assert len(router.received) == 1


@both
@pytest.mark.parametrize(
    ("reason", "status", "expected"),
    [
        ("SandboxNotFound", 404, "NotFound"),
        ("SandboxSuspended", 409, "Suspended"),
        ("Forbidden", 403, "Forbidden"),
        ("SandboxCrashing", 503, "Failed"),
        ("SomethingNew", 500, "Internal"),
    ],
)
def test_final_refusals_of_the_router_are_reported_at_once(sdk: str, reason: str, status: int, expected: str) -> None:
    with fake_server(in_turn(refusal(reason, status))) as router, pytest.raises(SandboxError) as raised:
        with_sandbox(sdk, lambda sandbox: sandbox.commands.run("true"), router=router.url)
    error = raised.value
    assert (error.reason, error.status, error.server_reason) == (expected, status, reason)
    assert f"the router says {reason}" in str(error)
    assert isinstance(error, SandboxNotFoundError) is (expected == "NotFound")
    assert len(router.received) == 1


@both
def test_a_server_that_does_not_answer_ends_the_call_at_its_deadline(sdk: str) -> None:
    with fake_server(in_turn(Hang)) as router, pytest.raises(SandboxTimeoutError) as raised:
        with_sandbox(sdk, lambda sandbox: sandbox.files.read("x", timeout=0.2), router=router.url)
    assert isinstance(raised.value, TimeoutError)
    assert str(raised.value) == 'Cannot read "x": it took longer than 0.2 seconds'


@both
def test_a_server_that_cannot_be_reached_is_reported_at_the_deadline(sdk: str) -> None:
    with socket.socket() as bound, pytest.raises(SandboxError) as raised:
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        with_sandbox(sdk, lambda sandbox: sandbox.files.append("x", "y", timeout=1), router=url)
    # The call had no effect, although it cannot be repeated.
    assert raised.value.reason == "Unreachable"


@both
@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda sandbox: sandbox.files.remove("x", timeout=2), "OutcomeUnknown"),
        (lambda sandbox: sandbox.files.read("x", timeout=2), "Starting"),
    ],
    ids=["change", "read"],
)
def test_a_change_that_may_have_had_an_effect_is_never_reported_as_one_without(sdk: str, call: Any, reason: str) -> None:
    with fake_server(in_turn(Drop, refusal("SandboxStarting", 503))) as router, pytest.raises(SandboxError) as raised:
        with_sandbox(sdk, call, router=router.url)
    assert raised.value.reason == reason


@both
def test_a_create_that_is_repeated_recognises_its_own_object(sdk: str) -> None:
    stored: list[dict[str, object]] = []

    def script(received: object) -> object:
        if received.method == "POST" and not stored:  # type: ignore[attr-defined]
            created = received.json()  # type: ignore[attr-defined]
            created["metadata"] |= {"uid": "u1", "resourceVersion": "1"}
            created["status"] = {"conditions": [{"type": "Ready", "status": "True"}]}
            stored.append(created)
            return Drop
        if received.method == "POST":  # type: ignore[attr-defined]
            return json_answer({"reason": "AlreadyExists", "message": "it exists"}, 409)
        return json_answer(stored[0])

    with fake_server(script) as server:  # type: ignore[arg-type]
        uid = with_client(sdk, lambda client: client.create(image="host", name="mine"), router=server.url)
    assert uid.uid == "u1"
    assert [received.method for received in server.received] == ["POST", "POST", "GET"]


@both
def test_a_sandbox_that_will_not_become_ready_is_deleted_again(sdk: str) -> None:
    stored: list[dict[str, object]] = []

    def script(received: object) -> object:
        if received.method == "POST":  # type: ignore[attr-defined]
            created = received.json()  # type: ignore[attr-defined]
            created["metadata"] |= {"uid": "u1", "resourceVersion": "1"}
            created["status"] = {"conditions": [{"type": "Ready", "status": "False", "reason": "PodFailed", "message": "exit 1"}]}
            stored.append(created)
        return json_answer(stored[0])

    with fake_server(script) as server, pytest.raises(SandboxError) as raised:  # type: ignore[arg-type]
        with_client(sdk, lambda client: client.create(image="host", name="mine"), router=server.url)
    assert (raised.value.reason, raised.value.server_reason) == ("Failed", "PodFailed")
    deletes = [received for received in server.received if received.method == "DELETE"]
    assert [received.json() for received in deletes] == [{"preconditions": {"uid": "u1"}}]


@both
def test_an_incomplete_response_is_read_again(sdk: str) -> None:
    cut = Answer(200, b"beginning", length=1000)
    with fake_server(in_turn(cut, Answer(200, b"beginning and end"))) as router:
        content = with_sandbox(sdk, lambda sandbox: sandbox.files.read("x"), router=router.url)
    assert content == b"beginning and end"


@both
def test_a_stream_that_ends_early_is_an_error(sdk: str) -> None:
    cut = Answer(200, b"beginning", length=1000)
    received: list[bytes] = []

    def read(sandbox: Any) -> Any:
        return collect(sandbox.files.read_stream("x"), received)

    with fake_server(in_turn(cut)) as router, pytest.raises(SandboxError) as raised:
        with_sandbox(sdk, read, router=router.url)
    assert (raised.value.reason, b"".join(received)) == ("Unreachable", b"beginning")

"""Streams that are silent for minutes: the SDKs ask for signs of life, and ignore them."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest
from fake_server import Answer, Received, fake_server, json_answer
from sdks import both, collect, with_sandbox

from k8s_agent_sandbox import CodeError, SandboxError


def sandbox_that_sends(*lines: dict[str, Any]) -> Any:
    def answer(received: Received) -> Answer:
        if received.path.endswith("/contexts"):
            return json_answer({"id": "c"})
        if "keepalive=60" not in received.path:
            return json_answer({"code": "INVALID_ARGUMENT", "message": "not asked"}, 400)
        return Answer(200, b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    return answer


def run(sandbox: Any) -> Any:
    made = sandbox.create_context()
    if not inspect.isawaitable(made):
        return made.run("slow()")

    async def run_async() -> Any:
        return await (await made).run("slow()")

    return run_async()


@both
def test_running_code(sdk: str) -> None:
    beat = {"type": "keepalive"}
    script = sandbox_that_sends(beat, {"type": "stdout", "text": "x"}, beat, {"type": "end"})
    with fake_server(script) as router:
        result = with_sandbox(sdk, run, router=router.url)
    assert (result.stdout, result.results, result.error) == ("x", (), None)


@both
def test_a_run_whose_stream_has_no_end_is_not_taken_for_a_result(sdk: str) -> None:
    with fake_server(sandbox_that_sends({"type": "stdout", "text": "x"})) as router, pytest.raises(SandboxError) as raised:
        with_sandbox(sdk, run, router=router.url)
    assert raised.value.reason == "OutcomeUnknown"


@both
@pytest.mark.parametrize("last", [[], [{"type": "end"}]], ids=["older servers", "newer servers"])
def test_a_run_whose_interpreter_ended_has_a_result(sdk: str, last: list[dict[str, Any]]) -> None:
    ended = {"type": "error", "name": "ContextEnded", "message": "m"}
    with fake_server(sandbox_that_sends({"type": "stdout", "text": "x"}, ended, *last)) as router:
        result = with_sandbox(sdk, run, router=router.url)
    assert (result.stdout, result.error) == ("x", CodeError("ContextEnded", "m", ""))


@both
def test_a_watch(sdk: str) -> None:
    changes: list[Any] = []
    ready: list[bool] = []
    script = sandbox_that_sends({"type": "ready"}, {"type": "keepalive"}, {"type": "created", "path": "a"})
    with fake_server(script) as router:
        with_sandbox(
            sdk,
            lambda sandbox: collect(sandbox.files.watch("/", on_ready=lambda: ready.append(True)), changes),
            router=router.url,
        )
    assert [(change.type, change.path) for change in changes] == [("created", "a")]
    assert ready == [True]

"""The tools for agent frameworks, without a framework or a sandbox."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from k8s_agent_sandbox import SandboxError
from k8s_agent_sandbox.integrations._arguments import InvalidArguments, check
from k8s_agent_sandbox.integrations._texts import OutputLimitReached, Printed, shorten, text_of_entries, text_of_file
from k8s_agent_sandbox.integrations._tools import Limits, SandboxTool

SCHEMA = {
    "properties": {
        "path": {"type": "string", "minLength": 1},
        "language": {"type": "string", "enum": ["python", "javascript"]},
        "count": {"type": "integer", "minimum": 1, "maximum": 5},
    },
    "required": ["path"],
}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"path": "a"}, {"path": "a"}),
        ({"path": "a", "count": None, "language": None}, {"path": "a"}),
        ({"path": "a", "count": 5.0}, {"path": "a", "count": 5}),
    ],
)
def test_valid_arguments(given: dict[str, Any], expected: dict[str, Any]) -> None:
    assert check(given, SCHEMA) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "Parameter 'path' is missing"),
        ({"path": None}, "Parameter 'path' is missing"),
        ({"path": ""}, "Parameter 'path' must not be empty"),
        ({"path": ["a"]}, "Parameter 'path' must be a string"),
        ({"path": "\ud800"}, "Parameter 'path' is not valid Unicode"),
        ({"path": "a", "sudo": True}, "Unknown parameter 'sudo', expected path, language, count"),
        ({"path": "a", "language": "perl"}, "Parameter 'language' must be one of python, javascript"),
        ({"path": "a", "count": True}, "Parameter 'count' must be a whole number"),
        ({"path": "a", "count": "3"}, "Parameter 'count' must be a whole number"),
        ({"path": "a", "count": 1.5}, "Parameter 'count' must be a whole number"),
        ({"path": "a", "count": float("nan")}, "Parameter 'count' must be a whole number"),
        ({"path": "a", "count": 0}, "Parameter 'count' must be at least 1"),
        ({"path": "a", "count": 10**400}, "Parameter 'count' must be at most 5"),
    ],
)
def test_invalid_arguments(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArguments) as caught:
        check(given, SCHEMA)
    assert str(caught.value) == message


@pytest.mark.parametrize("length", [0, 999, 1_000, 1_001, 1_000_000])
def test_shortened_text_keeps_both_ends(length: int) -> None:
    text = "a" * (length // 2) + "z" * (length - length // 2)
    short = shorten(text, 1_000)
    assert len(short) <= 1_000
    assert (short == text) == (length <= 1_000)
    assert (short[:1], short[-1:]) == (text[:1], text[-1:])


def test_a_long_file_can_be_read_in_parts() -> None:
    content = ("ä€😀".encode() + b"\xff") * 2_000
    found, offset, parts = b"", 0, 0
    while True:
        part = content[offset : offset + 4_001]
        text = text_of_file(part, offset, 1_000)
        assert len(text) <= 1_000
        parts += 1
        if "[The file goes on" not in text:
            found += part
            break
        following = int(text.rpartition(" ")[2].rstrip("]"))
        assert following > offset
        found += content[offset:following]
        offset = following
    assert (found, parts > 5) == (content, True)


def test_names_of_files_cannot_add_lines() -> None:
    entries = [SimpleNamespace(name="a\nfile 1 b", size=3, type="file"), SimpleNamespace(name="ü", size=4, type="directory")]
    assert text_of_entries(entries, 1_000) == 'file 3 "a\\nfile 1 b"\ndirectory 4 ü'
    text = text_of_entries(entries * 1_000, 1_000)
    assert len(text) <= 1_000
    assert text.endswith("[More entries are left out]")


def test_output_of_code_is_stopped() -> None:
    printed = Printed(1_000)
    printed.add("x" * 64_000)
    with pytest.raises(OutputLimitReached, match="interrupted") as caught:
        printed.add("x")
    assert len(str(caught.value)) <= 1_000


def test_values_of_code_are_stopped() -> None:
    printed = Printed(1_000)
    for _ in range(64):
        printed.add_value({"text/plain": "", "image/png": "x" * (1 << 20)})
    with pytest.raises(OutputLimitReached):
        printed.add_value({"text/plain": "x"})


@pytest.mark.parametrize("limits", [{"max_characters": 499}, {"max_timeout_seconds": 0}])
def test_invalid_limits(limits: dict[str, int]) -> None:
    with pytest.raises(ValueError):
        Limits(**limits)


def failing_tool(error: BaseException) -> SandboxTool:
    def call(_: Any) -> Any:
        raise error

    schema = {"properties": {}, "required": []}
    return SandboxTool("run_command", "Runs", schema, is_async=False, max_characters=500, call=call, text=lambda *_: "")


def test_errors_are_texts_with_the_reason() -> None:
    tool = failing_tool(SandboxError("Cannot run the command: denied", reason="Forbidden"))
    assert tool.run({}) == "Error (Forbidden): Cannot run the command: denied"


def test_models_do_not_see_the_message_of_an_unexpected_error(caplog: pytest.LogCaptureFixture) -> None:
    assert failing_tool(KeyError("secret")).run({}) == "Error (Internal): run_command failed with KeyError"
    assert [(record.name, record.message) for record in caplog.records] == [
        ("k8s_agent_sandbox.integrations", "Tool run_command failed")
    ]


def test_an_interrupt_is_not_swallowed() -> None:
    with pytest.raises(KeyboardInterrupt):
        failing_tool(KeyboardInterrupt()).run({})


@pytest.mark.parametrize("module", ["langchain", "openai_agents", "adk", "crewai"])
def test_a_missing_framework_is_explained(module: str) -> None:
    extra = module.replace("_", "-")
    with pytest.raises(ImportError, match=rf"is not installed: pip install k8s-agent-sandbox\[{extra}\]"):
        importlib.import_module(f"k8s_agent_sandbox.integrations.{module}")
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert extra in project["optional-dependencies"]


def test_the_package_imports_no_integration() -> None:
    program = "import sys, k8s_agent_sandbox; print([name for name in sys.modules if 'integrations' in name])"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True).stdout == "[]\n"

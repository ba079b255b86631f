"""What importing the package does, and that the generated modules are up to date."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import k8s_agent_sandbox

ROOT = Path(__file__).resolve().parents[2]


def _run(code: str) -> Any:
    return json.loads(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def test_importing_the_client_configures_no_logging_and_loads_no_http_library() -> None:
    code = """
import json, logging, sys
from k8s_agent_sandbox import connect, Client, SandboxError
slow = {"httpx", "httpcore", "anyio", "yaml", "pydantic", "kubernetes", "requests", "opentelemetry"}
print(json.dumps([sorted(slow & set(sys.modules)), len(logging.getLogger().handlers), logging.getLogger().level]))
"""
    assert _run(code) == [[], 0, 30]


def test_every_exported_name_exists() -> None:
    for name in k8s_agent_sandbox.__all__:
        assert getattr(k8s_agent_sandbox, name) is not None
    with pytest.raises(AttributeError):
        _ = k8s_agent_sandbox.nothing  # type: ignore[attr-defined]


def _make_sync() -> Any:
    spec = importlib.util.spec_from_file_location("make_sync", ROOT / "tools/make_sync.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_synchronous_modules_are_up_to_date() -> None:
    assert _make_sync().main(True) == 0


def test_the_translation_changes_names_and_keywords_only() -> None:
    source = '''from .._aio import sleep
class AsyncThing:
    """For ``async with``: see AsyncThing."""
    async def go(self, text: str = "async await") -> None:
        async with self as asynchronous:  # async for
            async for each in other(await asynchronous.step()):
                await sleep(1)
                return [await x async for x in each]
'''
    expected = '''from .._blocking import sleep
class Thing:
    """For ``with``: see Thing."""
    def go(self, text: str = "async await") -> None:
        with self as asynchronous:  # for
            for each in other(asynchronous.step()):
                sleep(1)
                return [x for x in each]
'''
    assert _make_sync().translate(source) == expected

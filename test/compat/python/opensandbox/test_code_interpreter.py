"""The Python client of OpenSandbox's code interpreter."""

import pytest
from code_interpreter import SupportedLanguage
from conftest import texts
from opensandbox.exceptions import SandboxApiException


@pytest.fixture(scope="module")
def codes(client, sandbox, do):
    interpreter = do(client.CodeInterpreter.create(sandbox))
    assert do(interpreter.is_healthy())
    yield interpreter.codes
    client.close(interpreter)


def test_results_and_output(codes, do):
    """A new interpreter is ready at once (COMPAT-87)"""
    done = do(codes.run("import sys\nprint('a\\nb')\nsys.stderr.write('e')\n2 + 2", language=SupportedLanguage.PYTHON))
    assert [one.text for one in done.result] == ["4"]
    assert (texts(done.logs.stdout), texts(done.logs.stderr)) == (["a", "b"], ["e"])
    assert done.execution_count >= 1
    assert done.complete is not None


def test_a_context_keeps_its_state_apart(codes, do):
    one, two = do(codes.create_context(SupportedLanguage.PYTHON)), do(codes.create_context(SupportedLanguage.PYTHON))
    do(codes.run("x = 41", context=one))
    assert [result.text for result in do(codes.run("x + 1", context=one)).result] == ["42"]
    assert do(codes.run("x", context=two)).error.name == "NameError"
    assert do(codes.get_context(one.id)).language == "python"
    assert {one.id, two.id} <= {context.id for context in do(codes.list_contexts(SupportedLanguage.PYTHON))}
    do(codes.delete_context(one.id))
    with pytest.raises(SandboxApiException) as raised:
        do(codes.get_context(one.id))
    assert (raised.value.status_code, raised.value.error.code) == (404, "CONTEXT_NOT_FOUND")
    do(codes.delete_contexts(SupportedLanguage.PYTHON))
    assert do(codes.list_contexts(SupportedLanguage.PYTHON)) == []


def test_an_error_ends_the_run_and_not_the_context(codes, do):
    failed = do(codes.run("1 / 0", language=SupportedLanguage.PYTHON))
    assert (failed.error.name, failed.error.value, failed.complete) == ("ZeroDivisionError", "division by zero", None)
    assert any("1 / 0" in line for line in failed.error.traceback)
    assert [one.text for one in do(codes.run("'next'", language=SupportedLanguage.PYTHON)).result] == ["'next'"]


def test_javascript(codes, do):
    do(codes.run("let q = 5", language=SupportedLanguage.JAVASCRIPT))
    assert [one.text for one in do(codes.run("q * 2", language=SupportedLanguage.JAVASCRIPT)).result] == ["10"]


def test_a_language_that_is_not_there_is_refused_by_name(codes, do):
    with pytest.raises(SandboxApiException, match="java") as raised:
        do(codes.run("1", language=SupportedLanguage.JAVA))
    assert raised.value.status_code == 400


def test_interrupt(client, codes, do):
    ids = []

    def interrupt(init):
        ids.append(init.id)
        client.soon(lambda: codes.interrupt(init.id))

    handlers = client.Handlers(on_init=client.handler(interrupt))
    done = do(codes.run("while True: pass", language=SupportedLanguage.PYTHON, handlers=handlers))
    assert (done.id, done.error.name) == (ids[0], "KeyboardInterrupt")
    assert [one.text for one in do(codes.run("6 * 7", language=SupportedLanguage.PYTHON)).result] == ["42"]
    with pytest.raises(SandboxApiException):
        do(codes.interrupt(ids[0]))

"""The Python client of E2B's code interpreter."""

import pytest
from e2b_code_interpreter import Sandbox


@pytest.fixture(scope="module")
def interpreter():
    made = Sandbox.create(timeout=280, envs={"WIDE": "yes"})
    yield made
    made.kill()


def test_variables_and_results(interpreter):
    interpreter.run_code("x = 1")
    assert interpreter.run_code("x + 1").text == "2"
    assert interpreter.run_code("'q'").text == "q"
    assert interpreter.run_code("import os; os.environ['WIDE'] + os.environ['A']", envs={"A": "1"}).text == "yes1"


def test_callbacks(interpreter):
    lines, errors, results = [], [], []
    code = "print('a')\nimport sys\nsys.stderr.write('e\\n')\n7"
    interpreter.run_code(code, on_stdout=lambda m: lines.append(m.line), on_stderr=lambda m: errors.append(m.line), on_result=results.append)
    assert ("".join(lines), "".join(errors), [one.text for one in results]) == ("a\n", "e\n", ["7"])


def test_errors(interpreter):
    assert interpreter.run_code("1/0").error.name == "ZeroDivisionError"
    assert interpreter.run_code("1", language="r").error.name == "LanguageNotAvailable"


def test_contexts(interpreter):
    context = interpreter.create_code_context(cwd="/tmp")
    assert interpreter.run_code("import os; os.getcwd()", context=context).text == "/tmp"
    interpreter.restart_code_context(context)
    assert interpreter.run_code("os", context=context).error.name == "NameError"
    assert context.id in [one.id for one in interpreter.list_code_contexts()]
    interpreter.remove_code_context(context)
    with pytest.raises(Exception, match="not found"):
        interpreter.run_code("1", context=context)


def test_time_limit(interpreter):
    with pytest.raises(Exception):
        interpreter.run_code("while True: pass", timeout=1)
    assert interpreter.run_code("2").text == "2"


def test_display(interpreter):
    results = interpreter.run_code("from IPython.display import HTML, display\ndisplay(HTML('<b>x</b>'))\n{'a': 1}").results
    assert [one.html for one in results] == ["<b>x</b>", None]
    assert [one.is_main_result for one in results] == [False, True]

"""The contract's script for the Python client of E2B's code interpreter. Numbers in names are those of the contract."""

import asyncio
import threading
import time

import pytest
from e2b import InvalidArgumentException, TimeoutException
from e2b_code_interpreter import AsyncSandbox, Sandbox


@pytest.fixture(scope="module")
def interpreter():
    made = Sandbox.create(timeout=280, envs={"WIDE": "yes"})
    yield made
    made.kill()


def test_01_to_04_the_default_template_keeps_variables_and_counts_runs(interpreter):
    assert interpreter.get_info().template_id == "code-interpreter-v1"
    first = interpreter.run_code("x = 1")
    second = interpreter.run_code("x + 1")
    assert (first.text, second.text) == (None, "2")
    assert second.execution_count > first.execution_count


def test_05_to_07_callbacks(interpreter):
    lines, errors, results = [], [], []
    code = "print('a')\nimport sys\nsys.stderr.write('e\\n')\n7"
    done = interpreter.run_code(
        code, on_stdout=lambda m: lines.append(m.line), on_stderr=lambda m: errors.append(m.line), on_result=results.append
    )
    assert ("".join(lines), "".join(errors), [one.text for one in results]) == ("a\n", "e\n", ["7"])
    assert (done.logs.stdout, done.logs.stderr) == (["a\n"], ["e\n"])


def test_08_to_10_an_error_and_the_next_run_works(interpreter):
    error = interpreter.run_code("1/0").error
    assert error.name == "ZeroDivisionError"
    assert "1/0" in error.traceback
    assert interpreter.run_code("3").text == "3"


def test_11_to_16_results(interpreter):
    assert interpreter.run_code("'q'").text == "q"
    code = """
from IPython.display import *
display(HTML('<b>x</b>'))
display(Image(b'\\x89PNG'))
display(Markdown('# a'), Latex('$x$'), SVG('<svg/>'))
JSON({'a': 1})
"""
    results = interpreter.run_code(code).results
    shown = [one.html or one.png or one.markdown or one.latex or one.svg or one.json for one in results]
    assert shown == ["<b>x</b>", "iVBORw==", "# a", "$x$", "<svg/>", {"a": 1}]
    assert [one.is_main_result for one in results] == [False] * 5 + [True]


def test_17_to_20_variables_and_await(interpreter):
    assert interpreter.run_code("import os; os.environ['A']", envs={"A": "1"}).text == "1"
    assert interpreter.run_code("print(os.environ.get('A'), os.environ['WIDE'])").logs.stdout == ["None yes\n"]
    assert interpreter.run_code("import asyncio\nawait asyncio.sleep(0.01)\n5").text == "5"


def test_21_to_26_contexts(interpreter):
    context = interpreter.create_code_context(cwd="/tmp")
    assert (context.language, context.cwd) == ("python", "/tmp")
    assert interpreter.run_code("import os; z = 1; os.getcwd()", context=context).text == "/tmp"
    assert interpreter.run_code("z").error.name == "NameError"
    assert context.id in [one.id for one in interpreter.list_code_contexts()]
    interpreter.restart_code_context(context)
    assert interpreter.run_code("z", context=context).error.name == "NameError"
    interpreter.remove_code_context(context)
    with pytest.raises(Exception, match="not found"):
        interpreter.run_code("1", context=context)


def test_27_to_30_languages(interpreter):
    assert interpreter.run_code("1 + 1", language="javascript").text == "2"
    interpreter.run_code("let q = 5", language="js")
    assert interpreter.run_code("q * 2", language="js").text == "10"
    assert interpreter.run_code("echo $HOME", language="bash").logs.stdout == ["/home/user\n"]
    assert interpreter.run_code("1", language="r").error.name == "LanguageNotAvailable"


def test_31_a_context_and_a_language_exclude_each_other(interpreter):
    context = interpreter.create_code_context()
    with pytest.raises(InvalidArgumentException):
        interpreter.run_code("1", context=context, language="python")
    interpreter.remove_code_context(context)


def test_32_33_time_limit(interpreter):
    with pytest.raises(TimeoutException):
        interpreter.run_code("while True: pass", timeout=1)
    assert interpreter.run_code("6 * 7").text == "42"


def test_34_35_runs_in_one_context_take_turns_and_contexts_are_parallel():
    # Each run waits until all of them have begun.
    meet = """
import os, time
open("/tmp/met-{0}", "w").close()
while not all(os.path.exists(f"/tmp/met-{{other}}") for other in range(5)): time.sleep(0.02)
{0}"""

    async def work():
        made = await AsyncSandbox.create(timeout=280)
        # Both make the context that they need.
        both = await asyncio.gather(made.run_code("20 + 1"), made.run_code("20 + 2"))
        assert [one.text for one in both] == ["21", "22"]
        first = asyncio.create_task(made.run_code("open('/tmp/turn', 'w').close(); import time; time.sleep(0.5); n = 1"))
        while not await made.files.exists("/tmp/turn"):
            await asyncio.sleep(0.02)
        second = await made.run_code("n + 1")
        await first
        contexts = [await made.create_code_context() for _ in range(5)]
        runs = [made.run_code(meet.format(index), context=context) for index, context in enumerate(contexts)]
        texts = [one.text for one in await asyncio.gather(*runs)]
        await made.kill()
        return second.text, texts

    assert asyncio.run(work()) == ("2", ["0", "1", "2", "3", "4"])


def test_36_a_mebibyte_of_characters_is_not_spoilt_by_chunks(interpreter):
    assert "".join(interpreter.run_code("print('漢字' * 180000)").logs.stdout) == "漢字" * 180_000 + "\n"


def test_37_silent_code(interpreter):
    assert interpreter.run_code("import time; time.sleep(30); 'awake'").text == "awake"


def test_38_39_files_and_processes(interpreter):
    interpreter.files.write("f.txt", "inside")
    assert interpreter.run_code("open('/home/user/f.txt').read()").text == "inside"
    code = "import subprocess; print(subprocess.run(['id', '-un'], capture_output=True, text=True).stdout, end='')"
    assert interpreter.run_code(code).logs.stdout == ["user\n"]
    assert interpreter.run_code("!id -un\nx = 1").logs.stdout == ["user\n"]


def test_40_kill_during_a_run():
    made = Sandbox.create(timeout=120)

    def kill_when_begun():
        while not made.files.exists("began"):
            time.sleep(0.05)
        made.kill()

    killer = threading.Thread(target=kill_when_begun)
    killer.start()
    with pytest.raises(TimeoutException):
        made.run_code("open('/home/user/began', 'w').close(); import time; time.sleep(60)")
    killer.join()

"""Takes the place of your agent: it runs the tests, and if they fail it asks the model for another file until they pass.

The model here is a function with one idea. Put the call of yours in its place.
"""

import pathlib
import subprocess
import sys


def ask_model(source: str, failure: str) -> str:
    del failure  # A real model reads it.
    return source.replace("(1 - discount)", "(1 - discount / 100)")


def run_tests() -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "unittest", "--quiet"], capture_output=True, text=True)


source = pathlib.Path("prices.py")
for attempt in range(1, 4):
    tests = run_tests()
    if tests.returncode == 0:
        print(f"attempt {attempt}: the tests pass")
        break
    print(f"attempt {attempt}: the tests fail")
    source.write_text(ask_model(source.read_text(), tests.stderr))
else:
    sys.exit("gave up")

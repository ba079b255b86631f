"""Compares the reference's package with ours: public names, of which ours may have more but not less, and results of functions
that need no cluster.

    surface.py <Python with the reference's package>

Prints one line for each difference that `differences.json` does not explain, and for each explanation that explains nothing. Each
explanation is for a path and everything below it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
Facts = dict[str, dict[str, Any]]


def facts_of(python: str, script: str, *flags: str, **environment: str) -> Facts:
    """What a script finds out about the package of an interpreter."""
    command = [python, "-W", "ignore", HERE / script, *flags]
    run = subprocess.run(command, stdout=subprocess.PIPE, check=True, env={**os.environ, **environment})
    found: Facts = json.loads(run.stdout)
    return found


def compare(theirs: Facts, ours: Facts) -> Iterator[tuple[str, str]]:
    for path, expected in theirs.items():
        problem = difference(expected, ours[path]) if path in ours else "missing"
        if problem and not is_any_name(path, expected, ours):
            yield path, problem
    yield from new_required_parameters(theirs, ours)


def is_any_name(path: str, expected: dict[str, Any], ours: Facts) -> bool:
    """`**kwargs` may have any name."""
    function, how = path.partition("(")[0], expected.get("how", "")
    return how.startswith("VAR_") and any(
        other.startswith(f"{function}(") and actual.get("how") == how for other, actual in ours.items()
    )


def difference(expected: dict[str, Any], actual: dict[str, Any]) -> str | None:
    kind = expected["kind"]
    if kind in ("class", "union"):
        list_name = "bases" if kind == "class" else "of"
        missing = [each for each in expected[list_name] if each not in actual.get(list_name, [])]
        return f"without {', '.join(missing)}" if missing else None
    if actual["kind"] != kind:
        return f"{actual['kind']} instead of {kind}"
    ignored = set()
    if kind == "parameter":
        # A parameter may become optional, and the order of keywords does not matter.
        ignored = {"default"} if expected["default"] is None else set()
        ignored |= {"position"} if expected["how"] == "KEYWORD_ONLY" else set()
    fields = [key for key in expected if key not in ignored and actual.get(key) != expected[key]]
    return "; ".join(f"{key} {actual.get(key)!r} instead of {expected[key]!r}" for key in fields) or None


def new_required_parameters(theirs: Facts, ours: Facts) -> Iterator[tuple[str, str]]:
    """A call that the reference accepts must not need more with us."""
    for path, actual in ours.items():
        function = path.partition("(")[0]
        is_new = actual["kind"] == "parameter" and path not in theirs and function in theirs
        if is_new and actual["default"] is None and not actual["how"].startswith("VAR_"):
            yield path, "a parameter without a default"


def compare_results(theirs: Facts, ours: Facts) -> Iterator[tuple[str, str]]:
    for call, expected in theirs.items():
        if ours[call] != expected:
            yield call, f"{ours[call]} instead of {expected}"


def main() -> int:
    python, sources = sys.argv[1], str(HERE.parents[1] / "src")
    theirs = facts_of(python, "describe_surface.py", PYTHONPATH="")
    ours = facts_of(python, "describe_surface.py", "--all", PYTHONPATH=sources)
    their_results = facts_of(python, "pure_results.py", PYTHONPATH="")
    our_results = facts_of(python, "pure_results.py", PYTHONPATH=sources)
    explained: dict[str, str] = json.loads((HERE / "differences.json").read_text())
    used: set[str] = set()
    problems = []
    for path, problem in [*compare(theirs, ours), *compare_results(their_results, our_results)]:
        reasons = [prefix for prefix in explained if path == prefix or path.startswith((f"{prefix}.", f"{prefix}("))]
        used.update(reasons)
        if not reasons:
            problems.append(f"{path}: {problem}")
    problems += [f"{path}: explained in differences.json, but there is no difference" for path in explained if path not in used]
    print("\n".join(sorted(problems)))
    print(
        f"{len(theirs)} facts and {len(their_results)} results compared, {len(explained)} differences explained", file=sys.stderr
    )
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""A plugin of pytest: appends each result to the file in TEST_RESULTS, in the format of `go test -json`."""

import json
import os

ACTIONS = {"passed": "pass", "failed": "fail", "skipped": "skip"}


def record(report):
    # The report of a skip contains a file, a line and the reason.
    why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr or "")
    event = {"Action": ACTIONS[report.outcome], "Test": report.nodeid, "Output": why}
    with open(os.environ["TEST_RESULTS"], "a", encoding="utf-8") as results:
        results.write(json.dumps(event) + "\n")


def pytest_runtest_logreport(report):
    if report.when == "call" or not report.passed:
        record(report)


def pytest_collectreport(report):
    if report.failed:
        record(report)

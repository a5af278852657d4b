"""Prints `passed failed skipped` of one GoogleTest JSON report. A program that died before writing it has failed."""

import json
import sys


def counts(path):
    try:
        with open(path) as file:
            report = json.load(file)
    except (OSError, ValueError):
        return 0, 1, 0
    tests = [test for suite in report["testsuites"] for test in suite["testsuite"]]
    failed = sum(1 for test in tests if test.get("failures"))
    skipped = sum(1 for test in tests if test["result"] == "SKIPPED" or test["status"] == "NOTRUN")
    return len(tests) - failed - skipped, failed, skipped


print(*counts(sys.argv[1]))

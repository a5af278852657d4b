"""Prints `passed failed skipped` of one JUnit report. A run that wrote none has failed."""

import sys
import xml.etree.ElementTree


def counts(path):
    try:
        suites = xml.etree.ElementTree.parse(path).getroot().iter("testsuite")
    except (OSError, xml.etree.ElementTree.ParseError):
        return 0, 1, 0
    total = failed = skipped = 0
    for suite in suites:
        total += int(suite.get("tests", 0))
        failed += int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        skipped += int(suite.get("skipped", 0))
    return total - failed - skipped, failed, skipped


print(*counts(sys.argv[1]))

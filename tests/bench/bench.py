"""The bench table: each row's value, what it is measured against, and its bar. See run.sh for how to call it."""

import argparse
import json
import statistics
import sys

import job_rows
import rows
import tls_rows
import transfer_rows
from stack import Stack

# In the order in which the table is read: commands, requests, transfers, sandboxes, memory.
ORDER = (
    "command-vs-spawn", "command-vs-podman-exec", "command-vs-fastmcp", "command-vs-fastmcp-16", "job-overhead-1", "job-overhead-32",
    "output-rate", "idle-200", "one-byte-writer", "one-byte-neighbour", "tools-list-rps", "tools-list-rps-fastmcp", "tool-rps",
    "hop-cost", "tls-handshakes", "download-sendfile", "download-grpc", "download-small", "upload", "cold-pool", "cold-run", "thaw",
    "stopped", "rss-gateway", "rss-agent", "rss-init", "rss-streams", "rss-slow-readers", "known-500", "start-gateway",
)
ROWS = rows.ALL | job_rows.ALL | tls_rows.ALL | transfer_rows.ALL
ALL = {name: ROWS[name] for name in ORDER} | ROWS


def spread(values):
    """Half the range, relative to the median: how noisy the runs were."""
    middle = statistics.median(values)
    return (max(values) - min(values)) / 2 / middle if middle else 0.0


def finish(name, measured):
    """One row of the table from what its function measured."""
    value = statistics.median(measured.values)
    reference = statistics.median(measured.reference_values) if measured.reference_values else None
    ratio = value / reference if reference else None
    judged = ratio if measured.bar_on_ratio else value
    ok = judged <= measured.bar if measured.lower_is_better else judged >= measured.bar
    ok = ok and all(worst <= most for worst, most, _ in measured.conditions)
    return {"row": name, "value": value, "unit": measured.unit, "reference": measured.reference,
            "reference_value": reference, "ratio": ratio, "bar": measured.bar_text(), "ok": ok,
            "runs": len(measured.values), "spread": round(spread(measured.values), 3), **measured.reason()}


def failed(name, error):
    return {"row": name, "value": None, "unit": "", "reference": "", "reference_value": None, "ratio": None, "bar": "",
            "ok": None, "runs": 0, "spread": None, "reason": f"{type(error).__name__}: {error}"}


def shown(value):
    return "-" if value is None else f"{value:.3g}" if isinstance(value, float) and value < 1000 else f"{value:.0f}"


def print_table(table):
    print(f"{'row':24} {'value':>10} {'unit':6} {'against':>10} {'ratio':>8} {'bar':>18} {'ok':>5} {'runs':>4} {'spread':>7}")
    for row in table:
        print(f"{row['row']:24} {shown(row['value']):>10} {row['unit']:6} {shown(row['reference_value']):>10} "
              f"{shown(row['ratio']):>8} {row['bar']:>18} {str(row['ok']):>5} {row['runs']:>4} {shown(row['spread']):>7}"
              f"{'  ' + row['reason'] if row.get('reason') else ''}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json")
    parser.add_argument("rows", nargs="*", metavar="ROW")
    given = parser.parse_args()
    unknown = set(given.rows) - ALL.keys()
    if unknown:
        parser.error(f"no such row: {', '.join(sorted(unknown))}; there are {', '.join(ALL)}")
    table = []
    with Stack() as stack:
        for name, measure in ALL.items():
            if given.rows and name not in given.rows:
                continue
            try:
                table.append(finish(name, measure(stack)))
            except Exception as error:  # a row that can't run says why; the others go on
                table.append(failed(name, error))
    print_table(table)
    if given.json:
        with open(given.json, "w") as file:
            json.dump(table, file, indent=2)
    if any(row["ok"] is False for row in table):
        return 1
    return 3 if any(row["ok"] is None for row in table) else 0


sys.exit(main())

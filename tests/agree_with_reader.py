#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Imports traces with neurolens and compares every number with independent_reader.py, exactly.

Per trace: rows, sums of dur_ns per name and start times of each event table (by `neurolens query`), busy union of
each device and wall (by `neurolens summary --json`, to 1e-6 ms). Prints each difference; exit status 1 on any.

    agree_with_reader.py [--neurolens build/release/neurolens] [TRACE...]

Without TRACE: the bundled traces, and those under $NEUROLENS_SHARED (default ../shared) when it is there.
"""
import argparse
import decimal
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import independent_reader

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLES = ("kernel", "memcpy", "memset", "api_call", "op", "python_call", "range")
PAGE_ROWS = 500  # below any row limit of `query`
SHOWN_PER_TABLE = 5


class Failure(Exception):
    """neurolens failed or answered something that is not the agreed shape."""


def run_json(command):
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=600, check=False)
    if done.returncode != 0:
        tail = done.stderr.decode("utf-8", "replace").strip()[-400:]
        raise Failure(f"exit {done.returncode} of {' '.join(command)}: {tail}")
    try:
        return json.loads(done.stdout.decode("utf-8", "replace"), parse_float=decimal.Decimal)
    except ValueError as error:
        raise Failure(f"no JSON from {' '.join(command)}: {error}") from None


def rows_of(reply):
    """Rows as lists, from a list of objects, a list of lists, or {"rows": either}."""
    rows = reply.get("rows") if isinstance(reply, dict) else reply
    if not isinstance(rows, list):
        raise Failure(f"query reply has no rows: {str(reply)[:200]}")
    return [list(row.values()) if isinstance(row, dict) else row for row in rows]


class Program:
    def __init__(self, binary, store):
        self.base = [binary, "--store", store]

    def import_file(self, path):
        reply = run_json(self.base + ["import", str(path), "--json"])
        try:
            (run,) = reply["runs"]
            return run["run_id"]
        except (KeyError, TypeError, ValueError):
            raise Failure(f"import reply names no single run: {str(reply)[:200]}") from None

    def query(self, run_id, sql):
        return rows_of(run_json(self.base + ["query", run_id, sql, "--format", "json"]))

    def by_name(self, run_id, table):
        found, offset = {}, 0
        while True:
            rows = self.query(run_id, "SELECT coalesce(name, '') AS name, count(*) AS n, "
                              f"CAST(sum(dur_ns) AS VARCHAR) AS ns FROM {spans_of(table)} GROUP BY 1 ORDER BY 1 "
                              f"LIMIT {PAGE_ROWS} OFFSET {offset}")
            found.update({name: (int(count), int(ns)) for name, count, ns in rows})
            offset += PAGE_ROWS
            if len(rows) < PAGE_ROWS:
                return found

    def start_spread(self, run_id, table):
        (row,) = self.query(run_id, "SELECT CAST(coalesce(sum(start_ns - low), 0) AS VARCHAR) AS spread FROM "
                            f"{spans_of(table)}, (SELECT min(start_ns) AS low FROM {spans_of(table)}) AS first")
        return int(row[0])

    def summary(self, run_id):
        return run_json(self.base + ["summary", run_id, "--json"])


def spans_of(table):
    """Table range also holds instants, which have no duration; the reader counts complete events."""
    return """(SELECT * FROM "range" WHERE kind = 'span')""" if table == "range" else f'"{table}"'


def compare_table(program, run_id, table, expected):
    differences = []
    found = program.by_name(run_id, table)
    wanted = {name: (entry["count"], entry["dur_ns"]) for name, entry in expected["names"].items()}
    for name in sorted(set(found) | set(wanted), key=str):
        if found.get(name) != wanted.get(name):
            differences.append(f"{table} {name!r}: (rows, dur_ns) {found.get(name)}, reader {wanted.get(name)}")
    if len(differences) > SHOWN_PER_TABLE:
        more = len(differences) - SHOWN_PER_TABLE
        differences[SHOWN_PER_TABLE:] = [f"{table}: and {more} more names"]
    if wanted:
        spread = program.start_spread(run_id, table)
        if spread != expected["start_spread_ns"]:
            differences.append(f"{table} starts: spread {spread} ns, reader {expected['start_spread_ns']} ns")
    return differences


def off_by(found_ms, wanted_ns):
    """True unless the number of ms is within 1e-6 ms (one nanosecond) of the ns."""
    if isinstance(found_ms, bool) or not isinstance(found_ms, (int, decimal.Decimal)):
        return True
    return abs(decimal.Decimal(found_ms) * 1_000_000 - wanted_ns) > 1


def compare_summary(summary, expected):
    differences = []
    if expected["wall_ns"] is not None and off_by(summary.get("wall_ms"), expected["wall_ns"]):
        differences.append(f"wall_ms {summary.get('wall_ms')}, reader {expected['wall_ns']} ns")
    found = {}
    for device in summary.get("devices") or []:
        label = next((device[key] for key in ("device", "index", "device_index", "id") if key in device), None)
        found[str(label)] = device.get("busy_ms")
    wanted = {device["device"]: device["busy_ns"] for device in expected["devices"]}
    for device in sorted(set(found) | set(wanted)):
        if device not in wanted:
            if found[device]:
                differences.append(f"device {device}: busy_ms {found[device]}, reader saw nothing on it")
        elif off_by(found.get(device), wanted[device]):
            differences.append(f"device {device}: busy_ms {found.get(device)}, reader {wanted[device]} ns")
    return differences


def compare(binary, path):
    expected = independent_reader.read(path)
    nothing = {"names": {}, "count": 0, "dur_ns": 0, "start_spread_ns": 0}
    with tempfile.TemporaryDirectory(prefix="nl-agree-") as store:
        program = Program(binary, store)
        run_id = program.import_file(path)
        differences = []
        for table in TABLES + tuple(sorted(set(expected["tables"]) - set(TABLES))):
            differences += compare_table(program, run_id, table, expected["tables"].get(table, nothing))
        differences += compare_summary(program.summary(run_id), expected)
    return expected, differences


def default_traces():
    traces = sorted((ROOT / "data" / "h200").glob("*.json.gz"))
    shared = pathlib.Path(os.environ.get("NEUROLENS_SHARED", ROOT.parent / "shared")) / "data"
    bundled = {trace.name for trace in traces}
    more = [trace for folder in ("public/kineto", "h200/kineto")
            for trace in sorted((shared / folder).glob("*.json.gz")) if trace.name not in bundled]
    if not more:
        print(f"skipped: the traces outside the repository, {shared} has none")
    return traces + more


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--neurolens", default=str(ROOT / "build" / "release" / "neurolens"), metavar="PATH")
    parser.add_argument("traces", nargs="*", metavar="TRACE")
    options = parser.parse_args()
    if not os.access(options.neurolens, os.X_OK):
        print(f"agree_with_reader: {options.neurolens} is not a program; build it or name it with --neurolens",
              file=sys.stderr)
        return 2
    failed = 0
    traces = options.traces or default_traces()
    for trace in traces:
        try:
            expected, differences = compare(os.path.abspath(options.neurolens), str(trace))
        except Failure as failure:
            expected, differences = None, [str(failure)]
        except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
            expected, differences = None, [f"cannot be compared: {error!r}"]
        failed += bool(differences)
        facts = "" if expected is None else (f"  {expected['events']} events, {len(expected['devices'])} devices, "
                                             f"{expected['event_arg_pairs']} arguments")
        print(f"{'DIFFERS' if differences else 'agrees '}  {pathlib.Path(trace).name}{facts}")
        for difference in differences:
            print(f"    {difference}")
    print(f"{len(traces) - failed} of {len(traces)} traces agree")
    return 1 if failed or not traces else 0


if __name__ == "__main__":
    sys.exit(main())

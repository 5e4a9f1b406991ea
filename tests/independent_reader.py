#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recomputes from a Kineto or Chrome trace what the importer must agree with, to the nanosecond.

Standard library only, and nothing shared with the C++ code: it is slow, short and obvious on purpose.
Times are exact: the decimal text of `ts` and `dur` is turned into integer ns, half up, never through a double.

    independent_reader.py TRACE.json[.gz]      prints one JSON document
"""
import collections
import decimal
import gzip
import json
import sys

decimal.getcontext().prec = 60

TABLES = {
    "kernel": "kernel", "Kernel": "kernel",
    "gpu_memcpy": "memcpy", "Memcpy": "memcpy",
    "gpu_memset": "memset", "Memset": "memset",
    "cuda_runtime": "api_call", "cuda_driver": "api_call", "Runtime": "api_call", "Driver": "api_call",
    "cpu_op": "op", "Operator": "op",
    "python_function": "python_call",
    "cuda_sync": "sync",
    "mtia_runtime": "api_call",
}
DEVICE_TABLES = ("kernel", "memcpy", "memset")


class NumberText(str):
    """A JSON number with a fraction or an exponent, kept as written."""


def table_of(event):
    category, name = event.get("cat"), event.get("name", "")
    if category == "mtia_ccp_events":  # one category for all that a device did
        return "memcpy" if name.startswith("dma_") else "sync" if name in ("event_wait", "event_record") else "kernel"
    if TABLES.get(category) == "op" and name.startswith("ProfilerStep#"):
        return "range"
    if category in TABLES:
        return TABLES[category]
    if isinstance(category, str) and category.startswith("hip"):
        return "api_call"
    return "range"


def to_ns(micros):
    """Integer ns of a number of microseconds as written; None when it is no finite number."""
    if isinstance(micros, bool) or not isinstance(micros, (int, str)):
        return None
    try:
        exact = decimal.Decimal(micros) * 1000
        return int(exact.to_integral_value(rounding=decimal.ROUND_HALF_UP))
    except (decimal.InvalidOperation, ValueError, OverflowError):
        return None


def load_events(path):
    with open(path, "rb") as file:
        raw = file.read()
    if raw[:2] == b"\x1f\x8b":
        raw = gzip.decompress(raw)
    document = json.loads(raw.decode("utf-8", "replace"), strict=False, parse_float=NumberText,
                          parse_constant=lambda _: None)
    events = document["traceEvents"] if isinstance(document, dict) else document
    return [event for event in events if isinstance(event, dict)]


def union_ns(intervals):
    """Length of the union of half-open intervals."""
    total, reached = 0, None
    for start, end in sorted(intervals):
        if reached is None or start > reached:
            total += end - start
            reached = end
        elif end > reached:
            total += end - reached
            reached = end
    return total


def read(events):
    kinds = collections.Counter()
    names = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
    starts = collections.defaultdict(list)
    on_device = collections.defaultdict(list)
    first, last, bad, arg_pairs = None, None, 0, 0
    for event in events:
        kinds[(str(event.get("ph", "")), str(event.get("cat", "")))] += 1
        args = event.get("args")
        if isinstance(args, dict):
            arg_pairs += len(args)
        else:
            args = {}
        if event.get("ph") != "X":
            continue
        start, dur = to_ns(event.get("ts")), to_ns(event.get("dur", 0))
        if start is None or dur is None or dur < 0:
            bad += 1
            continue
        table = table_of(event)
        entry = names[table][event.get("name", "")]
        entry[0] += 1
        entry[1] += dur
        starts[table].append(start)
        first = start if first is None else min(first, start)
        last = start + dur if last is None else max(last, start + dur)
        if table in DEVICE_TABLES:
            on_device[str(args.get("device", event.get("pid")))].append((start, start + dur))
    return {
        "events": len(events),
        "kinds": [{"ph": ph, "cat": cat, "count": n} for (ph, cat), n in sorted(kinds.items())],
        "complete_events_without_time": bad,
        "event_arg_pairs": arg_pairs,
        "wall_ns": None if first is None else last - first,
        "devices": [{"device": device, "busy_ns": union_ns(spans), "intervals": len(spans)}
                    for device, spans in sorted(on_device.items())],
        "tables": {
            table: {
                "count": sum(n for n, _ in by_name.values()),
                "dur_ns": sum(ns for _, ns in by_name.values()),
                # Sum over rows of (start - the table's first start): wrong starts show even if durations agree.
                "start_spread_ns": sum(starts[table]) - min(starts[table]) * len(starts[table]),
                "names": {name: {"count": n, "dur_ns": ns} for name, (n, ns) in sorted(by_name.items())},
            }
            for table, by_name in sorted(names.items())
        },
    }


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    try:
        print(json.dumps(read(load_events(sys.argv[1])), indent=1))
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        print(f"independent_reader: {sys.argv[1]}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""XLA profiles against a walk of the protobuf in Python (tests/xspace.py): counts and total times of the imported run.

agrees.*   every sample and every real file (NEUROLENS_SHARED): kernels, copies, fills per name and stream, host spans per thread,
           launches, the executions of HLO ops, to the nanosecond
same.*     the Chrome trace that JAX wrote of the same recording has the same events with the same times
packed.*   .gz gives the same run as the plain file
"""
import collections
import gzip
import json
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import xspace  # noqa: E402 pylint: disable=wrong-import-position
from imported_run import ROOT, SHARED, Failure, Imported, content, expect, packed, run_checks  # noqa: E402 pylint: disable=wrong-import-position

SAMPLES = ROOT / "tests/cases/samples/xplane"
DERIVED = {"Steps", "XLA Modules", "XLA Ops", "_counters_"}


def times(line, event):
    """Start and end in whole nanoseconds, both cut."""
    start = line["timestamp_ns"] + event["offset_ps"] // 1000
    return start, line["timestamp_ns"] + (event["offset_ps"] + event["duration_ps"]) // 1000


def check_device(planes, imported):
    sums = {table: collections.Counter() for table in ("kernel", "memcpy", "memset")}
    counts = {table: collections.Counter() for table in sums}
    for plane in planes:
        for line in plane["lines"]:
            tpu_ops = line["name"] == "XLA Ops" and "TPU" in plane["name"]
            if not plane["name"].startswith("/device:") or (line["name"] in DERIVED and not tpu_ops):
                continue
            for event in line["events"]:
                table = "memcpy" if "memcpy_details" in event["stats"] else "memset" if "Memset_details" in event["stats"] else "kernel"
                start, end = times(line, event)
                key = (plane["name"].split(":")[2], event["name"], str(event["stats"].get("correlation_id") or ""))
                counts[table][key] += 1
                sums[table][key] += end - start
    for table, truth in sums.items():
        expect(table, [(*k, str(counts[table][k]), str(v)) for k, v in truth.items()], imported.rows(
            f"SELECT device, name, correlation, count(*), sum(dur_ns) FROM {table} GROUP BY 1, 2, 3"))


def check_host(planes, imported):
    truth = collections.defaultdict(lambda: [0, 0])
    for plane in planes:
        for line in plane["lines"]:
            if plane["name"].startswith("/host:"):
                for event in line["events"]:
                    start, end = times(line, event)
                    truth[line["id"]][0] += 1
                    truth[line["id"]][1] += end - start
    # Ops of device work and the modules around them are derived: drawn around their launches, no events of the host.
    tables = " UNION ALL ".join(f"SELECT thread_id, dur_ns FROM {t}" for t in (
        "python_call", "api_call", "range WHERE category <> 'xla_module'", "op WHERE external_id IS NULL"))
    expect("host events per thread", [(str(k), str(n), str(ns)) for k, (n, ns) in truth.items()], imported.rows(
        f"SELECT t.tid, count(*), coalesce(sum(e.dur_ns), 0)::BIGINT FROM ({tables} UNION ALL SELECT thread_id, 0 FROM memory_event) e JOIN thread t ON "
        "t.id = e.thread_id JOIN process p ON p.id = t.process_id WHERE p.name LIKE '/host:%' GROUP BY 1"))


def check_links(planes, imported):
    launches = {}
    for plane in planes:
        for line in plane["lines"]:
            for event in line["events"] if plane["name"].startswith("/host:") else []:
                if "correlation_id" in event["stats"]:
                    launches.setdefault(event["stats"]["correlation_id"], event["name"])
    linked, ops = collections.Counter(), collections.Counter()
    for plane in planes:
        for line in plane["lines"]:
            for event in line["events"] if plane["name"].startswith("/device:GPU") and line["name"] not in DERIVED else []:
                if "memcpy_details" in event["stats"] or "Memset_details" in event["stats"]:
                    continue
                linked[launches.get(event["stats"].get("correlation_id"), "")] += 1
                start, end = times(line, event)
                ops[event["stats"].get("hlo_op") or ""] += end - start
    rows = imported.rows("SELECT a.name, count(*) FROM kernel k LEFT JOIN api_call a ON a.id = k.api_call_id WHERE k.stream IS NOT NULL GROUP BY 1")
    expect("launches", [(k, str(v)) for k, v in linked.items()], rows)
    expect("kernel time by HLO op", [(k, str(v)) for k, v in ops.items()], imported.rows(
        "SELECT o.name, sum(k.dur_ns) FROM kernel k LEFT JOIN op o ON o.id = k.op_id WHERE k.stream IS NOT NULL GROUP BY 1"))


def agrees(path):
    with tempfile.TemporaryDirectory(prefix="nl-xplane-") as folder:
        imported = Imported(path, folder)
        if imported.run["adapter"] != "xplane":
            raise Failure(f"read as {imported.run['adapter']}")
        planes = xspace.read(content(path))
        check_device(planes, imported)
        check_host(planes, imported)
        check_links(planes, imported)


def same_as_chrome(pair):
    """The converter of JAX rounds picoseconds to decimals of a microsecond and leaves its own lines out of neither file."""
    path, trace = pair
    truth = collections.defaultdict(lambda: [0, 0])
    for event in json.loads(gzip.decompress(trace.read_bytes()))["traceEvents"]:
        if event.get("ph") == "X":
            truth[event["name"]][0] += 1
            truth[event["name"]][1] += round(event["dur"] * 1000)
    with tempfile.TemporaryDirectory(prefix="nl-xplane-") as folder:
        imported = Imported(path, folder)
        for table in ("kernel", "memset"):
            rows = imported.rows(f"SELECT name, count(*), sum(dur_ns) FROM {table} GROUP BY 1")
            expect(f"{table} against the Chrome trace", [(n, *map(str, truth[n])) for n, _, _ in rows], rows)
            if not rows:
                raise Failure(f"no rows in {table}")


def main():
    samples = sorted(SAMPLES.glob("*.pb"))
    tests = [(f"agrees.{p.name.split('.')[0]}", agrees, p) for p in samples] + [(f"packed.{p.name.split('.')[0]}", packed, p) for p in samples]
    tests.append(("same.h200_jax_mlp", same_as_chrome, (SAMPLES / "h200_jax_mlp.xplane.pb", ROOT / "data/h200/jax_gelu_norm.trace.json.gz")))
    shared = pathlib.Path(SHARED or "absent") / "data"
    real = [*(shared / "h200/xplane").glob("*.pb.gz"), *(shared / "public/xplane").glob("*.pb")]
    tests += [(f"agrees.{p.name.split('.')[0]}", agrees, p) for p in sorted(real)]
    if not real:
        print("SKIP agrees.real: no real profiles here (NEUROLENS_SHARED)")
    return run_checks("xplane.py", tests)


if __name__ == "__main__":
    sys.exit(main())

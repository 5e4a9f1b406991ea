# SPDX-License-Identifier: Apache-2.0
"""XLA profiles against a walk of the protobuf in Python (tests/xspace.py): kernels, copies and fills per name and stream, host spans
per thread, launches and executions of HLO ops of the imported run, to the nanosecond."""
import collections

import pytest

import xspace
from neurolens_cli import H200, SAMPLES, content, equal, load, named, real_files, same_rows

XPLANE = sorted((SAMPLES / "xplane").glob("*.pb"))
REAL = sorted([*real_files("h200/xplane", "*.pb.gz"), *real_files("public/xplane", "*.pb")])
DERIVED = {"Steps", "XLA Modules", "XLA Ops", "_counters_"}


def times(line, event):
    """Start and end in whole nanoseconds, both cut."""
    start = line["timestamp_ns"] + event["offset_ps"] // 1000
    return start, line["timestamp_ns"] + (event["offset_ps"] + event["duration_ps"]) // 1000


def check_device(planes, run):
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
        same_rows(table, [(*k, str(counts[table][k]), str(v)) for k, v in truth.items()], run.rows(
            f"SELECT device, name, correlation, count(*), sum(dur_ns) FROM {table} GROUP BY 1, 2, 3"))


def check_host(planes, run):
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
    same_rows("host events per thread", [(str(k), str(n), str(ns)) for k, (n, ns) in truth.items()], run.rows(
        f"SELECT t.tid, count(*), coalesce(sum(e.dur_ns), 0)::BIGINT FROM ({tables} UNION ALL SELECT thread_id, 0 FROM memory_event) e JOIN thread t ON "
        "t.id = e.thread_id JOIN process p ON p.id = t.process_id WHERE p.name LIKE '/host:%' GROUP BY 1"))


def check_links(planes, run):
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
    rows = run.rows("SELECT a.name, count(*) FROM kernel k LEFT JOIN api_call a ON a.id = k.api_call_id WHERE k.stream IS NOT NULL GROUP BY 1")
    same_rows("launches", [(k, str(v)) for k, v in linked.items()], rows)
    same_rows("kernel time by HLO op", [(k, str(v)) for k, v in ops.items()], run.rows(
        "SELECT o.name, sum(k.dur_ns) FROM kernel k LEFT JOIN op o ON o.id = k.op_id WHERE k.stream IS NOT NULL GROUP BY 1"))


@pytest.mark.parametrize("path", named(XPLANE) + named(REAL, "no real profiles here (NEUROLENS_SHARED)"))
def test_counts_times_and_launches_agree_with_the_file(path, imported):
    run = imported(path)
    equal("adapter", "xplane", run.adapter)
    planes = xspace.read(content(path))
    check_device(planes, run)
    check_host(planes, run)
    check_links(planes, run)


@pytest.mark.parametrize("path", named(XPLANE))
def test_a_packed_file_gives_the_same_run(path, imported, packed):
    equal("tables", imported(path).reply["tables"], packed(path).reply["tables"])


def test_the_chrome_trace_of_the_same_recording_has_the_same_events(imported):
    """The converter of JAX rounds picoseconds to decimals of a microsecond and leaves its own lines out of neither file."""
    truth = collections.defaultdict(lambda: [0, 0])
    for event in load(H200 / "jax_gelu_norm.trace.json.gz")["traceEvents"]:
        if event.get("ph") == "X":
            truth[event["name"]][0] += 1
            truth[event["name"]][1] += round(event["dur"] * 1000)
    run = imported(SAMPLES / "xplane/h200_jax_mlp.xplane.pb")
    for table in ("kernel", "memset"):
        rows = run.rows(f"SELECT name, count(*), sum(dur_ns) FROM {table} GROUP BY 1")
        assert rows, f"no rows in {table}"
        same_rows(f"{table} against the Chrome trace", [(n, *map(str, truth[n])) for n, _, _ in rows], rows)

# SPDX-License-Identifier: Apache-2.0
"""The importer against an independent reader (tests/independent_reader.py), over every real trace there is."""
import collections

import pytest

import independent_reader
from neurolens_cli import equal, kineto_traces

TABLES = ("kernel", "memcpy", "memset", "api_call", "op", "python_call", "range")
SPAN_IDS = {"External id": "external_id", "external id": "external_id", "correlation": "correlation"}
ON_DEVICE = {**SPAN_IDS, "device": "device", "stream": "stream", "context": "context"}
MEMORY_WORK = {**ON_DEVICE, "bytes": "bytes", "size": "bytes", "memory bandwidth (GB/s)": "bandwidth_gbps", "graph id": "graph_id",
               "graph node id": "graph_node_id"}
# Which argument has which column; written from the trace format, not from the importer.
COLUMNS = {
    "kernel": {**ON_DEVICE, "queued": "queued_ns", "registers per thread": "registers_per_thread", "shared memory": "shared_bytes",
               "grid": "grid_x", "block": "block_x", "blocks per SM": "blocks_per_sm", "warps per SM": "warps_per_sm",
               "est. achieved occupancy %": "estimated_occupancy_pct", "priority": "priority", "graph id": "graph_id",
               "graph node id": "graph_node_id"},
    "memcpy": MEMORY_WORK,
    "memset": MEMORY_WORK,
    "sync": {**ON_DEVICE, "wait_on_stream": "wait_on_stream", "wait_on_cuda_event_id": "wait_on_event",
             "wait_on_cuda_event_record_corr_id": "wait_on_correlation"},
    "api_call": {**SPAN_IDS, "cbid": "callback_id", "cid": "callback_id"},
    "op": {"External id": "external_id", "Record function id": "record_function_id", "Ev Idx": "event_index",
           "Sequence number": "sequence_number", "Fwd thread id": "forward_thread", "Input Dims": "input_dims",
           "Input type": "input_types", "Input Strides": "input_strides", "Concrete Inputs": "concrete_inputs"},
    "python_call": {"Python id": "python_id", "Python parent id": "python_parent_id", "Python module id": "python_module_id",
                    "Ev Idx": "event_index"},
    "range": {"External id": "external_id", "Record function id": "record_function_id", "Ev Idx": "event_index"},
    "memory_event": {"Addr": "address", "Bytes": "bytes", "Total Allocated": "total_allocated_bytes", "Total Reserved": "total_reserved_bytes",
                     "Device Type": "device_type", "Device Id": "device", "Ev Idx": "event_index"},
    "flow": {},
}
COLLECTIVE = {"Collective name": "name", "dtype": "dtype", "In msg nelems": "in_elements", "Out msg nelems": "out_elements",
              "Group size": "group_size", "Process Group Name": "group_name", "Process Group Description": "group_description",
              "Process Group Ranks": "group_ranks", "In split size": "in_split", "Out split size": "out_split",
              "Global rank start": "rank_start", "Global rank stride": "rank_stride", "Seq": "sequence"}
DEVICE_TABLES = ("kernel", "memcpy", "memset", "sync")


def table_of(event, adapter):
    phase = event.get("ph")
    if phase in ("s", "t", "f"):
        return "flow"
    if phase == "i":
        return "memory_event" if event.get("name") == "[memory]" and adapter == "kineto" else "range"
    if phase != "X":
        return None
    return independent_reader.table_of(event) if adapter == "kineto" else "range"


def source_pairs(events, adapter):
    """Count of arguments by (table, key), and of device rows that say nothing of device or stream."""
    pairs = collections.Counter()
    filled = collections.Counter()
    for event in events:
        table = table_of(event, adapter)
        if table is None:
            continue
        args = event.get("args") if isinstance(event.get("args"), dict) else {}
        for key in args:
            pairs[(table, key)] += 1
        if table in DEVICE_TABLES:  # the importer takes these from pid and tid
            filled[(table, "device")] += "device" not in args and isinstance(event.get("pid"), int)
            filled[(table, "stream")] += "stream" not in args and isinstance(event.get("tid"), int)
    return pairs, filled


def stored_pairs(run, wanted):
    stored = collections.Counter()
    for owner, key, count in run.values("SELECT owner, key, count(*) FROM args GROUP BY 1, 2"):
        stored[(owner, key)] += int(count)
    if run.adapter != "kineto":
        return stored
    for table in {table for table, _ in wanted}:
        columns = sorted(set(COLUMNS[table].values()))
        if columns:
            counts = run.values(f"SELECT {', '.join(f'count({c})' for c in columns)} FROM \"{table}\"")[0]
            of_column = dict(zip(columns, map(int, counts)))
            for column in columns:
                keys = [k for k, c in COLUMNS[table].items() if c == column]
                present = [k for k in keys if (table, k) in wanted] or keys[:1]
                stored[(table, present[0])] += of_column[column]
                for other in present[1:]:  # two spellings of one column in one file: compared together
                    wanted[(table, present[0])] += wanted.pop((table, other))
                    stored[(table, present[0])] += stored.pop((table, other), 0)
        names = list(COLLECTIVE.values())
        counts = run.values(f"SELECT {', '.join(f'count({c})' for c in names)} FROM collective WHERE owner = '{table}'")[0]
        for key, count in zip(COLLECTIVE, counts):
            stored[(table, key)] += int(count)
    return stored


class Trace:
    def __init__(self, path, run):
        self.events = independent_reader.load_events(path)
        self.run = run


@pytest.fixture(scope="module", params=kineto_traces("agree"))
def trace(request, imported):
    return Trace(request.param, imported(request.param))


def spans_of(table):
    """Table range also holds instants, which have no duration; the reader counts complete events."""
    return """(SELECT * FROM "range" WHERE kind = 'span')""" if table == "range" else f'"{table}"'


def test_every_count_sum_and_busy_time_agrees_to_the_nanosecond(trace):
    expected = independent_reader.read(trace.events)
    tables = [*TABLES, *sorted(set(expected["tables"]) - set(TABLES))]
    wanted = {(table, name): (entry["count"], entry["dur_ns"])
              for table, of in expected["tables"].items() for name, entry in of["names"].items()}
    sums = " UNION ALL ".join(f"SELECT '{t}', coalesce(name, ''), count(*), CAST(sum(dur_ns) AS VARCHAR) FROM {spans_of(t)} GROUP BY 2" for t in tables)
    found = {(table, name): (int(count), int(ns)) for table, name, count, ns in trace.run.values(sums)}
    wrong = [key for key in sorted(set(found) | set(wanted)) if found.get(key) != wanted.get(key)]
    assert not wrong, [f"{key}: (rows, dur_ns) {found.get(key)}, reader {wanted.get(key)}" for key in wrong[:3]]
    spreads = " UNION ALL ".join(f"SELECT '{t}', CAST(sum(start_ns - low) AS VARCHAR) FROM {spans_of(t)}, (SELECT min(start_ns) AS low FROM {spans_of(t)}) AS first"
                                 for t in tables)
    for table, spread in trace.run.values(spreads):
        assert int(spread or 0) == expected["tables"].get(table, {"start_spread_ns": 0})["start_spread_ns"], f"starts of {table}"
    summary = trace.run.ask("summary")
    if expected["wall_ns"] is not None:
        assert abs(summary["wall_ms"] * 1e6 - expected["wall_ns"]) <= 1, f"wall_ms {summary['wall_ms']}, reader {expected['wall_ns']} ns"
    busy = {str(device["index"]): device["busy_ms"] for device in summary["devices"]}
    by_reader = {device["device"]: device["busy_ns"] for device in expected["devices"]}
    for device in set(busy) | set(by_reader):
        assert abs(busy.get(device, 0) * 1e6 - by_reader.get(device, 0)) <= 1, f"device {device}: busy_ms {busy.get(device)}, reader {by_reader.get(device)} ns"


def test_every_argument_is_a_value_of_its_column_or_a_row_of_args(trace):
    wanted, filled = source_pairs(trace.events, trace.run.adapter)
    stored = stored_pairs(trace.run, wanted)
    assert sum(wanted.values()), "the source has no arguments at all"
    for (table, key), count in sorted(wanted.items()):
        equal(f"{table} '{key}'", count, stored[(table, key)] - filled.get((table, key), 0))

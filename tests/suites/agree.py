#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The importer against an independent reader, over every real trace there is.

agrees.*    every count, sum and union of tests/agree_with_reader.py, to the nanosecond
lossless.*  every (event, argument) pair of the source is a value of its column or a row of args, key by key
"""
import collections
import concurrent.futures
import os
import pathlib
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("NEUROLENS_ROOT", pathlib.Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(ROOT / "tests"))
import agree_with_reader  # noqa: E402
import independent_reader  # noqa: E402

BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
SPAN_IDS = {"External id": "external_id", "external id": "external_id", "correlation": "correlation"}
ON_DEVICE = {**SPAN_IDS, "device": "device", "stream": "stream", "context": "context"}
MEMORY_WORK = {**ON_DEVICE, "bytes": "bytes", "memory bandwidth (GB/s)": "bandwidth_gbps", "graph id": "graph_id",
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
    return independent_reader.table_of(event.get("cat")) if adapter == "kineto" else "range"


def source_pairs(path, adapter):
    """Count of arguments by (table, key), and of device rows that say nothing of device or stream."""
    pairs = collections.Counter()
    filled = collections.Counter()
    for event in independent_reader.load_events(path):
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


def stored_pairs(program, run_id, wanted, adapter):
    stored = collections.Counter()
    rows = []
    for offset in range(0, 100_000, 500):
        page = program.query(run_id, f"SELECT owner, key, count(*) AS n FROM args GROUP BY 1, 2 ORDER BY 1, 2 LIMIT 500 OFFSET {offset}")
        rows += page
        if len(page) < 500:
            break
    for owner, key, count in rows:
        stored[(owner, key)] += int(count)
    if adapter != "kineto":
        return stored
    for table in {table for table, _ in wanted}:
        columns = sorted(set(COLUMNS[table].values()))
        if columns:
            counts = program.query(run_id, f"SELECT {', '.join(f'count({c})' for c in columns)} FROM \"{table}\"")[0]
            of_column = dict(zip(columns, map(int, counts)))
            for column in columns:
                keys = [k for k, c in COLUMNS[table].items() if c == column]
                present = [k for k in keys if (table, k) in wanted] or keys[:1]
                stored[(table, present[0])] += of_column[column]
                for other in present[1:]:  # two spellings of one column in one file: compared together
                    wanted[(table, present[0])] += wanted.pop((table, other))
                    stored[(table, present[0])] += stored.pop((table, other), 0)
        names = list(COLLECTIVE.values())
        counts = program.query(run_id, f"SELECT {', '.join(f'count({c})' for c in names)} FROM collective WHERE owner = '{table}'")[0]
        for key, count in zip(COLLECTIVE, counts):
            stored[(table, key)] += int(count)
    return stored


def lossless(path):
    with tempfile.TemporaryDirectory(prefix="nl-lossless-") as store:
        program = agree_with_reader.Program(BIN, store)
        reply = agree_with_reader.run_json(program.base + ["import", str(path), "--json"])
        (run,) = reply["runs"]
        wanted, filled = source_pairs(path, run["adapter"])
        stored = stored_pairs(program, run["run_id"], wanted, run["adapter"])
    total = 0
    for (table, key), count in sorted(wanted.items()):
        found = stored[(table, key)] - filled.get((table, key), 0)
        total += count
        if found != count:
            return f"{table} '{key}': {count} in the source, {found} in the run"
    return None if total else "the source has no arguments at all"


def traces():
    found = sorted((ROOT / "data/h200").glob("*.json.gz"))
    shared = pathlib.Path(os.environ.get("NEUROLENS_SHARED", ROOT.parent / "shared")) / "data"
    public = sorted((shared / "public/kineto").glob("*.json.gz"))
    return found + public, public, shared


def main():
    wanted = os.environ.get("NEUROLENS_TEST_FILTER", "")
    paths, public, shared = traces()
    failed = 0

    def attempt(job):
        kind, path = job
        try:
            if kind == "agrees":
                _, differences = agree_with_reader.compare(BIN, str(path))
                return job, "; ".join(differences[:3]) or None
            return job, lossless(path)
        except (agree_with_reader.Failure, OSError, EOFError, ValueError, KeyError, TypeError) as error:
            return job, repr(error)

    def name(job):
        return f"{job[0]}.{job[1].name.removesuffix('.json.gz')}"

    jobs = [(kind, path) for path in paths for kind in ("agrees", "lossless")]
    jobs = [job for job in jobs if not wanted or wanted in "agree.py" or wanted in name(job)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for job, why in pool.map(attempt, jobs):
            failed += why is not None
            print(f"PASS {name(job)}" if why is None else f"FAIL {name(job)}: {' '.join(why.split())}", flush=True)
    if not public:
        print(f"SKIP public_traces: none under {shared.name}/data/public/kineto")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

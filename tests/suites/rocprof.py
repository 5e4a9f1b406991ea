#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ROCm recordings against an own reading of the same files (json and csv of Python): counts, total times and links.

agrees.json.*   rocprofv3 JSON: kernels by name, stream and device, copies, calls, markers, launches, to the nanosecond
agrees.csv.*    every CSV alone: rows and summed times per name
counters.*      hardware counters of a kernel are the sums of the file
sums.*          tables of sums alone: calls and total times per name
"""
import collections
import csv
import gzip
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("NEUROLENS_ROOT", pathlib.Path(__file__).resolve().parents[2]))
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
SHARED = os.environ.get("NEUROLENS_SHARED")
SAMPLES = ROOT / "tests/cases/samples/rocprof"


class Failure(Exception):
    pass


def run(arguments):
    done = subprocess.run([BIN, *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, check=False, text=True, timeout=300)
    if done.returncode != 0:
        raise Failure(f"{arguments[2]} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


class Imported:
    def __init__(self, path, folder):
        self.store = ["--store", str(folder)]
        (self.run,) = json.loads(run([*self.store, "import", path, "--json"]))["runs"]

    def rows(self, sql):
        return [tuple(r) for r in csv.reader(io.StringIO(run([*self.store, "query", self.run["run_id"], sql, "--format", "csv", "--max-rows", "10000000"])))][1:]


def expect(what, expected, found):
    if expected != found:
        gone, more = expected, found
        if isinstance(expected, collections.Counter):
            gone, more = list((expected - found).items())[:2], list((found - expected).items())[:2]
        raise Failure(f"{what}: the file has {str(gone)[:300]}, the run {str(more)[:300]}")


def count(rows):
    return collections.Counter(tuple(str(v) for v in row) for row in rows)


def plain(name):
    for end in (" [clone .kd]", ".kd"):
        name = name.removesuffix(end)
    return name


def agrees_with_json(path):
    def check(folder):
        opened = gzip.open(path, "rt") if path.suffix == ".gz" else open(path, encoding="utf-8")
        with opened as file:
            tools = json.load(file)["rocprofiler-sdk-tool"]
        (tool,) = tools
        done = Imported(path, folder)
        names = {s["kernel_id"]: plain(s["demangled_kernel_name"]) for s in tool["kernel_symbols"]}
        devices = {a["id"]["handle"]: a["logical_node_type_id"] for a in tool["agents"]}
        records, kinds = tool["buffer_records"], tool["strings"]["buffer_records"]
        duration = lambda r: r["end_timestamp"] - r["start_timestamp"]
        kernels = records["kernel_dispatch"]
        expect("kernels", count((names[k["dispatch_info"]["kernel_id"]], devices[k["dispatch_info"]["agent_id"]["handle"]],
                                 k["stream_id"]["handle"], k["start_timestamp"], duration(k), k["correlation_id"]["internal"],
                                 -(-k["dispatch_info"]["grid_size"]["x"] // k["dispatch_info"]["workgroup_size"]["x"]),
                                 k["dispatch_info"]["workgroup_size"]["x"], k["dispatch_info"]["group_segment_size"]) for k in kernels),
               count(done.rows("SELECT name, device, stream, start_ns, dur_ns, correlation, grid_x, block_x, shared_bytes FROM kernel")))
        operation = lambda r: kinds[r["kind"]]["operations"][r["operation"]]
        calls = [c for section, rows in records.items() if section.endswith("_api") and section != "marker_api" for c in rows]
        expect("calls", count((operation(c), c["start_timestamp"], duration(c), c["correlation_id"]["internal"]) for c in calls),
               count(done.rows("SELECT name, start_ns, dur_ns, correlation FROM api_call")))
        texts = {m["key"]: m["value"] for m in tool["strings"]["marker_api"]}
        expect("markers", count((texts[m["correlation_id"]["internal"]], m["start_timestamp"], duration(m)) for m in records["marker_api"]),
               count(done.rows("SELECT name, start_ns, coalesce(dur_ns, 0) FROM range WHERE category = 'roctx'")))
        expect("copies", count((operation(c).replace("MEMORY_COPY_HOST_TO_DEVICE", "HtoD").replace("MEMORY_COPY_DEVICE_TO_HOST", "DtoH"),
                                c["start_timestamp"], duration(c), c["bytes"]) for c in records["memory_copy"]),
               count(done.rows("SELECT kind, start_ns, dur_ns, bytes FROM memcpy")))
        by_id = {c["correlation_id"]["internal"]: operation(c) for c in calls}
        launched = [(by_id[k["correlation_id"]["internal"]], names[k["dispatch_info"]["kernel_id"]]) for k in kernels
                    if k["correlation_id"]["internal"] in by_id]
        expect("launches", count(launched), count(done.rows("SELECT a.name, k.name FROM kernel k JOIN api_call a ON a.id = k.api_call_id")))
        total = sum(map(duration, kernels))
        expect("kernel time", [(str(len(kernels)), str(total))], done.rows("SELECT count(*), CAST(sum(dur_ns) AS BIGINT) FROM kernel"))
    return check


NAMES = ("Kernel_Name", "Function", "Direction", "Operation", "KernelName")
TABLES = {"Kernel_Name": "kernel", "KernelName": "kernel", "Direction": "memcpy", "Operation": "memory_event"}


def agrees_with_csv(path):
    def check(folder):
        alone = folder / "alone"
        alone.mkdir()
        shutil.copy(path, alone / path.name)
        done = Imported(alone / path.name, folder / "store")
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        (column,) = [c for c in NAMES if c in rows[0]]
        start, end = ("BeginNs", "EndNs") if "BeginNs" in rows[0] else ("Start_Timestamp", "End_Timestamp")
        table = TABLES.get(column) or ("range" if rows[0]["Domain"].startswith("MARKER") else "api_call")
        if "Counter_Name" in rows[0]:
            rows = list({r["Dispatch_Id"]: r for r in rows}.values())
        if table == "memory_event":
            expect("rows", count((r[column], r[start]) for r in rows), count(done.rows("SELECT name, start_ns FROM memory_event")))
            return
        name = {"memcpy": "CASE kind WHEN 'HtoD' THEN 'MEMORY_COPY_HOST_TO_DEVICE' ELSE 'MEMORY_COPY_DEVICE_TO_HOST' END"}.get(table, "name")
        expect("rows", count((plain(r[column]), r[start], int(r[end]) - int(r[start])) for r in rows),
               count(done.rows(f"SELECT {name}, start_ns, coalesce(dur_ns, 0) FROM {table}")))
    return check


def counters_are_the_sums_of_the_file(folder):
    with open(SAMPLES / "training_results.json", encoding="utf-8") as file:
        (tool,) = json.load(file)["rocprofiler-sdk-tool"]
    names = {c["id"]["handle"]: c["name"] for c in tool["counters"]}
    sums = collections.Counter()
    for record in tool["callback_records"]["counter_collection"]:
        for value in record["records"]:
            sums[names[value["counter_id"]["handle"]]] += value["value"]
    done = Imported(SAMPLES / "training_results.json", folder)
    table = done.rows("SELECT name, sum(value) FROM kernel_metric GROUP BY name")
    expect("counters", dict(sums), {name: float(value) for name, value in table})


def sums_agree(path):
    def check(folder):
        with open(path, encoding="utf-8") as file:
            truth = count((r["Name"], r["Calls"], r["TotalDurationNs"]) for r in csv.DictReader(file))
        done = Imported(path, folder)
        expect("sums per name", truth, count(done.rows("SELECT name, count(*), sum(dur_ns) FROM api_call GROUP BY 1")))
    return check


def main():
    chosen = os.environ.get("NEUROLENS_TEST_FILTER", "")
    cases = [(f"agrees.json.{p.name}", agrees_with_json(p)) for p in sorted(SAMPLES.glob("*.json"))]
    cases += [(f"agrees.csv.{p.name}", agrees_with_csv(p)) for p in sorted(SAMPLES.glob("*.csv"))]
    cases.append(("counters_are_the_sums_of_the_file", counters_are_the_sums_of_the_file))
    real = pathlib.Path(SHARED, "data/public/rocprof") if SHARED else None
    if real and real.is_dir():
        cases += [(f"agrees.json.{p.name}", agrees_with_json(p)) for p in sorted(real.glob("*results.json.gz"))]
        cases += [(f"agrees.csv.{p.name}", agrees_with_csv(p)) for p in sorted(real.glob("*.csv")) if "stats" not in p.name]
        cases += [(f"sums.{p.name}", sums_agree(p)) for p in sorted(real.glob("*stats.csv"))]
    else:
        print("SKIP agrees.real: the real recordings are not here (NEUROLENS_SHARED)")
    failed = False
    for name, check in cases:
        if chosen and chosen not in name:
            continue
        with tempfile.TemporaryDirectory(prefix="nl-rocprof-") as folder:
            try:
                check(pathlib.Path(folder))
                print(f"PASS {name}", flush=True)
            except (Failure, OSError, ValueError, LookupError, subprocess.TimeoutExpired) as error:
                failed = True
                print(f"FAIL {name}: {type(error).__name__} {' '.join(str(error).split())[:400]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

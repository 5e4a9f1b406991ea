# SPDX-License-Identifier: Apache-2.0
"""ROCm recordings against an own reading of the same files (json and csv of Python): counts, total times and links."""
import collections
import csv
import pathlib
import shutil

import pytest

from neurolens_cli import SAMPLES, equal, load, named, real_files

ROCPROF = SAMPLES / "rocprof"
MISSING = "the real recordings are not here (NEUROLENS_SHARED)"


def count(rows):
    return collections.Counter(tuple(str(v) for v in row) for row in rows)


def plain(name):
    for end in (" [clone .kd]", ".kd"):
        name = name.removesuffix(end)
    return name


@pytest.mark.parametrize("path", named(sorted(ROCPROF.glob("*.json"))) + named(real_files("public/rocprof", "*results.json.gz"), MISSING))
def test_json_kernels_copies_calls_markers_and_launches_agree_to_the_nanosecond(path, imported):
    (tool,) = load(path)["rocprofiler-sdk-tool"]
    run = imported(path)
    names = {s["kernel_id"]: plain(s["demangled_kernel_name"]) for s in tool["kernel_symbols"]}
    devices = {a["id"]["handle"]: a["logical_node_type_id"] for a in tool["agents"]}
    records, kinds = tool["buffer_records"], tool["strings"]["buffer_records"]
    duration = lambda r: r["end_timestamp"] - r["start_timestamp"]
    kernels = records["kernel_dispatch"]
    equal("kernels", count((names[k["dispatch_info"]["kernel_id"]], devices[k["dispatch_info"]["agent_id"]["handle"]],
                             k["stream_id"]["handle"], k["start_timestamp"], duration(k), k["correlation_id"]["internal"],
                             -(-k["dispatch_info"]["grid_size"]["x"] // k["dispatch_info"]["workgroup_size"]["x"]),
                             k["dispatch_info"]["workgroup_size"]["x"], k["dispatch_info"]["group_segment_size"]) for k in kernels),
           count(run.rows("SELECT name, device, stream, start_ns, dur_ns, correlation, grid_x, block_x, shared_bytes FROM kernel")))
    operation = lambda r: kinds[r["kind"]]["operations"][r["operation"]]
    calls = [c for section, rows in records.items() if section.endswith("_api") and section != "marker_api" for c in rows]
    equal("calls", count((operation(c), c["start_timestamp"], duration(c), c["correlation_id"]["internal"]) for c in calls),
           count(run.rows("SELECT name, start_ns, dur_ns, correlation FROM api_call")))
    texts = {m["key"]: m["value"] for m in tool["strings"]["marker_api"]}
    equal("markers", count((texts[m["correlation_id"]["internal"]], m["start_timestamp"], duration(m)) for m in records["marker_api"]),
           count(run.rows("SELECT name, start_ns, coalesce(dur_ns, 0) FROM range WHERE category = 'roctx'")))
    equal("copies", count((operation(c).replace("MEMORY_COPY_HOST_TO_DEVICE", "HtoD").replace("MEMORY_COPY_DEVICE_TO_HOST", "DtoH"),
                            c["start_timestamp"], duration(c), c["bytes"]) for c in records["memory_copy"]),
           count(run.rows("SELECT kind, start_ns, dur_ns, bytes FROM memcpy")))
    by_id = {c["correlation_id"]["internal"]: operation(c) for c in calls}
    launched = [(by_id[k["correlation_id"]["internal"]], names[k["dispatch_info"]["kernel_id"]]) for k in kernels
                if k["correlation_id"]["internal"] in by_id]
    equal("launches", count(launched), count(run.rows("SELECT a.name, k.name FROM kernel k JOIN api_call a ON a.id = k.api_call_id")))
    total = sum(map(duration, kernels))
    equal("kernel time", [(str(len(kernels)), str(total))], run.rows("SELECT count(*), CAST(sum(dur_ns) AS BIGINT) FROM kernel"))


NAMES = ("Kernel_Name", "Function", "Direction", "Operation", "KernelName")
TABLES = {"Kernel_Name": "kernel", "KernelName": "kernel", "Direction": "memcpy", "Operation": "memory_event"}


@pytest.mark.parametrize("path", named(sorted(ROCPROF.glob("*.csv"))) + named([p for p in real_files("public/rocprof", "*.csv") if "stats" not in p.name], MISSING))
def test_rows_and_times_of_a_csv_file_alone_agree(path, store, tmp_path):
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copy(path, alone / path.name)
    run = store.add(alone / path.name)
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    (column,) = [c for c in NAMES if c in rows[0]]
    start, end = ("BeginNs", "EndNs") if "BeginNs" in rows[0] else ("Start_Timestamp", "End_Timestamp")
    table = TABLES.get(column) or ("range" if rows[0]["Domain"].startswith("MARKER") else "api_call")
    if "Counter_Name" in rows[0]:
        rows = list({r["Dispatch_Id"]: r for r in rows}.values())
    if table == "memory_event":
        equal("rows", count((r[column], r[start]) for r in rows), count(run.rows("SELECT name, start_ns FROM memory_event")))
        return
    name = {"memcpy": "CASE kind WHEN 'HtoD' THEN 'MEMORY_COPY_HOST_TO_DEVICE' ELSE 'MEMORY_COPY_DEVICE_TO_HOST' END"}.get(table, "name")
    equal("rows", count((plain(r[column]), r[start], int(r[end]) - int(r[start])) for r in rows),
           count(run.rows(f"SELECT {name}, start_ns, coalesce(dur_ns, 0) FROM {table}")))


def test_hardware_counters_of_kernels_are_the_sums_of_the_file(imported):
    (tool,) = load(ROCPROF / "training_results.json")["rocprofiler-sdk-tool"]
    names = {c["id"]["handle"]: c["name"] for c in tool["counters"]}
    sums = collections.Counter()
    for record in tool["callback_records"]["counter_collection"]:
        for value in record["records"]:
            sums[names[value["counter_id"]["handle"]]] += value["value"]
    table = imported(ROCPROF / "training_results.json").rows("SELECT name, sum(value) FROM kernel_metric GROUP BY name")
    equal("counters", dict(sums), {name: float(value) for name, value in table})


@pytest.mark.parametrize("path", named(real_files("public/rocprof", "*stats.csv"), MISSING))
def test_calls_and_total_times_of_a_table_of_sums_agree(path, imported):
    with open(path, encoding="utf-8") as file:
        truth = count((r["Name"], r["Calls"], r["TotalDurationNs"]) for r in csv.DictReader(file))
    equal("sums per name", truth, count(imported(path).rows("SELECT name, count(*), sum(dur_ns) FROM api_call GROUP BY 1")))


def two_recordings(folder):
    """Kernels and calls of one recording, copies of another one with the same name an hour later."""
    calls = '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
    (folder / "9_hip_api_trace.csv").write_text(calls + '"HIP_RUNTIME_API_EXT","hipLaunchKernel",9,9,1,1000,1500\n')
    (folder / "9_kernel_trace.csv").write_text('"Kind","Agent_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
                                    '"KERNEL_DISPATCH","Agent 1","add",1,1400,1900\n')
    (folder / "9_memory_copy_trace.csv").write_text('"Kind","Direction","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
                                         '"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE","Agent 0","Agent 1",2,3600000002000,3600000003000\n')
    return folder / "9_kernel_trace.csv"


def test_import_takes_the_parts_of_the_same_recording_and_names_them(store, tmp_path):
    kernels = two_recordings(tmp_path)
    run = store.add(kernels).reply
    assert [pathlib.Path(f).name for f in run["files"]] == ["9_kernel_trace.csv", "9_hip_api_trace.csv"]
    assert run["wall_ms"] == pytest.approx(900e-6)
    assert [(pathlib.Path(s["file"]).name, s["taken"], s["reason"]) for s in run["siblings"]] == [
        ("9_hip_api_trace.csv", True, "same name '9', overlapping clocks"),
        ("9_memory_copy_trace.csv", False, "of another recording (1 h 00 min apart)")]
    text = store.text("import", kernels, "--force")
    assert "  with 9_hip_api_trace.csv: same name '9', overlapping clocks\n" in text
    assert "  without 9_memory_copy_trace.csv: of another recording (1 h 00 min apart)\n" in text


def test_import_only_takes_the_named_file(store, tmp_path):
    kernels = two_recordings(tmp_path)
    run = store.add(kernels, "--only").reply
    assert run["files"] == [str(kernels)] and run["siblings"] == []
    assert run["tables"].get("api_call") is None


def test_import_of_a_folder_keeps_recordings_apart(store, tmp_path):
    two_recordings(tmp_path)
    (tmp_path / "in").mkdir()
    for path in tmp_path.glob("*.csv"):
        path.rename(tmp_path / "in" / path.name)
    runs = store.imports(tmp_path / "in")
    assert sorted(len(run["files"]) for run in runs) == [1, 2]
    assert max(run["wall_ms"] for run in runs) < 1

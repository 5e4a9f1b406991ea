# SPDX-License-Identifier: Apache-2.0
"""CSV output, parts of a recording beside each other, what `record` counts, the wall of CPU samples, hashes of inputs."""
import hashlib
import json
import os
import pathlib
import sqlite3
import subprocess
import sys

import pytest

ROOT = pathlib.Path(os.environ.get("NEUROLENS_ROOT", pathlib.Path(__file__).resolve().parents[2]))
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
sys.path.insert(0, str(ROOT / "tests"))
import nlcap_writer  # noqa: E402 pylint: disable=wrong-import-position

TRACE = '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 1, "tid": 1, "ts": 10, "dur": 5}]}'


class Place:
    """A folder with a store of its own."""

    def __init__(self, folder):
        self.folder = folder

    def raw(self, *arguments):
        environment = {**os.environ, "XDG_CONFIG_HOME": str(self.folder), "NO_COLOR": "1"}
        done = subprocess.run([BIN, "--store", str(self.folder / "store"), *map(str, arguments)], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=300, check=False, cwd=self.folder, env=environment)
        assert done.returncode == 0, f"{arguments}: {done.stderr.decode()[-500:]}"
        return done.stdout

    def text(self, *arguments):
        return self.raw(*arguments).decode()

    def json(self, *arguments):
        return json.loads(self.raw(*arguments, "--json"))

    def record(self, *arguments):
        """Its reply: --json goes to standard output, text to standard error (the program's output is the program's)."""
        done = subprocess.run([BIN, "record", *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=True,
                              cwd=self.folder)
        return (done.stdout or done.stderr).decode()

    def put(self, name, data):
        path = self.folder / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def test_csv_lines_end_with_lf(place):
    place.raw("import", place.put("trace.json", TRACE))
    for question in (["query", "@latest", "SELECT id, name FROM op", "--format", "csv"], ["operators", "@latest", "--csv"]):
        answer = place.raw(*question)
        assert b"\r" not in answer
        assert answer.endswith(b"\n") and answer.count(b"\n") == 2
    assert place.raw("query", "@latest", "SELECT id, name FROM op", "--format", "csv") == b"id,name\n0,aten::add\n"


def rocprof_files(place):
    """Kernels and calls of one recording, copies of another one with the same name an hour later."""
    calls = '"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
    place.put("9_hip_api_trace.csv", calls + '"HIP_RUNTIME_API_EXT","hipLaunchKernel",9,9,1,1000,1500\n')
    place.put("9_kernel_trace.csv", '"Kind","Agent_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
                                    '"KERNEL_DISPATCH","Agent 1","add",1,1400,1900\n')
    place.put("9_memory_copy_trace.csv", '"Kind","Direction","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
                                         '"MEMORY_COPY","MEMORY_COPY_HOST_TO_DEVICE","Agent 0","Agent 1",2,3600000002000,3600000003000\n')
    return place.folder / "9_kernel_trace.csv"


def test_import_takes_the_parts_of_the_same_recording_and_names_them(place):
    kernels = rocprof_files(place)
    (run,) = place.json("import", kernels)["runs"]
    assert [pathlib.Path(f).name for f in run["files"]] == ["9_kernel_trace.csv", "9_hip_api_trace.csv"]
    assert run["wall_ms"] == pytest.approx(900e-6)
    assert [(pathlib.Path(s["file"]).name, s["taken"], s["reason"]) for s in run["siblings"]] == [
        ("9_hip_api_trace.csv", True, "same name '9', overlapping clocks"),
        ("9_memory_copy_trace.csv", False, "of another recording (1 h 00 min apart)")]
    text = place.text("import", kernels, "--force")
    assert "  with 9_hip_api_trace.csv: same name '9', overlapping clocks\n" in text
    assert "  without 9_memory_copy_trace.csv: of another recording (1 h 00 min apart)\n" in text


def test_import_only_takes_the_named_file(place):
    kernels = rocprof_files(place)
    (run,) = place.json("import", kernels, "--only")["runs"]
    assert run["files"] == [str(kernels)] and run["siblings"] == []
    assert run["tables"].get("api_call") is None


def test_import_of_a_folder_keeps_recordings_apart(place):
    rocprof_files(place)
    (place.folder / "in").mkdir()
    for path in place.folder.glob("*.csv"):
        path.rename(place.folder / "in" / path.name)
    runs = place.json("import", place.folder / "in")["runs"]
    assert sorted(len(run["files"]) for run in runs) == [1, 2]
    assert max(run["wall_ms"] for run in runs) < 1


def test_record_counts_processes_of_the_program_only(place):
    script = place.put("wrapper.sh", "for i in 1 2 3; do (n=0; while [ $n -lt 60000 ]; do n=$((n+1)); done); done\nexec sleep 0.3\n")
    assert json.loads(place.record("--json", "--out", "a.nlcap", "--", "sh", script))["processes"] == 1


def test_record_tells_the_recorded_time_and_the_time_of_the_program(place):
    # The program runs until recording has stopped: `control` of the capture says so (docs/formats/nlcap.md).
    program = place.put("program.py", """
import struct, sys, time
while True:
    page = open(sys.argv[1] + "/control", "rb").read()
    if struct.unpack_from("<I", page, 188)[0] == 0:
        break
    time.sleep(0.01)
time.sleep(0.1)
""")
    command = ("--duration", "0.2", "--out", "a.nlcap", "--", sys.executable, program)
    reply = json.loads(place.record("--json", *command, "a.nlcap"))
    assert 200 <= reply["recorded_ms"] <= reply["wall_ms"] - 100
    text = place.record(*("b.nlcap" if word == "a.nlcap" else word for word in command), "b.nlcap")
    assert "(the program ran " in text


SAMPLES = """file pid=10 monotonic_ns=1000
process pid=10 start_ns=0 executable="/bin/app"
thread pid=10 tid=10 name="main"
frame id=1 kind=1 name="main"
stack id=1 frames=1
cpu_sample time_ns=5000000 weight_ns=5000000 pid=10 tid=10 stack=1
cpu_sample time_ns=40000000 weight_ns=2000000 pid=10 tid=10 stack=1
"""


def test_cpu_samples_alone_have_a_wall(place):
    (data,) = nlcap_writer.files_of(SAMPLES)
    (run,) = place.json("import", place.put("trace.nlcap", data))["runs"]
    assert run["tables"]["cpu_sample"] == 2
    expected_ms = 37.0  # from the start of the first to the end of the last
    assert run["wall_ms"] == pytest.approx(expected_ms)
    shown = place.json("show", "@latest")
    assert shown["run"]["wall_ns"] == expected_ms * 1e6
    assert shown["document"]["summary"]["total_duration_ms"] == pytest.approx(expected_ms)
    assert place.json("summary", "@latest")["wall_ms"] == pytest.approx(expected_ms)
    assert place.json("ls")["runs"][0]["wall_ns"] == expected_ms * 1e6
    analysis = place.json("analyze", "@latest")
    assert f"{expected_ms:.1f} ms" in place.text("analyze", "@latest"), analysis
    for question in (["overlap", "@latest"], ["critical-path", "@latest"], ["idle", "@latest"]):
        place.json(*question)
    copy = place.put("again.nlcap", nlcap_writer.files_of(SAMPLES.replace("weight_ns=2000000", "weight_ns=3000000"))[0])
    place.raw("import", copy)
    place.json("compare", run["run_id"], "@latest")


def tree_hash(data):
    """As docs/identity.md defines it."""
    leaves = (data[i:i + 32768] for i in range(0, len(data), 32768))
    digests = b"".join(hashlib.sha256(leaf).digest() for leaf in leaves)
    return hashlib.sha256(b"sha256-tree-32k\n" + digests + len(data).to_bytes(8, "little")).hexdigest()


def long_trace():
    """Longer than several groups of leaves, and not a multiple of either."""
    events = ",\n".join(f'{{"ph": "X", "cat": "cpu_op", "name": "op {i}", "pid": 1, "tid": 1, "ts": {10 * i}, "dur": 5}}' for i in range(9000))
    return ('{"traceEvents": [' + events + "]}").encode()


def stored_files(place):
    return place.json("show", "@latest")["document"]["source"]["files"]


def test_the_hash_of_an_input_is_the_documented_tree_of_sha256(place):
    for data in (TRACE.encode(), long_trace()):
        (run,) = place.json("import", place.put("trace.json", data))["runs"]
        assert not run["duplicate"]
        assert stored_files(place) == [{"name": "trace.json", "bytes": len(data), "sha256": tree_hash(data), "hash": "sha256-tree-32k"}]


def test_the_hash_of_a_capture_folder_is_that_of_its_files_in_order(place):
    folder = place.folder / "a.nlcap"
    folder.mkdir()
    data = [nlcap_writer.files_of(SAMPLES.replace("10", str(pid)))[0] for pid in (10, 11)]
    for name, content in zip(("10-1.nlc", "11-1.nlc"), data):
        (folder / name).write_bytes(content)
    (run,) = place.json("import", folder)["runs"]
    assert stored_files(place)[0]["sha256"] == tree_hash(b"".join(data))
    (again,) = place.json("import", folder)["runs"]
    assert again["duplicate"] and again["run_id"] == run["run_id"]


def test_the_same_bytes_under_another_name_are_the_same_run(place):
    data = long_trace()
    (run,) = place.json("import", place.put("a.json", data))["runs"]
    (again,) = place.json("import", place.put("b.json", data))["runs"]
    assert again["duplicate"] and again["run_id"] == run["run_id"]
    changed = data.replace(b"op 8999", b"op 8998")
    assert len(changed) == len(data)
    (other,) = place.json("import", place.put("c.json", changed))["runs"]
    assert not other["duplicate"]


def make_run_of_version_0_1(place, run_id, plain):
    """As that version stored it: with the plain SHA-256, in the document, the catalog and the entry beside the document."""
    folder = place.folder / "store/runs" / run_id
    document = json.loads((folder / "run.json").read_text())
    document["source"]["files"] = [{"name": f["name"], "bytes": f["bytes"], "sha256": plain} for f in document["source"]["files"]]
    (folder / "run.json").write_text(json.dumps(document))
    entry = json.loads((folder / "catalog_entry.json").read_text())
    entry["content_sha256"] = plain
    (folder / "catalog_entry.json").write_text(json.dumps(entry))
    with sqlite3.connect(place.folder / "store/catalog.sqlite") as catalog:
        assert catalog.execute("UPDATE run SET content_sha256 = ? WHERE run_id = ?", (plain, run_id)).rowcount == 1


def test_runs_stored_with_a_plain_sha256_are_recognised(place):
    data = long_trace()
    path = place.put("trace.json", data)
    (run,) = place.json("import", path)["runs"]
    make_run_of_version_0_1(place, run["run_id"], hashlib.sha256(data).hexdigest())
    (again,) = place.json("import", path)["runs"]
    assert again["duplicate"] and again["run_id"] == run["run_id"]
    assert len(place.json("ls")["runs"]) == 1
    assert place.json("show", "@latest", "--source", path)["sources"][0]["matches"] == "trace.json"
    assert place.json("doctor")["problems"] == []


def test_show_gives_the_plain_sha256_of_a_source(place):
    path, other = place.put("trace.json", long_trace()), place.put("other.json", TRACE)
    place.raw("import", path)
    sources = place.json("show", "@latest", "--source", path, "--source", other)["sources"]
    assert [(s["bytes"], s["sha256"], s["matches"]) for s in sources] == [
        (p.stat().st_size, hashlib.sha256(p.read_bytes()).hexdigest(), matches) for p, matches in ((path, "trace.json"), (other, None))]
    text = place.text("show", "@latest", "--source", path)
    assert f"{path}: same bytes as input trace.json\n  sha256 {sources[0]['sha256']}\n" in text

# SPDX-License-Identifier: Apache-2.0
"""Identity of runs: the tree hash of their inputs, plain SHA-256 on request, and runs of older versions."""
import hashlib
import json
import os
import sqlite3
import subprocess

import pytest

import nlcap_writer
from neurolens_cli import BIN

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

    def put(self, name, data):
        path = self.folder / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


SAMPLES = """file pid=10 monotonic_ns=1000
process pid=10 start_ns=0 executable="/bin/app"
thread pid=10 tid=10 name="main"
frame id=1 kind=1 name="main"
stack id=1 frames=1
cpu_sample time_ns=5000000 weight_ns=5000000 pid=10 tid=10 stack=1
cpu_sample time_ns=40000000 weight_ns=2000000 pid=10 tid=10 stack=1
"""


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
    entry.pop("checksum")  # that version had sizes only
    entry["files"] = [{"name": f["name"], "bytes": (folder / f["name"]).stat().st_size} for f in entry["files"]]
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


def test_show_gives_the_plain_sha256_of_a_source(place):
    path, other = place.put("trace.json", long_trace()), place.put("other.json", TRACE)
    place.raw("import", path)
    sources = place.json("show", "@latest", "--source", path, "--source", other)["sources"]
    assert [(s["bytes"], s["sha256"], s["matches"]) for s in sources] == [
        (p.stat().st_size, hashlib.sha256(p.read_bytes()).hexdigest(), matches) for p, matches in ((path, "trace.json"), (other, None))]
    text = place.text("show", "@latest", "--source", path)
    assert f"{path}: same bytes as input trace.json\n  sha256 {sources[0]['sha256']}\n" in text

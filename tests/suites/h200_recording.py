#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recordings of `neurolens run` on an H200 (data/h200/llama*.nlc.gz) against an own reading of their records, and what is made of them.

agrees.*   kernels, launches, samples, losses, summed kernel time
tells.*    stages once each, the device's name, what the host did while the device was idle, the comparison of the two
"""
import collections
import gzip
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ.get("NEUROLENS_ROOT", pathlib.Path(__file__).resolve().parents[2]))
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
sys.path.insert(0, str(ROOT / "tests"))
import nlcap_reader  # noqa: E402

PLAIN, SLOW = (ROOT / f"data/h200/{name}.nlc.gz" for name in ("llama", "llama_python_step"))


def call(store, *arguments):
    done = subprocess.run([BIN, "--store", str(store), *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          timeout=300, env={**os.environ, "COLUMNS": "80"})
    assert done.returncode == 0, f"{arguments[0]} ended with {done.returncode}: {done.stderr.decode()[-300:]}"
    return done.stdout.decode()


def told(store, *arguments):
    return json.loads(call(store, *arguments, "--json"))


def records(path):
    """Records by kind of every process in the file, by the independent reader."""
    out = collections.defaultdict(list)
    data, at = gzip.decompress(path.read_bytes()), 0
    while at + 40 <= len(data):
        _, _, kind, size, _, record_bytes, *_ = nlcap_reader.HEADER.unpack_from(data, at)
        layout = nlcap_reader.LAYOUTS.get(nlcap_reader.KINDS.get(kind))
        if layout:
            form, names = struct.Struct(layout[0]), layout[1].split()
            for i in range(0, size, record_bytes):
                out[nlcap_reader.KINDS[kind]].append(dict(zip(names, form.unpack_from(data, at + 40 + i))))
        at += 40 + (size + 7) // 8 * 8
    return out


def rows(store, run, sql):
    return told(store, "query", run, sql)["rows"]


def case_agrees(store, runs):
    for path, run in runs.items():
        mine = records(path)
        kernels = mine["kernel"]
        assert len(kernels) == 4651 and not mine["loss"], (path.name, len(kernels), mine["loss"])
        found = rows(store, run, "SELECT count(*), sum(dur_ns), count(api_call_id), count(op_id) FROM kernel")[0]
        total_ns = sum(k["end_ns"] - k["start_ns"] for k in kernels)
        assert list(found[:2]) == [len(kernels), total_ns], (path.name, found, total_ns)
        assert found[2] == len(kernels), "every kernel has its launch"
        assert found[3] > 0.95 * len(kernels), "nearly every kernel has its op"
        assert rows(store, run, "SELECT count(*) FROM api_call")[0][0] == len(mine["api"])
        assert rows(store, run, "SELECT count(*) FROM cpu_sample")[0][0] == len(mine["cpu_sample"])


def case_tells_stages_and_device(store, runs):
    for run in runs.values():
        assert "NVIDIA H200" in call(store, "summary", run)
        stages = {s["name"]: s["count"] for s in told(store, "stages", run)["stages"]}
        assert stages.get("decode_step") == 12 and stages.get("prefill") == 1 and stages.get("request") == 1, stages
        assert rows(store, run, "SELECT count(*) FROM step")[0][0] == 12


def case_tells_what_the_host_did(store, runs):
    idle = told(store, "idle", runs[SLOW])
    first = idle["causes"][0]
    assert first["what"] == "cpu samples" and first["name"].startswith("busy (llama.py"), first
    assert first["ms"] > 80, first  # 12 x 10 ms of Python, as far as samples met it
    assert not any(c["name"] and "busy (llama.py" in c["name"] for c in told(store, "idle", runs[PLAIN])["causes"])


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as store:
        runs = {path: told(store, "import", path)["runs"][0]["run_id"] for path in (PLAIN, SLOW)}
        for case in (case_agrees, case_tells_stages_and_device, case_tells_what_the_host_did):
            try:
                case(store, runs)
                print(f"PASS h200_recording: {case.__name__[5:]}")
            except (AssertionError, KeyError, IndexError) as problem:
                failed += 1
                print(f"FAIL h200_recording: {case.__name__[5:]}: {problem!r}"[:600])
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

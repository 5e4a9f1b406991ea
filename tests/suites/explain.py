#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every explaining command on every real trace: no error, and parts that sum to their whole."""
import gzip
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
SHARED = pathlib.Path(os.environ.get("NEUROLENS_SHARED", ROOT.parent / "shared"))


class Wrong(Exception):
    pass


def call(store, *words):
    done = subprocess.run([BIN, "--store", store, "--json", *words], capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise Wrong(f"{words[0]} exits with {done.returncode}: {done.stderr.strip()[-200:]}")
    return json.loads(done.stdout)


def near(what, got, wanted):
    # Milliseconds are doubles of exact nanoseconds: half a nanosecond is the last honest digit.
    if abs(got - wanted) > 5e-7 + 1e-12 * abs(wanted):
        raise Wrong(f"{what}: {got} instead of {wanted}")


def check(trace, store):
    run = call(store, "import", str(trace))["runs"][0]["run_id"]
    overlap = call(store, "overlap", run)
    for device in overlap["devices"]:
        near("parts of a device", sum(p["ms"] for p in device["parts"]), overlap["wall_ms"])
        near("busy and idle", device["busy_ms"] + device["idle_ms"], overlap["wall_ms"])
    idle = call(store, "idle", run, "--limit", "0")
    near("idle of all devices", idle["idle_ms"], sum(d["idle_ms"] for d in overlap["devices"] if d["busy_ms"] > 0))
    near("parts of the idle time", sum(idle[p] for p in ("host_ms", "launch_ms", "sync_ms", "other_ms")), idle["idle_ms"])
    near("causes of the idle time", sum(c["ms"] for c in idle["causes"]), idle["idle_ms"])
    for gap in idle["largest"]:
        near("parts of a gap", sum(gap[p] for p in ("host_ms", "launch_ms", "sync_ms", "other_ms")), gap["dur_ms"])
    path = call(store, "critical-path", run, "--what-if", "kernel:*=1")
    near("shares of the critical path", sum(s["ms"] for s in path["shares"]), path["wall_ms"])
    near("what-if of nothing", path["what_if"][0]["new_wall_ms"], path["wall_ms"])
    findings = call(store, "findings", run)
    for finding in findings["findings"]:
        if len(finding["suggestions"]) < 3:
            raise Wrong(f"{finding['rule']} has fewer than three suggestions")
    for command in ("launch", "stages", "roofline", "flame", "peaks", "summary"):
        call(store, command, *([] if command == "peaks" else [run]))
    first, second = (call(store, "fingerprint", run) for _ in range(2))
    if first != second:
        raise Wrong("two fingerprints of one run differ")
    call(store, "report", run, "--out", f"{store}/report")


def check_ranks(work):
    """Two ranks that both call their device 0 stay two devices."""
    text = gzip.open(ROOT / "data/h200/compile.json.gz", "rt").read()
    folder = pathlib.Path(work, "ranks")
    folder.mkdir()
    for rank in (0, 1):
        info = f'"schemaVersion": 1, "distributedInfo": {{"backend": "nccl", "rank": {rank}, "world_size": 2}},'
        (folder / f"rank{rank}.json").write_text(text.replace('"schemaVersion": 1,', info, 1))
    run = call(f"{work}/store", "import", str(folder))["runs"][0]["run_id"]
    for command in ("summary", "overlap", "idle"):
        devices = call(f"{work}/store", command, run)["devices"]
        found = [(d["rank"], d["index"]) for d in devices]
        if found != [(0, 0), (1, 0)]:
            raise Wrong(f"{command} tells of the devices {found}")
        near(f"idle time of two equal ranks in {command}", devices[0]["idle_ms"], devices[1]["idle_ms"])


def main():
    with tempfile.TemporaryDirectory() as work:
        try:
            check_ranks(work)
            print("PASS explain.ranks")
        except (Wrong, KeyError, ValueError) as wrong:
            print(f"FAIL explain.ranks: {type(wrong).__name__} {wrong}")
    traces = sorted((ROOT / "data/h200").glob("*.json.gz"))
    public = sorted((SHARED / "data/public/kineto").glob("*.json.gz"))
    if not public:
        print("SKIP explain.public: no folder of public traces (NEUROLENS_SHARED)")
    for trace in traces + public:
        with tempfile.TemporaryDirectory() as store:
            try:
                check(trace, store)
                print(f"PASS explain.{trace.name.split('.')[0]}")
            except (Wrong, KeyError, ValueError) as wrong:
                print(f"FAIL explain.{trace.name.split('.')[0]}: {type(wrong).__name__} {wrong}")


main()

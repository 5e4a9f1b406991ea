# SPDX-License-Identifier: Apache-2.0
"""Every explaining command on every real trace: no error, and parts that sum to their whole."""
import json

import pytest

from neurolens_cli import H200, content, kineto_traces


IDLE_PARTS = ("host_ms", "launch_ms", "sync_ms", "startup_ms", "edge_ms", "other_ms")


def close(what, got, wanted):
    # Milliseconds are doubles of exact nanoseconds: half a nanosecond is the last honest digit.
    assert abs(got - wanted) <= 5e-7 + 1e-12 * abs(wanted), f"{what}: {got} instead of {wanted}"


# What `summary`, `overlap` and the report say of each device; the three must agree to the last digit.
DEVICE_TIMES = ("index", "rank", "name", "busy_ms", "idle_ms", "paused_ms", "compute_ms", "communication_ms", "memory_ms",
                "overlap_ms", "utilization", "events")


def agree_on_devices(run, overlap, folder):
    run.ask("report", "--out", folder / "report")
    answers = {"summary": run.ask("summary"), "report": json.loads((folder / "report/report.json").read_text())}
    wanted = [{key: d[key] for key in DEVICE_TIMES} for d in overlap["devices"]]
    for name, answer in answers.items():
        assert answer["wall_ms"] == overlap["wall_ms"], f"wall time of {name}: {answer['wall_ms']} instead of {overlap['wall_ms']}"
        found = [{key: d[key] for key in DEVICE_TIMES} for d in answer["devices"]]
        assert found == wanted, f"devices of {name}"


@pytest.mark.parametrize("trace", kineto_traces())
def test_parts_sum_to_their_whole_in_every_explaining_command(trace, imported, tmp_path):
    run = imported(trace)
    overlap = run.ask("overlap")
    agree_on_devices(run, overlap, tmp_path)
    for device in overlap["devices"]:
        close("parts of a device", sum(p["ms"] for p in device["parts"]), overlap["wall_ms"])
        close("busy and idle", device["busy_ms"] + device["idle_ms"], overlap["wall_ms"])
    idle = run.ask("idle", "--limit", "0")
    close("idle of all devices", idle["idle_ms"], sum(d["idle_ms"] for d in overlap["devices"] if d["busy_ms"] > 0))
    close("parts of the idle time", sum(idle[p] or 0 for p in IDLE_PARTS), idle["idle_ms"])
    close("causes of the idle time", sum(c["ms"] for c in idle["causes"]), idle["idle_ms"])
    for gap in idle["largest"]:
        close("parts of a gap", sum(gap[p] or 0 for p in IDLE_PARTS), gap["dur_ms"])
    path = run.ask("critical-path", "--what-if", "kernel:*=1")
    close("shares of the critical path", sum(s["ms"] for s in path["shares"]), path["wall_ms"])
    close("what-if of nothing", path["what_if"][0]["new_wall_ms"], path["wall_ms"])
    findings = run.ask("findings")
    for finding in findings["findings"]:
        assert finding["suggestions"], f"{finding['rule']} has no suggestion"  # those about unknown things are left out
    for command in ("launch", "stages", "roofline", "flame", "peaks"):
        run.store.json(command, *([] if command == "peaks" else [run.id]))
    first, second = (run.ask("fingerprint") for _ in range(2))
    assert first == second, "two fingerprints of one run differ"


def test_two_ranks_that_both_call_their_device_0_stay_two_devices(store, tmp_path):
    text = content(H200 / "compile.json.gz").decode()
    folder = tmp_path / "ranks"
    folder.mkdir()
    for rank in (0, 1):
        info = f'"schemaVersion": 1, "distributedInfo": {{"backend": "nccl", "rank": {rank}, "world_size": 2}},'
        (folder / f"rank{rank}.json").write_text(text.replace('"schemaVersion": 1,', info, 1))
    run = store.add(folder)
    for command in ("summary", "overlap", "idle"):
        devices = run.ask(command)["devices"]
        found = [(d["rank"], d["index"]) for d in devices]
        assert found == [(0, 0), (1, 0)], f"{command} tells of the devices {found}"
        close(f"idle time of two equal ranks in {command}", devices[0]["idle_ms"], devices[1]["idle_ms"])

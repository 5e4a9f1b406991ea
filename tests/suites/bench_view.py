# SPDX-License-Identifier: Apache-2.0
"""What a server shows of queue and benchmarks: entries and their output, pairs with their last result, and results that stay in the store."""
import json
import os

import pytest
from http_server import Server, events_of, listen
from neurolens_cli import PYTHON, Store, error_of
from queue_store import Queue


@pytest.fixture
def queue(tmp_path):
    return Queue(tmp_path)


@pytest.fixture
def suite(tmp_path):
    folder = tmp_path / "suite"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub/bench.yaml").write_text("pairs:\n- name: nap\n  baseline: sleep 0.02\n  optimized: {quick: 'true', wrong: echo 1}\n")
    return Store(tmp_path / "store", cwd=tmp_path), folder


def test_entries_are_those_of_the_queue(queue):
    first = queue.shell("echo one; echo two", "--name", "first")
    bad = queue.shell("echo why >&2; exit 3")
    waiting = queue.json("queue-entries")
    assert waiting["entries"] == queue.json("queue", "ls")["entries"] and waiting["runner"] is None
    assert waiting["states"] == {"queued": 2, "submitted": 0, "running": 0, "done": 0, "failed": 0, "cancelled": 0, "interrupted": 0}
    assert queue.json("queue-entries", "first")["output"] is None, "an entry that has not started has no output"
    queue.work(status=1)
    reply = queue.json("queue-entries", "--state", "failed")
    assert [e["entry_id"] for e in reply["entries"]] == [bad] and reply["entries_total"] == 1 and reply["states"]["done"] == 1
    one = queue.json("queue-entries", "first")
    assert (one["output"], one["output_bytes"], one["output_attempt"]) == ("one\ntwo\n", 8, 1)
    assert queue.json("queue-entries", first, "--output-bytes", 5)["output"] == "two\n", "the end, from the begin of a line"
    assert queue.json("queue-entries", "--log")["output"].splitlines() == queue.log()
    page = queue.json("queue-entries", "--limit", 1)
    assert page["next_offset"] == 1 and queue.json("queue-entries", "--limit", 1, "--offset", 1)["next_offset"] is None
    assert error_of(queue.run("queue-entries", "first", "--attempt", 2, "--json"))["code"] == "not_found"
    assert queue.run("queue-entries", "--attempt", 1).returncode == 2 and queue.run("queue-entries", "first", "--log").returncode == 2
    with Server(queue) as server:
        http = server.get("/api/v1/queue-entries?entry=first").json()
        assert http == queue.json("queue-entries", "first") and "environment" not in json.dumps(http)
        assert server.get("/api/v1/queue").status == 404, "the queue itself runs programs"


def test_results_stay_in_the_store_and_pairs_show_the_last_one(suite):
    store, folder = suite
    empty = store.json("bench-pairs")
    assert empty["pairs"] == [] and "bench-root" in empty["reason"] and empty["root"] is None
    root = ("--bench-root", folder)
    assert [p["last"] for p in store.json("bench-pairs", *root)["pairs"]] == [None, None]
    flags = ("--suite", "suite", "--python", PYTHON, "--iterations", 20)
    reply = store.json("bench", "run", "all", *flags, status=1)
    second = store.json("bench", "run", "sub:nap_quick", *flags, "--update-expectations")
    assert store.json("bench", "run", "sub:nap_quick", *flags, "--no-keep")["result_id"] is None
    listed = store.json("bench-results")
    assert [r["result_id"] for r in listed["results"]] == [second["result_id"], reply["result_id"]] and listed["reply"] is None
    assert [(t["target"], t["outcome"]) for t in listed["results"][1]["targets"]] == [("sub:nap_quick", "faster"), ("sub:nap_wrong", "rejected")]
    assert listed["results"][1]["targets"][1]["speedup"] is None and listed["results"][0]["suite"] == str(folder)
    whole = store.json("bench-results", reply["result_id"])
    assert {**whole["reply"], "result_id": reply["result_id"]} == reply
    (wrong,) = store.json("bench-results", "--target", "sub:nap_wrong")["results"]
    assert wrong["result_id"] == reply["result_id"] and [t["target"] for t in wrong["targets"]] == ["sub:nap_wrong"]
    quick, rejected = store.json("bench-pairs", *root)["pairs"]
    assert quick["last"]["result_id"] == second["result_id"] and quick["last"]["found"]["speedup"] == second["targets"][0]["speedup"]
    assert rejected["last"]["result_id"] == reply["result_id"] and rejected["last"]["found"]["outcome"] == "rejected"
    assert [e["speedup"] for e in quick["expected"]] == [second["targets"][0]["speedup"]] and rejected["expected"] == []
    with Server(store, *root) as server:
        assert server.get("/api/v1/bench-pairs").json() == store.json("bench-pairs", *root)
        assert server.get(f"/api/v1/bench-results?result={reply['result_id']}").json() == whole
        assert server.get("/api/v1/bench-results?kind=prove").json()["results_total"] == 0
        assert server.get("/api/v1/bench-results?result=none").problem(404)["code"] == "not_found"
        assert server.get("/api/v1/bench").status == 404 and server.get("/api/v1/prove").status == 404


def test_changes_of_the_queue_and_new_results_are_events(queue, tmp_path):
    with Server(queue) as server, listen(server) as connection:
        events = events_of(connection)
        def until(kind, wanted):
            return next(data for _, name, data in events if name == kind and wanted(data))
        gate = tmp_path / "gate"
        os.mkfifo(gate)
        entry = queue.shell(f"echo begun; cat {gate}; exit 3", "--name", "held")
        assert until("queue", lambda q: q["states"]["queued"] == 1)["entries"][0]["entry_id"] == entry
        runner = queue.start()
        assert until("queue", lambda q: q["states"]["running"] == 1 and q["runner"])["runner"]["entry_id"] == entry
        with open(gate, "w", encoding="utf-8") as held:
            # What it writes is a change too, though neither its state nor the runner's is another one.
            held.write("more\n")
            held.flush()
            until("queue", lambda q: queue.json("queue-entries", "held")["output"] == "begun\nmore\n")
        until("queue", lambda q: q["states"]["failed"] == 1 and q["runner"] is None)
        runner.communicate()
        proof = queue.json("prove", "--a", "true", "--b", "true", "--iterations", 12, "--no-why", status=(0, 2))
        assert until("bench_result", lambda r: True)["result_id"] == proof["result_id"]


def test_a_proof_stays_without_its_secrets(suite):
    store, _ = suite
    proof = store.json("prove", "--a", "sleep 0.01", "--b", "true --token hunter2", "--iterations", 12, "--no-why", status=(0, 2))
    (kept,) = store.json("bench-results", "--kind", "prove")["results"]
    assert kept["result_id"] == proof["result_id"] and kept["suite"] is None and kept["targets"][0]["speedup"] == proof["speedup"]
    whole = store.json("bench-results", kept["result_id"][:20])
    assert whole["reply"]["a"]["walls_ms"] == proof["a"]["walls_ms"]
    assert "hunter2" not in json.dumps(whole) and "hunter2" in json.dumps(proof)


def test_a_damaged_result_is_left_out(suite):
    store, _ = suite
    ids = [store.json("prove", "--a", "true", "--b", "true", "--iterations", 12, "--no-why", status=(0, 2))["result_id"] for _ in range(2)]
    folder = store.folder / "bench/results"
    (folder / ids[0] / "summary.json").write_text("{")
    (folder / "new-left").mkdir()
    assert [r["result_id"] for r in store.json("bench-results")["results"]] == [ids[1]]
    assert store.run("bench-results", ids[0]).returncode == 2
    assert store.run("bench-results", ids[0][:4]).returncode == 2, "two results begin so"

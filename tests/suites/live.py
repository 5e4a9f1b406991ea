# SPDX-License-Identifier: Apache-2.0
"""Recordings that are under way: listed, summarised and drawn while they grow, over the command line and HTTP, and gone without a trace
when the recorder or the server is killed. The GPU is the fake CUPTI of tests/capture."""
import json
import os
import signal
import urllib.parse

import pytest
from http_server import Server, events_of, listen
from neurolens_cli import Store, error_of, wait_until
from recorder import ENDLESS, MISSING, recording

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not built: {', '.join(MISSING)}")
ASKED = ["summary", "findings", "kernels", "idle", "explain", "timeline-lanes", "timeline", "timeline-window", "show", "phases", "overlap"]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "store")


def left(store):
    folder = store.folder / "live"
    return sorted(p.name for p in folder.iterdir()) if folder.exists() else []


def test_a_recording_is_listed_and_its_partial_run_answers(store):
    assert store.json("live") == {"recordings": []}
    assert "no program is being recorded" in error_of(store.run("summary", "@live", "--json"))["message"]
    with recording(store) as recorder:
        row = recorder.has(100)
        assert row["state"] == "recording" and row["recording"] is True and row["command"] == ENDLESS and row["partial_run_id"] is None, row
        first = recorder.counted()
        for name in ASKED:
            reply = store.json(name, row["ref"])
            assert reply, name
        summary = store.json("summary", "@live")
        assert summary["partial"] is True and summary["devices"][0]["events"] >= first, summary
        assert "partial: the recording was not closed" in store.text("summary", "@live")
        shown = store.json("show", summary["run_id"])
        assert shown["document"]["capture"]["partial"] is True and any(n.startswith("partial: ") for n in shown["document"]["notes"]), shown["document"]
        assert recorder.row()["partial_run_id"] is not None
        assert store.json("ls")["total"] == 0, "a partial run is listed"
        recorder.counted(more_than=first)  # it grows
        recorder.end()
        assert recorder.process.returncode == 128 + signal.SIGTERM
    (run,) = store.json("ls")["runs"]
    document = store.json("show", run["run_id"])["document"]
    assert "partial" not in document["capture"] and store.json("summary", "@latest")["partial"] is False
    assert run["kernel_count"] > first and left(store) == [] and store.json("live") == {"recordings": []}
    assert error_of(store.run("show", summary["run_id"], "--json"))["code"] == "not_found", "the partial run is still there"


def test_a_partial_run_is_not_mixed_with_others_nor_changed(store):
    with recording(store) as recorder:
        recorder.counted()
        assert error_of(store.run("query", "@live", "@live", "SELECT 1", "--json"))["code"] == "unsupported"
        for words in (("tag", "@live", "a=b"), ("rm", "@live"), ("baseline", "set", "x", "@live")):
            assert store.run(*words).returncode != 0, words
        assert error_of(store.run("summary", "@live:ffff", "--json"))["code"] == "not_found"


def test_over_http_it_is_listed_answered_and_announced(store):
    with Server(store) as server, listen(server) as connection:
        events = events_of(connection)
        with recording(store) as recorder:
            number, kind, data = next(e for e in events if e[1] == "live")
            assert number and data["state"] == "recording" and data["command"] == ENDLESS, data
            _, _, grown = next(e for e in events if e[1] == "live" and e[2]["bytes"] > data["bytes"])
            assert grown["live_id"] == data["live_id"]
            recorder.counted()
            (row,) = server.get("/api/v1/live").json()["recordings"]
            assert row["live_id"] == data["live_id"]
            run = "/api/v1/runs/" + urllib.parse.quote(row["ref"])
            summary = server.get(f"{run}/summary")
            assert summary.status == 200 and summary.json()["partial"] is True, summary.body[:300]
            for name in ("findings", "timeline-lanes", "timeline", "idle"):
                assert server.get(f"{run}/{name}").status == 200, name
            tile = server.get(f"{run}/timeline", Accept="application/vnd.neurolens.tile")
            assert tile.headers["content-type"] == "application/vnd.neurolens.tile", tile.headers
            assert server.get("/api/v1/runs").json()["runs"] == []
            recorder.end()
        last = added = None  # in any order
        while last is None or added is None:
            number, kind, found = next(events)
            if kind == "live" and found["state"] == "ended":
                assert number and found["live_id"] == data["live_id"], found
                last = found
            added = found if kind == "run" else added
        assert server.get("/api/v1/live").json() == {"recordings": []}
        assert [r["run_id"] for r in server.get("/api/v1/runs").json()["runs"]] == [added["run_id"]]
        server.get(f"/api/v1/runs/{summary.json()['run_id']}").problem(404)


def test_a_killed_recorder_leaves_nothing_in_the_store(store):
    with recording(store) as recorder:
        recorder.counted()
        program = recorder.children()
        recorder.process.kill()
        recorder.process.wait()
        for pid in program:
            os.kill(pid, signal.SIGKILL)
        assert left(store), "the recorder had no time to remove anything"
        done = store.run("doctor", "--json")
        assert any(c["name"] == "live" and c["status"] == "warning" for c in json.loads(done.stdout)["checks"]), done.stdout
        assert store.json("live") == {"recordings": []}
    assert left(store) == [] and store.json("ls")["runs"] == []


def test_a_server_removes_what_a_killed_recorder_left(store):
    with Server(store) as server:
        with recording(store) as recorder:
            recorder.row()
            wait_until(lambda: server.get("/api/v1/runs/@live/summary").status == 200, "a summary", server.process)
            program = recorder.children()
            recorder.process.kill()
            recorder.process.wait()
            for pid in program:
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: left(store) == [], "the server to look", server.process)


def test_a_capture_of_a_killed_recorder_is_a_partial_run(store, tmp_path):
    with recording(store, "run", "--out", tmp_path / "x.nlcap") as recorder:
        recorder.counted()
        program = recorder.children()
        recorder.process.kill()
        recorder.process.wait()
        for pid in program:
            os.kill(pid, signal.SIGKILL)
    run = store.add(tmp_path / "x.nlcap")
    assert run.document()["capture"]["partial"] is True


def test_what_a_killed_server_did_not_finish_is_removed(store):
    with recording(store) as recorder:
        recorder.counted()
        (row,) = store.json("live")["recordings"]
        folder = store.folder / "live" / row["live_id"]
        whole = max(int(p.name) for p in folder.iterdir() if p.name.isdigit())
        unfinished = folder / str(whole + 7)
        (unfinished / "runs/half").mkdir(parents=True)
        (unfinished / "catalog.sqlite").write_bytes(b"half")
        newer = wait_until(lambda: store.json("summary", "@live")["run_id"] not in ("", row["partial_run_id"]), "a newer partial run", recorder.process)
        assert newer and not unfinished.exists(), sorted(p.name for p in folder.iterdir())


def test_record_is_listed_where_a_store_exists(store, tmp_path):
    with recording(store, "record", "--out", tmp_path / "a.nlcap") as recorder:
        wait_until(lambda: any(p.stat().st_size > 20_000 for p in (tmp_path / "a.nlcap").glob("[0-9]*.nlc")), "some kernels", recorder.process)
        assert store.json("live") == {"recordings": []}
        recorder.end()
    assert not store.folder.exists(), "record made a store"
    store.add(tmp_path / "a.nlcap")
    with recording(store, "record", "--out", tmp_path / "b.nlcap") as recorder:
        assert recorder.row()["state"] == "recording"
        recorder.end()
    assert left(store) == [] and len(store.json("ls")["runs"]) == 1, "record imports nothing"


def test_with_spill_the_folder_that_is_written_is_read(store, tmp_path):
    with recording(store, "run", "--spill", tmp_path / "spill") as recorder:
        assert recorder.counted() > 0
        recorder.end()
    assert len(store.json("ls")["runs"]) == 1 and left(store) == []


def test_two_recordings_have_different_names(store):
    with recording(store) as one:
        one.row()
        with recording(store) as two:
            rows = wait_until(lambda: rows if len(rows := store.json("live")["recordings"]) == 2 else None, "both recordings", two.process)
            assert rows[0]["ref"] != rows[1]["ref"], rows
            newest = wait_until(lambda: json.loads(store.run("summary", "@live", "--json").stdout).get("run_id"), "a summary of the newest", two.process)
            by_id = {row["live_id"]: row["partial_run_id"] for row in store.json("live")["recordings"]}
            assert by_id[rows[1]["live_id"]] == newest and by_id[rows[0]["live_id"]] is None, (by_id, newest)

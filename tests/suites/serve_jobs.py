# SPDX-License-Identifier: Apache-2.0
"""Jobs of `neurolens serve`: started at once, listed, cancelled, resumed after a crash, and their results are exactly the replies."""
import json
import random
import re
import shutil
import signal

import pytest
from http_server import Server, events_of, listen
from neurolens_cli import H200, wait_until

TRACE = H200 / "base.json.gz"
# A query that takes until it is cancelled.
ENDLESS = ["SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range * b.range = 7"]
OVER = ("done", "failed", "cancelled", "interrupted")


@pytest.fixture
def run(store):
    return store.add(TRACE)


def start(server, op, **params):
    reply = server.post("/api/v1/jobs", {"op": op, "params": params})
    assert reply.status == 202, reply.body
    job = reply.json()
    assert reply.headers["location"] == f"/api/v1/jobs/{job['job_id']}"
    return job["job_id"]


def state(server, job, *wanted):
    """The job, when it has one of these states."""
    def look():
        found = server.get(f"/api/v1/jobs/{job}").json()
        return found if found.get("state") in wanted else None  # 404 while one server has not seen what another was asked
    return wait_until(look, f"job {job} to be {wanted}", server.process)


def test_a_job_gives_the_reply_of_its_operation(run):
    with Server(run.store) as server:
        asked = {"idle": {"run": "@latest", "limit": 3}, "ls": {}, "compare": {"a": ["@latest"], "b": ["@latest"]}}
        jobs = {op: start(server, op, **params) for op, params in asked.items()}
        for op, params in asked.items():
            job = state(server, jobs[op], *OVER)
            assert job["state"] == "done" and job["attempts"] == 1 and job["error"] is None, job
            assert job["created_at"] <= job["started_at"] <= job["finished_at"]
            result = server.get(job["result"])
            assert result.status == 200 and len(result.body) == job["result_bytes"]
            assert result.body == server.post(f"/api/v1/{op}", params).body
            assert run.store.text("jobs", "result", job["job_id"]).encode() == result.body
        assert (run.store.folder / "jobs/results").is_dir() and run.store.json("doctor")["healthy"]


def test_what_cannot_be_a_job_is_refused_at_once(run):
    with Server(run.store) as server:
        for body, status, words in (({"op": "idel"}, 404, "unknown operation"), ({"op": "idle", "params": {"limt": 1}}, 400, "unknown parameter 'limt'"),
                                    ({"op": "idle", "params": {"limit": "x"}}, 400, "must be an integer"), ({"op": "idle", "params": {"limit": -1}}, 400, "between"),
                                    ({"op": "idle", "params": []}, 400, "'params' must be an object"), ({"op": 1}, 400, "'op' must be a string"), ({}, 400, "'op' is missing"),
                                    ({"op": "idle", "extra": 1}, 400, "unknown member"), ([], 400, "JSON object"), ({"op": "query"}, 400, "'args' is missing"),
                                    ({"op": "serve"}, 404, "unknown operation"), ({"op": "record"}, 404, "unknown operation")):
            assert words in server.post("/api/v1/jobs", body).problem(status)["detail"], body
        assert server.ask("POST", "/api/v1/jobs", "{}", Content_Type="text/plain").status == 415
        for method, path, status in (("GET", "/api/v1/jobs/0000", 404), ("GET", "/api/v1/jobs/0000/result", 404), ("DELETE", "/api/v1/jobs/0000", 404),
                                     ("GET", "/api/v1/jobs/0000/other", 404), ("PUT", "/api/v1/jobs", 405), ("GET", "/api/v1/jobs/0000/cancel", 405),
                                     ("GET", "/api/v1/jobs?state=lost", 400), ("GET", "/api/v1/jobs?limit=-1", 400), ("GET", "/api/v1/jobs?x=1", 400)):
            server.ask(method, path).problem(status)
        assert server.get("/api/v1/jobs").json() == {"jobs_total": 0, "next_offset": None, "jobs": []}


def test_failed_jobs_have_the_problem_of_the_operation(run):
    with Server(run.store) as server:
        job = state(server, start(server, "query", args=["SELECT nothing FROM kernel"]), *OVER)
        direct = server.get("/api/v1/query?args=SELECT+nothing+FROM+kernel").problem(400)
        assert job["state"] == "failed" and {key: direct[key] for key in job["error"]} == job["error"]
        assert server.get(f"/api/v1/jobs/{job['job_id']}/result").problem(400) == direct


def test_lists_have_pages_and_states(run):
    with Server(run.store) as server:
        jobs = [start(server, "version") for _ in range(5)]
        for job in jobs:
            state(server, job, "done")
        failed = start(server, "show", run="nothing")
        state(server, failed, "failed")
        first = server.get("/api/v1/jobs?limit=4").json()
        assert [job["job_id"] for job in first["jobs"]] == [failed, *jobs[:1:-1]] and (first["jobs_total"], first["next_offset"]) == (6, 4)
        rest = server.get(f"/api/v1/jobs?limit=4&offset={first['next_offset']}").json()
        assert [job["job_id"] for job in rest["jobs"]] == jobs[1::-1] and rest["next_offset"] is None
        assert [job["job_id"] for job in server.get("/api/v1/jobs?state=failed").json()["jobs"]] == [failed]
        assert run.store.json("jobs") == {**server.get("/api/v1/jobs").json(), "reply": None}
        assert run.store.json("jobs", "show", failed)["jobs"] == server.get("/api/v1/jobs?state=failed").json()["jobs"]
        listed = run.store.text("jobs")
        assert "failed" in listed and listed.count("version") == 5 and "no such job" in run.store.run("jobs", "show", "ffff").stderr


def test_cancel_queued_and_running_jobs(run):
    with Server(run.store) as server:
        first, second = start(server, "query", args=ENDLESS), start(server, "query", args=ENDLESS)
        state(server, first, "running")
        early = server.get(f"/api/v1/jobs/{first}/result")
        assert "no result yet" in early.problem(409)["detail"] and early.headers["retry-after"] == "1"
        assert server.ask("POST", f"/api/v1/jobs/{second}/cancel").json()["state"] == "cancelled"
        assert server.ask("DELETE", f"/api/v1/jobs/{first}").status == 200
        assert state(server, first, *OVER)["state"] == "cancelled"
        assert server.get(f"/api/v1/jobs/{first}/result").problem(503)["code"] == "cancelled"
        third = start(server, "query", args=ENDLESS)
        assert run.store.json("jobs", "cancel", third)["jobs"][0]["cancel_requested"]
        waited = run.store.run("jobs", "wait", third)
        assert waited.returncode == 1 and "cancelled" in waited.stdout, waited
        server.wait_for(0, "neurolens_jobs_running")
        fourth = start(server, "version")
        assert run.store.json("jobs", "wait", fourth)["jobs"][0]["state"] == "done"


def test_states_are_events(run):
    with Server(run.store) as server, listen(server) as connection:
        stream = events_of(connection)
        job = start(server, "version")
        seen = [next(stream) for _ in range(3)]
        assert [(event, data["job_id"], data["state"]) for _, event, data in seen] == [("job", job, name) for name in ("queued", "running", "done")]
        assert all(number for number, _, _ in seen) and all("params" not in data for _, _, data in seen)
        with listen(server, Last_Event_ID=seen[0][0]) as again:
            missed = events_of(again)
            assert [next(missed) for _ in range(2)] == seen[1:]


def test_jobs_survive_a_kill(run):
    with Server(run.store) as server:
        endless, waiting = start(server, "query", args=ENDLESS), start(server, "version")
        state(server, endless, "running")
        server.kill()
    assert run.store.json("jobs", "show", endless)["jobs"][0]["state"] == "running"
    assert "no server" in run.store.run("jobs", "wait", endless).stderr
    with Server(run.store) as server:
        assert state(server, endless, "running")["attempts"] == 2
        assert server.get(f"/api/v1/jobs/{waiting}").json()["state"] == "queued"
        server.ask("DELETE", f"/api/v1/jobs/{endless}")
        assert state(server, waiting, *OVER)["state"] == "done"
        assert server.get(f"/api/v1/jobs/{endless}").json()["state"] == "cancelled"
    assert run.store.json("doctor")["healthy"]


def test_a_job_that_is_cancelled_without_a_server_does_not_start_again(run):
    with Server(run.store) as server:
        endless = start(server, "query", args=ENDLESS)
        state(server, endless, "running")
        server.kill()
    assert run.store.json("jobs", "cancel", endless)["jobs"][0]["state"] == "cancelled"
    with Server(run.store) as server:
        assert server.get(f"/api/v1/jobs/{endless}").json()["state"] == "cancelled"
        server.wait_for(0, "neurolens_jobs_running")


def test_an_orderly_stop_journals_what_runs(run):
    with Server(run.store) as server:
        endless = start(server, "query", args=ENDLESS)
        state(server, endless, "running")
        server.stop(signal.SIGTERM)
    assert run.store.json("jobs", "show", endless)["jobs"][0]["state"] == "queued"
    with Server(run.store) as server:
        assert state(server, endless, "running")["attempts"] == 1
        server.ask("DELETE", f"/api/v1/jobs/{endless}")
        state(server, endless, "cancelled")


def test_a_job_that_ends_the_server_again_and_again_is_given_up(run):
    with Server(run.store) as server:
        endless = start(server, "query", args=ENDLESS)
        state(server, endless, "running")
        server.kill()
    for _ in range(2):
        with Server(run.store) as server:
            state(server, endless, "running")
            server.kill()
    with Server(run.store) as server:
        job = state(server, endless, *OVER)
        assert job["state"] == "interrupted" and "3 times" in job["error"]["detail"] and job["error"]["hint"]


def test_two_servers_share_the_jobs_of_a_store(run):
    """One runs them; the other gives the same answers, and takes over when the first is gone."""
    with Server(run.store) as first:
        before = start(first, "version")
        state(first, before, "done")
        with Server(run.store) as second:
            endless = start(second, "query", args=ENDLESS)
            state(first, endless, "running")
            assert state(second, endless, "running")["attempts"] == 1
            assert second.metric("neurolens_jobs_running") == 0 and first.metric("neurolens_jobs_running") == 1
            assert second.get(f"/api/v1/jobs/{before}/result").body == first.get(f"/api/v1/jobs/{before}/result").body
            assert second.ask("DELETE", f"/api/v1/jobs/{endless}").status == 202
            state(first, endless, "cancelled")
            left = start(first, "query", args=ENDLESS)
            state(first, left, "running")
            first.kill()
            second.wait_for(1, "neurolens_jobs_running")
            assert state(second, left, "running")["attempts"] == 2
            second.ask("DELETE", f"/api/v1/jobs/{left}")
            state(second, left, "cancelled")


def test_the_journal_may_be_cut_anywhere(run):
    with Server(run.store) as server:
        jobs = [start(server, "version") for _ in range(3)]
        for job in jobs:
            state(server, job, "done")
    folder, kept = run.store.folder / "jobs", run.store.folder / "kept"
    shutil.copytree(folder, kept)
    whole = (kept / "journal").read_bytes()
    assert all(re.fullmatch(rb"[0-9a-f]{16} \{.*\}", line) for line in whole.splitlines())
    rng = random.Random(17)
    for _ in range(10):
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)
        (folder / "journal").write_bytes(whole[:rng.randrange(len(whole))])
        with Server(run.store) as server:
            for job in server.get("/api/v1/jobs").json()["jobs"]:
                state(server, job["job_id"], "done")
                assert server.get(f"/api/v1/jobs/{job['job_id']}/result").status == 200


def test_a_read_only_store_has_no_new_jobs(run):
    with Server(run.store) as server:
        (run.store.folder / "jobs").write_text("not a folder")
        assert server.post("/api/v1/jobs", {"op": "version"}).problem(500)["code"] == "io"
        assert server.get("/api/v1/version").status == 200


def test_words_of_the_command(store):
    assert store.text("jobs") == "no jobs\n"
    for words, message in ((("show",), "needs a job"), (("ls", "x"), "takes no job"), (("cancel", "0000"), "no such job"), (("turn",), "one of"),
                           (("ls", "--state", "lost"), "one of")):
        done = store.run("jobs", *words)
        assert done.returncode == 2 and message in done.stderr, done
    assert json.loads(store.run("jobs", "show", "0000", "--json").stdout)["error"]["code"] == "not_found"

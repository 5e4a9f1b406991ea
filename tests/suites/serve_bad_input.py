# SPDX-License-Identifier: Apache-2.0
"""Bad input to `neurolens serve`: the stated problem document, never a crash, a leak or half a run. The server of a test has the same open
files before and after, and its memory stays; after every kill the store is whole."""
import contextlib
import gzip
import json
import os
import pathlib
import random
import re
import resource
import socket
import urllib.parse

import pytest
from http_server import Server
from neurolens_cli import H200, wait_until

TRACE = H200 / "base.json.gz"
ENDLESS = ["SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range * b.range = 7"]
MOST_GROWTH = 64 << 20  # of memory: what caches and arenas of the allocator explain


def files_of(server):
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def memory_of(server):
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status).group(1)) * 1024


@contextlib.contextmanager
def watched(store, *flags):
    """A server that must have the same files open after the block as before it, about the same memory, and a whole store."""
    with Server(store, *flags) as server:
        server.get("/api/v1/runs")
        server.post("/api/v1/jobs", {"op": "version"})
        server.wait_for(0, "neurolens_jobs_running")
        server.ask("POST", "/api/v1/runs", b"not a profile")
        server.wait_for(1, "neurolens_http_connections")
        before, memory = files_of(server), memory_of(server)
        yield server
        server.wait_for(0, "neurolens_workers_busy", pool="upload")
        server.wait_for(0, "neurolens_workers_busy", pool="heavy")
        server.wait_for(0, "neurolens_jobs_running")
        server.wait_for(1, "neurolens_http_connections")
        wait_until(lambda: files_of(server) <= before, f"{files_of(server)} open files to be {before} again", server.process)
        assert memory_of(server) - memory < MOST_GROWTH, f"memory grew from {memory} to {memory_of(server)}"
        assert server.get("/healthz").status == 200
    assert store.json("doctor")["healthy"]


@pytest.fixture
def run(store):
    return store.add(TRACE)


def send(server, body, kind):
    return server.ask("POST", "/api/v1/runs", body, Content_Type=kind)


def part(head, content=b"main;f 1\n"):
    return b"--b\r\n" + head + b"\r\n\r\n" + content + b"\r\n"


FILE = b'Content-Disposition: form-data; name="f"; filename="a.txt"'
BROKEN_FORMS = {
    "no boundary": ("multipart/form-data", part(FILE) + b"--b--", "no boundary"),
    "empty boundary": ("multipart/form-data; boundary=", part(FILE) + b"--b--", "no boundary"),
    "long boundary": ("multipart/form-data; boundary=" + "x" * 100, part(FILE) + b"--b--", "no boundary"),
    "another boundary": ("multipart/form-data; boundary=c", part(FILE) + b"--b--", "does not begin"),
    "empty": ("multipart/form-data; boundary=b", b"", "ends before"),
    "no parts": ("multipart/form-data; boundary=b", b"--b--\r\n", "no parts"),
    "cut in the content": ("multipart/form-data; boundary=b", part(FILE)[:-4], "ends before"),
    "cut in the header": ("multipart/form-data; boundary=b", b"--b\r\nContent-Disp", "ends before"),
    "cut before the end": ("multipart/form-data; boundary=b", part(FILE) + b"--b-", "ends before"),
    "nested": ("multipart/form-data; boundary=b", part(FILE + b"\r\nContent-Type: multipart/mixed; boundary=c") + b"--b--", "multipart itself"),
    "huge header": ("multipart/form-data; boundary=b", part(FILE + b"\r\nX: " + b"y" * 1_000_000) + b"--b--", "larger than 8192"),
    "endless header": ("multipart/form-data; boundary=b", b"--b\r\nX: " + b"y" * 3_000_000, "larger than 8192"),
    "many parts": ("multipart/form-data; boundary=b", part(b"Content-Disposition: form-data; name=model", b"") * 1001 + b"--b--", ""),
    "no name": ("multipart/form-data; boundary=b", part(b"Content-Disposition: form-data") + b"--b--", "Content-Disposition"),
    "base64": ("multipart/form-data; boundary=b", part(FILE + b"\r\nContent-Transfer-Encoding: base64") + b"--b--", "transfer encoding"),
    "text after the end": ("multipart/form-data; boundary=b", part(FILE) + b"--b--\r\nmore", "after its end"),
}


def test_broken_forms(store):
    with watched(store) as server:
        for name, (kind, body, words) in BROKEN_FORMS.items():
            problem = send(server, body, kind).problem(400)
            assert words in problem["detail"] and problem["code"] == "invalid_input", (name, problem)
        assert server.get("/api/v1/runs").json()["runs"] == [] and list((store.folder / "uploads").iterdir()) == []


def test_a_form_that_is_cut_anywhere_is_not_a_run(store):
    body = part(FILE, b"main;f 1\n" * 50) + part(b"Content-Disposition: form-data; name=model", b"x") + b"--b--\r\n"
    rng = random.Random(5)
    with watched(store) as server:
        for size in [rng.randrange(len(body) - 3) for _ in range(60)]:
            send(server, body[:size], "multipart/form-data; boundary=b").problem(400)
            with server.connect() as connection:  # the client leaves there
                connection.sendall(b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n" % len(body))
                connection.sendall(body[:size])
        server.wait_for(0, "neurolens_workers_busy", pool="upload")
        assert server.get("/api/v1/runs").json()["runs"] == []
        assert send(server, body, "multipart/form-data; boundary=b").status == 200
        wait_until(lambda: not list((store.folder / "uploads").iterdir()), "nothing of an upload to be left", server.process)


def test_operations_and_parameters(run):
    with watched(run.store) as server:
        for method, path, body, status in (
                ("GET", "/api/v1/idel", None, 404), ("POST", "/api/v1/idel", "{}", 404), ("GET", "/api/v1/idle?lmit=1", None, 400), ("GET", "/api/v1/idle?limit=x", None, 400),
                ("GET", "/api/v1/idle?limit=1&limit=2", None, 400), ("GET", "/api/v1/runs?limit=-1", None, 400), ("GET", "/api/v1/runs?offset=1e99", None, 400),
                ("GET", "/api/v1/runs?sort=up", None, 400), ("GET", "/api/v1/runs?until=never", None, 400), ("POST", "/api/v1/idle", '{"limit": 1.5}', 400),
                ("POST", "/api/v1/idle", '{"limit": null, "run": 7}', 400), ("POST", "/api/v1/idle", '{"limit": 99999999999999999999}', 400), ("POST", "/api/v1/idle", "[" * 100_000, 400),
                ("POST", "/api/v1/idle", '{"a":' * 5000, 400), ("POST", "/api/v1/jobs", "[" * 100_000, 400), ("POST", "/api/v1/jobs", b"\xff\xfe", 400), ("POST", "/api/v1/jobs", "", 400),
                ("POST", "/api/v1/jobs", '{"op": "idle", "params": {"limit": 1e99}}', 400), ("POST", "/api/v1/idle", b"x" * (2 << 20), 413), ("POST", "/api/v1/jobs", b"x" * (2 << 20), 413)):
            problem = server.ask(method, path, body, Content_Type="application/json").problem(status)
            assert problem["detail"] and len(json.dumps(problem)) < 5000, problem


def test_pages_of_runs(store):
    for at in range(5):
        (store.folder.parent / f"trace_{at}.txt").write_text(f"main;f{at} {at + 1}\n")
        store.add(store.folder.parent / f"trace_{at}.txt", "--tag", f"n={at}")
    with watched(store) as server:
        names, at = [], 0
        while at is not None:
            page = server.get(f"/api/v1/runs?sort=name&reverse=true&limit=2&offset={at}").json()
            assert page["runs_total"] == page["total"] == 5
            names += [run["source_name"] for run in page["runs"]]
            at = page["next_offset"]
        assert names == [f"trace_{at}.txt" for at in range(5)]
        for query, count in (("text=TRACE_3", 1), ("text=n%3D2", 1), ("text=100%25", 0), ("text=_", 5), ("format=collapsed", 5), ("format=nsys", 0), ("until=2001-01-01", 0), ("since=1d", 5),
                             ("tag=n=4", 1), ("offset=9", 5)):
            got = server.get(f"/api/v1/runs?{query}").json()
            assert got["runs_total"] == count and len(got["runs"]) == (count if "offset" not in query else 0), (query, got["runs_total"])
        words = ("--sort", "name", "--limit", "2", "--offset", "2", "--text", "trace")
        assert server.get("/api/v1/runs?sort=name&limit=2&offset=2&text=trace").body.decode() == store.text("ls", *words, "--json")


def test_clients_that_leave_in_the_middle(run):
    data = gzip.decompress(TRACE.read_bytes())
    rng = random.Random(7)
    with watched(run.store) as server:
        for _ in range(15):
            with server.connect() as connection:
                connection.sendall(b"POST /api/v1/runs?name=x.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (len(data) + 1))
                connection.sendall(data[:rng.randrange(len(data))])
                if rng.random() < 0.5:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # reset
            with server.connect() as connection:
                connection.sendall(b"GET /api/v1/query?args=" + urllib.parse.quote(ENDLESS[0]).encode() + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        server.wait_for(0, "neurolens_workers_busy", pool="upload")
        server.wait_for(0, "neurolens_requests_queued", pool="upload")
        assert [found["run_id"] for found in server.get("/api/v1/runs").json()["runs"]] == [run.id]


def test_a_request_that_takes_too_long(run):
    with watched(run.store, "--request-seconds", "1", "--heavy-workers", "1") as server:
        problem = server.post("/api/v1/query", {"args": ENDLESS}).problem(422)
        assert problem["code"] == "limit" and "longer than 1 s" in problem["detail"] and "job" in problem["hint"], problem
        assert server.get("/api/v1/version").status == 200


def test_jobs_cancelled_at_any_instant(run):
    rng = random.Random(11)
    states = set()
    with watched(run.store) as server:
        for at in range(40):
            op, params = ("query", {"args": ENDLESS}) if at % 2 else ("kernels", {"run": "@latest"})
            job = server.post("/api/v1/jobs", {"op": op, "params": params}).json()["job_id"]
            for _ in range(rng.randrange(4)):
                server.get(f"/api/v1/jobs/{job}")
            assert server.ask("DELETE", f"/api/v1/jobs/{job}").status == 200
            states.add(wait_until(lambda job=job: (state := server.get(f"/api/v1/jobs/{job}").json()["state"]) in ("done", "cancelled") and state, "the job to end", server.process))
        assert "cancelled" in states
        assert server.get("/api/v1/jobs?state=running").json()["jobs_total"] == 0


def test_imports_cancelled_at_any_instant(run):
    """As jobs: each is a whole run, or none; what it left in staging is gone."""
    data = gzip.decompress((H200 / "compile.json.gz").read_bytes())
    rng = random.Random(19)
    with watched(run.store) as server:
        done = 0
        for at in range(12):
            path = server.ask("POST", f"/api/v1/uploads?name=j{at}.json", Upload_Length=str(len(data) + at)).headers["location"]
            reply = server.ask("PATCH", path, data + b" " * at, Upload_Offset="0", Content_Type="application/offset+octet-stream")
            assert reply.status == 204, reply.body
            job = server.post("/api/v1/jobs", {"op": "import", "params": {"upload": [path.rsplit("/", 1)[1]]}}).json()["job_id"]
            for _ in range(rng.randrange(12)):
                server.get(f"/api/v1/jobs/{job}")
            server.ask("DELETE", f"/api/v1/jobs/{job}")
            state = wait_until(lambda job=job: (state := server.get(f"/api/v1/jobs/{job}").json()["state"]) in ("done", "cancelled") and state, "the job to end", server.process)
            done += state == "done"
            runs = server.get("/api/v1/runs").json()["runs"]
            assert len(runs) == 1 + done, (state, len(runs), done)
        assert done < 12, "none was cancelled in time"
        assert all(server.get(f"/api/v1/runs/{one['run_id']}/kernels?limit=1").status == 200 for one in runs)
        staging = run.store.folder / "staging"
        assert not staging.exists() or list(staging.iterdir()) == []


def test_kills_at_any_instant(run):
    """During imports and jobs: after each start the journal is read, nothing is half, and doctor finds at most what --repair removes."""
    store, data = run.store, (H200 / "compile.json.gz").read_bytes()
    rng = random.Random(13)
    for at in range(8):
        with Server(store) as server:
            job = server.post("/api/v1/jobs", {"op": "query", "params": {"args": ENDLESS}}).json()["job_id"]
            connection = server.connect()
            connection.sendall(b"POST /api/v1/runs?name=k%d.json.gz HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (at, len(data)))
            connection.sendall(data[:rng.randrange(len(data))] if at % 2 else data)
            for _ in range(rng.randrange(6)):
                server.get("/healthz")
            server.kill()
            connection.close()
        with Server(store) as server:
            found = server.get(f"/api/v1/jobs/{job}").json()
            assert found["state"] in ("queued", "running"), found
            server.ask("DELETE", f"/api/v1/jobs/{job}")
            runs = server.get("/api/v1/runs").json()["runs"]
            assert 1 <= len(runs) <= 2 and all(server.get(f"/api/v1/runs/{one['run_id']}/kernels").status == 200 for one in runs)
        assert store.json("doctor", "--repair")["healthy"]
        assert store.json("doctor")["healthy"]


def test_a_clock_that_jumps(run, tmp_path):
    """Back and forth by more than a year, while the server runs and between two starts: jobs keep their order, and imports go on."""
    libraries = list(pathlib.Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not libraries:
        pytest.skip("libfaketime is not installed")
    clock = tmp_path / "clock"
    clock.write_text("+0\n")
    run.store.environment = {"LD_PRELOAD": str(libraries[0]), "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1", "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                             "DONT_FAKE_MONOTONIC": "1"}
    jobs, years = [], set()
    for _ in range(2):
        with Server(run.store) as server:
            for shift in ("+0", "-800d", "+800d"):
                clock.write_text(shift + "\n")
                jobs.append(server.post("/api/v1/jobs", {"op": "version"}).json()["job_id"])
                found = wait_until(lambda: (job := server.get(f"/api/v1/jobs/{jobs[-1]}").json())["state"] == "done" and job, "the job", server.process)
                years.add(found["created_at"][:4])
                reply = server.ask("POST", "/api/v1/runs?name=c.txt&format=collapsed", f"main;f{len(jobs)} 1\n".encode())
                assert reply.status == 200 and not reply.json()["runs"][0]["duplicate"], reply.body
            assert [job["job_id"] for job in server.get("/api/v1/jobs").json()["jobs"]] == jobs[::-1]
    assert len(years) >= 3, f"the clock did not jump: {years}"
    run.store.environment = {}
    assert [job["job_id"] for job in run.store.json("jobs")["jobs"]] == jobs[::-1] and len(run.store.json("ls")["runs"]) == 7
    assert run.store.json("doctor")["healthy"]


def test_many_connections_that_send_little(run):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        pytest.skip(f"at most {hard} files may be open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    with watched(run.store, "--client-seconds", "2") as server:
        slow = [server.connect() for _ in range(1000)]
        for at, connection in enumerate(slow):
            connection.sendall((b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX", b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\nm",
                                b"PATCH /api/v1/uploads/0 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\nm")[at % 3])
        assert server.get("/api/v1/version").status == 200
        server.wait_for(1, "neurolens_http_connections")  # all are dropped
        assert server.get("/api/v1/version").status == 200
        for connection in slow:
            connection.close()

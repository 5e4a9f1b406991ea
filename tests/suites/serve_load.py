# SPDX-License-Identifier: Apache-2.0
"""`neurolens serve` under load from autocannon: every answer arrives, is the right one and is counted once; what does not fit is refused in the stated
way; and changes of the store go on meanwhile. Rates and times are measured by bench/serve, not here."""
import json
import subprocess
import threading

import pytest
from conftest import npm_folder
from http_server import Server
from neurolens_cli import H200, LIMIT_S, ROOT, Store, wait_until

pytestmark = pytest.mark.xdist_group("serve_load")
TRACE = H200 / "base.json.gz"
ENDLESS = "SELECT+count(*)+FROM+range(100000000)+a,+range(100000000)+b+WHERE+a.range*b.range=7"


@pytest.fixture(scope="session")
def autocannon():
    """autocannon(url, *flags): its result."""
    folder = npm_folder(ROOT / "bench/serve", "autocannon", "ci", "--ignore-scripts")

    def run(url, *flags):
        command = ["node", "node_modules/autocannon/autocannon.js", "--json", "--no-progress", "--timeout", str(LIMIT_S), *map(str, flags), url]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        assert done.returncode == 0, done.stderr[-400:]
        return json.loads(done.stdout)
    return run


@pytest.fixture(scope="module")
def run(module_folder):
    return Store(module_folder / "store").add(TRACE)


def whole(result, count):
    """All requests were answered with 2xx, without an error, and with the body that was expected."""
    assert (result["errors"], result["timeouts"], result["mismatches"], result["non2xx"]) == (0, 0, 0, 0), result
    assert result["2xx"] == result["requests"]["total"] == count, result


@pytest.mark.parametrize("path, count", [("/healthz", 3000), ("/api/v1/version", 2000), ("/api/v1/runs/{id}", 1000), ("/api/v1/runs/{id}/idle?limit=3", 300)])
def test_every_answer_is_the_right_one(path, count, run, autocannon):
    path = path.replace("{id}", run.id)
    with Server(run.store) as server:
        expected = server.get(path).body.decode()
        route = path.replace(run.id, "{id}").split("?")[0]
        before = server.metric("neurolens_http_requests_total", route=route, status="200")
        whole(autocannon(server.url + path, "--connections", 100, "--amount", count, "--expectBody", expected), count)
        assert server.metric("neurolens_http_requests_total", route=route, status="200") - before == count
        server.wait_for(1, "neurolens_http_connections")


def test_requests_sent_ahead_are_all_answered(run, autocannon):
    with Server(run.store) as server:
        expected = server.get("/api/v1/version").body.decode()
        result = autocannon(server.url + "/api/v1/version", "--connections", 20, "--pipelining", 10, "--amount", 2000, "--expectBody", expected)
        assert (result["errors"], result["timeouts"], result["mismatches"], result["non2xx"]) == (0, 0, 0, 0), result
        # autocannon leaves when its last request is sent and answers of up to nine others have not come.
        assert 2000 - 20 * 9 <= result["2xx"] <= 2000, result


def test_a_check_that_finds_wrong_bodies(run, autocannon):
    """The check itself: another body than expected is a mismatch."""
    with Server(run.store) as server:
        assert autocannon(server.url + "/healthz", "--connections", 2, "--amount", 20, "--expectBody", "other")["mismatches"] == 20


def test_more_than_fits_is_refused_and_the_rest_is_answered(run, autocannon):
    """One heavy worker is busy and two requests may wait: the others get 503, quick requests go on, and later all is well again."""
    with Server(run.store, "--heavy-workers", "1", "--max-queued", "2") as server:
        with server.connect() as busy:
            busy.sendall(f"GET /api/v1/query?args={ENDLESS} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            server.wait_for(1, "neurolens_workers_busy", pool="heavy")
            waiting = [server.connect() for _ in range(2)]
            for connection in waiting:
                connection.sendall(b"GET /api/v1/idle HTTP/1.1\r\nHost: localhost\r\n\r\n")
            server.wait_for(2, "neurolens_requests_queued", pool="heavy")
            refused = autocannon(server.url + "/api/v1/idle", "--connections", 50, "--amount", 600)
            assert refused["errors"] == 0 and refused["non2xx"] == refused["5xx"] == 600, refused
            assert server.metric("neurolens_http_requests_total", route="/api/v1/idle", status="503") == 600
            whole(autocannon(server.url + "/healthz", "--connections", 50, "--amount", 600), 600)
        for connection in waiting:  # the client of the endless query has left: those that wait are answered
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
            connection.close()
        assert server.get("/api/v1/idle").status == 200


def test_the_store_changes_under_load(run, module_folder, autocannon):
    """Uploads of the same bytes, a job and event streams while readers ask: one run, the job is done, and no answer is lost."""
    store = Store(module_folder / "busy")
    store.add(TRACE)
    other = (H200 / "compile.json.gz").read_bytes()
    with Server(store) as server:
        streams = [server.connect() for _ in range(50)]
        for stream in streams:
            stream.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        server.wait_for(50, "neurolens_http_event_streams")
        results, replies = [], []
        readers = threading.Thread(target=lambda: results.append(autocannon(server.url + "/api/v1/runs", "--connections", 50, "--amount", 1000)))
        senders = [threading.Thread(target=lambda: replies.append(server.ask("POST", "/api/v1/runs?name=b.json.gz", other))) for _ in range(4)]
        job = server.post("/api/v1/jobs", {"op": "idle", "params": {"run": "@latest"}}).json()["job_id"]
        for thread in [readers, *senders]:
            thread.start()
        for thread in [readers, *senders]:
            thread.join(LIMIT_S)
        whole(results[0], 1000)
        runs = [reply.json()["runs"][0] for reply in replies]
        assert len({one["run_id"] for one in runs}) == 1 and [one["duplicate"] for one in runs].count(False) == 1, runs
        assert server.get("/api/v1/runs").json()["runs_total"] == 2
        wait_until(lambda: server.get(f"/api/v1/jobs/{job}").json()["state"] == "done", "the job", server.process)
        assert all(stream.recv(65536).startswith(b"HTTP/1.1 200 ") for stream in streams)
        for stream in streams:
            stream.close()
        server.wait_for(1, "neurolens_http_connections")
    assert store.json("doctor")["healthy"]

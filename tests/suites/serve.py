# SPDX-License-Identifier: Apache-2.0
"""`neurolens serve`: every reading operation answers as the command line does, wrong and hostile requests get the right
problem document, and clients that are slow, many or gone cost nothing."""
import fcntl
import gzip
import http.client
import json
import re
import resource
import shutil
import signal
import socket
import subprocess
import threading
import urllib.parse

import pytest
from http_server import ARGUMENTS, VOLATILE, WORDS, Server, events_of, listen, operations, words_of
from neurolens_cli import H200, LIMIT_S, SAMPLES, Store, default_signals, equal, wait_until

TRACE = H200 / "base.json.gz"
# A query that takes until its client leaves.
ENDLESS = "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range * b.range = 7"


@pytest.fixture(scope="module")
def run(module_folder):
    return Store(module_folder / "store").add(TRACE)


@pytest.fixture(scope="module")
def server(run):
    with Server(run.store, "--access-log") as started:
        yield started


def test_every_reading_operation_answers_as_the_command_line(server, run):
    names = operations(server)
    assert len(names) > 20 and not {"import", "run", "record", "report", "export", "config", "serve"} & set(names)
    for name in names:
        arguments = ARGUMENTS.get(name, {})
        parameters = {p["name"]: p for p in names[name]["parameters"]}
        if not arguments and "run" in parameters:
            arguments = {"run": "@latest"}
        if not arguments and "target" in parameters:
            arguments = {"target": "@latest"}
        done = run.store.run(name, *(WORDS.get(name) or words_of(arguments, ("run", "target", "args", "what"))), "--json")
        fields = [(key, part if not isinstance(part, bool) else str(part).lower()) for key, value in arguments.items()
                  for part in (value if isinstance(value, list) else [value])]
        got = server.get(f"/api/v1/{name}?{urllib.parse.urlencode(fields)}")
        posted = server.post(f"/api/v1/{name}", arguments)
        assert got.status == posted.status
        if got.status != 200:
            error = json.loads(done.stdout)["error"]
            assert (got.json()["code"], got.json()["detail"]) == (error["code"], error["message"]), f"{name}: {got.body[:300]} {done.stdout[:300]}"
            continue
        expected = VOLATILE.sub("", done.stdout)
        equal(f"GET {name}", expected, VOLATILE.sub("", got.body.decode()))
        equal(f"POST {name}", expected, VOLATILE.sub("", posted.body.decode()))


def test_resources_are_the_operations(server, run):
    assert server.get("/api/v1/runs").body.decode() == run.store.text("ls", "--json")
    assert server.get(f"/api/v1/runs/{run.id}").body.decode() == run.store.text("show", run.id, "--json")
    assert server.get(f"/api/v1/runs/{run.id}/idle?limit=2").body.decode() == run.store.text("idle", run.id, "--limit", 2, "--json")
    assert server.get(f"/api/v1/runs/{run.id}/query?args=SELECT+1+AS+one").json()["rows"] == [[1]]
    head = server.ask("HEAD", f"/api/v1/runs/{run.id}")
    assert head.status == 200 and head.body == b"" and int(head.headers["content-length"]) > 100


@pytest.mark.parametrize("method, path, status, code, words", [
    ("GET", "/nothing", 404, "not_found", "nothing at /nothing"),
    ("GET", "/api/v1/idel", 404, "not_found", "unknown operation 'idel'"),
    ("GET", "/api/v1/runs/no-such-run", 404, "not_found", "no-such-run"),
    ("GET", "/api/v1/idle?limit=x", 400, "invalid_input", "whole number"),
    ("GET", "/api/v1/idle?limit=-1", 400, "invalid_input", "between 0 and"),
    ("GET", "/api/v1/idle?lmit=1", 400, "invalid_input", "unknown parameter 'lmit'"),
    ("GET", "/api/v1/ls?sort=upwards", 400, "invalid_input", "one of"),
    ("GET", "/api/v1/query", 400, "invalid_input", "'args' is missing"),
    ("GET", "/api/v1/query?args=SELEC+1", 400, "invalid_input", ""),
    ("GET", "/api/v1/rm", 405, "invalid_input", "does not take GET"),
    ("DELETE", "/api/v1/idle", 405, "invalid_input", "does not take DELETE"),
    ("PATCH", "/api/v1/runs", 405, "invalid_input", "does not take PATCH"),
    ("DELETE", "/api/v1/runs/no-such-run", 404, "not_found", "no-such-run"),
    ("GET", "/api/v1/%zz", 400, "invalid_input", "hexadecimal"),
])
def test_problems(server, method, path, status, code, words):
    problem = server.ask(method, path).problem(status)
    assert problem["code"] == code and words in problem["detail"], problem
    assert (status == 405) == ("allow" in server.ask(method, path).headers)


def test_problems_are_the_errors_of_the_command_line(server, run):
    for path, words in (("/api/v1/ls?since=never", ("ls", "--since", "never")),
                        ("/api/v1/show?run=zzz", ("show", "zzz")),
                        ("/api/v1/query?args=SELECT+x+FROM+kernel", ("query", "SELECT x FROM kernel"))):
        problem = server.get(path).json()
        error = json.loads(run.store.run(*words, "--json").stdout)["error"]
        assert {**error, "message": ""} == {**{key: problem[key] for key in ("code", "file", "byte_offset", "hint")}, "message": ""}
        assert problem["detail"] == error["message"]


def test_bodies_are_checked(server):
    assert "JSON" in server.ask("POST", "/api/v1/idle", "{}", Content_Type="text/plain").problem(415)["detail"]
    assert server.ask("POST", "/api/v1/idle", "{broken", Content_Type="application/json").problem(400)["byte_offset"] is not None
    assert "object" in server.post("/api/v1/idle", [1]).problem(400)["detail"]
    assert "must be an integer" in server.post("/api/v1/idle", {"limit": "5"}).problem(400)["detail"]
    assert "larger than" in server.ask("POST", "/api/v1/idle", b" " * (2 << 20), Content_Type="application/json").problem(413)["detail"]
    chunked = b"POST /api/v1/idle HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert b" 413 " in server.raw(chunked + b"200000\r\n" + b" " * 0x200000 + b"\r\n0\r\n\r\n")[:20]


def test_requests_that_two_servers_would_read_differently(server):
    for head in (b"Content-Length: 5\r\nTransfer-Encoding: chunked", b"Content-Length: 5\r\nContent-Length: 6", b"Content-Length: 0x5",
                 b"Transfer-Encoding: chunked, identity", b"Bad Header: x", b"Content-Length: -1"):
        reply = server.raw(b"POST /api/v1/idle HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + head + b"\r\nConnection: close\r\n\r\n0\r\n\r\n")
        assert re.match(rb"HTTP/1.1 4\d\d ", reply), (head, reply[:200])
        assert reply.count(b"HTTP/1.1 ") == 1
    assert b" 400 " in server.raw(b"GET /healthz HTTP/1.1\r\n\r\n")[:20]
    assert b" 400 " in server.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n")[:20]
    assert b" 400 " in server.raw(b"\x16\x03\x01\x02\x00 not HTTP\r\n\r\n")[:20]
    assert b" 431 " in server.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: " + b"y" * 100_000 + b"\r\n\r\n")[:20]


def test_requests_sent_ahead_are_answered_in_order(server):
    reply = server.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /api/v1/version HTTP/1.1\r\nHost: localhost\r\n\r\n"
                       b"GET /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert re.findall(rb"HTTP/1.1 (\d+)", reply) == [b"200", b"200", b"404"]


def test_other_sites_are_refused(server, run):
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example:7070"):
        assert "does not answer" in server.get(f"/api/v1/runs/{run.id}", Host=host).problem(421)["detail"]
    for origin in ("http://evil.example", "null", "http://localhost:1"):
        for method, path in (("DELETE", f"/api/v1/runs/{run.id}"), ("POST", "/api/v1/runs"), ("POST", "/api/v1/rm")):
            assert "must not change" in server.ask(method, path, "{}", Origin=origin, Content_Type="text/plain").problem(403)["detail"]
    same = server.ask("POST", "/api/v1/idle", "{}", Origin=server.url, Content_Type="application/json")
    assert same.status == 200 and "access-control-allow-origin" not in same.headers
    for path in ("/docs", "/api/v1/runs", "/nothing"):
        headers = server.get(path).headers
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"
        assert "unsafe" not in headers["content-security-policy"] and "default-src 'none'" in headers["content-security-policy"]


def test_the_result_of_a_query_is_sent_as_a_file(run, tmp_path):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with Server(Store(run.store.folder, TMPDIR=str(temporary))) as server:
        check_files(server, run, tmp_path / "local.parquet")
        assert list(temporary.iterdir()) == [], "a file was left behind"


def check_files(server, run, local):
    sql = "SELECT name, dur_ns, '=1+1' AS formula FROM kernel ORDER BY id"
    csv = server.post("/api/v1/query", {"args": [run.id, sql], "format": "csv"})
    assert csv.status == 200 and csv.headers["content-type"] == "text/csv", csv.headers
    assert csv.headers["content-disposition"] == 'attachment; filename="query.csv"' and "content-encoding" not in csv.headers
    assert csv.body.decode() == run.store.text("query", run.id, sql, "--format", "csv") and b"'=1+1" in csv.body
    parquet = server.get(f"/api/v1/runs/{run.id}/query?args={urllib.parse.quote(sql)}&format=parquet&max_rows=1000000", Accept_Encoding="gzip")
    assert parquet.status == 200 and parquet.headers["content-type"] == "application/vnd.apache.parquet", parquet.body[:300]
    assert int(parquet.headers["content-length"]) == len(parquet.body) and parquet.body[:4] == parquet.body[-4:] == b"PAR1"
    run.store.text("query", run.id, sql, "--format", "parquet", "--out", local)
    assert parquet.body == local.read_bytes()
    head = server.ask("HEAD", f"/api/v1/runs/{run.id}/query?args={urllib.parse.quote(sql)}&format=csv")
    assert head.status == 200 and head.body == b"" and int(head.headers["content-length"]) == len(csv.body)
    # More rows than asked for are refused, not cut off without a word.
    for form in ("csv", "parquet"):
        assert "rows" in server.post("/api/v1/query", {"args": [run.id, sql], "format": form, "max_rows": 3}).problem(422)["detail"]
    # What JSON replies are stays; a job has a document as its result, and no file.
    assert server.post("/api/v1/query", {"args": [run.id, sql], "format": "json"}).json()["columns"][0]["name"] == "name"


def test_a_large_file_is_sent_whole_and_a_client_may_leave(server, run):
    sql = "SELECT i, hash(i) AS h FROM range(1500000) t(i)"
    whole = server.post("/api/v1/query", {"args": [run.id, sql], "format": "parquet", "max_rows": 2_000_000})
    assert whole.status == 200 and len(whole.body) > 8_000_000 and whole.body[-4:] == b"PAR1"
    body = json.dumps({"args": [run.id, sql], "format": "parquet", "max_rows": 2_000_000}).encode()
    with server.connect() as connection:
        connection.sendall(b"POST /api/v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        assert connection.recv(12) == b"HTTP/1.1 200"
    assert server.get("/api/v1/version").status == 200


def test_the_disk_of_the_server_is_out_of_reach(server, run, tmp_path):
    secret = tmp_path / "secret.json"
    shutil.copy(SAMPLES / "kineto/h200_inference.json", secret)
    for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/docs/../../etc/passwd", "//etc/passwd", "/api/v1/runs/..%2f..%2fetc%2fpasswd",
                 "/api/v1/runs/%2e%2e", f"/api/v1/runs/{urllib.parse.quote(str(secret), safe='')}/analyze", f"/api/v1/analyze?target={secret}",
                 f"/api/v1/compare?a={secret}&b={secret}", "/api/v1/analyze?target=-"):
        reply = server.get(path)
        assert reply.status in (400, 404) and b"root:" not in reply.body, (path, reply.status)
    assert len(run.store.json("ls")["runs"]) == 1
    for name, value in (("out", str(tmp_path / "x.csv")), ("paths", str(secret))):
        assert "unknown parameter" in server.get(f"/api/v1/query?args=SELECT+1&{name}={value}").problem(400)["detail"]
    for name in ("import", "run", "record", "profile", "report", "export", "config", "ctl", "doctor", "validate", "serve"):
        server.post(f"/api/v1/{name}", {}).problem(404)
    sql = urllib.parse.quote("SELECT * FROM read_csv('/etc/passwd')")
    assert server.get(f"/api/v1/query?args={sql}").status == 400


def test_headers_and_logs_cannot_be_injected(run):
    with Server(run.store, "--access-log") as server:
        for path in ("/x%0d%0aSet-Cookie:%20a=b", "/api/v1/runs/x%0d%0aY:%20z", "/%1b%5b31mred", "/caf\xc3\xa9"):
            reply = server.raw(b"GET " + path.encode("latin-1") + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert b"Set-Cookie" not in reply.split(b"\r\n\r\n")[0] and b"\r\nY:" not in reply
        server.raw(b"GET /a\x1b[31mb HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        _, error = server.stop()
    assert error.count("\n") >= 4 and not re.search(r"[^\x20-\x7e\n\u00a0-\uffff]", error), error


def test_a_log_that_nobody_reads_does_not_hold_the_server(run):
    command = run.store.command("serve", "--listen", "127.0.0.1:0", "--access-log")
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=default_signals)
    try:
        fcntl.fcntl(process.stderr, fcntl.F_SETPIPE_SZ, 4096)
        server = Server.__new__(Server)  # one whose standard error is read once
        server.process, server.port = process, int(re.search(rb":(\d+)$", process.stderr.readline().strip()).group(1))
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=LIMIT_S)
        for _ in range(8000):  # far more lines than the pipe and the queue hold
            connection.request("GET", "/healthz")
            assert connection.getresponse().read()
        connection.close()
        assert server.metric("neurolens_log_lines_dropped_total") > 1000
        process.send_signal(signal.SIGTERM)
        assert process.wait(LIMIT_S) == 0, "it waits for the reader of its log"
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_start_refuses_addresses_of_others(store):
    for address in ("0.0.0.0:0", "[::]:0"):
        done = store.run("serve", "--listen", address)
        assert done.returncode == 2 and "without TLS" in done.stderr and "--behind-proxy" in done.stderr, done.stderr
        done = store.run("serve", "--listen", address, "--behind-proxy")
        assert done.returncode == 2 and "no user and no token" in done.stderr and "auth add-user" in done.stderr, done.stderr
    assert "is not an address" in store.run("serve", "--listen", "here").stderr
    with Server(store) as server:
        done = store.run("serve", "--listen", f"127.0.0.1:{server.port}")
        assert done.returncode == 3 and "another program uses the port" in done.stderr


def test_the_reply_when_it_has_stopped(store):
    with Server(store, "--json") as server:
        server.get("/healthz")
        out, _ = server.stop()
    assert json.loads(out) == {"url": server.url, "requests": 1}


def test_etags(server, run):
    for path in (f"/api/v1/runs/{run.id}", f"/api/v1/runs/{run.id}/kernels"):
        first = server.get(path)
        etag = first.headers["etag"]
        assert not etag.startswith("W/")
        again = server.get(path, If_None_Match=f'"other", {etag}')
        assert again.status == 304 and again.body == b"" and again.headers["etag"] == etag
        assert server.get(path, If_None_Match='"other"').status == 200
    packed = server.get(path, Accept_Encoding="gzip")
    assert packed.headers["content-encoding"] == "gzip" and packed.headers["etag"] != etag and packed.headers["vary"] == "Accept-Encoding"
    assert gzip.decompress(packed.body) == first.body and len(packed.body) < len(first.body) / 2
    assert server.get(path, Accept_Encoding="gzip", If_None_Match=packed.headers["etag"]).status == 304


def curl(server, *words, stdin=None):
    done = subprocess.run(["curl", "-sS", "--max-time", str(LIMIT_S), *words], input=stdin, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_uploads_become_runs(store, tmp_path):
    plain = gzip.decompress(TRACE.read_bytes())
    (tmp_path / "plain.json").write_bytes(plain)
    with Server(store) as server:
        url = server.url + "/api/v1/runs"
        reply = json.loads(curl(server, "--data-binary", f"@{TRACE}", f"{url}?name=../up/base.json.gz&tag=from=curl"))
        (first,) = reply["runs"]
        assert not first["duplicate"] and first["adapter"] == "kineto"
        shown = store.json("show", first["run_id"])
        assert shown["document"]["source"]["files"][0]["name"] == "base.json.gz" and shown["run"]["tags"] == {"from": "curl"}
        assert shown["run"]["model"] == "base"
        (again,) = json.loads(curl(server, "-T", str(TRACE), "-X", "POST", url))["runs"]
        assert again["duplicate"] and again["run_id"] == first["run_id"]
        # Of unknown length, unpacked, named by Content-Disposition.
        (other,) = json.loads(curl(server, "-H", "Transfer-Encoding: chunked", "-H", 'Content-Disposition: attachment; filename="c.json"', "-T", "-",
                                   "-X", "POST", url, stdin=plain))["runs"]
        assert not other["duplicate"] and store.json("show", other["run_id"])["document"]["source"]["files"][0]["name"] == "c.json"
        (local,) = store.imports(tmp_path / "plain.json")
        assert local["duplicate"] and local["run_id"] == other["run_id"]
        assert server.ask("DELETE", f"/api/v1/runs/{other['run_id']}").status == 200
        assert [run["run_id"] for run in store.json("ls")["runs"]] == [first["run_id"]]
        problem = json.loads(curl(server, "--data-binary", "not a profile", url))
        assert problem["code"] == "invalid_input" and problem["status"] == 400
        big = json.loads(curl(server, "--data-binary", "@-", url, stdin=b"x" * (8 << 20)))
        assert big["status"] == 400, "refused while the body is still sent"
        assert json.loads(curl(server, "--data-binary", "", url))["status"] == 400
        assert json.loads(curl(server, "--data-binary", f"@{TRACE}", f"{url}?paths=/etc"))["detail"] == "unknown parameter 'paths'"


def test_uploads_have_a_limit(store):
    with Server(store, "--max-upload-mb", "1") as server:
        server.ask("POST", "/api/v1/runs", b"x" * 1_000_001).problem(413)
        chunks = b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join([b"10000\r\n" + b"main;f 1\n" * 0x1c71 + b"1234567\r\n"] * 17)
        assert b" 413 " in server.raw(chunks)[:20]
        server.wait_for(0, "neurolens_workers_busy", pool="upload")
        assert server.get("/api/v1/runs").json()["runs"] == []


def half_an_upload(server, data):
    """A connection that has sent the header and half of the body, when the importer works on it."""
    connection = server.connect()
    connection.sendall(b"POST /api/v1/runs?name=half.json HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(data))
    connection.sendall(data[:len(data) // 2])
    server.wait_for(1, "neurolens_workers_busy", pool="upload")
    return connection


def test_an_upload_whose_client_leaves_is_not_a_run(store):
    data = b"main;f;g 7\nmain;f;h 9\n" * 1000  # any beginning of it is a valid profile
    with Server(store) as server:
        half_an_upload(server, data).close()
        server.wait_for(0, "neurolens_workers_busy", pool="upload")
        server.wait_for(1, "neurolens_http_requests_total", route="/api/v1/runs", status="499")
        assert server.get("/api/v1/runs").json()["runs"] == []
        assert list((store.folder / "staging").iterdir()) == []


def test_kill_during_an_upload_leaves_no_run(store):
    data = gzip.decompress(TRACE.read_bytes())
    with Server(store) as server:
        connection = half_an_upload(server, data)
        server.kill()
        connection.close()
    with Server(store) as server:
        assert server.get("/api/v1/runs").json()["runs"] == []
        (run,) = server.ask("POST", "/api/v1/runs", data).json()["runs"]
        assert not run["duplicate"] and [r["run_id"] for r in server.get("/api/v1/runs").json()["runs"]] == [run["run_id"]]


def test_an_upload_under_way_ends_before_the_server(store):
    data = gzip.decompress(TRACE.read_bytes())
    with Server(store) as server:
        connection = half_an_upload(server, data)
        server.process.send_signal(signal.SIGTERM)
        connection.sendall(data[len(data) // 2:])
        reply = b""
        while part := connection.recv(65536):
            reply += part
        connection.close()
        assert reply.startswith(b"HTTP/1.1 200 "), reply[:200]
        assert server.process.wait(timeout=LIMIT_S) == 0
    assert len(store.json("ls")["runs"]) == 1


def test_an_upload_that_stalls_is_cancelled_when_the_server_stops(store):
    with Server(store) as server:
        with half_an_upload(server, gzip.decompress(TRACE.read_bytes())):
            server.stop(signal.SIGINT)
    assert store.json("ls")["runs"] == [] and list((store.folder / "staging").iterdir()) == []


def test_a_query_ends_when_its_client_leaves(run):
    with Server(run.store, "--heavy-workers", "1", "--max-queued", "1") as server:
        query = b"GET /api/v1/query?args=" + urllib.parse.quote(ENDLESS).encode() + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"
        first = server.connect()
        first.sendall(query)
        server.wait_for(1, "neurolens_workers_busy", pool="heavy")
        second = server.connect()
        second.sendall(query)
        server.wait_for(1, "neurolens_requests_queued", pool="heavy")
        refused = server.get("/api/v1/idle")
        assert refused.problem(503)["code"] == "limit" and refused.headers["retry-after"] == "1"
        assert server.get("/api/v1/version").status == 200, "quick requests have threads of their own"
        first.close()
        second.close()
        server.wait_for(0, "neurolens_workers_busy", pool="heavy")
        server.wait_for(2, "neurolens_http_requests_total", route="/api/v1/query", status="499")
        assert server.get("/api/v1/idle").status == 200


def test_slow_clients_are_dropped(run):
    with Server(run.store, "--client-seconds", "1") as server:
        with server.connect() as connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
            replies = []
            for _ in range(LIMIT_S):  # a byte now and then does not help
                connection.settimeout(0.2)
                try:
                    replies.append(connection.recv(65536))
                    break
                except TimeoutError:
                    connection.sendall(b"X")
            assert b" 408 " in b"".join(replies)[:20]
        assert b" 408 " in server.raw(b"POST /api/v1/idle HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{")[:20]
        assert b" 408 " in server.raw(b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nmain;f")[:20]
        server.wait_for(0, "neurolens_workers_busy", pool="upload")
        assert len(server.get("/api/v1/runs").json()["runs"]) == 1


def answers(server):
    try:
        return server.get("/healthz").status == 200
    except ConnectionError:  # refused and reset
        return False


def test_a_thousand_connections(run):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4096:
        pytest.skip(f"at most {hard} files may be open")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4096), hard))
    with Server(run.store, "--max-connections", "1100") as server:
        idle = [server.connect() for _ in range(1050)]
        server.wait_for(1051, "neurolens_http_connections")
        assert server.get("/api/v1/version").status == 200
        for connection in idle[:300]:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert all(connection.recv(65536).startswith(b"HTTP/1.1 200 ") for connection in idle[:300])
        more = [server.connect() for _ in range(50)]
        with server.connect() as refused:
            assert refused.recv(65536).startswith(b"HTTP/1.1 503 ")
        for connection in [*idle, *more]:
            connection.close()
        wait_until(lambda: answers(server), "room for a connection", server.process)
        server.wait_for(1, "neurolens_http_connections")


def test_events_of_new_runs(store):
    with Server(store) as server:
        assert server.get("/readyz").status == 200
        # The first list of runs is what later ones are compared with.
        server.wait_for(0, "neurolens_workers_busy", pool="quick")
        with listen(server) as connection:
            server.wait_for(1, "neurolens_http_event_streams")
            events = events_of(connection)
            (uploaded,) = server.ask("POST", "/api/v1/runs?name=a.json.gz", TRACE.read_bytes()).json()["runs"]
            first = next(event for event in events if event[1] == "run")
            assert first[2]["run_id"] == uploaded["run_id"]
            beside = store.add(SAMPLES / "kineto/h200_inference.json")
            second = next(event for event in events if event[1] == "run")
            assert second[2]["run_id"] == beside.id and second[0] != first[0]
            connection.shutdown(socket.SHUT_RDWR)
        server.wait_for(0, "neurolens_http_event_streams")
        with listen(server, Last_Event_ID=first[0]) as connection:
            assert next(events_of(connection)) == second


def test_events_of_an_upload(store):
    with Server(store) as server, listen(server) as connection:
        server.wait_for(1, "neurolens_http_event_streams")
        progress = []
        reader = threading.Thread(target=lambda: progress.append(next(events_of(connection))))
        reader.start()
        with server.connect() as upload:
            upload.sendall(b"POST /api/v1/runs?name=long.folded HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            part = b"main;f;g 7\n" * 20_000
            while reader.is_alive():  # until the importer has said how far it is
                upload.sendall(b"%x\r\n%s\r\n" % (len(part), part))
                reader.join(0.05)
            upload.sendall(b"0\r\n\r\n")
            assert upload.recv(65536).startswith(b"HTTP/1.1 200 ")
        ((event_id, name, data),) = progress
        assert event_id is None and name == "import" and data["name"] == "long.folded" and data["done_bytes"] > 0


def test_idle_event_streams_are_cheap(run):
    with Server(run.store) as server:
        server.get("/api/v1/runs")
        before = server.metric("process_resident_memory_bytes")
        streams = [listen(server) for _ in range(500)]
        server.wait_for(500, "neurolens_http_event_streams")
        assert server.metric("process_resident_memory_bytes") - before < 50e6
        for stream in streams:
            stream.close()
        server.wait_for(0, "neurolens_http_event_streams")


def test_metrics_for_prometheus(server):
    server.get("/healthz")
    text = server.get("/metrics").body
    for name in (b"neurolens_http_requests_total", b"neurolens_http_request_duration_seconds_bucket", b"neurolens_workers", b"process_open_fds"):
        assert name in text
    assert text.endswith(b"\n") and shutil.which("promtool"), "promtool is in the package prometheus: scripts/setup.sh test"
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout + done.stderr


def test_open_api_is_valid(server, openapi_linter, tmp_path):
    (tmp_path / "openapi.json").write_bytes(server.get("/openapi.json").body)
    done = subprocess.run(["npx", "--no-install", "redocly", "lint", str(tmp_path / "openapi.json"), "--config", "redocly.yaml"], cwd=openapi_linter,
                          capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 0, (done.stdout + done.stderr)[-1500:]

# SPDX-License-Identifier: Apache-2.0
"""Uploads of `neurolens serve`: forms with several files, files in pieces that survive a restart, bundles; and what goes wrong on the way."""
import base64
import gzip
import json
import os
import shutil
import socket
import subprocess
import threading

import pytest
from http_server import Server
from neurolens_cli import H200, LIMIT_S, Store, wait_until

TRACE = H200 / "base.json.gz"
PIECE = "application/offset+octet-stream"


def form(*parts, boundary="b0undary"):
    """(fields of a part, content): the body and its Content-Type."""
    body = b"".join(b"--%s\r\nContent-Disposition: form-data; %s\r\n\r\n%s\r\n" % (boundary.encode(), fields.encode(), content) for fields, content in parts)
    return body + b"--%s--\r\n" % boundary.encode(), f"multipart/form-data; boundary={boundary}"


def send(server, path, *parts):
    body, kind = form(*parts)
    return server.ask("POST", path, body, Content_Type=kind)


def nothing_left(store):
    """No file of an upload remains, and the store is whole."""
    assert list((store.folder / "uploads").iterdir()) == []
    assert not (store.folder / "staging").exists() or list((store.folder / "staging").iterdir()) == []
    assert store.json("doctor")["healthy"]


def test_several_files_are_one_recording(store, tmp_path):
    """As `import A B C`: the parts of a rocprofv3 recording become one run, the same as at the command line."""
    parts = [tmp_path / "9_kernel_trace.csv", tmp_path / "9_hip_api_trace.csv"]
    parts[0].write_text('"Kind","Agent_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"\n"KERNEL_DISPATCH","Agent 1","add",1,1400,1900\n')
    parts[1].write_text('"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"\n'
                        '"HIP_RUNTIME_API_EXT","hipLaunchKernel",9,9,1,1000,1500\n')
    with Server(store) as server:
        reply = send(server, "/api/v1/runs?tag=from=form", *[(f'name="file"; filename="{file.name}"', file.read_bytes()) for file in parts], ("name=model", b"resnet"))
        assert reply.status == 200, reply.body
        runs = reply.json()["runs"]
        other = Store(tmp_path / "other")
        expected = other.imports(*parts, "--model", "resnet")
        assert len(runs) == 1 and len(runs[0]["files"]) == 2
        assert [run["files"] for run in runs] == [[os.path.basename(name) for name in run["files"]] for run in expected]
        assert [run["events"] for run in runs] == [run["events"] for run in expected] and len(runs) == len(expected)
        shown = store.json("show", runs[0]["run_id"])
        assert shown["run"]["tags"] == {"from": "form"} and shown["run"]["model"] == "resnet"
        assert str(store.folder) not in json.dumps(reply.json())
        nothing_left(store)


def test_curl_sends_forms(store):
    with Server(store) as server:
        done = subprocess.run(["curl", "-sS", "-F", f"file=@{TRACE}", "-F", "model=x", f"{server.url}/api/v1/runs"], capture_output=True, check=True, timeout=LIMIT_S)
        (run,) = json.loads(done.stdout)["runs"]
        assert run["files"] == ["base.json.gz"] and run["adapter"] == "kineto"
        again = server.ask("POST", "/api/v1/runs?name=plain.json.gz", TRACE.read_bytes()).json()["runs"][0]
        assert again["duplicate"] and again["run_id"] == run["run_id"] and again["files"] == ["plain.json.gz"]


@pytest.mark.parametrize("parts, status, words", [
    ([('name="file"; filename="a.json"', b"not a profile")], 400, ""),
    ([("name=model", b"x")], 400, "no file"),
    ([('name="f"; filename="a.json"', b"x"), ('name="g"; filename="dir/a.json"', b"y")], 400, "two of the files have the name"),
    ([('name="f"; filename="a.json"', b"x"), ("name=paths", b"/etc/passwd")], 400, "unknown parameter 'paths'"),
    ([('name="f"; filename="a.json"', b"x"), ("name=model", b"x" * 70_000)], 400, "larger than 65536"),
    ([("name=force", b"perhaps"), ('name="f"; filename="a.json"', b"x")], 400, "force"),
])
def test_wrong_forms(store, parts, status, words):
    with Server(store) as server:
        problem = send(server, "/api/v1/runs", *parts).problem(status)
        assert words in problem["detail"] and str(store.folder) not in json.dumps(problem), problem
        nothing_left(store)


def test_names_of_files_are_never_paths(store, tmp_path):
    data = b"main;f 1\n"
    with Server(store) as server:
        for name in ("../../../../tmp/evil.txt", "/etc/evil.txt", "C:\\\\dir\\\\evil.txt", "..", "-", ".", "a\x01b.txt", "x" * 300):
            reply = send(server, "/api/v1/runs?force=true&format=collapsed", (f'name="f"; filename="{name}"', data))
            assert reply.status == 200, (name, reply.body)
            (shown,) = reply.json()["runs"][0]["files"]
            assert "/" not in shown and shown not in ("..", "-", "."), shown
        nothing_left(store)
    assert not os.path.exists("/tmp/evil.txt")


def create(server, data, name="pieces.json"):
    metadata = base64.b64encode(name.encode()).decode()
    reply = server.ask("POST", "/api/v1/uploads", Upload_Length=str(len(data)), Upload_Metadata=f"filename {metadata},filetype eA==")
    assert reply.status == 201 and reply.headers["tus-resumable"] == "1.0.0", reply.body
    return reply.headers["location"]


def patch(server, path, offset, data):
    return server.ask("PATCH", path, data, Upload_Offset=str(offset), Content_Type=PIECE)


def offset_of(server, path):
    head = server.ask("HEAD", path)
    assert head.status == 200 and head.headers["cache-control"] == "no-store"
    return int(head.headers["upload-offset"])


def test_an_upload_in_pieces_survives_a_restart(store):
    data = TRACE.read_bytes()
    third = len(data) // 3
    with Server(store) as server:
        path = create(server, data, "../x/base.json.gz")
        reply = patch(server, path, 0, data[:third])
        assert reply.status == 204 and reply.headers["upload-offset"] == str(third) and reply.body == b""
        assert "content-length" not in reply.headers
        upload = path.rsplit("/", 1)[1]
        assert f"has {third} of {len(data)} bytes" in server.ask("POST", f"/api/v1/runs?upload={upload}").problem(400)["detail"]
        server.kill()
    with Server(store) as server:
        assert offset_of(server, path) == third
        # A client that leaves: what came stays.
        with server.connect() as connection:
            connection.sendall(f"PATCH {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {PIECE}\r\nUpload-Offset: {third}\r\nContent-Length: {len(data) - third}\r\n\r\n".encode())
            connection.sendall(data[third:2 * third])
            wait_until(lambda: offset_of(server, path) > third, "bytes of the piece", server.process)
            assert "another request" in patch(server, path, offset_of(server, path), b"x").problem(409)["detail"]
        server.wait_for(0, "neurolens_workers_busy", pool="upload")
        now = offset_of(server, path)
        assert third < now <= 2 * third
        assert "is at byte" in patch(server, path, 0, data).problem(409)["detail"]
        assert patch(server, path, now, data[now:]).headers["upload-offset"] == str(len(data))
        (run,) = server.ask("POST", f"/api/v1/runs?upload={upload}&tag=a=b").json()["runs"]
        assert run["files"] == ["base.json.gz"] and not run["duplicate"] and store.json("show", run["run_id"])["run"]["tags"] == {"a": "b"}
        assert server.ask("HEAD", path).status == 404
        nothing_left(store)
        (same,) = server.ask("POST", "/api/v1/runs", data).json()["runs"]
        assert same["duplicate"] and same["run_id"] == run["run_id"]


def test_wrong_pieces(store):
    with Server(store, "--max-upload-mb", "1") as server:
        server.ask("POST", "/api/v1/uploads").problem(400)
        for length in ("0", "-1", "x", "1e3", "99999999999999999999"):
            server.ask("POST", "/api/v1/uploads", Upload_Length=length).problem(400)
        server.ask("POST", "/api/v1/uploads", Upload_Length="1000001").problem(413)
        server.ask("POST", "/api/v1/uploads?x=1", Upload_Length="1").problem(400)
        server.ask("GET", "/api/v1/uploads").problem(405)
        path = create(server, b"12345")
        assert "more came" in patch(server, path, 0, b"123456").problem(400)["detail"]
        assert offset_of(server, path) == 0
        server.ask("PATCH", path, b"1", Upload_Offset="0").problem(415)
        server.ask("PATCH", path, b"1", Content_Type=PIECE).problem(400)
        assert server.ask("DELETE", path).status == 204
        for missing in (path, "/api/v1/uploads/..%2f..%2fcatalog", "/api/v1/uploads/0"):
            assert server.ask("HEAD", missing).status == 404
            patch(server, missing, 0, b"1").problem(404)
            server.ask("DELETE", missing).problem(404)
        server.ask("POST", "/api/v1/runs?upload=..%2fcatalog").problem(404)
        nothing_left(store)


def test_an_import_of_uploads_as_a_job_survives_a_kill(store):
    data = gzip.decompress(TRACE.read_bytes())
    with Server(store) as server:
        path = create(server, data, "job.json")
        upload = path.rsplit("/", 1)[1]
        assert "of" in server.post("/api/v1/jobs", {"op": "import", "params": {"upload": [upload]}}).problem(400)["detail"]
        patch(server, path, 0, data)
        server.post("/api/v1/jobs", {"op": "import", "params": {"upload": [upload], "paths": ["/etc/passwd"]}}).problem(400)
        job = server.post("/api/v1/jobs", {"op": "import", "params": {"upload": [upload], "model": "m"}}).json()["job_id"]
        server.kill()
    with Server(store) as server:
        found = wait_until(lambda: (j := server.get(f"/api/v1/jobs/{job}").json())["state"] in ("done", "failed", "interrupted") and j, "the job", server.process)
        assert found["state"] == "done", found
        result = server.get(found["result"]).json()
        assert result["runs"][0]["files"] == ["job.json"]
        assert [run["model"] for run in store.json("ls")["runs"]] == ["m"]
        wait_until(lambda: server.ask("HEAD", path).status == 404, "the upload to be forgotten", server.process)
    assert store.json("doctor", "--repair")["healthy"]


def test_bundles_can_be_uploaded(store, tmp_path):
    first = Store(tmp_path / "first").add(TRACE)
    bundle = tmp_path / "run.zip"
    first.store.text("export", first.id, "--format", "bundle", "--out", bundle)
    with Server(store) as server:
        (run,) = server.ask("POST", "/api/v1/runs?name=run.zip&tag=a=b", bundle.read_bytes()).json()["runs"]
        assert run["run_id"] == first.id and run["adapter"] == "bundle" and run["files"] == ["run.zip"]
        (again,) = send(server, "/api/v1/runs", ('name="f"; filename="again.zip"', bundle.read_bytes())).json()["runs"]
        assert again["duplicate"] and again["run_id"] == first.id
        broken = bytearray(bundle.read_bytes())
        broken[len(broken) // 2] ^= 0xff
        store.text("rm", first.id)
        problem = server.ask("POST", "/api/v1/runs?name=broken.zip", bytes(broken)).json()
        assert problem["status"] in (400, 422) and str(store.folder) not in json.dumps(problem), problem
        assert server.get("/api/v1/runs").json()["runs"] == []
        # One byte at a time at first: what it is shows with the fourth.
        data = bundle.read_bytes()
        with server.connect() as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(b"POST /api/v1/runs?name=slow.zip HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(data))
            for at in range(4):
                connection.sendall(data[at:at + 1])
            server.wait_for(1, "neurolens_workers_busy", pool="upload")
            connection.sendall(data[4:])
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        nothing_left(store)


def test_the_same_bytes_at_once_are_one_run(store):
    data = TRACE.read_bytes()
    with Server(store) as server:
        replies = []
        ways = [lambda: server.ask("POST", "/api/v1/runs?name=a.json.gz", data), lambda: send(server, "/api/v1/runs", ('name="f"; filename="a.json.gz"', data))] * 2
        threads = [threading.Thread(target=lambda way=way: replies.append(way())) for way in ways]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        runs = [reply.json()["runs"][0] for reply in replies]
        assert len({run["run_id"] for run in runs}) == 1 and [run["duplicate"] for run in runs].count(False) == 1, runs
        assert len(server.get("/api/v1/runs").json()["runs"]) == 1
        nothing_left(store)


@pytest.fixture
def small_disk(tmp_path):
    mount = tmp_path / "disk"
    mount.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(mount)], capture_output=True, check=False).returncode != 0:
        pytest.skip("cannot mount a small file system here")
    yield mount
    subprocess.run(["umount", str(mount)], check=False)


def test_a_full_disk_leaves_nothing_half(small_disk):
    store = Store(small_disk / "store")
    data = gzip.decompress(TRACE.read_bytes())
    data += b" " * (5_000_000 - len(data)) if len(data) < 5_000_000 else b""
    with Server(store) as server:
        kept = server.ask("POST", "/api/v1/runs?name=small.txt&format=collapsed", b"main;f 1\n").json()["runs"][0]["run_id"]
        problem = send(server, "/api/v1/runs", ('name="f"; filename="a.json"', data)).problem(500)
        assert problem["code"] == "io" and "space" in problem["hint"] and str(small_disk) not in problem["detail"], problem
        path = create(server, data)
        assert patch(server, path, 0, data).problem(500)["code"] == "io"
        filled = offset_of(server, path)
        assert 0 < filled < len(data), "what came is kept"
        assert server.post("/api/v1/jobs", {"op": "version"}).problem(500)["code"] == "io"
        assert server.get("/api/v1/runs").json()["runs"][0]["run_id"] == kept
        assert server.ask("DELETE", path).status == 204
        assert server.post("/api/v1/jobs", {"op": "version"}).status == 202
        nothing_left(store)


def test_a_disk_that_fills_up_during_an_import(small_disk):
    """The body goes straight into the importer, whose tables do not fit: nothing of the run is left, and with space again it works."""
    store = Store(small_disk / "store")
    data = TRACE.read_bytes()
    with Server(store) as server:
        server.ask("POST", "/api/v1/runs?name=small.txt&format=collapsed", b"main;f 1\n")
        ballast = small_disk / "ballast"
        with open(ballast, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError:
                pass
        os.truncate(ballast, ballast.stat().st_size - 65536)
        problem = server.ask("POST", "/api/v1/runs?name=a.json.gz", data).problem(500)
        assert problem["code"] == "io" and "No space left" in problem["detail"], problem
        assert server.get("/api/v1/runs").json()["runs_total"] == 1 and server.get("/readyz").status == 200
        ballast.unlink()
        (run,) = server.ask("POST", "/api/v1/runs?name=a.json.gz", data).json()["runs"]
        assert not run["duplicate"] and server.get(f"/api/v1/runs/{run['run_id']}/kernels").status == 200
        assert store.json("doctor")["healthy"]


def test_a_file_system_that_is_read_only(small_disk):
    """Remounted under a running server, and under one that starts then: it reads, and every change is refused as a problem of the disk."""
    store = Store(small_disk / "store")
    with Server(store) as server:
        run = server.ask("POST", "/api/v1/runs?name=small.txt&format=collapsed", b"main;f 1\n").json()["runs"][0]["run_id"]
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with Server(store) as server:
        assert server.get("/readyz").status == 200 and server.get(f"/api/v1/runs/{run}").status == 200
        for reply in (server.ask("POST", "/api/v1/runs?name=b.txt&format=collapsed", b"main;g 1\n"), send(server, "/api/v1/runs", ('name="f"; filename="a"', b"main;f 1\n")),
                      server.ask("POST", "/api/v1/uploads", Upload_Length="5"), server.post("/api/v1/jobs", {"op": "version"}), server.post("/api/v1/tag", {"run": run, "tags": ["a=b"]}),
                      server.ask("DELETE", f"/api/v1/runs/{run}?force=true")):
            problem = reply.problem(500)
            assert problem["code"] == "io" and problem["detail"], problem
        assert [one["run_id"] for one in server.get("/api/v1/runs").json()["runs"]] == [run]
        subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
        assert server.post("/api/v1/tag", {"run": run, "tags": ["a=b"]}).status == 200
        assert server.post("/api/v1/jobs", {"op": "version"}).status == 202


def test_a_store_that_cannot_be_written(store):
    """As a file where the folder should be: root may write everywhere else."""
    store.add(TRACE)
    (store.folder / "uploads").write_text("")
    with Server(store) as server:
        assert send(server, "/api/v1/runs", ('name="f"; filename="a"', b"main;f 1\n")).problem(500)["code"] == "io"
        assert server.ask("POST", "/api/v1/uploads", Upload_Length="5").problem(500)["code"] == "io"
        assert len(server.get("/api/v1/runs").json()["runs"]) == 1


def test_old_uploads_are_removed(store):
    with Server(store) as server:
        old, new = create(server, b"12345"), create(server, b"12345")
        patch(server, old, 0, b"123")
    part = store.folder / "uploads" / (old.rsplit("/", 1)[1] + ".part")
    os.utime(part, (part.stat().st_mtime - 90_000,) * 2)
    (store.folder / "uploads/import-dead").mkdir()
    (store.folder / "uploads/import-dead/a.json").write_text("x")
    with Server(store) as server:
        wait_until(lambda: not part.exists() and not (store.folder / "uploads/import-dead").exists(), "the old upload to go", server.process)
        assert server.ask("HEAD", old).status == 404 and server.ask("HEAD", new).status == 200
    shutil.rmtree(store.folder / "uploads")

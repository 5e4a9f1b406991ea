# SPDX-License-Identifier: Apache-2.0
"""`run --serve` and `record --serve`: a recording grows on a server while its program runs, and becomes a run there. Servers that refuse,
are killed and come back, or never do: nothing is lost."""
import json
import os
import pathlib
import signal
import subprocess

import pytest
from http_server import Server, events_of, listen
from neurolens_cli import LIMIT_S, Store, error_of, wait_until
from recorder import CUPTI, ENDLESS, MISSING, PROGRAM, recording

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not built: {', '.join(MISSING)}")
SHORT = [str(PROGRAM), "launch=50"]
FLAGS = ("--no-cpu", "--no-python", "--no-counters")


@pytest.fixture
def there(tmp_path):
    """The store of the server."""
    return Store(tmp_path / "there")


@pytest.fixture
def here(tmp_path):
    """The store of the machine that records."""
    return Store(tmp_path / "here")


def records(here, url, *words, command=SHORT, **environment):
    return subprocess.run(here.command("--json", "run", "--serve", url, *FLAGS, *words, "--", *command), capture_output=True, text=True, check=False, timeout=LIMIT_S,
                          env={**os.environ, "NEUROLENS_CUPTI": str(CUPTI), "TMPDIR": str(here.folder.parent), **environment})


def sent_kernels(server, more_than=0):
    """Kernels of the partial run on the server, when they are more than that."""
    def look():
        answer = server.get("/api/v1/query?args=@live&args=SELECT+count(*)+FROM+kernel")
        count = answer.json()["rows"][0][0] if answer.status == 200 else 0
        return count if count > more_than else None
    return wait_until(look, f"more than {more_than} kernels on the server", server.process)


def test_it_grows_on_the_server_and_becomes_a_run_there(here, there):
    with Server(there) as server, listen(server) as connection:
        events = events_of(connection)
        with recording(here, "--json", "run", "--serve", server.url, "--tag", "who=me") as recorder:
            number, _, data = next(e for e in events if e[1] == "live")
            assert number and data["command"] == ENDLESS and data["sender"].startswith("nobody at 127.0.0.1"), data
            first = sent_kernels(server)
            row = wait_until(lambda: next((r for r in server.get("/api/v1/live").json()["recordings"] if r["kernels"]), None), "its numbers", server.process)
            assert row["recording"] is True and row["processes"] == 1 and row["state"] == "recording" and row["bytes"] > 0, row
            assert server.get("/api/v1/runs/@live/summary").json()["partial"] is True
            sent_kernels(server, more_than=first)
            assert server.get("/api/v1/runs").json()["runs"] == []
            out, error = recorder.end()
            assert recorder.process.returncode == 128 + signal.SIGTERM, error
        reply = json.loads(out)
        served = reply["capture"]["served"]
        assert served["problem"] is None and served["outages"] == 0 and served["url"] == server.url, served
        assert reply["run_id"] is None and reply["capture_kept"] is False and not pathlib.Path(reply["capture"]["directory"]).exists(), reply
        (run,) = server.get("/api/v1/runs").json()["runs"]
        assert run["run_id"] == served["run_id"] and run["kernel_count"] == reply["capture"]["kernels"] > first and run["tags"]["who"] == "me" and run["model"].startswith("gpu_program"), run
        assert server.get("/api/v1/live").json() == {"recordings": []}
        assert server.get(f"/runs/{run['run_id']}").status == 200, "run_url is not a page"
    assert not here.folder.exists(), "a store was made where the program ran"
    assert list((there.folder / "uploads").iterdir()) == [] and list((there.folder / "live").iterdir()) == []


def test_the_run_is_that_of_a_recording_that_is_imported_at_once(here, there, tmp_path):
    with Server(there) as server:
        done = records(here, server.url, "--out", tmp_path / "x.nlcap")
        assert done.returncode == 0, done.stderr
        served = json.loads(done.stdout)["capture"]["served"]
        again = there.json("import", tmp_path / "x.nlcap")["runs"][0]
        assert again["duplicate"] is True and again["run_id"] == served["run_id"], again
        sent = json.loads(here.text("--json", "send", tmp_path / "x.nlcap", "--serve", server.url))
        assert sent["duplicate"] is True and sent["run_id"] == served["run_id"], sent


def test_record_keeps_its_capture_and_sends_it(here, there, tmp_path):
    with Server(there) as server:
        with recording(here, "--json", "record", "--serve", server.url, "--out", tmp_path / "x.nlcap") as recorder:
            sent_kernels(server)
            out, _ = recorder.end()
        reply = json.loads(out)
        (run,) = there.json("ls")["runs"]
        assert reply["served"]["run_id"] == run["run_id"] and (tmp_path / "x.nlcap/launcher.nlc").exists(), reply


def test_a_server_that_is_killed_and_comes_back_gets_everything(here, there):
    with Server(there) as first:
        with recording(here, "--json", "run", "--serve", first.url) as recorder:
            before = sent_kernels(first)
            first.kill()
            with Server(there, port=first.port) as second:
                sent_kernels(second, more_than=before)
                out, error = recorder.end()
                served = json.loads(out)["capture"]["served"]
                assert served["problem"] is None and served["outages"] >= 1, (served, error)
                (run,) = second.get("/api/v1/runs").json()["runs"]
                assert run["run_id"] == served["run_id"] and run["kernel_count"] == json.loads(out)["capture"]["kernels"], run


def test_a_server_that_comes_after_the_program_ended_gets_everything(here, there):
    with Server(there) as first:
        with recording(here, "--json", "run", "--serve", first.url) as recorder:
            sent_kernels(first)
            first.kill()
            recorder.process.send_signal(signal.SIGTERM)
            wait_until(lambda: not recorder.children(), "the program to end", recorder.process)
            with Server(there, port=first.port):
                out, _ = recorder.process.communicate(timeout=LIMIT_S)
        served = json.loads(out)["capture"]["served"]
        assert served["problem"] is None and served["outages"] >= 1, served
    assert [r["run_id"] for r in there.json("ls")["runs"]] == [served["run_id"]]


def test_a_server_that_never_comes_back_costs_nothing(here, there):
    with Server(there) as server:
        with recording(here, "--json", "run", "--serve", server.url, "--serve-wait", "0") as recorder:
            sent_kernels(server)
            server.kill()
            out, _ = recorder.end()
            assert recorder.process.returncode == 128 + signal.SIGTERM
    reply = json.loads(out)
    served = reply["capture"]["served"]
    assert served["run_id"] is None and "cannot connect" in served["problem"], served
    (run,) = here.json("ls")["runs"]
    assert run["run_id"] == reply["run_id"] and run["kernel_count"] == reply["capture"]["kernels"], run
    assert reply["capture_kept"] is True and pathlib.Path(reply["capture"]["directory"]).is_dir()
    assert there.json("live") == {"recordings": []}, "the partial run is still listed"
    with Server(there) as server:
        sent = json.loads(here.text("--json", "send", reply["capture"]["directory"], "--serve", server.url))
        (run,) = server.get("/api/v1/runs").json()["runs"]
        assert run["run_id"] == sent["run_id"] and run["kernel_count"] == reply["capture"]["kernels"], run


def test_a_server_that_is_not_there_does_not_keep_the_program_from_running(here):
    done = records(here, "http://127.0.0.1:9", "--serve-wait", "0")
    assert done.returncode == 0, done.stderr
    assert "cannot connect to http://127.0.0.1:9" in json.loads(done.stdout)["capture"]["served"]["problem"]
    assert len(here.json("ls")["runs"]) == 1


@pytest.mark.parametrize("url", ["127.0.0.1:7070", "ftp://x", "http://", "http://a b", "http://x:0", "http://x:99999", "http://[::1", "https://u@x"])
def test_an_address_that_is_not_one_is_refused_before_the_program_starts(here, url, tmp_path):
    done = records(here, url, command=["/usr/bin/touch", str(tmp_path / "ran")])
    assert done.returncode == 125 and "is not the address of a server" in json.loads(done.stdout)["error"]["message"], done.stdout
    assert not (tmp_path / "ran").exists()


def test_a_token_is_needed_where_the_server_needs_one(here, there, tmp_path):
    token = {role: there.json("auth", "token-add", role, "--role", role)["secret"] for role in ("viewer", "editor")}
    with Server(there) as server:
        for environment, message in (({}, "needs a login or a token"), ({"NEUROLENS_TOKEN": "wrong"}, "unknown, expired or revoked"),
                                     ({"NEUROLENS_TOKEN": token["viewer"]}, "role editor")):
            done = records(here, server.url, command=["/usr/bin/touch", str(tmp_path / "ran")], **environment)
            assert done.returncode == 125 and message in json.loads(done.stdout)["error"]["message"], done.stdout
            assert not (tmp_path / "ran").exists()
        done = records(here, server.url, command=["/bin/sh", "-c", f'test -z "$NEUROLENS_TOKEN" && exec {" ".join(SHORT)}'], NEUROLENS_TOKEN=token["editor"])
        assert done.returncode == 0, (done.stdout, done.stderr)
        assert json.loads(done.stdout)["capture"]["served"]["run_id"] is not None, done.stdout
        assert token["editor"] not in done.stdout + done.stderr


def test_over_tls_the_certificate_is_checked(here, there, tmp_path):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem",
                    "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
    with Server(there, "--tls-cert", tmp_path / "cert.pem", "--tls-key", tmp_path / "key.pem") as server:
        done = records(here, server.url, command=["/usr/bin/touch", str(tmp_path / "ran")])
        assert done.returncode == 125 and "self-signed certificate" in json.loads(done.stdout)["error"]["message"], done.stdout
        assert not (tmp_path / "ran").exists()
        for host in ("127.0.0.1", "localhost"):
            done = records(here, f"https://{host}:{server.port}", SSL_CERT_FILE=str(tmp_path / "cert.pem"))
            assert json.loads(done.stdout)["capture"]["served"]["problem"] is None, done.stdout
    assert len(there.json("ls")["runs"]) == 2


def test_what_is_wrong_with_a_recording_is_named(there):
    with Server(there) as server:
        for body in ("[]", "{}", '{"command": []}', '{"command": "x"}', '{"command": [1]}', '{"command": ["x"], "started_at": 5}', '{"command": ["x"], "other": 1}', "{"):
            server.ask("POST", "/api/v1/recordings", body, Content_Type="application/json").problem(400)
        made = server.post("/api/v1/recordings", {"command": ["x"], "started_at": "2026-01-31T14:25:01Z"})
        assert made.status == 201, made.body
        path = made.headers["location"]
        assert path == "/api/v1/recordings/" + made.json()["live_id"]
        put = lambda document: server.ask("PUT", path, json.dumps(document), Content_Type="application/json")
        for wrong in ({"state": "ended"}, {"kernels": -1}, {"kernels": "5"}, {"uploads": "x"}, {"recording": 1}, {"other": 1}, []):
            put(wrong).problem(400)
        put({"uploads": ["019a8c00-0000-7000-8000-000000000000"]}).problem(404)
        named = lambda name: server.ask("POST", f"/api/v1/uploads?name={name}", Upload_Defer_Length="1").json()["upload_id"]
        put({"uploads": [named("passwd")]}).problem(400)
        good = named("..%2F..%2Flauncher.nlc")
        assert put({"uploads": [good], "kernels": 7}).status == 200
        (row,) = server.get("/api/v1/live").json()["recordings"]
        assert row["kernels"] == 7 and row["ranges"] is None, row
        folder = there.folder / "live" / row["live_id"] / "capture.nlcap"
        assert [p.name for p in folder.iterdir()] == ["launcher.nlc"], "a name left its folder"
        server.get("/api/v1/runs/@live/summary").problem(404)
        server.ask("GET", path).problem(405)
        server.ask("POST", f"/api/v1/runs?upload={good}").problem(400)  # its length is not known
        server.ask("PUT", path.replace("0", "f"), "{}", Content_Type="application/json").problem(404)
        assert server.ask("DELETE", path).status == 204
        server.ask("DELETE", path).problem(404)
        assert not folder.exists()


def test_a_recording_belongs_to_the_one_who_began_it(there):
    token = {name: there.json("auth", "token-add", name, "--role", role)["secret"] for name, role in (("one", "editor"), ("two", "editor"), ("boss", "admin"), ("see", "viewer"))}
    with Server(there) as server:
        as_ = lambda name: {"Authorization": f"Bearer {token[name]}", "Content_Type": "application/json"}
        server.ask("POST", "/api/v1/recordings", '{"command": ["x"]}', **as_("see")).problem(403)
        path = server.ask("POST", "/api/v1/recordings", '{"command": ["x"]}', **as_("one")).headers["location"]
        server.ask("PUT", path, "{}", **as_("two")).problem(403)
        server.ask("DELETE", path, **as_("two")).problem(403)
        assert server.ask("PUT", path, "{}", **as_("one")).status == 200
        assert server.ask("DELETE", path, **as_("boss")).status == 204


def test_an_upload_whose_length_comes_last(there):
    trace = pathlib.Path(__file__).resolve().parents[2] / "data/h200/base.json.gz"
    data = trace.read_bytes()
    with Server(there, "--max-upload-mb", "1") as server:
        made = server.ask("POST", "/api/v1/uploads?name=a.json.gz", Upload_Defer_Length="1")
        assert made.status == 201 and made.json()["length_bytes"] is None and made.headers["upload-defer-length"] == "1" and "upload-length" not in made.headers
        path = made.headers["location"]
        send = lambda body, at, **more: server.ask("PATCH", path, body, Upload_Offset=str(at), Content_Type="application/offset+octet-stream", **more)
        assert send(data[:1000], 0).headers["upload-offset"] == "1000"
        send(b"", 1000, Upload_Length="999").problem(400)
        send(b"", 1000, Upload_Length="x").problem(400)
        send(b"x" * 999_500, 1000).problem(413)
        assert server.ask("HEAD", path).headers["upload-offset"] == "1000"
        server.ask("DELETE", path)
        path = server.ask("POST", "/api/v1/uploads?name=a.json.gz", Upload_Defer_Length="1").headers["location"]
        assert send(data[:1000], 0).status == 204
        whole = send(data[1000:], 1000, Upload_Length=str(len(data)))
        assert whole.status == 204 and whole.headers["upload-length"] == str(len(data))
        send(b"more", len(data)).problem(400)
        assert len(server.ask("POST", f"/api/v1/runs?upload={path.rsplit('/', 1)[1]}").json()["runs"]) == 1


def test_send_names_what_it_cannot_send(here, tmp_path):
    assert "is not a folder" in error_of(here.run("send", tmp_path / "none", "--serve", "http://127.0.0.1:9", "--json"))["message"]
    assert "the server is missing" in error_of(here.run("send", tmp_path, "--json"))["message"]

# SPDX-License-Identifier: Apache-2.0
"""The security of `neurolens serve`: logins, tokens and roles, TLS, the audit log, and a list of probes that a hostile client would try."""
import http.client
import json
import os
import pty
import re
import shutil
import ssl
import stat
import subprocess
import time
import urllib.parse

import pytest
from http_server import Reply, Server
from neurolens_cli import H200, HOSTILE_NAMES, LIMIT_S, Store, span, wait_until, write_trace

PASSWORD = "correct horse"
OPEN = ("/", "/healthz", "/readyz", "/docs", "/docs.js", "/docs.css")


def token(store, name, role, *flags):
    return store.json("auth", "token-add", name, "--role", role, *flags)["secret"]


def bearer(secret):
    return {"Authorization": f"Bearer {secret}"}


def audit(store):
    """The entries of the audit log; every line must be one object."""
    return [json.loads(line) for line in (store.folder / "audit.log").read_text().splitlines()]


def login(server, name, password, **headers):
    return server.ask("POST", "/api/v1/login", json.dumps({"name": name, "password": password}), Content_Type="application/json", **headers)


def cookie_of(reply):
    return reply.headers["set-cookie"].split(";")[0]


@pytest.fixture(scope="module")
def run(module_folder):
    return Store(module_folder / "store").add(H200 / "base.json.gz")


@pytest.fixture(scope="module")
def tokens(run):
    """Secrets by role, and a user."""
    run.store.text("auth", "add-user", "ada", "--role", "editor", stdin=PASSWORD + "\n")
    return {role: token(run.store, f"{role}-token", role) for role in ("viewer", "editor", "admin")}


@pytest.fixture(scope="module")
def server(run, tokens):
    with Server(run.store, "--access-log") as started:
        yield started


def test_users_and_tokens_are_managed_at_the_command_line(store):
    assert store.json("auth") == {"action": "ls", "users": [], "tokens": [], "secret": None}
    store.text("auth", "add-user", "ada", "--role", "admin", stdin=PASSWORD)
    secret = token(store, "ci", "editor", "--expires", "90d")
    assert re.fullmatch(r"nl_[0-9a-f]{64}", secret)
    reply = store.json("auth", "ls")
    assert [(user["name"], user["role"]) for user in reply["users"]] == [("ada", "admin")]
    assert [(one["name"], one["role"], one["expired"]) for one in reply["tokens"]] == [("ci", "editor", False)]
    stored = (store.folder / "auth.json").read_text()
    assert PASSWORD not in stored and secret not in stored and "$argon2id$" in stored
    for name in ("auth.json", "auth.lock", "audit.log"):
        assert stat.S_IMODE((store.folder / name).stat().st_mode) == 0o600, name
    store.text("auth", "set-role", "ada", "--role", "viewer")
    store.text("auth", "passwd", "ada", stdin="another horse\n")
    assert (store.folder / "auth.json").read_text() != stored
    store.text("auth", "token-revoke", "ci")
    store.text("auth", "rm-user", "ada")
    assert store.json("auth")["users"] == [] == store.json("auth")["tokens"]
    assert [(entry["action"], entry["target"], entry["outcome"]) for entry in audit(store)] == [
        ("auth add-user", "ada", "ok"), ("auth token-add", "ci", "ok"), ("auth set-role", "ada", "ok"), ("auth passwd", "ada", "ok"),
        ("auth token-revoke", "ci", "ok"), ("auth rm-user", "ada", "ok")]
    assert all(entry["actor"].startswith("local:") for entry in audit(store))


@pytest.mark.parametrize("words, stdin, message", [
    (("add-user",), "", "needs a name"), (("add-user", "a/b"), PASSWORD, "cannot be a name"), (("add-user", "x"), "short", "10 to 1024 bytes"),
    (("add-user", "x"), "", "no password on stdin"), (("passwd", "x"), PASSWORD, "no such user"), (("token-add", "t", "--expires", "2001-01-01"), "", "in the past"),
    (("token-add", "t", "--expires", "soon"), "", "soon"), (("set-role", "x"), "", "needs --role"), (("rm-user", "x", "--role", "admin"), "", "does not take --role"),
    (("ls", "x"), "", "does not take a name"), (("add-user", "x", "--role", "root"), PASSWORD, "one of"), (("add-user", "x", PASSWORD), "", ""),
])
def test_wrong_commands_change_nothing(store, words, stdin, message):
    done = store.run("auth", *words, stdin=stdin)
    assert done.returncode == 2 and message in done.stderr, done.stderr
    assert store.json("auth")["users"] == []


def test_a_password_is_not_shown_while_it_is_typed(store):
    pid, terminal = pty.fork()
    if pid == 0:
        words = store.command("auth", "add-user", "ada")
        os.execv(words[0], words)
    said = b""
    for prompt in (b"Password for ada: ", b"Again: "):
        while prompt not in said:
            said += os.read(terminal, 4096)
        os.write(terminal, PASSWORD.encode() + b"\n")
    try:
        while part := os.read(terminal, 4096):
            said += part
    except OSError:  # the program has ended
        pass
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0 and b"added user ada" in said, said
    assert PASSWORD.encode() not in said


def test_two_processes_that_change_the_accounts_lose_nothing(store):
    started = [subprocess.Popen(store.command("auth", "token-add", f"t{i}"), stdout=subprocess.DEVNULL) for i in range(12)]
    assert [process.wait(timeout=LIMIT_S) for process in started] == [0] * 12
    assert len(store.json("auth")["tokens"]) == 12


def test_every_route_needs_a_login_but_the_open_ones(server, tokens):
    for path in OPEN:
        assert server.get(path).status == 200, path
    described = server.get("/openapi.json", **bearer(tokens["viewer"])).json()["paths"]
    asked = 0
    for path, methods in described.items():
        for method in methods:
            if path in OPEN or path in ("/api/v1/login", "/api/v1/logout"):
                continue
            reply = server.ask(method.upper(), path.replace("{id}", "x"))
            assert "login or a token" in reply.problem(401)["detail"], (method, path)
            assert reply.headers["www-authenticate"].startswith("Bearer")
            asked += 1
    assert asked > 50
    server.get("/nothing").problem(401)


def test_a_role_may_do_what_its_operations_do(server, run, tokens):
    described = server.get("/openapi.json", **bearer(tokens["viewer"])).json()["paths"]
    names = [path for path in described if re.fullmatch(r"/api/v1/[a-z-]+", path) and "post" in described[path]
             and path not in ("/api/v1/runs", "/api/v1/login", "/api/v1/logout", "/api/v1/jobs", "/api/v1/uploads")]
    writing = {path for path in names if "get" not in described[path]}
    assert {"/api/v1/rm", "/api/v1/tag", "/api/v1/baseline"} <= writing
    for path in names:
        for role in tokens:
            # A body that is not JSON: who may ask gets 400, and nothing is changed.
            reply = server.ask("POST", path, "{", Content_Type="application/json", **bearer(tokens[role]))
            assert reply.status == (403 if role == "viewer" and path in writing else 400), (path, role)
    refused = server.ask("DELETE", f"/api/v1/runs/{run.id}", **bearer(tokens["viewer"])).problem(403)
    assert "needs the role editor" in refused["detail"] and "viewer-token" in refused["detail"]
    server.ask("POST", "/api/v1/runs", b"main;f 1\n", **bearer(tokens["viewer"])).problem(403)
    job = json.dumps({"op": "rm", "params": {"runs": [run.id]}})
    server.ask("POST", "/api/v1/jobs", job, Content_Type="application/json", **bearer(tokens["viewer"])).problem(403)
    server.ask("POST", "/api/v1/uploads", **bearer(tokens["viewer"])).problem(403)
    assert server.get(f"/api/v1/runs/{run.id}/idle", **bearer(tokens["viewer"])).status == 200
    assert server.get("/metrics", **bearer(tokens["viewer"])).status == 200


def test_tokens_that_are_wrong_expired_or_revoked(run, server):
    secret = token(run.store, "brief", "viewer")
    assert server.get("/api/v1/runs", **bearer(secret)).status == 200
    for wrong in ("", "nl_", secret[:-1], secret + "0", secret.upper(), "x" * 5000, "\u00e9".encode().decode("latin-1")):
        assert server.get("/api/v1/runs", **bearer(wrong)).status == 401, wrong
    assert server.get("/api/v1/runs", Authorization=secret).status == 401
    assert server.get(f"/api/v1/runs?token={secret}").status == 401, "secrets in addresses end up in logs"
    assert server.get("/api/v1/runs", Authorization=f"Basic {secret}").status == 401
    run.store.text("auth", "token-revoke", "brief")
    reply = server.get("/api/v1/runs", **bearer(secret))
    assert "revoked" in reply.problem(401)["detail"] and "invalid_token" in reply.headers["www-authenticate"]
    soon = token(run.store, "soon", "viewer", "--expires", "1s")
    time.sleep(1.1)  # the token ends within this
    assert server.get("/api/v1/runs", **bearer(soon)).status == 401
    assert next(one for one in run.store.json("auth")["tokens"] if one["name"] == "soon")["expired"]


def test_a_session_begins_with_a_login_and_ends_with_the_logout(server, tokens):
    reply = login(server, "ada", PASSWORD)
    assert reply.status == 200 and reply.json()["role"] == "editor" and reply.json()["kind"] == "user"
    attributes = {part.strip().split("=")[0] for part in reply.headers["set-cookie"].split(";")[1:]}
    assert attributes == {"Path", "Max-Age", "HttpOnly", "SameSite"} and "SameSite=Strict" in reply.headers["set-cookie"]
    assert PASSWORD not in reply.body.decode() and "nls_" not in reply.body.decode()
    session = cookie_of(reply)
    me = server.get("/api/v1/me", Cookie=session).json()
    assert (me["name"], me["role"], me["login_needed"]) == ("ada", "editor", True)
    assert server.get("/api/v1/me", **bearer(tokens["viewer"])).json()["kind"] == "token"
    # What a page of this server sends, and what a page of another site can make a browser send.
    json_type = {"Content_Type": "application/json", "Cookie": session}
    assert server.ask("POST", "/api/v1/idle", "{}", Origin=server.url, **json_type).status == 200
    assert "Origin" in server.ask("POST", "/api/v1/idle", "{}", **json_type).problem(403)["detail"]
    server.ask("POST", "/api/v1/idle", "{}", Origin="http://evil.example", **json_type).problem(403)
    server.ask("POST", "/api/v1/runs", b"main;f 1\n", Cookie=session).problem(403)
    server.ask("POST", "/api/v1/logout", Cookie=session).problem(403)
    out = server.ask("POST", "/api/v1/logout", Origin=server.url, Cookie=session)
    assert out.status == 204 and out.body == b"" and "Max-Age=0" in out.headers["set-cookie"]
    server.get("/api/v1/me", Cookie=session).problem(401)


def test_sessions_end_when_the_user_changes(store):
    store.text("auth", "add-user", "ada", "--role", "admin", stdin=PASSWORD)
    with Server(store) as server:
        session = cookie_of(login(server, "ada", PASSWORD))
        store.text("auth", "set-role", "ada", "--role", "viewer")
        assert server.get("/api/v1/me", Cookie=session).json()["role"] == "viewer"
        store.text("auth", "passwd", "ada", stdin="another horse")
        server.get("/api/v1/me", Cookie=session).problem(401)
        session = cookie_of(login(server, "ada", "another horse"))
        store.text("auth", "rm-user", "ada")
        server.get("/api/v1/me", Cookie=session).problem(401)
        server.get("/api/v1/runs").problem(401)


def test_guessing_passwords_takes_ever_longer(store):
    store.text("auth", "add-user", "ada", stdin=PASSWORD)
    secret = token(store, "ci", "viewer")
    with Server(store) as server:
        answers = {}
        for name in ("ada", "nobody"):
            answers[name] = []
            while (reply := login(server, name, "wrong password")).status == 401:  # the waits double: they get longer than any machine is slow
                assert reply.json()["detail"] == "wrong name or password"
                answers[name].append(reply)
            assert len(answers[name]) >= 5 and reply.problem(429)["code"] == "limit" and int(reply.headers["retry-after"]) >= 1
        assert answers["ada"][0].body == answers["nobody"][0].body, "the answer shows who exists"
        assert server.get("/api/v1/runs", **bearer(secret)).status == 200, "others go on"
        for body in ("", "[]", "{}", '{"name":"ada"}', '{"name":1,"password":2}', '{"name":"ada","password":null}', "{"):
            server.ask("POST", "/api/v1/login", body, Content_Type="application/json").problem(400)
        server.ask("POST", "/api/v1/login", "name=ada&password=x", Content_Type="application/x-www-form-urlencoded").problem(415)
        server.get("/api/v1/login", **bearer(secret)).problem(405)
        tried = [entry for entry in audit(store) if entry["action"] == "login"]
        assert len(tried) == sum(map(len, answers.values())) and {entry["outcome"] for entry in tried} == {"refused"} and tried[0]["address"] == "127.0.0.1"
        assert PASSWORD not in (store.folder / "audit.log").read_text() and "wrong password" not in (store.folder / "audit.log").read_text()


def test_damaged_accounts_let_nobody_in(store):
    secret = token(store, "ci", "admin")
    with Server(store) as server:
        assert server.get("/api/v1/me", **bearer(secret)).status == 200
        (store.folder / "auth.json").write_text("{")
        server.get("/api/v1/me", **bearer(secret)).problem(401)
        server.get("/api/v1/runs").problem(401)
    done = store.run("serve", "--listen", "127.0.0.1:0")
    assert done.returncode == 2 and "auth.json" in done.stderr
    (store.folder / "auth.json").chmod(0o644)
    done = store.run("serve", "--listen", "127.0.0.1:0")
    assert done.returncode == 2 and "chmod 600" in done.stderr


def test_auth_can_be_asked_for_before_there_are_accounts(store):
    with Server(store, "--auth") as server:
        server.get("/api/v1/runs").problem(401)
        secret = token(store, "ci", "viewer")
        assert server.get("/api/v1/runs", **bearer(secret)).status == 200


def test_an_account_closes_a_server_that_was_open(store):
    with Server(store) as server:
        me = server.get("/api/v1/me").json()
        assert (me["login_needed"], me["kind"], me["role"], me["name"]) == (False, "nobody", "admin", None)
        with server.connect() as stream:
            stream.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"200 OK" in stream.recv(65536)
            secret = token(store, "ci", "editor")
            server.get("/api/v1/runs").problem(401)
            assert server.ask("POST", "/api/v1/runs?name=a.txt", b"main;f 1\n", **bearer(secret)).status == 200
            got = b""
            while part := stream.recv(65536):  # ends without the name of the new run
                got += part
            assert b"event: run" not in got


def test_what_changes_the_store_is_logged(run, tokens, server):
    before = len(audit(run.store))
    uploaded = server.ask("POST", "/api/v1/runs?name=up.txt", b"main;f;g 7\n", **bearer(tokens["editor"])).json()["runs"][0]["run_id"]
    server.ask("POST", "/api/v1/tag", json.dumps({"run": uploaded, "tags": ["k=a\n{\"time\":1}"]}), Content_Type="application/json", **bearer(tokens["admin"]))
    server.get(f"/api/v1/runs/{uploaded}", **bearer(tokens["viewer"]))
    server.ask("DELETE", f"/api/v1/runs/{uploaded}", **bearer(tokens["viewer"]))
    server.ask("DELETE", f"/api/v1/runs/{uploaded}", **bearer(tokens["editor"]))
    server.ask("DELETE", "/api/v1/runs/none%1b%5b31m", **bearer(tokens["editor"]))
    server.ask("DELETE", "/api/v1/runs/no-such-run", **bearer(tokens["editor"]))
    entries = audit(run.store)[before:]
    assert [(entry["actor"], entry["action"], entry["outcome"]) for entry in entries] == [
        ("token:editor-token", "import", "ok"), ("token:admin-token", "tag", "invalid_input"), ("token:viewer-token", "rm", "forbidden"),
        ("token:editor-token", "rm", "ok"), ("token:editor-token", "rm", "not_found")]
    assert "up.txt" in entries[0]["target"] and uploaded in entries[3]["target"] and all(entry["address"] == "127.0.0.1" for entry in entries)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", entry["time"]) for entry in entries)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", (run.store.folder / "audit.log").read_text())


@pytest.fixture(scope="module")
def certificate(module_folder):
    """(certificate, key) for localhost, made by openssl."""
    folder = module_folder / "tls"
    folder.mkdir(exist_ok=True)
    for name in ("server", "other"):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", folder / f"{name}.key", "-out",
                        folder / f"{name}.pem", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                       check=True, capture_output=True)
    return folder / "server.pem", folder / "server.key"


class TlsServer(Server):
    """A server that speaks TLS; its certificate is checked."""

    def __init__(self, store, certificate, *flags):
        self.context = ssl.create_default_context(cafile=certificate[0])
        super().__init__(store, "--tls-cert", certificate[0], "--tls-key", certificate[1], *flags)

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=LIMIT_S, context=self.context)
        try:
            connection.request(method, path, body=body, headers={name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return Reply(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
        finally:
            connection.close()

    def connect(self):
        return self.context.wrap_socket(super().connect(), server_hostname="localhost")


def test_tls(store, certificate):
    store.text("auth", "add-user", "ada", "--role", "editor", stdin=PASSWORD)
    with TlsServer(store, certificate) as server:
        assert server.url.startswith("https://")
        assert "max-age" in server.get("/healthz").headers["strict-transport-security"]
        session = login(server, "ada", PASSWORD)
        assert "; Secure" in session.headers["set-cookie"]
        headers = {"Cookie": cookie_of(session), "Origin": f"https://localhost:{server.port}"}
        data = b"main;f;g 7\n" * 300_000
        assert server.ask("POST", "/api/v1/runs?name=big.txt", data, **headers).status == 200
        server.ask("POST", "/api/v1/idle", "{}", Content_Type="application/json", Cookie=cookie_of(session), Origin=f"http://localhost:{server.port}").problem(403)
        # Requests one after the other, a refused body, and a stream, on connections that end as TLS should.
        reply = server.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /docs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert re.findall(rb"HTTP/1.1 (\d+)", reply) == [b"200", b"200"] and reply.endswith(b"</html>\n")
        server.ask("POST", "/api/v1/login", b"x" * (3 << 20), Content_Type="application/json").problem(413)
        with server.connect() as stream:
            stream.sendall(b"GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\nCookie: " + cookie_of(session).encode() + b"\r\n\r\n")
            stream.recv(100)
            assert server.ask("POST", "/api/v1/runs?name=small.txt", b"main;h 7\n", **headers).status == 200
            got = b""
            while b"event: run" not in got:
                got += stream.recv(65536)
        # Plain HTTP to the port gets no answer that could be taken for one.
        with Server.connect(server) as plain:
            plain.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert b"HTTP/1.1 200" not in plain.recv(65536)
        assert server.get("/healthz").status == 200


def test_a_renewed_certificate_is_used_without_a_restart(store, certificate, tmp_path):
    own = tmp_path / "server.pem", tmp_path / "server.key"
    for here, there in zip(certificate, own):
        shutil.copy(here, there)
    fresh = certificate[0].parent / "other.pem", certificate[0].parent / "other.key"
    store.text("auth", "add-user", "ada", "--role", "editor", stdin=PASSWORD)
    with TlsServer(store, own) as server:
        def presented():
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            with context.wrap_socket(Server.connect(server)) as connection:
                return ssl.DER_cert_to_PEM_cert(connection.getpeercert(binary_form=True))
        assert presented() == own[0].read_text()
        old = server.connect()
        # The certificate without its key does not fit: the old one stays.
        os.replace(shutil.copy(fresh[0], tmp_path / "new.pem"), own[0])
        wait_until(lambda: any("is not renewed" in line for line in server.said), "a note", server.process)
        assert presented() == certificate[0].read_text()
        os.replace(shutil.copy(fresh[1], tmp_path / "new.key"), own[1])
        wait_until(lambda: presented() == fresh[0].read_text(), "the new certificate", server.process)
        with old:  # a connection of before goes on
            old.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert b"HTTP/1.1 200" in old.recv(65536)


def test_an_editor_cancels_own_jobs_and_an_admin_all(run, tokens, server):
    endless = {"op": "query", "params": {"args": ["SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range * b.range = 7"]}}
    def begin(role):
        reply = server.ask("POST", "/api/v1/jobs", json.dumps(endless), Content_Type="application/json", **bearer(tokens[role]))
        assert reply.status == 202 and reply.json()["owner"] == f"token:{role}-token", reply.body
        return reply.json()["job_id"]
    of_editor, of_admin = begin("editor"), begin("admin")
    server.ask("POST", "/api/v1/jobs", json.dumps(endless), Content_Type="application/json", **bearer(tokens["viewer"])).problem(403)
    for method, path in (("DELETE", f"/api/v1/jobs/{of_admin}"), ("POST", f"/api/v1/jobs/{of_admin}/cancel")):
        refused = server.ask(method, path, **bearer(tokens["editor"])).problem(403)
        assert "belongs to token:admin-token" in refused["detail"] and refused["hint"] == "an admin may"
    assert server.get(f"/api/v1/jobs/{of_admin}", **bearer(tokens["viewer"])).json()["cancel_requested"] is False
    assert server.ask("DELETE", f"/api/v1/jobs/{of_editor}", **bearer(tokens["editor"])).status == 200
    assert server.ask("DELETE", f"/api/v1/jobs/{of_admin}", **bearer(tokens["admin"])).status == 200
    other = begin("editor")
    assert server.ask("DELETE", f"/api/v1/jobs/{other}", **bearer(tokens["admin"])).status == 200, "an admin cancels what others started"


def test_a_note_has_the_name_of_who_wrote_it(run, tokens, server):
    body = json.dumps({"run": run.id, "text": "from another desk"})
    reply = server.ask("POST", "/api/v1/note", body, Content_Type="application/json", **bearer(tokens["editor"]))
    assert reply.status == 200 and reply.json()["notes"][-1]["author"] == "editor-token", reply.body
    server.ask("POST", "/api/v1/note", body, Content_Type="application/json", **bearer(tokens["viewer"])).problem(403)


def test_old_tls_is_refused(store, certificate):
    with TlsServer(store, certificate) as server:
        for version, agreed in (("TLSv1_1", False), ("TLSv1_2", True), ("TLSv1_3", True)):
            context = ssl.create_default_context(cafile=certificate[0])
            context.set_ciphers("DEFAULT:@SECLEVEL=0")
            with pytest.warns(DeprecationWarning) if version == "TLSv1_1" else open(os.devnull):
                context.minimum_version = context.maximum_version = ssl.TLSVersion[version]
            try:
                with context.wrap_socket(Server.connect(server), server_hostname="localhost") as connection:
                    assert agreed and connection.version() == version.replace("_", ".")
            except (ssl.SSLError, ConnectionError):
                assert not agreed, version


@pytest.mark.parametrize("words, message", [
    (lambda c: ("--tls-cert", c[0]), "given together"),
    (lambda c: ("--tls-cert", c[0], "--tls-key", c[1].parent / "other.key"), "key values mismatch"),
    (lambda c: ("--tls-cert", c[1], "--tls-key", c[1]), "cannot use the certificate"),
    (lambda c: ("--tls-cert", c[0], "--tls-key", c[0]), "cannot use the private key"),
    (lambda c: ("--tls-cert", c[0].parent / "none.pem", "--tls-key", c[1]), "cannot read"),
])
def test_wrong_certificates_are_named(store, certificate, words, message):
    done = store.run("serve", "--listen", "127.0.0.1:0", *words(certificate))
    assert done.returncode in (2, 3) and message in done.stderr, done.stderr


def test_other_machines_need_tls_and_accounts(store, certificate):
    tls = ("--tls-cert", certificate[0], "--tls-key", certificate[1])
    for flags, message in (((), "without TLS"), (tls, "no user and no token"), (("--behind-proxy",), "no user and no token"), (("--proxy-auth",), "needs --behind-proxy")):
        done = store.run("serve", "--listen", "0.0.0.0:0", *flags)
        assert done.returncode == 2 and message in done.stderr, done.stderr
    done = store.run("serve", "--listen", "127.0.0.1:0", "--behind-proxy")
    assert done.returncode == 2 and "no user and no token" in done.stderr
    with Server(store, "--behind-proxy", "--proxy-auth") as server:
        assert server.get("/api/v1/runs", Host="any.example").status == 200
    secret = token(store, "ci", "viewer")
    assert "without TLS" in store.run("serve", "--listen", "0.0.0.0:0").stderr
    with TlsServer(store, certificate, "--allow-host", "GPU.example") as server:
        assert server.get("/api/v1/runs", Host="gpu.example:1", **bearer(secret)).status == 200
        server.get("/api/v1/runs", Host="evil.example", **bearer(secret)).problem(421)
        store.text("auth", "token-revoke", "ci")
        server.get("/api/v1/runs").problem(401)


def test_behind_a_proxy_the_client_is_who_the_proxy_saw(store):
    store.text("auth", "add-user", "ada", stdin=PASSWORD)
    with Server(store, "--behind-proxy") as server:
        reply = login(server, "ada", PASSWORD, X_Forwarded_For="6.6.6.6, 10.0.0.7")
        assert "; Secure" in reply.headers["set-cookie"]
        login(server, "ada", "wrong password", X_Forwarded_For="10.0.0.7\t, \"><script>")
    assert [entry["address"] for entry in audit(store) if entry["action"] == "login"] == ["10.0.0.7", "127.0.0.1"]


# The list of probes.

TRAVERSALS = ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd", "..%252f..%252fetc/passwd", "....//....//etc/passwd", "/etc/passwd",
              "%2fetc%2fpasswd", "..%5c..%5cetc%5cpasswd", "%c0%ae%c0%ae/etc/passwd", "file:%2f%2f%2fetc%2fpasswd", "auth.json", "..%2fauth.json", "%00/etc/passwd", "~root"]


def test_no_route_and_no_parameter_reads_a_path(server, run, tokens):
    described = server.get("/openapi.json", **bearer(tokens["admin"])).json()["paths"]
    secrets = (b"root:", b"argon2id", b'"digest"')
    for probe in TRAVERSALS:
        for path in (f"/{probe}", f"/docs/{probe}", f"/api/v1/{probe}", f"/api/v1/runs/{probe}", f"/api/v1/runs/{probe}/show", f"/api/v1/runs/{run.id}/{probe}"):
            reply = server.ask("GET", path, **bearer(tokens["admin"]))
            assert reply.status in (400, 404) and not any(s in reply.body for s in secrets), (path, reply.status, reply.body[:200])
    asked = 0
    for path, methods in described.items():
        for parameter in methods.get("get", {}).get("parameters", []):
            if parameter["in"] != "query" or "{" in path or parameter["schema"].get("type") not in ("string", "array"):
                continue
            for probe in ("..%2f..%2f..%2fetc%2fpasswd", "%2fetc%2fpasswd", urllib.parse.quote(str(run.store.folder / "auth.json"), safe="")):
                reply = server.get(f"{path}?{parameter['name']}={probe}", **bearer(tokens["admin"]))
                assert reply.status in (200, 400, 404, 422) and not any(s in reply.body for s in secrets), (path, parameter["name"], reply.body[:200])
                asked += 1
    assert asked > 60


def test_uploads_and_deletions_stay_in_the_store(server, run, tokens, tmp_path):
    editor = bearer(tokens["editor"])
    outside = sorted(path.name for path in run.store.folder.parent.iterdir())
    for name in ("../../evil.txt", "/etc/evil.txt", "..\\evil.txt", "%00evil.txt", "a" * 5000, ".", "..", "auth.json", "a\r\nSet-Cookie: x=y"):
        reply = server.ask("POST", f"/api/v1/runs?name={urllib.parse.quote(name)}", f"main;f {len(name)}\n".encode(), **editor)
        assert reply.status in (200, 400) and "set-cookie" not in reply.headers, (name, reply.body[:200])
        if reply.status == 200:
            server.ask("DELETE", f"/api/v1/runs/{reply.json()['runs'][0]['run_id']}", **editor)
    for target in ("..", "%2e%2e", "..%2fruns", "%2f", ".", "*", "%40all"):
        assert server.ask("DELETE", f"/api/v1/runs/{target}", **editor).status in (400, 404), target
    assert sorted(path.name for path in run.store.folder.parent.iterdir()) == outside
    assert (run.store.folder / "auth.json").exists() and len(run.store.json("ls")["runs"]) == 1


def test_headers_and_logs_take_no_lines_from_clients(run, tokens):
    with Server(run.store, "--access-log") as server:
        secret = tokens["editor"].encode()
        for head in (b"X: a\r\n folded", b"X: a\rSet-Cookie: b=c", b"X: a\nSet-Cookie: b=c", b"X: a\x00b", b"X\x1b[31m: b", b"Origin: http://a\x1b[31m",
                     b"X-Forwarded-For: 1.1.1.1\x1b[31m", b"Mcp-Session-Id: a\x1bb"):
            reply = server.raw(b"POST /api/v1/runs/x%0d%0aSet-Cookie:a=b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer " + secret + b"\r\n" + head + b"\r\n\r\n")
            assert re.match(rb"HTTP/1.1 4\d\d ", reply) and b"Set-Cookie" not in reply.split(b"\r\n\r\n")[0], (head, reply[:300])
            assert reply.count(b"HTTP/1.1 ") == 1 and b"\x1b" not in reply
        login(server, "x\n{\"time\":1}\x1b[31m\u202e", "wrong password")
        assert server.raw(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer \x1b[31m\r\n\r\n").count(b"HTTP/1.1 ") == 1
        _, error = server.stop()
    assert error.count("\n") >= 9 and not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", error), error
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", (run.store.folder / "audit.log").read_text())
    assert audit(run.store)[-1]["action"] == "login"
    assert tokens["editor"] not in error and tokens["editor"] not in (run.store.folder / "audit.log").read_text()


def test_requests_cannot_be_smuggled(server, tokens):
    inner = b"DELETE /api/v1/runs/@latest HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + tokens["editor"].encode() + b"\r\n\r\n"
    for head in (b"Content-Length: %d\r\nTransfer-Encoding: chunked" % (len(inner) + 5), b"Transfer-Encoding: chunked\r\nContent-Length: 4",
                 b"Content-Length: 0\r\nContent-Length: %d" % len(inner), b"Content-Length: 0, %d" % len(inner), b"Content-Length: +0", b"Content-Length: 0x0",
                 b"Transfer-Encoding: xchunked", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", b"Transfer-Encoding:\x0bchunked", b"Transfer-Encoding : chunked",
                 b"Content-Length : 0", b"X: y\r\n Transfer-Encoding: chunked\r\nContent-Length: -1", b"Transfer-Encoding: chunked, chunked"):
        reply = server.raw(b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" + head + b"\r\n\r\n0\r\n\r\n" + inner)
        assert re.match(rb"HTTP/1.1 4\d\d ", reply) and reply.count(b"HTTP/1.1 ") == 1, (head, reply[:300])
    for chunk in (b"-1\r\n", b"0x1\r\na\r\n", b"ffffffffffffffffff\r\n", b"1;a=\x00\r\na\r\n", b"2\r\nabc\r\n0\r\n\r\n", b"zz\r\n"):
        reply = server.raw(b"POST /api/v1/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk + b"0\r\n\r\n")
        assert re.match(rb"HTTP/1.1 4\d\d ", reply) and reply.count(b"HTTP/1.1 ") == 1, (chunk, reply[:300])
    assert server.get("/api/v1/runs", **bearer(tokens["viewer"])).json()["runs"], "a run was deleted"


def test_bodies_that_are_too_large_or_too_slow(run, tokens):
    with Server(run.store, "--client-seconds", "1", "--max-upload-mb", "1") as server:
        server.ask("POST", "/api/v1/login", b"x" * (2 << 20), Content_Type="application/json").problem(413)
        server.ask("POST", "/api/v1/runs", b"x" * 1_000_001, **bearer(tokens["editor"])).problem(413)
        for path in (b"/api/v1/login", b"/api/v1/runs"):
            head = b"POST " + path + b" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\nAuthorization: Bearer " + tokens["editor"].encode()
            assert b" 408 " in server.raw(head + b"\r\n\r\n{")[:20], path
        # Whoever is not let in does not get to send a body at all.
        reply = server.raw(b"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 900000\r\n\r\n")
        assert b" 401 " in reply[:20] and b"Connection: close" in reply


@pytest.mark.parametrize("sql", [
    "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM '/etc/passwd'", "COPY (SELECT 1) TO '/tmp/x.csv'", "ATTACH '/tmp/x.db'", "INSTALL httpfs", "LOAD httpfs",
    "SELECT * FROM read_text('%s')", "PRAGMA database_list; SELECT 1", "SET enable_external_access = true", "SELECT getenv('HOME')", "EXPORT DATABASE '/tmp/x'",
    "CREATE TABLE t AS SELECT 1", "SELECT * FROM glob('/*')", "SELECT * FROM read_json('http://169.254.169.254/')",
])
def test_sql_stays_behind_its_fence(server, run, tokens, sql):
    sql = sql.replace("%s", str(run.store.folder / "auth.json"))
    for reply in (server.get(f"/api/v1/query?args={urllib.parse.quote(sql)}", **bearer(tokens["admin"])),
                  server.ask("POST", "/api/v1/query", json.dumps({"args": ["@latest", sql]}), Content_Type="application/json", **bearer(tokens["admin"]))):
        assert reply.status in (400, 422) and b"root:" not in reply.body and b"argon2id" not in reply.body, reply.body[:300]


def test_names_of_uploads_are_never_markup(server, run, tokens, module_folder):
    names = [*HOSTILE_NAMES, "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "javascript:alert(1)"]
    trace = write_trace(module_folder / "x.json", [span(name, "kernel", i * 100, 50, 0, 7, device=0, stream=7) for i, name in enumerate(names)])
    viewer = bearer(tokens["viewer"])
    reply = server.ask("POST", f"/api/v1/runs?name={urllib.parse.quote('<script>alert(1)</script>.json')}&model={urllib.parse.quote('<img src=x>')}",
                       trace.read_bytes(), **bearer(tokens["editor"]))
    assert reply.status == 200, reply.body[:300]
    uploaded = reply.json()["runs"][0]["run_id"]
    for path in ("/api/v1/runs", f"/api/v1/runs/{uploaded}", f"/api/v1/runs/{uploaded}/kernels", "/api/v1/runs/<script>alert(1)<%2fscript>", "/<script>"):
        reply = server.get(path.replace("<", "%3C"), **viewer)
        assert reply.headers["content-type"] in ("application/json", "application/problem+json"), path
        assert reply.headers["x-content-type-options"] == "nosniff"
    for path in OPEN:
        policy = server.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "frame-ancestors 'none'" in policy and "*" not in policy
    page = server.get("/docs").body.decode()
    assert not re.search(r"<script(?![^>]*src=)|\son\w+=|style=", page), "inline code or style, which the policy refuses"
    server.ask("DELETE", f"/api/v1/runs/{uploaded}", **bearer(tokens["editor"]))


def test_other_names_for_this_host_are_refused(server, run, tokens):
    for host in ("evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "0x7f.1", "[::1", "", "localhost@evil.example", "evil.example:localhost"):
        reply = server.raw(f"GET /api/v1/runs HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {tokens['viewer']}\r\nConnection: close\r\n\r\n".encode())
        assert re.match(rb"HTTP/1.1 4(21|00) ", reply), (host, reply[:100])
    for path in ("/api/v1/login", "/api/v1/logout"):
        server.ask("POST", path, "{}", Content_Type="application/json", Origin="http://evil.example").problem(403)
        assert not any(name.startswith("access-control") for name in server.ask("OPTIONS", path, Origin="http://evil.example").headers)

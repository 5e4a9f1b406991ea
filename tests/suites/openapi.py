# SPDX-License-Identifier: Apache-2.0
"""Every answer of `neurolens serve` has the form that /openapi.json promises, as ajv sees it: every method of every path of the document, over runs of
several formats, and the problem documents. A path or method that nobody asks here is a failure."""
import json
import re
import subprocess
import urllib.parse

import pytest
from http_server import ARGUMENTS, CHANGES, Server
from neurolens_cli import H200, LIMIT_S, Store, wait_until

SAMPLE = [H200 / name for name in ("base.json.gz", "llama.nlc.gz", "llama_layer_details.csv.gz")]
OTHER = H200 / "compile.json.gz"
PIECE = "application/offset+octet-stream"
# Not JSON by nature: their own suites read them.
NOT_JSON = {("get", "/api/v1/events"), ("get", "/metrics"), ("get", "/docs"), ("get", "/")}


class Asked:
    """A server, and everything that it answered."""

    def __init__(self, server):
        self.server, self.answers = server, []
        self.document = server.get("/openapi.json").json()

    def __call__(self, method, template, path=None, body=None, **headers):
        reply = self.server.ask(method.upper(), path or template, body, **headers)
        kind = reply.headers.get("content-type") if reply.body else None
        self.answers.append({"name": f"{len(self.answers)} {method} {path or template} {reply.status}", "path": template, "method": method, "status": reply.status,
                             "type": kind, "value": reply.json() if reply.body and "json" in kind else None})
        return reply

    def send(self, method, template, document, path=None, **headers):
        return self(method, template, path, json.dumps(document), Content_Type="application/json", **headers)


def arguments_of(name, entry, run):
    names = {parameter["name"] for parameter in entry["parameters"]}
    given = ARGUMENTS.get(name) or {parameter: "@latest" for parameter in ("run", "target") if parameter in names}
    return json.loads(json.dumps(given).replace("@latest", run))


def query_of(arguments):
    return urllib.parse.urlencode([(key, str(part).lower() if isinstance(part, bool) else part) for key, value in arguments.items()
                                   for part in (value if isinstance(value, list) else [value])])


def ask_reading_operations(asked, run):
    for path, methods in asked.document["paths"].items():
        name = path.rsplit("/", 1)[1]
        if "get" not in methods or "post" not in methods or not re.fullmatch(r"/api/v1/[a-z-]+", path) or name in ("runs", "jobs"):
            continue
        arguments = arguments_of(name, methods["get"], run)
        asked("get", path, f"{path}?{query_of(arguments)}")
        asked.send("post", path, arguments)
        resource = "/api/v1/runs/{id}/" + name
        if resource in asked.document["paths"]:
            entry = asked.document["paths"][resource]["get"]
            names = {parameter["name"] for parameter in entry["parameters"]}
            rest = {key: value for key, value in arguments.items() if key in names and value != run}
            if name == "query":
                rest = {"args": arguments["args"][1:]}
            asked("get", resource, f"/api/v1/runs/{run}/{name}?{query_of(rest)}")


def ask_jobs(asked, run):
    job = asked.send("post", "/api/v1/jobs", {"op": "idle", "params": {"run": run}}).json()["job_id"]
    wait_until(lambda: asked.server.get(f"/api/v1/jobs/{job}").json()["state"] == "done", "the job", asked.server.process)
    asked("get", "/api/v1/jobs")
    asked("get", "/api/v1/jobs/{id}", f"/api/v1/jobs/{job}")
    asked("get", "/api/v1/jobs/{id}/result", f"/api/v1/jobs/{job}/result")
    asked("post", "/api/v1/jobs/{id}/cancel", f"/api/v1/jobs/{job}/cancel")
    asked("delete", "/api/v1/jobs/{id}", f"/api/v1/jobs/{job}")
    failed = asked.send("post", "/api/v1/jobs", {"op": "show", "params": {"run": "nothing"}}).json()["job_id"]
    wait_until(lambda: asked.server.get(f"/api/v1/jobs/{failed}").json()["state"] == "failed", "the job", asked.server.process)
    asked("get", "/api/v1/jobs/{id}", f"/api/v1/jobs/{failed}")
    asked("get", "/api/v1/jobs/{id}/result", f"/api/v1/jobs/{failed}/result")


def ask_uploads(asked):
    data = b"main;f;openapi 1\n"
    path = asked("post", "/api/v1/uploads", "/api/v1/uploads?name=a.txt", Upload_Length=str(len(data))).headers["location"]
    asked("get", "/api/v1/uploads/{id}", path)
    asked("patch", "/api/v1/uploads/{id}", path, data, Upload_Offset="0", Content_Type=PIECE)
    asked("patch", "/api/v1/uploads/{id}", path, data, Upload_Offset="0", Content_Type=PIECE)
    asked("post", "/api/v1/runs", f"/api/v1/runs?upload={path.rsplit('/', 1)[1]}&format=collapsed")
    growing = asked("post", "/api/v1/uploads", Upload_Defer_Length="1").headers["location"]
    asked("get", "/api/v1/uploads/{id}", growing)
    asked("delete", "/api/v1/uploads/{id}", growing)
    asked("post", "/api/v1/runs", "/api/v1/runs?name=bad", b"not a profile")
    recording = asked.send("post", "/api/v1/recordings", {"command": ["python3", "x.py"]}).json()["live_id"]
    asked.send("put", "/api/v1/recordings/{id}", {"kernels": 3}, path=f"/api/v1/recordings/{recording}")
    asked("delete", "/api/v1/recordings/{id}", f"/api/v1/recordings/{recording}")


def ask_the_rest(asked, run):
    for path in ("/api/v1/me", "/healthz", "/readyz", "/openapi.json", "/api/v1/runs"):
        asked("get", path)
    asked("get", "/api/v1/runs/{id}", f"/api/v1/runs/{run}")
    asked.send("post", "/api/v1/login", {"name": "ada", "password": "wrong"})
    asked.send("post", "/api/v1/login", {"name": "ada", "password": "correct horse"})
    asked("post", "/api/v1/logout")
    for method, template, path in (("get", "/api/v1/idle", "/api/v1/idle?limt=1"), ("get", "/api/v1/idle", "/api/v1/idle?run=nothing"),
                                   ("get", "/api/v1/runs/{id}", "/api/v1/runs/nothing"), ("get", "/api/v1/jobs/{id}", "/api/v1/jobs/0000"), ("post", "/api/v1/jobs", None)):
        assert asked(method, template, path).status >= 400
    for name, arguments in CHANGES.items():
        asked.send("post", f"/api/v1/{name}", arguments)
    asked("delete", "/api/v1/runs/{id}", "/api/v1/runs/@latest?force=true")


@pytest.fixture(scope="module")
def asked(module_folder):
    store = Store(module_folder / "store")
    runs = [store.add(path).id for path in SAMPLE]
    with Server(store, "--allow-root", module_folder) as server:
        everything = Asked(server)
        for run in runs:
            ask_reading_operations(everything, run)
        ask_jobs(everything, runs[0])
        ask_uploads(everything)
        judged = {"baseline": [runs[0]], "candidate": [store.add(OTHER).id], "allow_different": True}
        everything("get", "/api/v1/gate", f"/api/v1/gate?{query_of(judged)}")
        everything.send("post", "/api/v1/gate", judged)
        trace = module_folder / "named.txt"
        trace.write_text("main;f;named 1\n")
        everything.send("post", "/api/v1/import", {"paths": [str(trace)], "format": "collapsed"})
        everything.send("post", "/api/v1/import", {"paths": ["/etc/passwd"]})
        store.text("auth", "add-user", "ada", "--role", "editor", stdin="correct horse\n")
        everything.server = WithToken(server, store.json("auth", "token-add", "ci", "--role", "editor")["secret"])
        ask_the_rest(everything, runs[0])
    return everything


class WithToken:
    def __init__(self, server, token):
        self.server, self.process, self.token = server, server.process, token

    def ask(self, method, path, body=None, **headers):
        return self.server.ask(method, path, body, Authorization=f"Bearer {self.token}", **headers)


@pytest.fixture(scope="module")
def checked(ajv, asked):
    """What ajv prints about the document and every answer."""
    done = subprocess.run(["node", "openapi.mjs"], cwd=ajv, input=json.dumps({"document": asked.document, "answers": asked.answers}), capture_output=True, text=True, check=False,
                          timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr[-600:]
    return done.stdout.splitlines()


def test_every_answer_is_as_the_document_says(asked, checked):
    failed = [line for line in checked if not line.startswith("PASS ")]
    assert not failed, "\n".join(failed[:20])
    assert len(checked) > len(asked.answers) > 3 * 90


def test_every_method_of_every_path_was_asked_and_answered(asked):
    promised = {(method, path) for path, methods in asked.document["paths"].items() for method in methods} - NOT_JSON
    answered = {(answer["method"], answer["path"]) for answer in asked.answers if answer["status"] < 400}
    assert promised == answered, promised ^ answered


def test_an_answer_of_another_form_is_found(ajv, asked):
    """The check itself: a member too many, one too few, and another type are each an error."""
    good = next(answer for answer in asked.answers if answer["path"] == "/api/v1/version" and answer["status"] == 200)
    name = next(iter(good["value"]))
    wrong = [{**good, "name": "more", "value": {**good["value"], "x": 1}}, {**good, "name": "less", "value": {key: value for key, value in good["value"].items() if key != name}},
             {**good, "name": "type", "value": {**good["value"], name: {"x": 1}}}, {**good, "name": "status", "status": 299}, {**good, "name": "media", "type": "text/html"}]
    done = subprocess.run(["node", "openapi.mjs"], cwd=ajv, input=json.dumps({"document": asked.document, "answers": wrong}), capture_output=True, text=True, check=False, timeout=LIMIT_S)
    found = [line.split()[1].rstrip(":") for line in done.stdout.splitlines() if line.startswith("FAIL ")]
    assert found == ["more", "less", "type", "status", "media"], done.stdout[-1500:]

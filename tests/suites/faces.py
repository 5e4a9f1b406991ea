# SPDX-License-Identifier: Apache-2.0
"""The faces give the same reply for the same request: the command line, HTTP by GET and by POST, the TypeScript client, a job, MCP over stdio and over HTTP, for every
operation that a server offers: those that read over runs of several formats, those that change the store each on a store of its own. What each of them does with
wrong requests is in their own suites; src/cli/direct_call_test.cc calls the operations without any face."""
import json
import pathlib
import re
import shutil
import subprocess
import urllib.parse

import pytest
from conftest import npm_folder
from http_server import ARGUMENTS, CHANGES, VOLATILE, WORDS, Server, operations, words_of
from neurolens_cli import H200, LIMIT_S, ROOT, Store, wait_until

SAMPLE = [H200 / name for name in ("base.json.gz", "llama.nlc.gz", "llama_layer_details.csv.gz")]
EVERYTHING = 10_000_000  # tokens: nothing is cut and no number rounded
BEGIN = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "faces", "version": "1"}}


class Stdio:
    def __init__(self, store):
        self.process = subprocess.Popen(store.command("mcp", "--toolset", "all"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.number = 0
        self.ask("initialize", BEGIN)

    def ask(self, method, params):
        self.number += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("id") == self.number:
                return answer["result"]

    def end(self):
        self.process.stdin.close()
        assert self.process.wait() == 0
        self.process.stdout.close()


class OverHttp:
    def __init__(self, server):
        self.server, self.session, self.number = server, {}, 0
        self.ask("initialize", BEGIN)

    def ask(self, method, params):
        self.number += 1
        body = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        reply = self.server.ask("POST", "/mcp?toolset=all", body, Content_Type="application/json", Accept="application/json, text/event-stream", **self.session)
        assert reply.status == 200, reply.body[:300]
        if not self.session:
            self.session = {"Mcp_Session_Id": reply.headers["mcp-session-id"]}
        return reply.json()["result"]


class TypeScriptClient:
    """web/src/data/client.ts in Node."""

    def __init__(self, url, folder):
        web, module = npm_folder(ROOT / "web", "rolldown", "install", "--no-save"), folder / "client.mjs"
        subprocess.run(["node", web / "node_modules/rolldown/bin/cli.mjs", web / "src/data/client.ts", "--format", "esm", "--file", module],
                       capture_output=True, check=True, timeout=LIMIT_S)
        self.process = subprocess.Popen(["node", web / "test/ask.mjs", module, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, name, params):
        self.process.stdin.write(json.dumps({"name": name, "params": params}) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def end(self):
        self.process.stdin.close()
        assert self.process.wait() == 0
        self.process.stdout.close()


def as_javascript(value):
    """Numbers as JavaScript has them."""
    if isinstance(value, dict):
        return {name: as_javascript(part) for name, part in value.items()}
    if isinstance(value, list):
        return [as_javascript(part) for part in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.fixture(scope="module")
def store(module_folder):
    return Store(module_folder / "store")


@pytest.fixture(scope="module", params=SAMPLE, ids=[path.name for path in SAMPLE])
def run(request, store):
    return store.add(request.param)


@pytest.fixture(scope="module")
def server(store, run):
    with Server(store) as started:
        yield started


@pytest.fixture(scope="module")
def agents(store, server):
    stdio = Stdio(store)
    yield {"MCP over stdio": stdio, "MCP over HTTP": OverHttp(server)}
    stdio.end()


@pytest.fixture(scope="module")
def typescript(server, module_folder):
    client = TypeScriptClient(server.url, module_folder)
    yield client
    client.end()


def tools_of(agent):
    page = agent.ask("tools/list", {})
    while page:
        yield from (tool["name"] for tool in page["tools"])
        page = agent.ask("tools/list", {"cursor": page["nextCursor"]}) if "nextCursor" in page else None


def same(value):
    """Without what differs between two calls, and with whole floats as the numbers they are."""
    return json.loads(VOLATILE.sub('"volatile": 0', json.dumps(value, indent=2)))


def result_of_job(server, name, arguments):
    job = server.post("/api/v1/jobs", {"op": name, "params": arguments}).json()["job_id"]
    ended = wait_until(lambda: (found := server.get(f"/api/v1/jobs/{job}").json())["state"] not in ("queued", "running") and found, f"the job of {name}", server.process)
    assert ended["state"] == "done", ended
    return server.get(ended["result"]).json()


def test_every_face_gives_the_same_reply(server, typescript, agents, run):
    names = operations(server)
    listed = set(tools_of(agents["MCP over HTTP"]))
    asked = 0
    for name in names:
        arguments = json.loads(json.dumps(ARGUMENTS.get(name, {})).replace("@latest", run.id))
        for parameter in ("run", "target"):
            if not arguments and parameter in {p["name"] for p in names[name]["parameters"]}:
                arguments = {parameter: run.id}
        missing = [p["name"] for p in names[name]["parameters"] if p.get("required") and p["name"] not in arguments]
        assert not missing, f"{name} needs {missing}: say in http_server.ARGUMENTS what it is asked here"
        words = [word.replace("@latest", run.id) for word in WORDS.get(name, ())] or words_of(arguments, ("run", "target", "args", "what"))
        command = run.store.run(name, *words, "--json")
        fields = [(key, str(part).lower() if isinstance(part, bool) else part) for key, value in arguments.items()
                  for part in (value if isinstance(value, list) else [value])]
        http = server.get(f"/api/v1/{name}?{urllib.parse.urlencode(fields)}")
        tool = {"ls": "find_runs", "timeline-window": "timeline_window"}.get(name, name)
        assert tool in listed, name
        for face, agent in agents.items():
            answer = agent.ask("tools/call", {"name": tool, "arguments": {**arguments, "max_tokens": EVERYTHING}})
            if http.status != 200:
                error = json.loads(command.stdout)["error"]
                told = answer["_meta"]["neurolens/error"]
                assert answer["isError"] and (told["code"], told["message"]) == (error["code"], error["message"]), (face, name, told, error)
                continue
            assert not answer.get("isError"), (face, name, answer["content"][0]["text"][:300])
            assert same(answer["structuredContent"]) == same(json.loads(command.stdout)), (face, name)
        posted = server.post(f"/api/v1/{name}", arguments)
        assert posted.status == http.status, name
        typed = typescript.ask(name, arguments)
        if http.status != 200:
            assert (typed["problem"]["code"], typed["problem"]["detail"]) == (http.json()["code"], http.json()["detail"]), name
        else:
            assert as_javascript(same(typed["reply"])) == as_javascript(same(http.json())), name
            assert same(http.json()) == same(posted.json()) == same(json.loads(command.stdout)), name
            assert same(result_of_job(server, name, arguments)) == same(http.json()), name
        asked += 1
    assert asked == len(names) >= 30, (asked, len(names))
    assert {"system", "peaks", "predict", "notes", "live", "timeline-lanes", "timeline", "timeline-window", "timeline-find", "timeline-event", "timeline-totals"} <= set(names)


NEW = H200 / "compile.json.gz"
# What differs between two stores, or two moments.
OF_THE_STORE = re.compile(r'"(?:created_at|seconds|run_id|short_id|created_at_ns|stored_bytes)": (?:"[^"]*"|[0-9.e+-]+)')


class Face:
    """One way to ask for an operation, on a store of its own."""

    def __init__(self, store):
        self.store, self.server = store, None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.server:
            self.server.stop()
            self.server.__exit__()


class CommandLine(Face):
    def ask(self, name, arguments):
        return self.store.json(name, *words_of(arguments, ("run", "tags", "text", "action", "name", "runs")))

    def take(self, path):
        return self.store.json("import", path)


class Http(Face):
    def __init__(self, store):
        super().__init__(store)
        self.server = Server(store)

    def ask(self, name, arguments):
        return self.server.post(f"/api/v1/{name}", arguments).json()

    def take(self, path):
        return self.server.ask("POST", f"/api/v1/runs?name={path.name}", path.read_bytes()).json()


class Job(Http):
    def ask(self, name, arguments):
        return result_of_job(self.server, name, arguments)

    def take(self, path):
        return self.ask("import", {"upload": [self.upload(path)]})

    def upload(self, path):
        data = path.read_bytes()
        place = self.server.ask("POST", f"/api/v1/uploads?name={path.name}", Upload_Length=str(len(data))).headers["location"]
        assert self.server.ask("PATCH", place, data, Upload_Offset="0", Content_Type="application/offset+octet-stream").status == 204
        return place.rsplit("/", 1)[1]


class Agent(Face):
    def __init__(self, store):
        super().__init__(store)
        self.agent = Stdio(store)

    def ask(self, name, arguments):
        answer = self.agent.ask("tools/call", {"name": name, "arguments": {**arguments, "max_tokens": EVERYTHING}})
        assert not answer["isError"], answer["content"][0]["text"]
        return answer["structuredContent"]

    def take(self, path):
        return self.ask("import", {"paths": [str(path)]})

    def __exit__(self, *_):
        self.agent.end()


class AgentOverHttp(Job):
    def __init__(self, store):
        super().__init__(store)
        self.agent = OverHttp(self.server)

    ask = Agent.ask


def test_every_face_changes_the_store_in_the_same_way(module_folder):
    origin = Store(module_folder / "origin")
    origin.add(SAMPLE[0])
    with Server(origin) as server:
        described = server.get("/openapi.json").json()["paths"]
    writing = {path.rsplit("/", 1)[1] for path, methods in described.items() if re.fullmatch(r"/api/v1/[a-z-]+", path) and set(methods) == {"post"}}
    assert writing - {"uploads", "recordings", "login", "logout"} == set(CHANGES), "say in http_server.CHANGES what a new operation is asked"
    replies, left = {}, {}
    for face in (CommandLine, Http, Job, Agent, AgentOverHttp):
        store = Store(module_folder / face.__name__)
        shutil.copytree(origin.folder, store.folder)
        with face(store) as one:
            replies[face.__name__] = {name: OF_THE_STORE.sub('"x": 0', json.dumps(one.ask(name, arguments))) for name, arguments in CHANGES.items()}
            taken = one.take(NEW)
            for run in taken["runs"]:
                run["files"] = [pathlib.Path(name).name for name in run["files"]]
            replies[face.__name__]["import"] = OF_THE_STORE.sub('"x": 0', json.dumps(taken))
        left[face.__name__] = [(run["source_name"], run["tags"], run["content_sha256"]) for run in store.json("ls")["runs"]]
        assert store.json("doctor")["healthy"]
    expected = replies.pop("CommandLine")
    for face, found in replies.items():
        for name, reply in expected.items():
            assert json.loads(found[name]) == json.loads(reply), (face, name)
    assert all(one == left["CommandLine"] and len(one) == 1 for one in left.values()), left

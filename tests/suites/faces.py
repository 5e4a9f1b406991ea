# SPDX-License-Identifier: Apache-2.0
"""The four faces give the same reply for the same request: the command line, HTTP, MCP over stdio and MCP over HTTP, for every operation that
only reads, over runs of several formats. What each of them does with wrong requests is in their own suites."""
import json
import subprocess
import urllib.parse

import pytest
from http_server import ARGUMENTS, VOLATILE, WORDS, Server, operations, words_of
from neurolens_cli import H200, Store

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


def tools_of(agent):
    page = agent.ask("tools/list", {})
    while page:
        yield from (tool["name"] for tool in page["tools"])
        page = agent.ask("tools/list", {"cursor": page["nextCursor"]}) if "nextCursor" in page else None


def same(value):
    """Without what differs between two calls, and with whole floats as the numbers they are."""
    return json.loads(VOLATILE.sub('"volatile": 0', json.dumps(value, indent=2)))


def test_every_face_gives_the_same_reply(server, agents, run):
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
        if http.status == 200:
            assert same(http.json()) == same(json.loads(command.stdout)), name
        asked += 1
    assert asked == len(names) >= 30, (asked, len(names))
    assert {"system", "peaks", "predict", "notes", "live", "timeline-lanes", "timeline", "timeline-window", "timeline-find", "timeline-event", "timeline-totals"} <= set(names)

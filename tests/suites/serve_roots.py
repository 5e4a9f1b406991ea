# SPDX-License-Identifier: Apache-2.0
"""`neurolens serve --allow-root`: clients name files of the server below the allowed folders only, over HTTP, as jobs and over MCP. Links that lead
out of them are refused or left out, and the answer about a path outside is the same whether it exists or not."""
import json
import os
import shutil

import pytest
from http_server import Server
from neurolens_cli import H200, Store, wait_until

TRACE = H200 / "base.json.gz"
BEGIN = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "roots", "version": "1"}}


@pytest.fixture
def root(tmp_path):
    """An allowed folder with profiles, and links out of it."""
    root = tmp_path / "root"
    (root / "ranks").mkdir(parents=True)
    (tmp_path / "root-beside").mkdir()
    for path in (root / "trace.json.gz", tmp_path / "secret.json.gz", tmp_path / "root-beside/trace.json.gz"):
        shutil.copy(TRACE, path)
    for at, folder in enumerate((root / "ranks", tmp_path)):
        (folder / "stacks.folded").write_text(f"main;f{at} 7\n")
    (root / "link.json.gz").symlink_to(tmp_path / "secret.json.gz")
    (root / "up").symlink_to(tmp_path)
    (root / "ranks/out.folded").symlink_to(tmp_path / "stacks.folded")
    (root / "inside.json.gz").symlink_to("trace.json.gz")
    return root


def outside(root):
    base = root.parent
    return [base / "secret.json.gz", base / "nothing.json.gz", root / "../secret.json.gz", root / "link.json.gz", root / "up/secret.json.gz", root / "up/nothing.json.gz",
            base / "root-beside/trace.json.gz", "/etc/passwd", "/proc/self/environ", "trace.json.gz", "-", "", f"{root}/trace.json.gz\0", f"file://{root}/trace.json.gz"]


def test_files_below_a_root_are_imported_as_at_the_command_line(root, store):
    with Server(store, "--allow-root", root) as server:
        reply = server.post("/api/v1/import", {"paths": [str(root / "trace.json.gz")], "tag": ["by=path"], "model": "m"})
        assert reply.status == 200, reply.body
        (run,) = reply.json()["runs"]
        (local,) = Store(root.parent / "other").imports(root / "trace.json.gz")
        assert run["files"] == [str(root / "trace.json.gz")] and run["events"] == local["events"] and not run["duplicate"]
        assert store.json("show", run["run_id"])["run"]["tags"] == {"by": "path"}
        (same,) = server.post("/api/v1/import", {"paths": [str(root / "inside.json.gz")]}).json()["runs"]
        assert same["duplicate"] and same["run_id"] == run["run_id"]
        server.post("/api/v1/import", {"paths": [str(root / "nothing.json.gz")]}).problem(404)
        server.post("/api/v1/import", {"paths": [str(root / "trace.json.gz")], "out": "x"}).problem(400)
        server.get(f"/api/v1/import?paths={root}/trace.json.gz").problem(405)
        assert "/api/v1/import" in server.get("/openapi.json").json()["paths"]
    assert '"action":"import"' in (store.folder / "audit.log").read_text().replace(" ", "")


def test_what_leads_out_of_the_roots_is_forbidden(root, store):
    with Server(store, "--allow-root", root, "--allow-root", root / "ranks") as server:
        problems = [server.post("/api/v1/import", {"paths": [str(path)]}).problem(403) for path in outside(root)]
        assert {problem["code"] for problem in problems} == {"forbidden"} and all("upload" in problem["hint"] for problem in problems)
        # One path outside is enough, and nothing is imported.
        server.post("/api/v1/import", {"paths": [str(root / "trace.json.gz"), "/etc/passwd"]}).problem(403)
        there, missing = (server.post("/api/v1/import", {"paths": [str(root.parent / name)]}).problem(403) for name in ("secret.json.gz", "nothing.json.gz"))
        assert there["detail"].replace("secret", "nothing") == missing["detail"], "it shows whether a file exists"
        for op, params in (("analyze", {"target": str(root / "trace.json.gz")}), ("findings", {"run": "@latest", "rules": str(root / "x.yaml")})):
            assert server.post(f"/api/v1/{op}", params).status in (400, 404), "other operations name no files"
        assert server.get("/api/v1/runs").json()["runs"] == []


def test_links_in_a_folder_are_left_out_when_they_lead_out(root, store):
    with Server(store, "--allow-root", root) as server:
        reply = server.post("/api/v1/import", {"paths": [str(root / "ranks")]}).json()
        assert [run["files"] for run in reply["runs"]] == [[str(root / "ranks/stacks.folded")]]
        assert [(os.path.basename(one["path"]), "lead out" in one["reason"]) for one in reply["skipped"]] == [("out.folded", True)], reply["skipped"]


def test_without_roots_nobody_names_files(root, store):
    with Server(store) as server:
        problem = server.post("/api/v1/import", {"paths": [str(root / "trace.json.gz")]}).problem(404)
        assert "--allow-root" in problem["hint"]
        job = server.post("/api/v1/jobs", {"op": "import", "params": {"paths": [str(root / "trace.json.gz")]}}).problem(403)
        assert job["code"] == "forbidden" and "--allow-root" in job["hint"]
        assert "/api/v1/import" not in server.get("/openapi.json").json()["paths"]
    done = store.run("serve", "--listen", "127.0.0.1:0", "--allow-root", root / "nothing")
    assert done.returncode == 2 and "does not exist" in done.stderr
    done = store.run("serve", "--listen", "127.0.0.1:0", "--allow-root", root / "trace.json.gz")
    assert done.returncode == 2 and "not a folder" in done.stderr


def test_only_an_editor_imports(root, store):
    viewer, editor = (store.json("auth", "token-add", role, "--role", role)["secret"] for role in ("viewer", "editor"))
    body = json.dumps({"paths": [str(root / "trace.json.gz")]})
    with Server(store, "--allow-root", root) as server:
        def ask(token):
            return server.ask("POST", "/api/v1/import", body, Content_Type="application/json", **({"Authorization": f"Bearer {token}"} if token else {}))
        ask(None).problem(401)
        assert "editor" in ask(viewer).problem(403)["detail"]
        assert ask(editor).status == 200


def wait_for(server, job):
    return wait_until(lambda: (found := server.get(f"/api/v1/jobs/{job}").json())["state"] in ("done", "failed", "cancelled") and found, "the job", server.process)


def test_jobs_name_files_below_a_root(root, store):
    with Server(store, "--allow-root", root) as server:
        for path in outside(root):
            assert server.post("/api/v1/jobs", {"op": "import", "params": {"paths": [str(path)]}}).status in (400, 403), path
        server.post("/api/v1/jobs", {"op": "import", "params": {"paths": [str(root / "trace.json.gz")], "upload": ["x"]}}).problem(400)
        server.post("/api/v1/jobs", {"op": "import", "params": {"paths": str(root / "trace.json.gz")}}).problem(400)
        job = wait_for(server, server.post("/api/v1/jobs", {"op": "import", "params": {"paths": [str(root / "trace.json.gz")]}}).json()["job_id"])
        assert job["state"] == "done", job
        assert server.get(job["result"]).json()["runs"][0]["files"] == [str(root / "trace.json.gz")]


def test_a_job_is_judged_by_the_server_that_runs_it(root, store):
    """The file becomes a link between the request and the run; and the next server allows nothing."""
    endless = ["SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range * b.range = 7"]
    with Server(store, "--allow-root", root) as server:
        busy = server.post("/api/v1/jobs", {"op": "query", "params": {"args": endless}}).json()["job_id"]
        swapped = server.post("/api/v1/jobs", {"op": "import", "params": {"paths": [str(root / "trace.json.gz")]}}).json()["job_id"]
        kept = server.post("/api/v1/jobs", {"op": "import", "params": {"paths": [str(root / "ranks/stacks.folded")]}}).json()["job_id"]
        (root / "trace.json.gz").unlink()
        (root / "trace.json.gz").symlink_to(root.parent / "secret.json.gz")
        server.wait_for(1, "neurolens_jobs_running")
        server.kill()
    with Server(store) as server:
        server.ask("DELETE", f"/api/v1/jobs/{busy}")
        for job in (swapped, kept):
            found = wait_for(server, job)
            assert found["state"] == "failed" and found["error"]["code"] == "forbidden", found
        assert server.get("/api/v1/runs").json()["runs"] == []


class Agent:
    def __init__(self, server):
        self.server, self.session, self.number = server, {}, 0
        self.ask("initialize", BEGIN)

    def ask(self, method, params):
        self.number += 1
        body = json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        reply = self.server.ask("POST", "/mcp", body, Content_Type="application/json", Accept="application/json, text/event-stream", **self.session)
        self.session = self.session or {"Mcp_Session_Id": reply.headers["mcp-session-id"]}
        return reply.json()

    def call(self, name, **arguments):
        return self.ask("tools/call", {"name": name, "arguments": arguments})["result"]

    def tool(self, name):
        return next(tool for tool in self.ask("tools/list", {})["result"]["tools"] if tool["name"] == name)


def test_agents_over_http_name_files_below_a_root(root, store):
    with Server(store, "--allow-root", root) as server:
        agent = Agent(server)
        schema = agent.tool("import")["inputSchema"]
        assert {"paths", "upload"} <= set(schema["properties"]) and not {"paths", "upload"} & set(schema.get("required", []))
        for path in outside(root):
            answer = agent.call("import", paths=[str(path)])
            assert answer["isError"] and answer["_meta"]["neurolens/error"]["code"] == "forbidden", (path, answer)
        assert agent.call("import")["isError"] and server.get("/api/v1/runs").json()["runs"] == []
        refused = agent.call("job", action="start", job="import", params=json.dumps({"paths": ["/etc/passwd"]}))
        assert refused["_meta"]["neurolens/error"]["code"] == "forbidden", refused
        task = agent.ask("tools/call", {"name": "import", "arguments": {"paths": [str(root / "link.json.gz")]}, "task": {}})
        assert task["error"]["code"] == -32602, task
        answer = agent.call("import", paths=[str(root / "trace.json.gz")])
        assert not answer["isError"] and answer["structuredContent"]["runs"][0]["files"] == [str(root / "trace.json.gz")], answer
    with Server(store) as server:
        agent = Agent(server)
        assert "paths" not in agent.tool("import")["inputSchema"]["properties"]
        assert agent.call("import", paths=[str(root / "trace.json.gz")])["isError"]

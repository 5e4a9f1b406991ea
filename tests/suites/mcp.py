# SPDX-License-Identifier: Apache-2.0
"""`neurolens mcp`, and MCP over HTTP, as the official TypeScript client sees them: tools, answers, pages, errors, cancel, progress, resources, prompts."""
import json
import os
import pty
import re
import subprocess

import pytest

from neurolens_cli import BIN, H200, HOSTILE_NAMES, LIMIT_S, ROOT, SHARED, TESTS, Store, narrow, outcome, span, write_trace

pytestmark = [pytest.mark.xdist_group("mcp"), pytest.mark.slow_first(40)]
CHECKS, HTTP_CHECKS = (re.findall(r"^  async '([^']+)'", (TESTS / "mcp" / name).read_text(), re.M) for name in ("check.mjs", "check_http.mjs"))


@pytest.fixture(scope="module")
def store(module_folder):
    """The bundled runs, and one whose names are chosen to do harm."""
    store = Store(module_folder / "store", cwd=module_folder)
    events = []
    for i, name in enumerate([*HOSTILE_NAMES, "k" * 20_000] * 3):
        events += [span(name, "cpu_op", i * 100, 80, 1, 1, **{"External id": i + 1}),
                   span("cudaLaunchKernel", "cuda_runtime", i * 100 + 10, 5, 1, 1, correlation=i + 1, **{"External id": i + 1}),
                   span(name, "kernel", i * 100 + 20, 30 + i, 0, 7, device=0, stream=7, correlation=i + 1, **{"External id": i + 1})]
    store.imports(*sorted(H200.glob("*.gz")), write_trace(module_folder / "hostile.json", events))
    return store


@pytest.fixture(scope="module")
def checked(mcp_client, store):
    """What the client prints about every check."""
    command = ["node", "check.mjs", BIN, str(store.folder), str(H200 / "base.json.gz")]
    done = subprocess.run(command, cwd=mcp_client, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr[-400:]
    return done.stdout


@pytest.mark.parametrize("name", CHECKS)
def test_the_official_client_finds(name, checked):
    why = outcome(checked, name)
    assert why is None, why


@pytest.fixture(scope="module")
def checked_over_http(mcp_client, module_folder):
    """What the client prints about every check over HTTP."""
    store = Store(module_folder / "http-store")
    store.imports(H200 / "base.json.gz", H200 / "item_sync.json.gz")
    command = ["node", "check_http.mjs", BIN, str(store.folder), str(H200 / "rerun.json.gz")]
    done = subprocess.run(command, cwd=mcp_client, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 0, done.stderr[-400:]
    return done.stdout


@pytest.mark.parametrize("name", HTTP_CHECKS)
def test_the_official_client_finds_over_http(name, checked_over_http):
    why = outcome(checked_over_http, name)
    assert why is None, why


def test_the_list_of_tools_is_text_and_json(store):
    text = store.text("mcp", "--list")
    narrow(text)
    tools = store.json("mcp", "--list")["tools"]
    assert len(tools) <= 12 and all(tool["name"] in text for tool in tools)
    everything = {tool["operation"] for tool in store.json("mcp", "--list", "--toolset", "all")["tools"]}
    assert everything >= {tool["operation"] for tool in tools}
    assert not everything & {"mcp", "config", "serve", "call-tool"}
    assert {tool["name"] for tool in store.json("mcp", "--list")["tools"] if tool["runs_programs"]} == {"record", "prove"}
    assert not any(tool["runs_programs"] for tool in store.json("mcp", "--list", "--toolset", "all", "--no-programs")["tools"])


def test_an_agent_that_only_follows_suggestions_finds_every_planted_cause(mcp_client, own_home):
    """bench/agent; public traces are part of it where they are here (NEUROLENS_SHARED)."""
    done = subprocess.run(["node", ROOT / "bench/agent/follow.mjs", BIN, SHARED / "data"], capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 0, f"{done.stdout[-2000:]}{done.stderr[-400:]}"
    assert len(done.stdout.splitlines()) >= 22, done.stdout


def test_a_person_at_a_terminal_is_not_left_waiting(store):
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(BIN, store.command("mcp"))
    said = b""
    while b"--list" not in said:
        try:
            said += os.read(terminal, 4096)
        except OSError:  # the program has ended
            break
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 2 and b"stdin is a terminal" in said, said


def test_it_survives_what_is_not_a_message(store):
    lines = [b"\xff\xfe", b"[" * 100_000, b'{"jsonrpc":"2.0","id":1,"method":"' + b"x" * 1_000_000 + b'"}', b'"' + b"y" * 17_000_000,
             b'{"jsonrpc":"2.0","id":2,"method":"ping"}']
    done = store.run("mcp", stdin=b"\n".join(lines) + b"\n", text=False)
    assert done.returncode == 0, done.stderr[-300:]
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [a.get("error", {}).get("code") for a in answers] == [-32700, -32700, -32601, -32700, None]

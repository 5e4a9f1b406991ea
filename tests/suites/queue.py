# SPDX-License-Identifier: Apache-2.0
"""`neurolens queue` on one machine: one runner, entries kept byte for byte, order, limits, other GPU work, and a queue that survives kill -9 at any instant."""
import collections
import fcntl
import json
import os
import random
import re
import signal
import subprocess
import sys
import time

import pytest
from http_server import Server
from neurolens_cli import BUILD, H200, Store, error_of, narrow, wait_until
from queue_store import Queue

FAKE_NVML = BUILD / "capture_tests/libfake_nvml.so"
KILLS = 100


@pytest.fixture
def queue(tmp_path):
    return Queue(tmp_path)


@pytest.fixture
def gpu_queue(tmp_path):
    """A queue on a machine with a GPU whose processes are the lines of tmp_path/gpu."""
    (tmp_path / "gpu").write_text("")
    return Queue(tmp_path, NEUROLENS_NVML=str(FAKE_NVML), FAKE_NVML_PROCESSES=str(tmp_path / "gpu"))


def ended(process, status):
    out, err = process.communicate(timeout=600)
    assert process.returncode == status, (process.returncode, out, err)
    return err.decode()


def alive(pid):
    try:
        return open(f"/proc/{pid}/stat", encoding="utf-8").read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_entries_run_in_order_and_a_failure_stops_nothing(queue):
    first, bad, missing, last = (queue.shell("echo 1 >> order; echo said"), queue.shell("echo 2 >> order; exit 3"), queue.add("no-such-program", "x"),
                                 queue.shell("echo 4 >> order"))
    assert queue.work(status=1) == {"attempts": 4, "done": 2, "failed": 2, "cancelled": 0, "interrupted": 0, "queued_again": 0}
    assert (queue.base / "order").read_text() == "1\n2\n4\n"
    entries = queue.entries()
    assert [(entries[e]["state"], entries[e]["exit_status"]) for e in (first, bad, missing, last)] == [("done", 0), ("failed", 3), ("failed", 127), ("done", 0)]
    assert entries[missing]["reason"] == "no-such-program: command not found" and entries[missing]["duration_ms"] is None
    assert queue.text("queue", "log", first) == "said\n"
    lines = queue.log()
    assert [line.split()[1:3] for line in lines] == [[kind, e] for e in (first, bad, missing, last) for kind in ("START", "END")]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z END \S+ attempt=1 status=3 overlap=unknown duration_ms=[\d.]+ state=failed reason=\"exit status 3\"", lines[3])
    assert "NVML" in entries[first]["overlap_reason"] and entries[first]["overlap"] is None
    assert queue.json("doctor")["healthy"]


def test_failures_are_repeated_after_the_others_until_they_pass_or_the_limit(queue):
    flaky = queue.shell("echo x >> tries; test $(wc -l < tries) -ge 3")
    never = queue.shell("exit 1", "--max-attempts", "2")
    last = queue.shell("test $(wc -l < tries) -eq 1")
    totals = queue.work("--max-attempts", 5, status=1)
    assert (totals["done"], totals["failed"], totals["queued_again"]) == (2, 1, 3)
    entries = queue.entries()
    assert (entries[flaky]["attempts"], entries[flaky]["failures"], entries[flaky]["state"]) == (3, 2, "done")
    assert (entries[never]["attempts"], entries[never]["state"], entries[last]["state"]) == (2, "failed", "done")
    queue.text("queue", "retry")
    assert {e: v["state"] for e, v in queue.entries().items()} == {flaky: "done", never: "queued", last: "done"}


def test_commands_scripts_folder_and_environment_are_kept_byte_for_byte(queue, tmp_path):
    elsewhere = tmp_path / "it's\n here"
    elsewhere.mkdir()
    program = [sys.executable, "-c", "import os, sys; print(sys.argv[1:], os.getcwd(), [os.environb.get(n) for n in (b'NL_A', b'NL_TOKEN')])"]
    odd = [b"a\xff", b"'\"\\$x", b"", b"two\nlines"]
    queue.text("queue", "add", "--name", "odd", "--", *program, *[os.fsdecode(o) for o in odd], cwd=elsewhere, env={"NL_A": os.fsdecode(b"\xfe=\n"), "NL_TOKEN": "s3cret"})
    script = b"#!/bin/sh\ncat <<'END' | tee heredoc\n $HOME `x` \\\r\n\xff\nEND\nprintf '%s|' \"$@\"\nexit 0\n\0 bytes after the end"
    queue.text("queue", "add", "--name", "script", "--file", "-", "--", "a b", "c", stdin=script)
    (tmp_path / "plain.sh").write_text("echo $0 $1\necho two")
    queue.text("queue", "add", "--name", "plain", "--file", tmp_path / "plain.sh", "--", "arg")
    assert len(queue.entries()) == 3 and (queue.path / "entries" / queue.entry("script")["entry_id"] / "script").read_bytes() == script
    (tmp_path / "plain.sh").write_text("exit 9")  # what was added counts
    assert queue.work()["done"] == 3
    said = queue.text("queue", "log", "odd")
    values = [b"\xfe=\n", b"s3cret"]
    assert said == f"{[os.fsdecode(o) for o in odd]} {elsewhere} {values}\n"
    assert (tmp_path / "heredoc").read_bytes() == b" $HOME `x` \\\r\n\xff\n"
    assert queue.run("queue", "log", "script", text=False).stdout == b" $HOME `x` \\\r\n\xff\na b|c|"
    assert queue.text("queue", "log", "plain").endswith("arg\ntwo\n")
    shown = queue.json("queue", "ls", "odd")
    assert shown["environment"]["NL_TOKEN"] == "[not stored]" and shown["entries"][0]["working_folder"] == str(elsewhere)
    assert "s3cret" not in queue.text("queue", "ls", "odd") + (queue.path / "journal").read_text()
    assert queue.path.stat().st_mode & 0o077 == 0 and all(path.stat().st_mode & 0o077 == 0 for path in (queue.path / "entries").glob("*/[ces]*"))


def test_there_is_one_runner_per_machine_whatever_its_store(queue, tmp_path):
    queue.add("true")
    other = Store(tmp_path / "other", **queue.environment)
    runner = queue.start("--stay")
    wait_until(lambda: queue.progress().get("phase") == "idle", "the runner to be idle", runner)
    for store in (queue, other):
        error = error_of(store.run("queue", "run", "--json"))
        assert error["code"] == "limit" and f"(process {runner.pid})" in error["message"], error
    added = queue.add("true")
    assert queue.json("queue", "wait", added)["entries"][0]["state"] == "done"
    runner.kill()
    runner.wait()
    assert other.run("queue", "run").returncode == 0, "a runner that died holds no lock"
    assert "no runner works on this queue" in queue.text("queue", "ls")
    assert "no runner" in error_of(queue.run("queue", "wait", queue.add("true"), "--json"))["message"]


def test_cancel_and_retry_of_what_waits_and_what_runs(queue):
    stuck = queue.shell("trap '' TERM; echo $$ > pid; setsid sleep 600 & while :; do sleep 600; done")
    waiting = queue.shell("echo ran > waiting")
    runner = queue.start()
    wait_until(lambda: (queue.base / "pid").exists() and (queue.base / "pid").read_text(), "the entry to run", runner)
    queue.text("queue", "cancel", waiting)
    queue.text("queue", "cancel", stuck)
    ended(runner, 0)
    entries = queue.entries()
    assert entries[stuck]["state"] == entries[waiting]["state"] == "cancelled" and entries[waiting]["attempts"] == 0
    assert not alive(int((queue.base / "pid").read_text())) and not (queue.base / "waiting").exists()
    assert queue.entry(stuck)["exit_status"] == 128 + signal.SIGKILL
    queue.text("queue", "retry", waiting)
    assert error_of(queue.run("queue", "retry", waiting, "--json"))["code"] == "invalid_input"
    assert queue.work()["done"] == 1 and (queue.base / "waiting").exists()
    queue.text("queue", "wait", waiting)
    queue.text("queue", "wait", stuck, status=1)


def test_what_an_entry_leaves_running_is_ended_with_it(queue):
    queue.shell("sleep 600 & echo $! > left; setsid env -i sleep 600 & echo $! >> left; true")
    assert queue.work()["done"] == 1
    assert not any(alive(int(pid)) for pid in (queue.base / "left").read_text().split()[:1])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_leaves_the_queue_whole(queue, number):
    first, second = queue.shell("echo $$ >> pids; test -e go && exit 0; exec sleep 600"), queue.add("true")
    runner = queue.start()
    wait_until(lambda: (queue.base / "pids").exists() and (queue.base / "pids").read_text(), "the entry to run", runner)
    runner.send_signal(number)
    ended(runner, 128 + number)
    assert not alive(int((queue.base / "pids").read_text()))
    entries = queue.entries()
    assert [(e["state"], e["interruptions"]) for e in entries.values()] == [("queued", 0)] * 2 and entries[first]["reason"] == "the runner was stopped"
    (queue.base / "go").write_text("")
    assert queue.work()["done"] == 2 and queue.entry(first)["attempts"] == 2 and queue.entry(second)["attempts"] == 1
    kinds = [line.split()[1:4] for line in queue.log()]
    assert kinds == [["START", first, "attempt=1"], ["END", first, "attempt=1"], ["START", first, "attempt=2"], ["END", first, "attempt=2"],
                     ["START", second, "attempt=1"], ["END", second, "attempt=1"]]


def test_a_runner_that_died_gives_its_entry_back_by_the_entrys_policy(queue):
    """Its processes, which live on, are ended before anything starts."""
    again = queue.shell("echo $$ >> pids; test -e go || exec sleep 600")
    runner = queue.start()
    wait_until(lambda: (queue.base / "pids").exists() and (queue.base / "pids").read_text(), "the entry to run", runner)
    runner.kill()
    runner.wait()
    orphan = int((queue.base / "pids").read_text())
    assert alive(orphan) and queue.entry(again)["state"] == "running"
    (queue.base / "go").write_text("")
    assert queue.work()["done"] == 1
    assert not alive(orphan) and (queue.entry(again)["attempts"], queue.entry(again)["interruptions"]) == (2, 1)
    assert [line.split()[1:5] for line in queue.log()][1] == ["END", again, "attempt=1", "status=unknown"]
    (queue.base / "go").unlink()
    never = queue.shell("echo $$ > never; exec sleep 600", "--max-interruptions", "0")
    runner = queue.start()
    wait_until(lambda: (queue.base / "never").exists() and (queue.base / "never").read_text(), "the entry to run", runner)
    runner.kill()
    runner.wait()
    assert queue.work(status=1)["interrupted"] == 1 and queue.entry(never)["state"] == "interrupted"
    assert not alive(int((queue.base / "never").read_text()))


ENTRY = """exec 9>>"$1/running"
flock -n 9 || { echo "$NEUROLENS_QUEUE_ENTRY" >> "$1/clash"; exit 1; }
echo "start $NEUROLENS_QUEUE_ATTEMPT" >> "$1/events"
sleep 0.00$(($$ % 10))
echo "end $NEUROLENS_QUEUE_ATTEMPT" >> "$1/events"
"""


@pytest.mark.slow_first(3)
def test_kill_at_any_instant_loses_nothing_and_runs_nothing_twice_at_once(queue):
    """kill -9 of the runner, or of the runner and its entry, or of a command that adds, at random instants."""
    chance = random.Random(19)
    (queue.base / "entry.sh").write_text(ENTRY)
    known = set()

    def add():
        """An entry; the command may be killed, and counts when it has said so."""
        command = queue.command("queue", "add", "--max-interruptions", 100_000, "--no-gpu", "--file", queue.base / "entry.sh", "--json", "--", queue.base)
        process = subprocess.Popen(command, cwd=queue.base, env={**os.environ, **queue.environment}, stdout=subprocess.PIPE)
        if chance.random() < 0.3:
            time.sleep(chance.random() * 0.02)
            process.kill()
        said = process.communicate()[0]
        if process.returncode == 0:
            known.add(json.loads(said)["entries"][0]["entry_id"])

    lost = set()  # attempts that had lost their runner; one may be seen again when the next runner is killed before it took it up
    for _ in range(KILLS):
        runner = queue.start("--stay")
        for _ in range(3):
            add()
        time.sleep(chance.random() * 0.06)
        child = queue.progress().get("entry_pid")
        runner.kill()
        if child and chance.random() < 0.5:
            try:
                os.killpg(child, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has ended
        runner.communicate()
        entries = queue.entries()
        assert known <= set(entries), "an entry that was added is lost"
        running = [e for e in entries.values() if e["state"] == "running"]
        lost.update((e["entry_id"], e["attempts"]) for e in running)
        assert len(running) <= 1 and all(e["state"] in ("queued", "running", "done") for e in entries.values())
        for e in entries.values():
            # Whatever was done before stays done, and every attempt is accounted for.
            assert e["attempts"] == e["interruptions"] + (e["state"] in ("running", "done")), e
    queue.work()
    entries = queue.entries()
    assert known <= set(entries) and all(e["state"] == "done" and e["failures"] == 0 for e in entries.values())
    assert sum(e["interruptions"] for e in entries.values()) == len(lost) >= KILLS / 10
    assert not (queue.base / "clash").exists(), "two entries ran at the same time"
    lines = collections.Counter(tuple(line.split()[1:4]) for line in queue.log())
    assert lines == collections.Counter((kind, e["entry_id"], f"attempt={n}") for e in entries.values() for n in range(1, e["attempts"] + 1) for kind in ("START", "END"))
    events = collections.Counter((queue.base / "events").read_text().split("\n")[:-1])
    assert max(events.values()) == 1, "an attempt was started twice"
    assert all(events[f"end {e['entry_id']}:{e['attempts']}"] == 1 for e in entries.values()), "a done entry did not run to its end"
    assert not list((queue.path / "requests").glob("*.json"))


def looked_again(queue, runner):
    """Waits until the runner has looked at the GPU three times."""
    before = wait_until(queue.progress, "the progress", runner)["gpu_looks"]
    wait_until(lambda: queue.progress().get("gpu_looks", 0) >= before + 3, "looks at the GPU", runner)


def test_it_waits_for_other_gpu_work_and_says_for_whom(gpu_queue):
    queue = gpu_queue
    other = subprocess.Popen(["sleep", "600"])
    (queue.base / "gpu").write_text(f"{other.pid}\n")
    first = queue.shell("exit 0")
    runner = queue.start()
    shown = wait_until(lambda: queue.progress() if queue.progress().get("phase") == "waiting_for_gpu" else None, "the runner to wait", runner)
    assert shown["waiting_for"] == f"process {other.pid} (sleep)" and shown["remaining"] == 1 and shown["percent"] == 0
    assert shown["eta_s"] is None and shown["eta_reason"] == "no entry has ended yet"
    assert queue.json("queue", "ls")["runner"]["phase"] == "waiting_for_gpu"
    (queue.base / "gpu").write_text("")
    other.kill()
    other.wait()
    ended(runner, 0)
    entry = queue.entry(first)
    assert (entry["state"], entry["overlap"], entry["overlap_reason"]) == ("done", False, None) and " overlap=no " in queue.log()[1]


def test_an_entry_that_overlapped_is_repeated_at_most_twice(gpu_queue):
    queue = gpu_queue
    other = subprocess.Popen(["sleep", "600"])
    entry = queue.shell("echo $NEUROLENS_QUEUE_ATTEMPT > now; while ! test -e go; do sleep 0.01; done; rm go")
    runner = queue.start()
    seen = set()  # processes of the attempts: progress.json is about the last attempt until the next one is noted

    def overlap_seen():
        now = queue.progress()
        if not now.get("overlap_seen") or now["entry_pid"] in seen:
            return False
        seen.add(now["entry_pid"])
        return True

    for attempt in (1, 2, 3):
        wait_until(lambda n=attempt: (queue.base / "now").exists() and (queue.base / "now").read_text().endswith(f":{n}\n"), f"attempt {attempt}", runner)
        (queue.base / "gpu").write_text(f"{other.pid}\n")
        wait_until(overlap_seen, "the overlap to be seen", runner)
        (queue.base / "gpu").write_text("")
        (queue.base / "go").write_text("")
    ended(runner, 0)
    other.kill()
    other.wait()
    found = queue.entry(entry)
    assert (found["state"], found["attempts"], found["overlaps"], found["overlap"]) == ("done", 3, 2, True)
    assert found["overlap_reason"] == f"process {other.pid} (sleep) used a GPU"
    assert [line.split()[5] for line in queue.log() if " END " in line] == ["overlap=yes"] * 3


def test_the_entrys_own_processes_are_no_overlap_and_foreign_ids_are_not_known(gpu_queue):
    queue = gpu_queue
    own = queue.shell("setsid sh -c 'echo $$ > gpu; while ! test -e seen; do sleep 0.01; done; : > gpu'")
    runner = queue.start()
    wait_until(lambda: (queue.base / "gpu").read_text(), "the entry to use the GPU", runner)
    looked_again(queue, runner)
    assert not queue.progress()["overlap_seen"]
    (queue.base / "seen").write_text("")
    ended(runner, 0)
    assert queue.entry(own)["overlap"] is False
    # Ids of another container are not in our /proc.
    lost = queue.shell("echo 99999999 > gpu; while ! test -e done; do sleep 0.01; done; : > gpu")
    runner = queue.start()
    wait_until(lambda: (queue.base / "gpu").read_text(), "the entry to use the GPU", runner)
    looked_again(queue, runner)
    (queue.base / "done").write_text("")
    ended(runner, 0)
    assert queue.entry(lost)["overlap"] is None and "another container" in queue.entry(lost)["overlap_reason"]
    # Without --gpu nothing is watched and nothing waited for.
    (queue.base / "gpu").write_text(f"{os.getpid()}\n")
    free = queue.shell("exit 0", "--no-gpu")
    assert queue.work()["done"] == 1 and "--no-gpu" in queue.entry(free)["overlap_reason"]


def test_what_an_entry_recorded_gets_into_the_ledger(queue):
    trace = H200 / "base.json.gz"
    good = queue.add("cp", trace, "trace.json.gz", flags=["--import", "trace.json.gz"])
    bad = queue.shell("echo nothing > broken.json", "--import", "broken.json")
    assert queue.work()["done"] == 2
    (run,) = queue.entry(good)["run_ids"]
    assert [r["run_id"] for r in queue.json("ls")["runs"]] == [run]
    assert queue.entry(bad)["run_ids"] == [] and "broken.json" in queue.entry(bad)["import_problem"]


def test_damage_in_the_journal_is_reported_and_the_rest_is_used(queue):
    kept, harmed = queue.add("true"), queue.add("true")
    text = (queue.path / "journal").read_text().splitlines(keepends=True)
    (queue.path / "journal").write_text(text[0] + text[1].replace('"true"', '"True"') + '0123 {"entry":')
    reply = queue.json("queue", "run")
    assert reply["problem"].startswith("1 damaged records of the journal were left out; other GPU work is not watched: ") and reply["totals"]["done"] == 1
    assert set(queue.entries()) == {kept} and harmed not in queue.entries()


def test_it_is_not_offered_to_other_machines_nor_without_programs(queue):
    queue.text("import", H200 / "base.json.gz")
    with Server(queue) as server:
        assert server.post("/api/v1/queue", {"action": "add", "args": ["true"]}).status == 404
        assert "unknown operation" in server.post("/api/v1/jobs", {"op": "queue", "params": {"action": "run"}}).problem(404)["detail"]
        assert "/api/v1/queue" not in server.get("/openapi.json").json()["paths"]
    calls = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
             {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "queue", "arguments": {"action": "run"}}}]
    # Its input stays open until it has answered: at the end of the input it ends, whatever was asked.
    with subprocess.Popen(queue.command("mcp", "--toolset", "all", "--no-programs"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as agent:
        agent.stdin.write("".join(json.dumps(call) + "\n" for call in calls))
        agent.stdin.flush()
        answer = next(message for message in map(json.loads, agent.stdout) if message.get("id") == 2)
    assert "error" in answer or answer["result"].get("isError"), answer
    assert not queue.entries()


@pytest.mark.parametrize("words, message", [(["add"], "needs a command"), (["add", "--file", "none.sh"], "none.sh"), (["add", "--file", "-"], "empty"), (["cancel"], "needs an entry"),
                                            (["ls", "nothing"], "no such queue entry"), (["run", "x"], "takes no entry"), (["run", "--gpus", "1"], "--engine slurm"),
                                            (["ls", "--name", "x"], "belong to add"), (["wait", "--stay"], "belong to run"), (["log", "a", "b"], "one entry")])
def test_mistakes_get_a_reason(queue, words, message):
    done = queue.run("queue", *words, "--json")
    error = json.loads(done.stdout)["error"]
    assert done.returncode in (2, 3) and message in f"{error['message']} {error.get('file')}", done.stdout


def test_help_completion_and_narrow_text(queue):
    assert "neurolens queue add -- " in queue.text("queue", "--help")
    assert all("queue" in queue.text("completion", shell) for shell in ("bash", "zsh", "fish"))
    queue.add("echo", "x" * 300)
    narrow(queue.text("queue", "ls"))
    with open(queue.base / "runner.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert error_of(queue.run("queue", "run", "--json"))["code"] == "limit"
    assert [e["state"] for e in queue.json("queue", "ls", "--state", "queued")["entries"]] == ["queued"]
    assert queue.json("queue", "ls", "--offset", 1)["entries"] == []

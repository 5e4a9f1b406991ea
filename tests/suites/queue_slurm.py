# SPDX-License-Identifier: Apache-2.0
"""`neurolens queue run --engine slurm` against a real Slurm with two nodes on the loopback interface (tests/slurm_cluster.py)."""
import json
import os
import re
import signal
import subprocess

import pytest
import slurm_cluster
from neurolens_cli import H200, default_signals, error_of, wait_until
from queue_store import Queue

# One cluster for all cases, which use the jobs of one user: one worker.
pytestmark = [pytest.mark.xdist_group("slurm"), pytest.mark.slow_first(2)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    reason = slurm_cluster.missing()
    if reason:
        pytest.skip(reason)
    with slurm_cluster.Cluster(tmp_path_factory.mktemp("slurm")) as started:
        yield started


@pytest.fixture
def queue(cluster, tmp_path):
    made = Queue(tmp_path, **cluster.environment)
    yield made
    wait_until(lambda: not cluster.ask("squeue", "--noheader").strip(), "the jobs to end")


def work(queue, *flags, status=0):
    return queue.work("--engine", "slurm", *flags, status=status)


def background(queue, *flags):
    return queue.start("--engine", "slurm", *flags)


def test_entries_run_as_one_array_with_their_own_folder_environment_and_output(queue, cluster, tmp_path):
    elsewhere = tmp_path / "else where"
    elsewhere.mkdir()
    shown = 'pwd; echo "$NL_A|$1|$CUDA_VISIBLE_DEVICES|$SLURM_JOB_PARTITION|${NL_RUNNER-unset}|$SLURMD_NODENAME"'
    first = queue.add("sh", "-c", shown, "x", "it's \"odd\"\n$HOME", cwd=elsewhere, env={"NL_A": "a\nb", "CUDA_VISIBLE_DEVICES": "7"})
    bad = queue.shell("echo oops >&2; exit 3")
    script = queue.text("queue", "add", "--name", "script", "--file", "-", "--", "arg", stdin="#!/bin/sh\ncat <<E\n$1 here\nE\n")
    queue.environment["NL_RUNNER"] = "x"  # what the runner has, entries must not see
    totals = work(queue, "--gpus", 1, "--gpu-type", "fake", status=1)
    assert (totals["attempts"], totals["done"], totals["failed"]) == (3, 2, 1) and script
    entries = list(queue.entries().values())
    (batch,) = {e["slurm_batch"] for e in entries}
    assert [e["slurm_job"].split("_")[1] for e in entries] == ["0", "1", "2"] and len({e["slurm_job"].split("_")[0] for e in entries}) == 1
    assert all(e["engine"] == "slurm" and e["node"] and e["duration_ms"] >= 0 and "Slurm" in e["overlap_reason"] and e["overlap"] is None for e in entries)
    lines = queue.text("queue", "log", first).split("\n")
    assert lines[0] == str(elsewhere) and "\n".join(lines[1:4])[:-1] == "a\nb|it's \"odd\"\n$HOME|0|main|unset|n", lines
    assert (queue.entry(bad)["exit_status"], queue.entry(bad)["reason"], queue.text("queue", "log", bad)) == (3, "exit status 3", "oops\n")
    assert queue.text("queue", "log", "script") == "arg here\n"
    log = queue.log()
    assert sorted(line.split()[1] for line in log) == ["END"] * 3 + ["START"] * 3 and all("engine=slurm" in line for line in log if " START " in line)
    told = cluster.ask("scontrol", "show", "job", entries[0]["slurm_job"], "--oneliner")
    assert "Requeue=0" in told and "gres:gpu:fake:1" in told and f"JobName=neurolens-{batch}" in told


def test_options_of_the_cluster_reach_it_and_wrong_ones_leave_the_entries_queued(queue, cluster):
    entry = queue.add("true")
    error = error_of(queue.run("queue", "run", "--engine", "slurm", "--partition", "nowhere", "--json"))
    assert "sbatch failed" in error["message"] and "partition" in error["message"].lower()
    found = queue.entry(entry)
    assert (found["state"], found["attempts"], found["slurm_batch"]) == ("queued", 0, None)
    work(queue, "--exclusive", "--no-arrays", "--time-limit-min", 5, "--partition", "main", "--sbatch-option=--comment=seen")
    found = queue.entry(entry)
    told = cluster.ask("scontrol", "show", "job", found["slurm_job"], "--oneliner")
    assert re.fullmatch(r"\d+", found["slurm_job"]) and "OverSubscribe=NO" in told and "TimeLimit=00:05:00" in told and "Comment=seen" in told and "Partition=main" in told
    without = queue.json("queue", "run", "--engine", "slurm", status=2, env={"PATH": "/nonexistent"})
    assert "sbatch is not installed" in without["error"]["message"]


def test_two_nodes_work_at_the_same_time_and_waiting_entries_can_be_cancelled(queue):
    both = [queue.shell(f"echo $SLURMD_NODENAME > node{i}; while ! test -e go; do sleep 0.05; done") for i in (1, 2)]
    waiting = queue.shell("echo ran > waiting")
    runner = background(queue)
    wait_until(lambda: all((queue.base / f"node{i}").exists() for i in (1, 2)), "both nodes to work", runner)
    wait_until(lambda: [queue.entry(e)["state"] for e in both] == ["running"] * 2, "both to be seen", runner)
    assert queue.entry(waiting)["state"] == "submitted"
    assert {(queue.base / f"node{i}").read_text().strip() for i in (1, 2)} == {"n1", "n2"}
    queue.text("queue", "cancel", waiting)
    wait_until(lambda: queue.entry(waiting)["state"] == "cancelled", "the cancel", runner)
    (queue.base / "go").write_text("")
    runner.communicate()
    assert runner.returncode == 0 and [queue.entry(e)["state"] for e in both] == ["done"] * 2 and not (queue.base / "waiting").exists()


def test_a_running_job_is_cancelled_and_one_killed_by_slurm_failed(queue, cluster):
    mine, killed = (queue.shell(f"echo > started{i}; exec sleep 600") for i in (1, 2))
    runner = background(queue)
    wait_until(lambda: all((queue.base / f"started{i}").exists() for i in (1, 2)), "both to run", runner)
    wait_until(lambda: queue.entry(killed)["slurm_job"], "the job ids", runner)
    queue.text("queue", "cancel", mine)
    cluster.ask("scancel", queue.entry(killed)["slurm_job"])
    runner.communicate()
    assert runner.returncode == 1
    entry = queue.entry(killed)
    assert queue.entry(mine)["state"] == "cancelled" and entry["state"] == "failed" and entry["reason"] in ("Slurm ended the job: CANCELLED", "exit status 143"), entry


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_jobs_go_on_without_the_runner_and_the_next_one_takes_up_their_results(queue, number):
    entry = queue.shell("echo $$ >> starts; while ! test -e go; do sleep 0.05; done; echo finished")
    runner = background(queue)
    wait_until(lambda: (queue.base / "starts").exists() and queue.entry(entry)["state"] == "running", "the entry to run", runner)
    runner.send_signal(number)
    runner.communicate()
    (queue.base / "go").write_text("")
    wait_until(lambda: "finished" in queue.text("queue", "log", entry), "the job to end")
    # A local runner leaves it alone.
    assert queue.work()["attempts"] == 0 and queue.entry(entry)["state"] == "running"
    assert work(queue)["done"] == 1
    found = queue.entry(entry)
    assert (found["attempts"], found["interruptions"], found["exit_status"]) == (1, 0, 0) and len((queue.base / "starts").read_text().split()) == 1


def test_a_runner_killed_around_sbatch_submits_nothing_twice(queue, tmp_path):
    """sbatch waits until its runner has been killed, then submits; and once it is killed itself before it submitted."""
    programs = tmp_path / "bin"
    programs.mkdir()
    real = subprocess.run(["sh", "-c", "command -v sbatch"], capture_output=True, text=True, check=True).stdout.strip()
    for when, submits in (("after", True), ("never", False)):
        (programs / "sbatch").write_text(f"#!/bin/sh\necho $$ > '{tmp_path}/sbatch.{when}'\nwhile ! test -e '{tmp_path}/go.{when}'; do sleep 0.02; done\nexec {real if submits else 'false'} \"$@\"\n")
        (programs / "sbatch").chmod(0o755)
        entry = queue.shell(f"echo x >> ran.{when}")
        environment = {**os.environ, **queue.environment, "PATH": f"{programs}:{os.environ['PATH']}"}
        runner = subprocess.Popen(queue.command("queue", "run", "--engine", "slurm"), cwd=queue.cwd, env=environment, preexec_fn=default_signals)
        wait_until((tmp_path / f"sbatch.{when}").exists, "sbatch to be called", runner)
        runner.kill()
        runner.wait()
        found = queue.entry(entry)
        assert (found["state"], found["slurm_job"]) == ("submitted", None)
        second = background(queue)
        (tmp_path / f"go.{when}").write_text("")
        second.communicate()
        assert second.returncode == 0 and (queue.entry(entry)["state"], queue.entry(entry)["attempts"]) == ("done", 1)
        assert (queue.base / f"ran.{when}").read_text() == "x\n"


def test_failures_are_submitted_again_and_recordings_reach_the_ledger(queue):
    flaky = queue.shell("echo x >> tries; test $(wc -l < tries) -ge 2", "--max-attempts", "3")
    good = queue.add("cp", H200 / "base.json.gz", "trace.json.gz", flags=["--import", "trace.json.gz"])
    assert work(queue)["done"] == 2
    assert (queue.entry(flaky)["attempts"], queue.entry(flaky)["failures"]) == (2, 1)
    assert [r["run_id"] for r in queue.json("ls")["runs"]] == queue.entry(good)["run_ids"] and json.dumps(queue.entry(good)["import_problem"]) == "null"


def test_a_node_that_is_lost_gives_its_entry_back(queue, cluster):
    entry = queue.shell("echo $$ >> starts; test -e go || exec sleep 600")
    runner = background(queue)
    wait_until(lambda: queue.entry(entry)["state"] == "running", "the entry to run", runner)
    (queue.base / "go").write_text("")
    node = cluster.ask("squeue", "--noheader", "--format=%N").strip()
    cluster.ask("scontrol", "update", f"nodename={node}", "state=down", "reason=test")
    wait_until(lambda: queue.entry(entry)["interruptions"] == 1, "the loss to be seen", runner)
    cluster.ask("scontrol", "update", f"nodename={node}", "state=resume")
    runner.communicate()
    assert runner.returncode == 0 and (queue.entry(entry)["state"], queue.entry(entry)["attempts"]) == ("done", 2)

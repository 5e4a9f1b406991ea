# SPDX-License-Identifier: Apache-2.0
"""The limits of a query hold inside a single call too, because the query has a process of its own: time, memory, size of a cell.
Whatever ends that process, the program says so and leaves none behind."""
import json
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from neurolens_cli import BIN, LIMIT_S, SAMPLES, Store, default_signals, error_of, wait_until

LIMITS = ("--query-memory-mb", "256", "--timeout", "3")
# Far above what a query needs to be refused, far below what these took without a limit.
MOST_CPU_S, MOST_MEMORY_KB = 60, 1_500_000
ATTACKS = {
    "repeat": "SELECT length(repeat('x', 300000000) || repeat('y', 300000000)) FROM range(64)",
    "repeat_rows": "SELECT repeat('x', 300000000) FROM range(100)",
    "cross_join": "SELECT count(*) FROM range(100000000) a, range(100000000) b WHERE a.range * b.range = 7",
    "recursion": "WITH RECURSIVE t(n, s) AS (SELECT 1, 'x' UNION ALL SELECT n + 1, s || s FROM t) SELECT max(length(s)) FROM t",
    "list": "SELECT list_aggr(list_transform(range(200000000), x -> x * x), 'string_agg', ',')",
    "padding": "SELECT length(printf('%2000000000d', 1)), length(rpad('x', 2000000000, 'y'))",
}
# The program in a wrapper that reports what it and its children used.
MEASURE = """
import json, resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([done.returncode, done.stdout[:2000], done.stderr, used.ru_utime + used.ru_stime, used.ru_maxrss]))
"""


@pytest.fixture(scope="module")
def run(module_folder):
    return Store(module_folder / "store").add(SAMPLES / "kineto/h200_inference.json")


@pytest.mark.parametrize("name", ATTACKS)
def test_limits_hold(run, name):
    command = run.store.command("query", run.id, ATTACKS[name], *LIMITS)
    done = subprocess.run([sys.executable, "-c", MEASURE, *command], capture_output=True, text=True, check=True, timeout=LIMIT_S)
    status, out, error, cpu_s, memory_kb = json.loads(done.stdout)
    assert cpu_s < MOST_CPU_S and memory_kb < MOST_MEMORY_KB, f"{cpu_s:.1f} s and {memory_kb / 1e6:.1f} GB: {error}"
    assert status in (2, 3) and not out, f"status {status}: {out[:200]} {error[:300]}"
    assert "memory" in error or "stopped after" in error or "too large" in error.lower() or "larger" in error, error


def test_a_large_cell_is_cut_and_said_so(run):
    sql = "SELECT repeat('é', 2000000) AS long, 'short' AS short, range(1000000) AS list"
    reply = run.store.json("query", run.id, sql)
    (row,) = reply["rows"]
    assert reply["cut_cells"] == 2 and row[1] == "short"
    assert row[0] == "é" * (2**19) and len(row[2].encode()) == 2**20 and row[2].startswith("[0,1,2,")
    assert "2 cells cut to" in run.store.text("query", run.id, sql)[-200:]
    assert run.store.json("query", run.id, "SELECT 1 AS one")["cut_cells"] == 0
    for form in ("csv", "json"):
        assert "larger than" in error_of(run.store.run("query", run.id, sql, "--format", form, "--json"))["message"]
    out = run.store.folder.parent / "long.parquet"
    run.store.text("query", run.id, sql, "--format", "parquet", "--out", out)
    assert out.stat().st_size > 0


def test_large_results_arrive_whole(run):
    rows = run.values("SELECT range AS n, 'text ' || range AS t, CASE WHEN range % 3 = 0 THEN NULL ELSE range / 7 END AS f, "
                      "[range, range + 1] AS l, range::HUGEINT * 1000000000000000000000 AS h FROM range(50000)")
    assert len(rows) == 50000
    assert rows[12345] == [12345, "text 12345", None, "[12345,12346]", rows[12345][4]] and rows[1][2] == pytest.approx(1 / 7)


def children(pid):
    found = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            continue
        if int(fields[1]) == pid:
            found.append(int(stat.parent.name))
    return found


def gone(pid):
    return not pathlib.Path(f"/proc/{pid}").exists()


def busy(pid):
    """It has used some processor time, so the statement is running."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return False
    return int(fields[11]) + int(fields[12]) > 0.5 * os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_ends_the_query_process_too(run, number):
    command = run.store.command("query", run.id, ATTACKS["cross_join"], "--timeout", "3600")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=default_signals) as process:
        (child,) = wait_until(lambda: children(process.pid), "the query process", process)
        wait_until(lambda: busy(child), "the query to run", process)
        process.send_signal(number)
        process.communicate(timeout=LIMIT_S)
    assert process.returncode == (-9 if number == signal.SIGKILL else 128 + number)
    wait_until(lambda: gone(child), "the query process to end")


def test_a_killed_query_process_is_an_error(run):
    command = run.store.command("query", run.id, ATTACKS["cross_join"], "--timeout", "3600")
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=default_signals) as process:
        (child,) = wait_until(lambda: children(process.pid), "the query process", process)
        wait_until(lambda: busy(child), "the query to run", process)
        os.kill(child, signal.SIGSEGV)
        out, error = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 3 and not out and "the query process ended with signal 11" in error, error


def test_the_hidden_mode_answers_no_one_else():
    done = subprocess.run([BIN, "--internal-query-process"], input=b"not a request", capture_output=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 2 and not done.stdout

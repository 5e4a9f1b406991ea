# SPDX-License-Identifier: Apache-2.0
"""CPU samples of real programs: hot functions, waits, the GIL, children, and what is said where a permission is missing.

Machines differ in load: the programs run until the capture, which is read while it is written, has what a case waits for."""
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

import nlcap_writer
from neurolens_cli import LIMIT_S, PYTHON, RECORD, default_signals, wait_until
from nlcap_reader import Recording

PYTHONS = os.environ.get("NEUROLENS_TEST_PYTHONS", "").split(":") + [f"/usr/bin/python3.{m}" for m in range(9, 15)]
PYTHONS = [p for p in PYTHONS if p and os.path.exists(p)]
RUNNING, SLEEPING, QUEUED = 1, 2, 5
GIL_HOLDS, GIL_WAITS = 2, 3

# Both run until a file named stop is there.
C_PROGRAM = r"""
#include <pthread.h>
#include <unistd.h>
static volatile unsigned long sink;
__attribute__((noinline)) void hot_inner_loop(void) { for (int i = 0; i < 200000; ++i) sink += i * sink; }
__attribute__((noinline)) void hot_outer_call(void) { while (access("stop", F_OK) != 0) { hot_inner_loop(); sink++; } sink++; }
static void* sleeper(void* p) { for (;;) sleep(1); return p; }
int main(void) {
  pthread_t t; pthread_create(&t, 0, sleeper, 0);
  hot_outer_call(); return 0;
}
"""

PY_PROGRAM = """
import os, sys, threading, time
def python_hot(n):
    x = 0
    for i in range(n):
        x += i * i
    return x
def worker():
    while not os.path.exists("stop"):
        python_hot(5000)
def waits_quietly():
    while not os.path.exists("stop"):
        time.sleep(0.2)
threads = [threading.Thread(target=worker, name="second-worker"), threading.Thread(target=waits_quietly)]
for t in threads: t.start()
worker()
for t in threads: t.join()
"""


def record(folder, command, *options, before=(), until=None):
    """(capture, what the recorder said) of a program; with `until`, it is stopped once until(capture) holds or Python cannot be read."""
    out = str(folder / "x.nlcap")
    words = [*before, *RECORD, "--out", out, *options, "--", *command]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, cwd=folder,
                          preexec_fn=default_signals) as process:
        try:
            if until:
                wait_until(lambda: unreadable(capture := Recording(out)) or until(capture), "the samples", process)
        finally:
            (folder / "stop").touch()
            _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, f"status {process.returncode}: {said[-400:]}"
    capture = Recording(out)
    if until and unreadable(capture):
        pytest.skip("; ".join(unreadable(capture)))
    return capture, said


def unreadable(capture):
    return [m for m in capture.messages if "Python stacks of" in m]


def weight_ms(capture, name, **wanted):
    """Time of the samples with a frame of this name, in ms."""
    return sum(s["weight_ns"] for s in capture.samples
               if any(n.split(".")[-1] == name for n in capture.names(s)) and all(s[k] == v for k, v in wanted.items())) / 1e6


def has_native(capture):
    return not any("native stacks are not recorded" in m for m in capture.messages)


def test_hot_functions_of_a_c_program_are_found(tmp_path):
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    source, program = tmp_path / "hot.c", str(tmp_path / "hot")
    source.write_text(C_PROGRAM)
    subprocess.run(["cc", "-O1", "-fno-omit-frame-pointer", "-pthread", str(source), "-o", program], check=True, timeout=LIMIT_S)

    def slept_ms(capture):
        return sum(s["weight_ns"] for s in capture.samples if s["state"] == SLEEPING and "sleep" in capture.names(s)) / 1e6

    def ran_ms(capture):
        return sum(s["weight_ns"] for s in capture.samples if s["state"] == RUNNING) / 1e6
    # Native names are written at the end.
    capture, _ = record(tmp_path, [program], until=lambda c: c.samples and not has_native(c) or slept_ms(c) > 300 and ran_ms(c) > 300)
    if not has_native(capture):
        pytest.skip("perf events are not allowed here: " + " ".join(capture.messages))
    hot = weight_ms(capture, "hot_inner_loop", state=RUNNING)
    assert hot > 0.5 * ran_ms(capture), f"{hot} ms of {ran_ms(capture)} ms running in the hot function"
    chains = [capture.names(s) for s in capture.samples]
    # A leaf function may have no frame of its own, which hides its caller, not the caller's.
    assert any("main" in c and "hot_inner_loop" in c and c.index("main") < c.index("hot_inner_loop") for c in chains), (
        "no stack has the caller before the called")
    assert len({s["tid"] for s in capture.samples}) >= 2, "only one thread was sampled"


needs_python = pytest.mark.skipif(not PYTHONS, reason="no CPython 3.9 to 3.14 here")


@pytest.mark.parametrize("python", PYTHONS or [pytest.param(None, marks=needs_python)], ids=[pathlib.Path(p).name for p in PYTHONS] or ["none"])
def test_python_functions_waits_and_the_gil_are_told_apart(python, tmp_path):
    def enough(capture):
        return (weight_ms(capture, "python_hot", gil=GIL_HOLDS) > 100 and weight_ms(capture, "python_hot", gil=GIL_WAITS) > 50 and
                weight_ms(capture, "waits_quietly", state=SLEEPING) > 300)
    capture, _ = record(tmp_path, [python, "-c", PY_PROGRAM], until=enough)
    frame = next(f for f in capture.frames.values() if f["name"].endswith("python_hot"))
    assert frame["file"] == "<string>" and 3 <= frame["line"] <= 7, f"{frame}"


@needs_python
def test_children_are_sampled_too(tmp_path):
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {PY_PROGRAM!r}], check=True)"
    capture, _ = record(tmp_path, [PYTHONS[-1], "-c", code], until=lambda c: weight_ms(c, "python_hot") > 100)
    hot = {s["pid"] for s in capture.samples if any(n.split(".")[-1] == "python_hot" for n in capture.names(s))}
    assert hot and capture.root()["pid"] not in hot, f"hot samples in {hot}, the program is {capture.root()['pid']}"


@needs_python
def test_python_stacks_can_be_switched_off(tmp_path):
    capture, _ = record(tmp_path, [PYTHONS[-1], "-c", PY_PROGRAM], "--no-python", until=lambda c: len(c.samples) > 20)
    assert not any(f["kind"] == 2 for f in capture.frames.values()), "Python frames without being asked for"


@needs_python
def test_native_stacks_can_be_switched_off(tmp_path):
    capture, _ = record(tmp_path, [PYTHONS[-1], "-c", PY_PROGRAM], "--no-cpu", until=lambda c: weight_ms(c, "python_hot") > 300)
    frames = lambda sample: [capture.frames[i] for i in capture.stacks.get(sample["stack"], ())]
    assert not any(f["kind"] == 1 for s in capture.samples if s["state"] == RUNNING for f in frames(s)), "native frames of running threads without being asked for"
    assert all(any(f["kind"] == 2 for f in frames(s)) for s in capture.samples), "a thread that is not Python's was sampled"
    assert not capture.losses, f"lost: {capture.losses}"


def test_nothing_is_sampled_when_both_are_switched_off(tmp_path):
    code = """
import subprocess
for _ in range(10 ** 6): pass
child = subprocess.Popen(['sleep', '600'])
open('started', 'w').close()
import os, time
while not os.path.exists('stop'): time.sleep(0.05)
child.kill()
"""
    def follows(capture):
        return any(p["executable"].endswith(("sleep", "coreutils", "busybox")) for p in capture.processes)
    capture, said = record(tmp_path, [PYTHON, "-c", code], "--no-cpu", "--no-python", until=follows)
    assert not capture.samples and not capture.stacks, f"{len(capture.samples)} samples without being asked for"
    assert not capture.losses, f"{capture.losses} lost of what nobody asked for"
    assert " 0 CPU samples" in said and "0 lost" in said, said


@needs_python
def test_nothing_is_sampled_outside_the_window(tmp_path):
    """The program goes from one part to the next when a sample of the part, or a time in which there could be many, has been seen."""
    code = """
import os, neurolens
def python_hot():
    x = 0
    for i in range(5000): x += i * i
def before():
    for _ in range(2000): python_hot()
def within():
    while not os.path.exists("stop"): python_hot()
def after():
    for _ in range(2000): python_hot()
before(); neurolens.start(); within(); neurolens.stop(); after()
"""
    capture, _ = record(tmp_path, [PYTHONS[-1], "-c", code], "--capture-range", "api", until=lambda c: weight_ms(c, "within") > 300)
    on, off = [w["time_ns"] for w in capture.windows if w["on"]][0], capture.windows[-1]["time_ns"]
    outside = [s for s in capture.samples if not on <= s["time_ns"] <= off]
    assert not outside, f"{len(outside)} of {len(capture.samples)} samples outside {on} to {off}: {outside[:2]}"
    assert weight_ms(capture, "before") == 0, "sampled before the window"


def test_a_missing_permission_is_said_and_the_program_runs(tmp_path):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv")
    try:
        paranoid = int(pathlib.Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    except OSError:
        pytest.skip("no perf_event_paranoid")
    if paranoid < 2:
        pytest.skip(f"perf_event_paranoid is {paranoid}: nothing is missing")
    lower = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to other users
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        if subprocess.run([*lower, RECORD[0], "--version"], capture_output=True, check=False, timeout=LIMIT_S, cwd=folder).returncode:
            pytest.skip("the program cannot be run by another user here")
        capture, said = record(folder, ["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"], before=lower)
    assert "perf_event_paranoid" in said or "native stacks are not recorded" in said, f"nothing is said: {said}"
    assert capture.whole, "the capture is not whole"


def test_samples_lie_inside_the_run(tmp_path):
    command = ["sh", "-c", "while [ ! -e stop ]; do sleep 0.05; done"]
    capture, _ = record(tmp_path, command, until=lambda c: len(c.samples) > 3 or not has_native(c))
    root = capture.root()
    late = [s for s in capture.samples if not root["start_ns"] <= s["time_ns"] <= root["end_ns"]]
    assert not late, f"samples off the clock: {late[:3]} of {root}"
    assert all(s["weight_ns"] > 0 for s in capture.samples), "a sample stands for no time"


SAMPLES_ALONE = """file pid=10 monotonic_ns=1000
process pid=10 start_ns=0 executable="/bin/app"
thread pid=10 tid=10 name="main"
frame id=1 kind=1 name="main"
stack id=1 frames=1
cpu_sample time_ns=5000000 weight_ns=5000000 pid=10 tid=10 stack=1
cpu_sample time_ns=40000000 weight_ns=2000000 pid=10 tid=10 stack=1
"""


def test_cpu_samples_alone_have_a_wall(store, tmp_path):
    def written(name, text):
        (data,) = nlcap_writer.files_of(text)
        (tmp_path / name).write_bytes(data)
        return tmp_path / name
    run = store.add(written("trace.nlcap", SAMPLES_ALONE)).reply
    assert run["tables"]["cpu_sample"] == 2
    expected_ms = 37.0  # from the start of the first to the end of the last
    assert run["wall_ms"] == pytest.approx(expected_ms)
    shown = store.json("show", "@latest")
    assert shown["run"]["wall_ns"] == expected_ms * 1e6
    assert shown["document"]["summary"]["total_duration_ms"] == pytest.approx(expected_ms)
    assert store.json("summary", "@latest")["wall_ms"] == pytest.approx(expected_ms)
    assert store.json("ls")["runs"][0]["wall_ns"] == expected_ms * 1e6
    analysis = store.json("analyze", "@latest")
    assert f"{expected_ms:.1f} ms" in store.text("analyze", "@latest"), analysis
    for question in (["overlap", "@latest"], ["critical-path", "@latest"], ["idle", "@latest"]):
        store.json(*question)
    store.add(written("again.nlcap", SAMPLES_ALONE.replace("weight_ns=2000000", "weight_ns=3000000")))
    store.json("compare", run["run_id"], "@latest")


def explained(store, capture):
    """(run, its summary) of a capture."""
    run = store.add(capture)
    return run, run.ask("summary")


def hottest(samples, language):
    return next(f for f in samples["functions"] if f["language"] == language)


@needs_python
def test_a_python_program_names_its_functions_threads_and_waits(store, tmp_path):
    def enough(capture):
        return weight_ms(capture, "python_hot", gil=GIL_HOLDS) > 300 and weight_ms(capture, "python_hot", gil=GIL_WAITS) > 100
    (tmp_path / "prog.py").write_text(PY_PROGRAM)
    record(tmp_path, [PYTHONS[-1], "prog.py"], until=enough)
    run, summary = explained(store, tmp_path / "x.nlcap")
    samples = summary["samples"]
    hot = hottest(samples, "python")
    assert hot["name"].endswith("python_hot") and hot["file"] == "prog.py" and 3 <= hot["line"] <= 7, hot
    assert hot["self_share"] > 0.5 and hot["total_ms"] <= samples["running_ms"] + 1e-6, hot
    worker = next(f for f in samples["functions"] if f["name"].endswith("worker"))
    assert worker["total_share"] >= hot["total_share"] * 0.9 and worker["self_share"] < 0.5, worker
    # The recorder's own thread is not the program's.
    assert not any(t["name"].startswith("neurolens") for t in samples["threads"]), samples["threads"]
    assert len([t for t in samples["threads"] if t["gil_held_ms"]]) >= 2, samples["threads"]
    assert samples["gil_wait_ms"] > 0 and "python_hot" in samples["gil_holder"], samples["gil_holder"]
    assert any(w["what"] == "the GIL" for w in samples["waits"]), samples["waits"]
    time = samples["time"]
    parts = time["python_ms"] + time["native_ms"] + time["system_ms"] + time["unsampled_ms"] + sum(w["ms"] for w in time["waits"])
    assert parts == pytest.approx(summary["wall_ms"], rel=1e-6), (parts, summary["wall_ms"])
    life = run.values("SELECT dur_ns FROM thread_life WHERE dur_ns IS NOT NULL")
    assert len(life) == 1 and summary["wall_ms"] >= life[0][0] / 1e6, "the wall is shorter than the program"
    said = store.text("analyze", run.id)
    assert "Nothing recorded" not in said and "python_hot" in said and "prog.py:" in said, said
    assert any(f["rule"] == "gil_contention" for f in run.ask("findings")["findings"]), run.ask("findings")["findings"]
    for line in (store.text("summary", run.id) + said).splitlines():
        assert len(line) <= 80, line


def test_a_c_program_names_its_functions_and_the_report_has_them(store, tmp_path):
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    (tmp_path / "hot.c").write_text(C_PROGRAM)
    subprocess.run(["cc", "-O1", "-fno-omit-frame-pointer", "-pthread", str(tmp_path / "hot.c"), "-o", str(tmp_path / "hot")], check=True, timeout=LIMIT_S)

    def ran_ms(capture):
        return sum(s["weight_ns"] for s in capture.samples if s["state"] == RUNNING) / 1e6
    capture, _ = record(tmp_path, [str(tmp_path / "hot")], until=lambda c: c.samples and not has_native(c) or ran_ms(c) > 300)
    if not has_native(capture):
        pytest.skip("perf events are not allowed here: " + " ".join(capture.messages))
    run, summary = explained(store, tmp_path / "x.nlcap")
    hot = hottest(summary["samples"], "native")
    assert (hot["name"], hot["file"]) == ("hot_inner_loop", "hot") and hot["self_share"] > 0.5, hot
    (finding,) = [f for f in run.ask("findings")["findings"] if f["rule"] == "cpu_hot_function"]
    assert "hot_inner_loop (hot)" in finding["message"], finding["message"]
    store.text("report", run.id, "--md", tmp_path / "report.md")
    text = (tmp_path / "report.md").read_text()
    assert "## CPU samples" in text and "hot\\_inner\\_loop" in text, text[:2000]


def test_native_functions_have_lines_where_the_program_has_debug_information(store, tmp_path):
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    (tmp_path / "hot.c").write_text(C_PROGRAM)
    subprocess.run(["cc", "-g", "-O1", "-fno-omit-frame-pointer", "-pthread", str(tmp_path / "hot.c"), "-o", str(tmp_path / "hot")], check=True,
                   timeout=LIMIT_S)
    capture, _ = record(tmp_path, [str(tmp_path / "hot")], until=lambda c: c.samples and (not has_native(c) or len(c.samples) > 50))
    if not has_native(capture):
        pytest.skip("perf events are not allowed here: " + " ".join(capture.messages))
    run, summary = explained(store, tmp_path / "x.nlcap")
    hot = hottest(summary["samples"], "native")
    line_of_the_loop = next(n for n, text in enumerate(C_PROGRAM.splitlines(), 1) if "void hot_inner_loop" in text)
    assert (hot["name"], hot["file"], hot["line"]) == ("hot_inner_loop", "hot.c", line_of_the_loop), hot
    assert f"hot_inner_loop (hot.c:{line_of_the_loop})" in store.text("analyze", run.id)


def test_two_that_share_one_core_wait_for_it(store, tmp_path):
    if not PYTHONS:
        pytest.skip("no CPython 3.9 to 3.14 here")
    core = min(os.sched_getaffinity(0))
    (tmp_path / "two.py").write_text(
        f"import os\nos.sched_setaffinity(0, {{{core}}})\nchild = os.fork()\ndef spin():\n    while not os.path.exists('stop'):\n        sum(range(1000))\nspin()\n")
    capture, _ = record(tmp_path, [PYTHONS[-1], "two.py"], until=lambda c: c.samples and (not has_native(c) or weight_ms(c, "spin", state=QUEUED) > 1000))
    if not has_native(capture):
        pytest.skip("perf events are not allowed here: " + " ".join(capture.messages))
    run, summary = explained(store, tmp_path / "x.nlcap")
    wait = next(w for w in summary["samples"]["waits"] if w["what"] == "a free core")
    assert wait["where"].startswith("spin (two.py:") and wait["threads"] == 2, wait
    (finding,) = [f for f in run.ask("findings")["findings"] if f["rule"] == "core_contention"]
    assert "spin (two.py:" in finding["message"], finding["message"]


def test_a_program_that_waits_says_where(store, tmp_path):
    if not PYTHONS:
        pytest.skip("no CPython 3.9 to 3.14 here")
    (tmp_path / "wait.py").write_text("import os, time\ndef wait_for_answer():\n    while not os.path.exists('stop'):\n        time.sleep(0.2)\nwait_for_answer()\n")
    record(tmp_path, [PYTHONS[-1], "wait.py"], until=lambda c: weight_ms(c, "wait_for_answer", state=SLEEPING) > 1500)
    run, summary = explained(store, tmp_path / "x.nlcap")
    longest = summary["samples"]["time"]["waits"][0]
    assert "wait_for_answer (wait.py:4)" in longest["where"], longest
    (finding,) = [f for f in run.ask("findings")["findings"] if f["rule"] == "cpu_waits"]
    assert "wait_for_answer (wait.py:4)" in finding["message"], finding["message"]
    assert any(p["what"] == "wait" for p in run.ask("analyze")["breakdown"]), run.ask("analyze")["breakdown"]

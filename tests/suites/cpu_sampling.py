#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CPU samples of real programs: hot functions, waits, the GIL, children, and what is said where a permission is missing.

Machines differ in load: only what must be there is asserted, with wide margins, never a rate."""
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import nlc_reader as nlc  # noqa: E402

BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
RECORD = shlex.split(os.environ.get("NEUROLENS_TEST_RECORDER", "")) or [BIN, "record"]
PYTHONS = os.environ.get("NEUROLENS_TEST_PYTHONS", "").split(":") + [f"/usr/bin/python3.{m}" for m in range(9, 15)]
PYTHONS = [p for p in PYTHONS if p and os.path.exists(p)]
LIMIT_S = 180

C_PROGRAM = r"""
#include <pthread.h>
#include <time.h>
#include <unistd.h>
static volatile unsigned long sink;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec / 1e9; }
__attribute__((noinline)) void hot_inner_loop(void) { for (int i = 0; i < 200000; ++i) sink += i * sink; }
__attribute__((noinline)) void hot_outer_call(double s) { double end = now() + s; while (now() < end) { hot_inner_loop(); sink++; } sink++; }
static void* sleeper(void* p) { sleep(2); return p; }
int main(void) {
  pthread_t t; pthread_create(&t, 0, sleeper, 0);
  hot_outer_call(2); pthread_join(t, 0); return 0;
}
"""

PY_PROGRAM = """
import sys, threading, time
def python_hot(n):
    x = 0
    for i in range(n):
        x += i * i
    return x
def worker(seconds):
    end = time.time() + seconds
    while time.time() < end:
        python_hot(5000)
def waits_quietly(seconds):
    time.sleep(seconds)
threads = [threading.Thread(target=worker, args=(2,), name="second-worker"), threading.Thread(target=waits_quietly, args=(2,))]
for t in threads: t.start()
worker(2)
for t in threads: t.join()
"""


class Failed(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Failed(what)


def default_signals():
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def record(folder, command, *options, before=()):
    out = str(Path(folder) / "x.nlcap")
    words = [*before, *RECORD, "--out", out, *options, "--", *command]
    result = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S, check=False,
                            cwd=folder, preexec_fn=default_signals)
    check(result.returncode == 0, f"status {result.returncode}: {result.stderr[-400:]}")
    return nlc.Capture(out), result.stderr


def weight_ms(capture, name, **wanted):
    """Time of the samples with a frame of this name, in ms."""
    return sum(s["weight"] for s in capture.samples
               if any(n.split(".")[-1] == name for n in capture.names(s)) and all(s[k] == v for k, v in wanted.items())) / 1e6


def has_native(capture):
    return not any("native stacks are not recorded" in m for m in capture.messages)


def case_hot_functions_of_a_c_program_are_found(folder):
    if not shutil.which("cc"):
        return "no C compiler"
    source, program = Path(folder) / "hot.c", str(Path(folder) / "hot")
    source.write_text(C_PROGRAM)
    subprocess.run(["cc", "-O1", "-fno-omit-frame-pointer", "-pthread", str(source), "-o", program], check=True, timeout=LIMIT_S)
    capture, _ = record(folder, [program])
    if not has_native(capture):
        check(capture.samples, "not even waits are sampled")
        return "perf events are not allowed here: " + " ".join(capture.messages)
    hot = weight_ms(capture, "hot_inner_loop", state=nlc.RUNNING)
    total = sum(s["weight"] for s in capture.samples if s["state"] == nlc.RUNNING) / 1e6
    check(hot > 0.5 * total > 0, f"{hot} ms of {total} ms running in the hot function")
    chains = [capture.names(s) for s in capture.samples]
    # A leaf function may have no frame of its own, which hides its caller, not the caller's.
    check(any("main" in c and "hot_inner_loop" in c and c.index("main") < c.index("hot_inner_loop") for c in chains),
          "no stack has the caller before the called")
    waits = sum(s["weight"] for s in capture.samples if s["state"] == nlc.SLEEPING and "sleep" in capture.names(s)) / 1e6
    check(waits > 500, f"the sleeping thread shows {waits} ms of sleep")
    check(len({s["tid"] for s in capture.samples}) >= 2, "only one thread was sampled")
    return None


def case_python_functions_waits_and_the_gil_are_told_apart(folder):
    if not PYTHONS:
        return "no CPython 3.9 to 3.14 here"
    for number, python in enumerate(PYTHONS):
        place = Path(folder) / str(number)
        place.mkdir()
        capture, said = record(place, [python, "-c", PY_PROGRAM])
        if "Python stacks of" in said:
            return said.strip()
        hot = weight_ms(capture, "python_hot")
        check(hot > 500, f"{python}: {hot} ms in python_hot; {len(capture.samples)} samples; {capture.messages}")
        holds = weight_ms(capture, "python_hot", gil=nlc.GIL_HOLDS)
        waits = weight_ms(capture, "python_hot", gil=nlc.GIL_WAITS)
        check(holds > 100, f"{python}: holds the GIL for {holds} ms of {hot}")
        check(waits > 50, f"{python}: waits for the GIL for {waits} ms of {hot}")
        quiet = weight_ms(capture, "waits_quietly", state=nlc.SLEEPING)
        check(quiet > 500, f"{python}: {quiet} ms of quiet waiting")
        frame = next(f for f in capture.frames.values() if f["name"].endswith("python_hot"))
        check(frame["file"] == "<string>" and 3 <= frame["line"] <= 7, f"{python}: {frame}")
    return None


def case_children_are_sampled_too(folder):
    if not PYTHONS:
        return "no CPython 3.9 to 3.14 here"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {PY_PROGRAM!r}], check=True)"
    capture, said = record(folder, [PYTHONS[-1], "-c", code])
    if "Python stacks of" in said:
        return said.strip()
    hot = {s["pid"] for s in capture.samples if any(n.split(".")[-1] == "python_hot" for n in capture.names(s))}
    check(hot and capture.root()["pid"] not in hot, f"hot samples in {hot}, the program is {capture.root()['pid']}")
    return None


def case_parts_can_be_switched_off(folder):
    if not PYTHONS:
        return "no CPython 3.9 to 3.14 here"
    capture, _ = record(folder, [PYTHONS[-1], "-c", PY_PROGRAM], "--no-python")
    check(not any(f["kind"] == 2 for f in capture.frames.values()), "Python frames without being asked for")
    shutil.rmtree(Path(folder) / "x.nlcap")
    capture, said = record(folder, [PYTHONS[-1], "-c", PY_PROGRAM], "--no-cpu")
    check(not any(f["kind"] == 1 and s["state"] == nlc.RUNNING for s in capture.samples for f in [capture.frames[i] for i in capture.stacks.get(s["stack"], ())]),
          "native frames of running threads without being asked for")
    check(all(any(capture.frames[i]["kind"] == 2 for i in capture.stacks.get(s["stack"], ())) for s in capture.samples),
          "a thread that is not Python's was sampled")
    check(not capture.losses, f"lost: {capture.losses}")
    if "Python stacks of" not in said:
        check(weight_ms(capture, "python_hot") > 500, f"Python alone shows {weight_ms(capture, 'python_hot')} ms; {capture.messages}")
    return None


def case_nothing_is_sampled_when_both_are_switched_off(folder):
    code = PY_PROGRAM + "\nimport subprocess; subprocess.run(['sleep', '0.5'], check=True)"
    capture, said = record(folder, [sys.executable, "-c", code], "--no-cpu", "--no-python")
    check(not capture.samples and not capture.stacks, f"{len(capture.samples)} samples without being asked for")
    check(not capture.losses, f"{capture.losses} lost of what nobody asked for")
    check(" 0 CPU samples" in said and "0 lost" in said, said)
    check(any(p["executable"].endswith(("sleep", "coreutils", "busybox")) for p in capture.processes), f"children are not followed: {capture.processes}")


def case_nothing_is_sampled_outside_the_window(folder):
    if not PYTHONS:
        return "no CPython 3.9 to 3.14 here"
    code = PY_PROGRAM.split("threads =")[0] + """
import neurolens
def before(): worker(0.5)
def within(): worker(1)
def after(): worker(0.5)
before(); neurolens.start(); within(); neurolens.stop(); after()
"""
    capture, said = record(folder, [PYTHONS[-1], "-c", code], "--capture-range", "api")
    if "Python stacks of" in said:
        return said.strip()
    found = {name: weight_ms(capture, name) for name in ("before", "within", "after")}
    # The launcher hears of a switch within 10 ms; a loaded machine may take longer.
    check(found["within"] > 100 and found["before"] + found["after"] < found["within"] / 2, f"{found}")
    return None


def case_missing_permission_is_said_and_the_program_runs(folder):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        return "needs root and setpriv"
    try:
        paranoid = int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    except OSError:
        return "no perf_event_paranoid"
    if paranoid < 2:
        return f"perf_event_paranoid is {paranoid}: nothing is missing"
    os.chmod(folder, 0o777)
    lower = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
    if subprocess.run([*lower, RECORD[0], "--version"], capture_output=True, check=False, timeout=LIMIT_S).returncode:
        return "the program cannot be run by another user here"
    capture, said = record(folder, ["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"], before=lower)
    check("perf_event_paranoid" in said or "native stacks are not recorded" in said, f"nothing is said: {said}")
    check(capture.whole, "the capture is not whole")
    return None


def case_samples_lie_inside_the_run(folder):
    capture, _ = record(folder, ["sleep", "0.5"])
    root = capture.root()
    late = [s for s in capture.samples if not root["start"] - 1e9 <= s["time"] <= root["end"] + 1e9]
    check(not late, f"samples off the clock: {late[:3]} of {root}")
    check(all(s["weight"] > 0 for s in capture.samples), "a sample stands for no time")


def main():
    if not os.path.exists(RECORD[0]):
        print(f"FAIL cpu_sampling: {RECORD[0]} is not built")
        return
    for name, case in list(globals().items()):
        if not name.startswith("case_"):
            continue
        title = name[5:].replace("_", " ")
        with tempfile.TemporaryDirectory() as folder:
            try:
                skipped = case(folder)
                print(f"SKIP {title}: {skipped}" if skipped else f"PASS {title}", flush=True)
            except (Failed, subprocess.SubprocessError, OSError, ValueError, IndexError, KeyError, StopIteration) as problem:
                print(f"FAIL {title}: {type(problem).__name__} {str(problem)[:400]!r}", flush=True)


main()

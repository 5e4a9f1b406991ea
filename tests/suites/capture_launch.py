#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs under `neurolens record`: they keep their status, streams, signals and children, and what was recorded is readable."""
import json
import os
import pty
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import nlcap_writer  # noqa: E402
from nlc_reader import Capture  # noqa: E402

BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
RECORD = shlex.split(os.environ.get("NEUROLENS_TEST_RECORDER", "")) or [BIN, "record"]
PYTHON = next((p for p in ("/usr/bin/python3", "/usr/local/bin/python3") if os.path.exists(p)), sys.executable)
LIMIT_S = 120


class Failed(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Failed(what)


def default_signals():
    # A CI runner may have left these ignored, which programs inherit.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Place:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.out = str(self.folder / "x.nlcap")

    def words(self, command, *options):
        return [*RECORD, "--out", self.out, *options, "--", *command]

    def run(self, command, *options, stdin=b"", **keywords):
        return subprocess.run(self.words(command, *options), input=stdin, capture_output=True, timeout=LIMIT_S, check=False,
                              preexec_fn=default_signals, cwd=self.folder, **keywords)

    def start(self, command, *options, **keywords):
        return subprocess.Popen(self.words(command, *options), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=default_signals, cwd=self.folder, **keywords)

    def capture(self):
        return Capture(self.out)


def wait_line(process, text):
    """Reads stdout until a line has `text`."""
    end = time.monotonic() + LIMIT_S
    seen = b""
    while text not in seen:
        check(time.monotonic() < end, f"the program never said {text!r}: {seen[-200:]!r}")
        ready, _, _ = select.select([process.stdout], [], [], 1)
        if ready:
            got = os.read(process.stdout.fileno(), 4096)
            check(got, f"the program ended without saying {text!r}")
            seen += got
    return seen


def python(code):
    return [PYTHON, "-u", "-c", code]


def case_exit_status_passes_through(place):
    result = place.run(["sh", "-c", "exit 7"])
    check(result.returncode == 7, f"status {result.returncode}: {result.stderr[-300:]}")
    capture = place.capture()
    check(capture.whole and capture.root()["status"] == 7, "the capture does not say status 7")


def case_early_exit_is_recorded(place):
    check(place.run(["true"]).returncode == 0, "true failed")
    check(place.capture().root()["status"] == 0, "no end of the program in the capture")


def case_death_by_signal_is_told(place):
    result = place.run(["sh", "-c", "kill -KILL $$"])
    check(result.returncode == 128 + 9, f"status {result.returncode}")
    check(place.capture().root()["signal"] == 9, "the capture does not say signal 9")


def case_crash_keeps_the_data(place):
    result = place.run(python("import os, signal, time\nend = time.time() + 0.5\nwhile time.time() < end: pass\nos.kill(os.getpid(), signal.SIGSEGV)"))
    check(result.returncode == 128 + 11, f"status {result.returncode}")
    capture = place.capture()
    check(capture.whole and capture.samples, f"{len(capture.samples)} samples, whole: {capture.whole}")


def case_streams_are_the_programs_own(place):
    data = bytes(range(256)) * 64
    result = place.run(["sh", "-c", "cat; echo to-stderr >&2"], stdin=data)
    check(result.stdout == data, "stdout is not what went in")
    check(b"to-stderr\n" in result.stderr, "stderr of the program is missing")


def case_command_not_found_is_told(place):
    result = place.run(["no-such-program-anywhere"])
    check(result.returncode in (125, 127), f"status {result.returncode}")
    check(b"no-such-program-anywhere" in result.stderr, f"stderr: {result.stderr}")
    check(not os.path.exists(place.out), "a capture folder was left behind")


def case_children_forks_and_execs_are_followed(place):
    code = ("import os, subprocess, sys\n"
            "pid = os.fork()\n"
            "if pid == 0:\n    subprocess.run(['sh', '-c', 'sleep 0.3; true']); os._exit(0)\n"
            "os.waitpid(pid, 0)\n"
            "os.execvp('sh', ['sh', '-c', 'sleep 0.3; exit 9'])")
    result = place.run(python(code))
    check(result.returncode == 9, f"status {result.returncode}")
    capture = place.capture()
    root = capture.root()["pid"]
    parents = {p["pid"]: p["ppid"] for p in capture.processes}
    check(any(parent == root for pid, parent in parents.items() if pid != root), f"no child of {root}: {parents}")
    check(any(parents.get(parent) == root for parent in parents.values()), f"no grandchild of {root}: {parents}")
    mine = [p["executable"] for p in capture.processes if p["pid"] == root]
    check(any("python" in e for e in mine) and any(e and "python" not in e for e in mine), f"exec is not seen: {mine}")


def case_threads_at_exit_do_no_harm(place):
    code = ("import os, threading\n"
            "def spin():\n    while True: pass\n"
            "for _ in range(4): threading.Thread(target=spin, daemon=True).start()\n"
            "import time; time.sleep(0.3); os._exit(5)")
    check(place.run(python(code)).returncode == 5, "status is not 5")
    check(place.capture().whole, "the capture is not whole")


def case_closed_streams_do_no_harm(place):
    check(place.run(["sh", "-c", "exec <&- >&- 2>&-; sleep 0.2; exit 4"]).returncode == 4, "status is not 4")
    words = " ".join(shlex.quote(w) for w in [*RECORD, "--out", place.out + "2", "--", "sh", "-c", "exit 6"])
    result = subprocess.run(["sh", "-c", f"{words} <&- >&- 2>&-"], timeout=LIMIT_S, check=False)
    check(result.returncode == 6, f"started without streams: status {result.returncode}")


POLITE = ("import signal, sys, time\n"
          "def bye(*_):\n    signal.signal(signal.SIGINT, signal.SIG_IGN); print('bye', flush=True); sys.exit(3)\n"
          "signal.signal(signal.SIGINT, bye); signal.signal(signal.SIGTERM, bye)\n"
          "print('ready', flush=True)\n"
          "while True: time.sleep(0.05)")


def case_signal_to_the_recorder_reaches_the_program(place):
    for number in (signal.SIGINT, signal.SIGTERM):
        place.out = str(place.folder / f"{number}.nlcap")
        process = place.start(python(POLITE))
        wait_line(process, b"ready")
        process.send_signal(number)
        out, _ = process.communicate(timeout=LIMIT_S)
        check(process.returncode == 3 and b"bye" in out, f"signal {number}: status {process.returncode}, {out!r}")
        check(place.capture().whole, "the capture is not whole")


def case_ctrl_c_on_a_terminal_is_polite_and_keeps_the_data(place):
    pid, terminal = pty.fork()
    if pid == 0:
        default_signals()
        os.chdir(place.folder)
        os.execv(RECORD[0], place.words(python(POLITE)))
    seen, end = b"", time.monotonic() + LIMIT_S
    pressed = False
    while time.monotonic() < end:
        ready, _, _ = select.select([terminal], [], [], 1)
        if not ready:
            continue
        try:
            got = os.read(terminal, 4096)
        except OSError:
            break
        if not got:
            break
        seen += got
        if b"ready" in seen and not pressed:
            pressed = True
            os.write(terminal, b"\x03")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    check(os.waitstatus_to_exitcode(status) == 3, f"status {status}: {seen[-300:]!r}")
    check(b"bye" in seen, f"the program was not asked politely: {seen[-300:]!r}")
    check(place.capture().whole, "the capture is not whole")


def case_a_program_that_ignores_sigint_goes_on(place):
    code = ("import signal, sys, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('ready', flush=True)\n"
            "time.sleep(1.5); sys.exit(8)")
    process = place.start(python(code))
    wait_line(process, b"ready")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=LIMIT_S)
    check(process.returncode == 8, f"status {process.returncode}")


def case_killed_recorder_leaves_a_readable_file(place):
    code = "import time\nprint('ready', flush=True)\nend = time.time() + 3\nwhile time.time() < end: pass\nprint('done', flush=True)"
    process = place.start(python(code))
    wait_line(process, b"ready")
    end = time.monotonic() + 60
    while not place.capture().samples and time.monotonic() < end:
        time.sleep(0.2)
    process.kill()
    seen = wait_line(process, b"done")
    process.wait(timeout=LIMIT_S)
    check(b"done" in seen, "the program did not outlive its recorder")
    capture = place.capture()
    check(capture.samples, "no sample was kept")
    check(not capture.whole, "the file claims to be whole")


def case_delay_and_duration_bound_the_recording(place):
    result = place.run(python("import time\nend = time.time() + 1.5\nwhile time.time() < end: pass"), "--delay", "0.4", "--duration", "0.5")
    check(result.returncode == 0, f"status {result.returncode}: {result.stderr[-300:]}")
    capture = place.capture()
    check([on for _, on, _ in capture.windows] == [0, 1, 0], f"windows {capture.windows}")
    begin, end = capture.windows[1][0], capture.windows[2][0]
    check(end - begin >= 0.5e9, "recording ended early")
    check(capture.samples, "nothing was sampled in the window")
    outside = [s for s in capture.samples if s["time"] < begin - 50_000_000 or s["time"] > end + 50_000_000]
    check(not outside, f"{len(outside)} samples outside the window")


def case_tags_and_facts_are_kept(place):
    check(place.run(["true"], "--tag", "stage=decode", "--tag", "a=b=c").returncode == 0, "it failed")
    facts = place.capture().facts
    check(facts.get("tag.stage") == "decode" and facts.get("tag.a") == "b=c", f"facts {facts}")
    check(json.loads(facts["command"]) == ["true"], f"command {facts.get('command')}")
    check(int(facts["host.cores"]) >= 1, "no cores")


def case_bad_options_are_named(place):
    for options, word in ((["--capture-range", "cuda"], b"capture-range"), (["--budget", "lots"], b"budget"), (["--tag", "x"], b"tag")):
        result = place.run(["true"], *options)
        check(result.returncode == 125 and word in result.stderr, f"{options}: {result.returncode} {result.stderr}")
        check(not os.path.exists(place.out), "a capture folder was left behind")


def case_existing_capture_is_not_overwritten(place):
    check(place.run(["true"]).returncode == 0, "first recording failed")
    before = (Path(place.out) / "launcher.nlc").read_bytes()
    result = place.run(["true"])
    check(result.returncode == 125 and b"not empty" in result.stderr, f"{result.returncode} {result.stderr}")
    check((Path(place.out) / "launcher.nlc").read_bytes() == before, "the first capture was changed")


def case_left_over_processes_are_told(place):
    result = place.run(["sh", "-c", "sleep 20 >/dev/null 2>&1 & echo $!"])
    check(result.returncode == 0, f"status {result.returncode}")
    os.kill(int(result.stdout), signal.SIGKILL)
    check(b"still run" in result.stderr, f"stderr: {result.stderr}")


def case_ctl_stops_and_starts_a_recording(place):
    if RECORD[0] != BIN:
        return "needs the whole program"
    code = "import time\nprint('ready', flush=True)\nend = time.time() + 30\nwhile time.time() < end: time.sleep(0.01)"
    process = place.start(python(code))
    try:
        wait_line(process, b"ready")
        ctl = lambda action: json.loads(subprocess.run([BIN, "--json", "ctl", str(process.pid), action], capture_output=True, timeout=LIMIT_S, check=True).stdout)
        check(ctl("status")["recording"] is True, "not recording at first")
        check(ctl("stop")["recording"] is False, "stop did not stop")
        time.sleep(0.3)
        check(ctl("start")["recording"] is True, "start did not start")
        time.sleep(0.3)
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LIMIT_S)
    capture = place.capture()
    check([on for _, on, _ in capture.windows][:3] == [1, 0, 1], f"windows {capture.windows}")
    result = subprocess.run([BIN, "ctl", "1", "status"], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    check(result.returncode == 2 and "not being recorded" in result.stderr, f"{result.returncode} {result.stderr}")
    return None


def case_a_pause_is_not_idleness(place):
    """Off from 3 to 7 ms: the device's gap from 2.1 to 8.0 ms is known at both ends only."""
    lines = ["file pid=10 monotonic_ns=1000000 realtime_ns=1700000001000000"]
    for at in (1_000_000, 9_000_000):
        lines.append(f"clock gpu_ns={at + 5_000_000_000} before_ns={at - 100} after_ns={at + 100} realtime_ns={at + 1_700_000_000_000_000}")
    lines += ['device device=0 name="NVIDIA H200" sm_count=132 compute_major=9', "context context=1 device=0 null_stream=7"]
    for number, at in ((1, 2_000_000), (2, 8_000_000)):
        gpu = at + 5_000_000_000
        lines.append(f'api start_ns={gpu - 10_000} end_ns={gpu - 5_000} callback_id=211 domain=2 tid=10 correlation={number} name="cudaLaunchKernel_v7000"')
        lines.append(f'kernel start_ns={gpu} end_ns={gpu + 100_000} device=0 context=1 stream=7 correlation={number} name="gemm" grid_x=4 block_x=128')
    lines += [f"window time_ns={at} on={on} reason={why}" for at, on, why in ((1_000_000, 1, 1), (3_000_000, 0, 2), (7_000_000, 1, 2), (9_000_000, 0, 6))]
    path = place.folder / "paused.nlc"
    path.write_bytes(b"".join(nlcap_writer.files_of("\n".join([*lines, "end time_ns=9000000 records=1"]))))
    env = {**os.environ, "HOME": str(place.folder), "XDG_DATA_HOME": str(place.folder / "data")}

    def ask(*words):
        done = subprocess.run([BIN, *words], capture_output=True, timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL, env=env)
        check(done.returncode == 0, done.stderr[-500:])
        return done.stdout

    ask("import", str(path))
    causes = {c["what"]: c["ms"] for c in json.loads(ask("idle", "--json"))["causes"]}
    check(abs(causes.get("not recorded", 0) - 4.0) < 1e-6, f"{causes}")
    text = ask("idle")
    check(b"not recorded 4.0 ms" in text and b"(recording went on)" in text and b"(recording paused)" in text, text)
    summary = json.loads(ask("summary", "--json"))
    check(summary["idle"]["other_ms"] < 0.1 and abs(summary["idle"]["paused_ms"] - 4.0) < 1e-6, f"{summary['idle']}")
    device = summary["devices"][0]
    check(abs(device["paused_ms"] - 4.0) < 1e-6 and abs(device["busy_ms"] + device["idle_ms"] + device["paused_ms"] - summary["wall_ms"]) < 1e-6, f"{device}")
    check(abs(device["utilization"] - 0.2 / (summary["wall_ms"] - 4)) < 1e-6, f"{device}")
    check(b"not recorded 4.0 ms" in ask("summary"), ask("summary"))
    parts = json.loads(ask("overlap", "--json"))["devices"][0]
    check(abs(parts["paused_ms"] - 4.0) < 1e-6 and abs(sum(p["ms"] for p in parts["parts"]) - parts["wall_ms"]) < 1e-6, f"{parts}")


def case_a_budget_is_held_by_pauses_and_told(place):
    tests = Path(BIN).parent / "capture_tests"
    env = {**os.environ, "HOME": str(place.folder), "XDG_DATA_HOME": str(place.folder / "data"), "NEUROLENS_CUPTI": str(tests / "libfake_cupti.so")}

    def run(*options):
        words = [BIN, "run", *options, "--no-cpu", "--no-python", "--", str(tests / "gpu_program"), "racing_threads=2", "sleep=3000", "exit=0"]
        done = subprocess.run(words, capture_output=True, timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL, env=env, text=True)
        check(done.returncode == 0, done.stderr[-500:])
        return done

    # Some 2.6 % of two threads' time, and 0.1 % may be spent: one window of a second, then a pause to the end.
    capture = json.loads(run("--budget", "0.1%", "--json").stdout)["capture"]
    check(capture["kernels"] > 1000 and 0.2 < capture["duty_cycle"] < 0.8, f"{capture}")
    check("% of the time and paused for the rest" in run("--budget", "0.1%").stderr, "the pause is not told")
    for options in (["--budget", "100%"], []):
        check(json.loads(run(*options, "--json").stdout)["capture"]["duty_cycle"] == 1, f"{options}")
    done = subprocess.run([BIN, "run", "--budget", "much", "--", "true"], capture_output=True, timeout=LIMIT_S, check=False, env=env, text=True)
    check(done.returncode == 125 and "--budget must be a percentage" in done.stderr, done.stderr)


def case_live_prints_lines_without_a_terminal(place):
    result = place.run(["sleep", "2.5"], "--live")
    check(result.returncode == 0 and b"recording" in result.stderr, f"{result.returncode} {result.stderr}")
    check(b"\x1b[2J" not in result.stderr, "it clears a screen that is not there")


def main():
    if not os.path.exists(RECORD[0]):
        print(f"FAIL capture_launch: {RECORD[0]} is not built")
        return
    for name, case in list(globals().items()):
        if not name.startswith("case_"):
            continue
        title = name[5:].replace("_", " ")
        with tempfile.TemporaryDirectory() as folder:
            try:
                skipped = case(Place(folder))
                print(f"SKIP {title}: {skipped}" if skipped else f"PASS {title}", flush=True)
            except (Failed, subprocess.SubprocessError, OSError, ValueError, IndexError, KeyError) as problem:
                print(f"FAIL {title}: {type(problem).__name__} {str(problem)[:400]!r}", flush=True)


main()

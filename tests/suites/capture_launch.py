# SPDX-License-Identifier: Apache-2.0
"""Programs under `neurolens record`: they keep their status, streams, signals and children, and what was recorded is readable."""
import json
import os
import pathlib
import pty
import select
import shlex
import signal
import subprocess

import pytest

import nlcap_writer
from neurolens_cli import BIN, BUILD, LIMIT_S, PYTHON, RECORD, Store, default_signals, near, wait_until
from nlcap_reader import Recording


class Place:
    def __init__(self, folder):
        self.folder = folder
        self.out = str(folder / "x.nlcap")

    def words(self, command, *options):
        return [*RECORD, "--out", self.out, *options, "--", *command]

    def run(self, command, *options, stdin=b"", **keywords):
        return subprocess.run(self.words(command, *options), input=stdin, capture_output=True, timeout=LIMIT_S, check=False,
                              preexec_fn=default_signals, cwd=self.folder, **keywords)

    def start(self, command, *options, **keywords):
        return subprocess.Popen(self.words(command, *options), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=default_signals, cwd=self.folder, **keywords)

    def capture(self):
        return Recording(self.out)

    def go_on(self, name="go"):
        """What programs that wait for a file wait for."""
        (self.folder / name).touch()


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def wait_line(process, text):
    """Reads stdout until a line has `text`."""
    seen = b""
    while text not in seen:
        ready, _, _ = select.select([process.stdout], [], [], LIMIT_S)
        assert ready, f"the program never said {text!r}: {seen[-200:]!r}"
        got = os.read(process.stdout.fileno(), 4096)
        assert got, f"the program ended without saying {text!r}"
        seen += got
    return seen


# Python of the recorded programs: work(name) is busy, and rest(name) idle, until a file of that name is there.
WAITING = """
import os, time
def work(name):
    while not os.path.exists(name):
        for _ in range(1000): pass
def rest(name):
    while not os.path.exists(name): time.sleep(0.01)
"""


def python(code):
    return [PYTHON, "-u", "-c", WAITING + code]


def test_exit_status_passes_through(place):
    result = place.run(["sh", "-c", "exit 7"])
    assert result.returncode == 7, f"status {result.returncode}: {result.stderr[-300:]}"
    capture = place.capture()
    assert capture.whole and capture.root()["exit_status"] == 7, "the capture does not say status 7"


def test_early_exit_is_recorded(place):
    assert place.run(["true"]).returncode == 0, "true failed"
    assert place.capture().root()["exit_status"] == 0, "no end of the program in the capture"


def test_death_by_signal_is_told(place):
    result = place.run(["sh", "-c", "kill -KILL $$"])
    assert result.returncode == 128 + 9, f"status {result.returncode}"
    assert place.capture().root()["exit_signal"] == 9, "the capture does not say signal 9"


def test_crash_keeps_the_data(place):
    process = place.start(python("import signal\nwork('go'); os.kill(os.getpid(), signal.SIGSEGV)"))
    wait_until(lambda: place.capture().samples, "a sample", process)
    place.go_on()
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == 128 + 11, f"status {process.returncode}"
    capture = place.capture()
    assert capture.whole and capture.samples, f"{len(capture.samples)} samples, whole: {capture.whole}"


def test_streams_are_the_programs_own(place):
    data = bytes(range(256)) * 64
    result = place.run(["sh", "-c", "cat; echo to-stderr >&2"], stdin=data)
    assert result.stdout == data, "stdout is not what went in"
    assert b"to-stderr\n" in result.stderr, "stderr of the program is missing"


def test_command_not_found_is_told(place):
    result = place.run(["no-such-program-anywhere"])
    assert result.returncode in (125, 127), f"status {result.returncode}"
    assert b"no-such-program-anywhere" in result.stderr, f"stderr: {result.stderr}"
    assert not os.path.exists(place.out), "a capture folder was left behind"


def test_children_forks_and_execs_are_followed(place):
    wait = "while [ ! -e %s ]; do sleep 0.02; done"
    code = ("import subprocess\n"
            "pid = os.fork()\n"
            f"if pid == 0:\n    subprocess.run(['sh', '-c', '{wait % 'grandchild'}']); os._exit(0)\n"
            "os.waitpid(pid, 0)\n"
            f"os.execvp('sh', ['sh', '-c', '{wait % 'exec'}; exit 9'])")
    process = place.start(python(code))

    def executables(of_root):
        found = place.capture().processes
        root = next((p["pid"] for p in found if p["flags"] & 1), found[0]["pid"] if found else 0)
        return [p["executable"] for p in found if (p["pid"] == root) == of_root]
    wait_until(lambda: any(e and "python" not in e for e in executables(False)), "the grandchild", process)
    place.go_on("grandchild")
    wait_until(lambda: any(e and "python" not in e for e in executables(True)), "the exec", process)
    place.go_on("exec")
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == 9, f"status {process.returncode}"
    capture = place.capture()
    root = capture.root()["pid"]
    parents = {p["pid"]: p["ppid"] for p in capture.processes}
    assert any(parent == root for pid, parent in parents.items() if pid != root), f"no child of {root}: {parents}"
    assert any(parents.get(parent) == root for parent in parents.values()), f"no grandchild of {root}: {parents}"
    mine = [p["executable"] for p in capture.processes if p["pid"] == root]
    assert any("python" in e for e in mine) and any(e and "python" not in e for e in mine), f"exec is not seen: {mine}"


def test_threads_at_exit_do_no_harm(place):
    code = ("import threading\n"
            "def spin():\n    while True: pass\n"
            "for _ in range(4): threading.Thread(target=spin, daemon=True).start()\n"
            "rest('go'); os._exit(5)")
    process = place.start(python(code))
    wait_until(lambda: len({t["tid"] for t in place.capture().threads}) >= 4, "the threads", process)
    place.go_on()
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == 5, "status is not 5"
    assert place.capture().whole, "the capture is not whole"


def test_closed_streams_do_no_harm(place):
    assert place.run(["sh", "-c", "exec <&- >&- 2>&-; exit 4"]).returncode == 4, "status is not 4"
    words = " ".join(shlex.quote(w) for w in [*RECORD, "--out", place.out + "2", "--", "sh", "-c", "exit 6"])
    result = subprocess.run(["sh", "-c", f"{words} <&- >&- 2>&-"], timeout=LIMIT_S, check=False)
    assert result.returncode == 6, f"started without streams: status {result.returncode}"


POLITE = ("import signal, sys, time\n"
          "def bye(*_):\n    signal.signal(signal.SIGINT, signal.SIG_IGN); print('bye', flush=True); sys.exit(3)\n"
          "signal.signal(signal.SIGINT, bye); signal.signal(signal.SIGTERM, bye)\n"
          "print('ready', flush=True)\n"
          "while True: time.sleep(0.05)")


def test_signal_to_the_recorder_reaches_the_program(place):
    for number in (signal.SIGINT, signal.SIGTERM):
        place.out = str(place.folder / f"{number}.nlcap")
        process = place.start(python(POLITE))
        wait_line(process, b"ready")
        process.send_signal(number)
        out, _ = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 3 and b"bye" in out, f"signal {number}: status {process.returncode}, {out!r}"
        assert place.capture().whole, "the capture is not whole"


def test_ctrl_c_on_a_terminal_is_polite_and_keeps_the_data(place):
    pid, terminal = pty.fork()
    if pid == 0:
        default_signals()
        os.chdir(place.folder)
        os.execv(RECORD[0], place.words(python(POLITE)))
    seen, pressed = b"", False
    while select.select([terminal], [], [], LIMIT_S)[0]:
        try:
            got = os.read(terminal, 4096)
        except OSError:  # the last to hold the terminal has gone
            break
        if not got:
            break
        seen += got
        if b"ready" in seen and not pressed:
            pressed = True
            os.write(terminal, b"\x03")
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) == 3, f"status {status}: {seen[-300:]!r}"
    assert b"bye" in seen, f"the program was not asked politely: {seen[-300:]!r}"
    assert place.capture().whole, "the capture is not whole"


def test_a_program_that_ignores_sigint_goes_on(place):
    """SIGUSR1, sent after it to the recorder, shows that the first was passed on."""
    code = ("import signal, sys\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
            "signal.signal(signal.SIGUSR1, lambda *_: sys.exit(8))\nprint('ready', flush=True)\nrest('never')")
    process = place.start(python(code))
    wait_line(process, b"ready")
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGUSR1)
    process.communicate(timeout=LIMIT_S)
    assert process.returncode == 8, f"status {process.returncode}"


def test_killed_recorder_leaves_a_readable_file(place):
    process = place.start(python("print('ready', flush=True)\nwork('go')\nprint('done', flush=True)"))
    wait_line(process, b"ready")
    wait_until(lambda: place.capture().samples, "a sample", process)
    process.kill()
    process.wait(timeout=LIMIT_S)
    place.go_on()
    wait_line(process, b"done")  # the program outlives its recorder
    capture = place.capture()
    assert capture.samples, "no sample was kept"
    assert not capture.whole, "the file claims to be whole"


def test_delay_and_duration_bound_the_recording(place):
    process = place.start(python("work('go')"), "--delay", "0.4", "--duration", "0.5")
    wait_until(lambda: len(place.capture().windows) == 3, "the end of the recording", process)
    place.go_on()
    _, said = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, f"status {process.returncode}: {said[-300:]}"
    capture = place.capture()
    assert [w["on"] for w in capture.windows] == [0, 1, 0], f"windows {capture.windows}"
    start, begin, end = (w["time_ns"] for w in capture.windows)
    assert begin - start >= 0.4e9 and end - begin >= 0.5e9, "recording began or ended early"
    assert capture.samples, "nothing was sampled in the window"
    outside = [s for s in capture.samples if not begin <= s["time_ns"] <= end]
    assert not outside, f"{len(outside)} samples outside the window"


def test_tags_and_facts_are_kept(place):
    assert place.run(["true"], "--tag", "stage=decode", "--tag", "a=b=c").returncode == 0, "it failed"
    facts = place.capture().facts
    assert facts.get("tag.stage") == "decode" and facts.get("tag.a") == "b=c", f"facts {facts}"
    assert json.loads(facts["command"]) == ["true"], f"command {facts.get('command')}"
    assert int(facts["host.cores"]) >= 1, "no cores"


def test_bad_options_are_named(place):
    for options, word in ((["--capture-range", "cuda"], b"capture-range"), (["--budget", "lots"], b"budget"), (["--tag", "x"], b"tag")):
        result = place.run(["true"], *options)
        assert result.returncode == 125 and word in result.stderr, f"{options}: {result.returncode} {result.stderr}"
        assert not os.path.exists(place.out), "a capture folder was left behind"


def test_existing_capture_is_not_overwritten(place):
    assert place.run(["true"]).returncode == 0, "first recording failed"
    before = (pathlib.Path(place.out) / "launcher.nlc").read_bytes()
    result = place.run(["true"])
    assert result.returncode == 125 and b"not empty" in result.stderr, f"{result.returncode} {result.stderr}"
    assert (pathlib.Path(place.out) / "launcher.nlc").read_bytes() == before, "the first capture was changed"


def test_left_over_processes_are_told(place):
    result = place.run(["sh", "-c", "sleep 600 >/dev/null 2>&1 & echo $!"])
    assert result.returncode == 0, f"status {result.returncode}"
    os.kill(int(result.stdout), signal.SIGKILL)
    assert b"still run" in result.stderr, f"stderr: {result.stderr}"


def test_ctl_stops_and_starts_a_recording(place):
    if RECORD[0] != BIN:
        pytest.skip("needs the whole program")
    process = place.start(python("print('ready', flush=True)\nrest('never')"))

    def ctl(action):
        """The reply, once the recorder's own window has followed."""
        reply = json.loads(subprocess.run([BIN, "--json", "ctl", str(process.pid), action], capture_output=True, timeout=LIMIT_S, check=True).stdout)
        wait_until(lambda: place.capture().windows[-1]["on"] == reply["recording"], f"a window after {action}", process)
        return reply
    try:
        wait_line(process, b"ready")
        assert ctl("status")["recording"] is True, "not recording at first"
        assert ctl("stop")["recording"] is False, "stop did not stop"
        assert ctl("start")["recording"] is True, "start did not start"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=LIMIT_S)
    assert [w["on"] for w in place.capture().windows][:3] == [1, 0, 1], f"windows {place.capture().windows}"


def test_ctl_names_a_process_that_is_not_recorded():
    with subprocess.Popen(["sleep", "600"]) as other:
        result = subprocess.run([BIN, "ctl", str(other.pid), "status"], capture_output=True, text=True, timeout=LIMIT_S, check=False)
        other.kill()
    assert result.returncode == 2 and "not being recorded" in result.stderr, f"{result.returncode} {result.stderr}"


def test_a_pause_is_not_idleness(place):
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
    store = Store(place.folder / "store")
    store.add(path)
    causes = {c["what"]: c["ms"] for c in store.json("idle")["causes"]}
    near("not recorded", causes.get("not recorded", 0), 4.0)
    text = store.text("idle")
    assert "not recorded 4.0 ms" in text and "(recording resumed)" in text and "(recording paused)" in text, text
    summary = store.json("summary")
    assert summary["idle"]["other_ms"] < 0.1, f"{summary['idle']}"
    near("paused", summary["idle"]["paused_ms"], 4.0)
    device = summary["devices"][0]
    near("paused of the device", device["paused_ms"], 4.0)
    near("parts of the wall", device["busy_ms"] + device["idle_ms"] + device["paused_ms"], summary["wall_ms"])
    near("utilization", device["utilization"], 0.2 / (summary["wall_ms"] - 4))
    assert "not recorded 4.0 ms" in store.text("summary"), store.text("summary")
    parts = store.json("overlap")["devices"][0]
    near("paused in overlap", parts["paused_ms"], 4.0)
    near("parts of overlap", sum(p["ms"] for p in parts["parts"]), parts["wall_ms"])


def run_with_budget(place, *words):
    """`neurolens run` of threads that launch kernels on the fake CUPTI; `words` end with what the program does meanwhile."""
    tests = BUILD / "capture_tests"
    at = words.index("--")
    command = [BIN, "run", *words[:at], "--no-cpu", "--no-python", "--", str(tests / "gpu_program"), "launch=1", "racing_threads=2", *words[at + 1:], "exit=0"]
    env = {**os.environ, "HOME": str(place.folder), "XDG_DATA_HOME": str(place.folder / "data"), "NEUROLENS_CUPTI": str(tests / "libfake_cupti.so")}
    done = subprocess.run(command, capture_output=True, timeout=LIMIT_S, check=False, stdin=subprocess.DEVNULL, env=env, text=True)
    assert done.returncode == 0, done.stderr[-500:]
    return done


def test_a_budget_is_held_by_pauses_and_told(place):
    # Some 2.6 % of two threads' time, and 0.1 % may be spent: a window of a second or more, then a pause.
    capture = json.loads(run_with_budget(place, "--budget", "0.1%", "--json", "--", "pause", "sleep=100").stdout)["capture"]
    assert capture["kernels"] > 100 and 0 < capture["duty_cycle"] < 1, f"{capture}"
    assert "% of the time and paused for the rest" in run_with_budget(place, "--budget", "0.1%", "--", "pause", "sleep=100").stderr, "the pause is not reported"


@pytest.mark.parametrize("budget", [["--budget", "100%"], []], ids=["all", "none"])
def test_a_budget_that_is_never_used_up_leads_to_no_pause(budget, place):
    assert json.loads(run_with_budget(place, *budget, "--json", "--", "sleep=1500").stdout)["capture"]["duty_cycle"] == 1


def test_a_budget_that_is_not_a_percentage_is_refused():
    done = subprocess.run([BIN, "run", "--budget", "much", "--", "true"], capture_output=True, timeout=LIMIT_S, check=False, text=True)
    assert done.returncode == 125 and "--budget must be a percentage" in done.stderr, done.stderr


def test_live_prints_lines_without_a_terminal(place):
    process = place.start(python("rest('go')"), "--live")
    said = b""
    while b"recording" not in said:
        got = os.read(process.stderr.fileno(), 4096)
        assert got, f"it ended without a line: {said}"
        said += got
    place.go_on()
    _, rest = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, f"{process.returncode} {said + rest}"
    assert b"\x1b[2J" not in said + rest, "it clears a screen that is not there"


def test_the_processes_of_the_program_are_counted_not_the_helpers_of_a_wrapper(place):
    script = place.folder / "wrapper.sh"
    script.write_text("for i in 1 2 3; do (n=0; while [ $n -lt 60000 ]; do n=$((n+1)); done); done\nexec sleep 0.3\n")
    assert json.loads(place.run(["sh", script], "--json").stdout)["processes"] == 1


# Runs until recording has stopped: `control` of the capture says so (docs/formats/nlcap.md).
UNTIL_OFF = """
import struct
while struct.unpack_from("<I", open(os.environ["NEUROLENS_CAPTURE_DIR"] + "/control", "rb").read(), 188)[0]: time.sleep(0.01)
time.sleep(0.1)
"""


def test_the_recorded_time_and_the_time_of_the_program_are_told_apart(place):
    reply = json.loads(place.run(python(UNTIL_OFF), "--json", "--duration", "0.2").stdout)
    assert 200 <= reply["recorded_ms"] <= reply["wall_ms"] - 100, reply
    place.out += "2"
    assert b"(the program ran " in place.run(python(UNTIL_OFF), "--duration", "0.2").stderr

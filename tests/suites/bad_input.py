#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a user meets with bad input: each ends with the stated exit status and one clear line, and leaves no half run.

Everything goes through the program itself. Exit status: 0 ok, 2 bad input, 3 the system refused, 130 interrupted.
"""
import concurrent.futures
import contextlib
import gzip
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# A suite started in the background has Ctrl-C ignored, and what it starts would inherit that.
signal.signal(signal.SIGINT, signal.SIG_DFL)

ROOT = pathlib.Path(os.environ.get("NEUROLENS_ROOT", pathlib.Path(__file__).resolve().parents[2]))
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
SAMPLE = ROOT / "tests/cases/samples/kineto/rocm.json"
SMALL = ('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": [\n'
         '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2, "args": {"External id": 1}},\n'
         '{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 3, "dur": 4.25, "args": {"External id": 1, '
         '"grid": [1, 2, 3], "device": 0, "stream": 7}},\n'
         '{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "python \\"x\\""}}\n'
         '], "traceName": "small"}\n')
CASES = []


class Failure(Exception):
    pass


class Skip(Exception):
    pass


def case(function):
    CASES.append(function)
    return function


def check(condition, message):
    if not condition:
        raise Failure(message)


class Place:
    """A store and a folder for inputs of one case."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.store = self.folder / "store"

    def command(self, *arguments):
        return [BIN, "--store", str(self.store), *[str(a) for a in arguments]]

    def environment(self):
        return {**os.environ, "XDG_CONFIG_HOME": str(self.folder), "NO_COLOR": "1"}

    def run(self, *arguments, stdin=subprocess.DEVNULL, limit_s=120, prefix=()):
        return subprocess.run([*prefix, *self.command(*arguments)], stdin=stdin, capture_output=True, timeout=limit_s,
                              check=False, env=self.environment(), cwd=self.folder)

    def file(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def runs(self):
        done = self.run("ls", "--json", "--limit", "1000")
        check(done.returncode == 0, f"ls ended with {done.returncode}: {done.stderr.decode()}")
        return json.loads(done.stdout)["runs"]

    def leftovers(self):
        staging = self.store / "staging"
        return sorted(p.name for p in staging.iterdir()) if staging.is_dir() else []

    def expect_error(self, done, status, *words):
        error = done.stderr.decode("utf-8", "replace")
        check(done.returncode == status, f"exit status {done.returncode} instead of {status}: {error.strip()[:300]}")
        lines = [line for line in error.split("\n") if line.strip()]
        check(lines and lines[0].startswith("neurolens: error: "), f"no error line: {error[:300]!r}")
        check(len(lines) == 1 or (len(lines) == 2 and lines[1].lstrip().startswith("hint: ")), f"more than an error and a hint: {error[:300]!r}")
        check(max(map(len, lines)) < 1000, f"an error of {max(map(len, lines))} characters")
        for word in words:
            check(word in lines[0], f"the error does not say {word!r}: {lines[0]}")
        check(not done.stdout.strip(), f"an error and an answer: {done.stdout[:200]!r}")

    def expect_nothing_stored(self):
        check(not self.store.is_dir() or not self.runs(), "a run is in the store")
        check(not self.leftovers(), f"left in staging: {self.leftovers()}")


def big_trace(megabytes):
    """A trace whose import takes long enough to be interrupted."""
    event = ('{{"ph": "X", "cat": "kernel", "name": "kernel_{n}", "pid": 0, "tid": 7, "ts": {ts}.125, "dur": 3.5, '
             '"args": {{"External id": {i}, "device": 0, "context": 1, "stream": 7, "correlation": {i}, "grid": [1, 2, {n}], '
             '"note {m}": "{v:x}"}}}}')
    count = megabytes * 1_000_000 // 200
    noise = random.Random(2)
    body = ",\n".join(event.format(n=i % 500, m=i % 7, i=i, ts=1000 + 4 * i, v=noise.getrandbits(64)) for i in range(count))
    return '{"schemaVersion": 1, "traceEvents": [\n' + body + "\n]}\n"


@contextlib.contextmanager
def big_file(place, megabytes=40):
    path = place.file("big.json", big_trace(megabytes))
    yield path
    path.unlink()


def as_nobody():
    """A command prefix that runs as a user without rights."""
    if os.geteuid() != 0:
        raise Skip("needs root, to become another user")
    if not shutil.which("setpriv"):
        raise Skip("setpriv is not installed")
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if subprocess.run([*prefix, BIN, "version"], capture_output=True, check=False).returncode != 0:
        raise Skip("the program cannot be run by another user here")
    return prefix


@case
def empty_file(place):
    place.expect_error(place.run("import", place.file("empty.json", "")), 2, "empty.json", "empty")
    place.expect_nothing_stored()


@case
def empty_standard_input(place):
    place.expect_error(place.run("import", "-"), 2, "empty")
    place.expect_nothing_stored()


@case
def only_spaces(place):
    place.expect_error(place.run("import", place.file("blank.json", " \n" * 100)), 2, "blank.json")
    place.expect_nothing_stored()


@case
def binary_junk(place):
    junk = random.Random(1).randbytes(100_000)
    for name, content in (("junk.bin", junk), ("zeros", bytes(100_000)), ("elf", b"\x7fELF" + junk), ("array", b"[" + junk),
                          ("object", b"{" + junk), ("events", b'{"traceEvents": [' + junk)):
        place.expect_error(place.run("import", place.file(name, content)), 2, name)
    place.expect_nothing_stored()


@case
def missing_file(place):
    place.expect_error(place.run("import", "absent.json"), 2, "absent.json")
    place.expect_nothing_stored()


@case
def missing_file_to_compare(place):
    place.expect_error(place.run("compare", "./absent.json", "./other.json"), 2, "absent.json", "no such file")
    place.expect_error(place.run("compare", "absent.json", "other.json"), 2, "there is no file 'absent.json'", "there is no store")


@case
def truncated_gzip_at_every_byte(place):
    whole = gzip.compress(SMALL.encode() * 1, mtime=0)

    def attempt(cut):
        path = place.file(f"cut{cut}.json.gz", whole[:cut])
        done = place.run("import", path)
        place.expect_error(done, 2, "byte" if cut > 2 else "")
        path.unlink()

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(attempt, range(1, len(whole))))
    place.expect_nothing_stored()


@case
def damaged_gzip(place):
    damaged = bytearray(gzip.compress(SAMPLE.read_bytes()))
    damaged[len(damaged) // 2] ^= 0xFF
    place.expect_error(place.run("import", place.file("damaged.json.gz", bytes(damaged))), 2, "gzip", "damaged")
    place.expect_nothing_stored()


@case
def truncated_json_at_every_offset(place):
    end = len(SMALL.rstrip())

    def attempt(cut):
        path = place.file(f"cut{cut}.json", SMALL[:cut])
        place.expect_error(place.run("import", path), 2, path.name)
        path.unlink()

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(attempt, range(1, end)))
    place.expect_nothing_stored()
    check(place.run("import", place.file("whole.json", SMALL[:end])).returncode == 0, "the whole file is refused")


@case
def endless_brackets_through_a_pipe(place):
    feeder = "import sys\nblock = sys.argv[1].encode() * 100_000\nfor _ in range(300_000_000 // len(block)): sys.stdout.buffer.write(block)"
    for text in ("[", '{"a":', '[{"a":[', " ", '"', "[,", "[{1},", "{", '[{"a":1},'):
        began = time.monotonic()
        with subprocess.Popen([sys.executable, "-c", feeder, text], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as feed:
            try:
                done = place.run("import", "-", stdin=feed.stdout, limit_s=60)
            finally:
                feed.stdout.close()
                feed.kill()
        place.expect_error(done, 2)
        took = time.monotonic() - began
        check(took < 30, f"300 MB of {text!r} took {took:.1f} s")
    peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    check(peak_mb < 700, f"needed {peak_mb:.0f} MB")
    place.expect_nothing_stored()


@case
def names_of_a_megabyte(place):
    event = '{{"ph": "X", "cat": "cpu_op", "name": "{0}", "pid": 1, "tid": 1, "ts": {1}, "dur": 1, "args": {{"{0}": "{0}"}}}}'
    names = [c * 1_000_000 for c in "abc"] + ["d" * 4_000_000]
    text = '{"schemaVersion": 1, "traceEvents": [' + ",".join(event.format(n, i) for i, n in enumerate(names)) + "]}"
    done = place.run("import", place.file("long.json", text))
    check(done.returncode == 0, done.stderr.decode()[:300])
    reply = place.run("query", "@latest", "SELECT length(name) AS n FROM op ORDER BY id", "--format", "csv")
    check(reply.stdout.decode().split() == ["n", "1000000", "1000000", "1000000", "4000000"], reply.stdout.decode()[:200])
    check(len(done.stdout) < 100_000, "the summary prints whole names")


@case
def an_event_beyond_all_measure_is_counted(place):
    event = '{{"ph": "X", "name": "{0}", "pid": 1, "tid": 1, "ts": 1, "dur": 1}}'
    text = "[" + ",\n".join(event.format(n) for n in ("before", "x" * 40_000_000, "after")) + "]"
    done = place.run("import", place.file("huge.json", text), "--json")
    check(done.returncode == 0, done.stderr.decode()[:300])
    counters = {c["name"]: c["count"] for c in json.loads(done.stdout)["runs"][0]["counters"]}
    check(set(counters) == {"bad_event"}, str(counters))
    reply = place.run("query", "@latest", "SELECT name FROM range ORDER BY id", "--format", "csv")
    check(reply.stdout.decode().split() == ["name", "before", "after"], reply.stdout.decode()[:200])


@case
def many_huge_names_keep_their_own_text(place):
    # More text than a parsing thread keeps: it starts its numbers anew, and names must not get mixed up.
    event = '{{"ph": "X", "cat": "cpu_op", "name": "{0}", "pid": 1, "tid": 1, "ts": {1}, "dur": 1}}'
    names = [chr(97 + i) * 12_000_000 for i in range(6)] + [f"op {i}" for i in range(60_000)]
    text = '{"schemaVersion": 1, "traceEvents": [' + ",\n".join(event.format(n, i) for i, n in enumerate(names)) + "]}"
    check(place.run("import", place.file("huge.json", text)).returncode == 0, "import failed")
    reply = place.run("query", "@latest", "SELECT count(*) AS n FROM op WHERE id >= 6 AND name <> 'op ' || (id - 6)", "--format", "csv")
    check(reply.stdout.decode().split() == ["n", "0"], f"names are mixed up: {reply.stdout.decode()}")


@case
def nan_infinity_and_absurd_numbers_are_counted(place):
    events = ['{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": NaN, "dur": 1}', '{"ph": "X", "name": "b", "pid": 1, "tid": 1, "ts": 1, "dur": Infinity}',
              '{"ph": "X", "name": "c", "pid": 1, "tid": 1, "ts": 1, "dur": -5}', '{"ph": "X", "name": "d", "pid": 1, "tid": 1, "ts": 1e300, "dur": 5}',
              '{"ph": "X", "name": "e", "pid": 1, "tid": 1, "ts": 1, "dur": 1e17}', '{"ph": "X", "name": "f", "pid": 1, "tid": 1, "ts": 1, "dur": 2}']
    done = place.run("import", place.file("odd.json", "[" + ",".join(events) + "]"), "--json")
    check(done.returncode == 0, done.stderr.decode()[:300])
    counters = {c["name"]: c["count"] for c in json.loads(done.stdout)["runs"][0]["counters"]}
    check(counters == {"bad_timestamp": 2, "bad_duration": 3}, str(counters))
    shown = place.run("show", "@latest").stdout.decode()
    check("bad_duration" in shown and "bad_timestamp" in shown, "show does not tell of the losses")


@case
def durations_that_add_up_beyond_int64(place):
    event = '{{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": {0}, "dur": 31000000000000, "args": {{"device": 0, "External id": 1}}}}'
    op = '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": -1500000000000000, "dur": 1, "args": {"External id": 1}}'
    far = '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 6300000000000000, "dur": 1, "args": {"External id": 2}}'
    text = '{"schemaVersion": 1, "traceEvents": [' + ",".join([op, far] + [event.format(i) for i in range(1000)]) + "]}"
    done = place.run("import", place.file("long.json", text))
    check(done.returncode == 0, done.stderr.decode()[:300])
    check("-" not in done.stdout.decode().split("wall", 1)[1].split(",")[0], "negative wall: " + done.stdout.decode())


@case
def duplicate_ids_are_counted(place):
    events = ['{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": %d, "dur": 1, "args": {"External id": 5}}' % i for i in range(3)]
    done = place.run("import", place.file("twice.json", '{"schemaVersion": 1, "traceEvents": [' + ",".join(events) + "]}"), "--json")
    check(done.returncode == 0, done.stderr.decode()[:300])
    counters = {c["name"]: c["count"] for c in json.loads(done.stdout)["runs"][0]["counters"]}
    check(counters == {"duplicate_id": 2}, str(counters))


@case
def folder_without_traces(place):
    empty = place.folder / "empty folder"
    empty.mkdir()
    place.expect_error(place.run("import", empty), 2, "empty folder")
    (empty / "readme.txt").write_text("hello")
    place.expect_error(place.run("import", empty), 2, "empty folder")
    place.expect_nothing_stored()


@case
def unreadable_file(place):
    prefix = as_nobody()
    place.folder.chmod(0o777)
    path = place.file("secret.json", SMALL)
    path.chmod(0o600)
    place.expect_error(place.run("import", path, prefix=prefix), 3, "secret.json", "ermission")
    check(not place.leftovers(), f"left in staging: {place.leftovers()}")


@case
def read_only_store(place):
    prefix = as_nobody()
    place.folder.chmod(0o755)
    check(place.run("import", SAMPLE).returncode == 0, "the store cannot be made")
    path = place.file("other.json", SMALL)
    path.chmod(0o644)
    place.expect_error(place.run("import", path, prefix=prefix), 3)
    listed = place.run("ls", "--json", prefix=prefix)
    check(listed.returncode == 0, f"a reader cannot list a store it may only read: {listed.stderr.decode()[:200]}")
    check(len(json.loads(listed.stdout)["runs"]) == 1 and len(place.runs()) == 1, "the store changed")


@case
def full_disk(place):
    mount = place.folder / "small disk"
    mount.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(mount)], capture_output=True, check=False).returncode != 0:
        raise Skip("cannot mount a small file system here")
    try:
        place.store = mount / "store"
        with big_file(place) as path:
            place.expect_error(place.run("import", path), 3, "space")
        place.expect_nothing_stored()
        check(place.run("doctor").returncode == 0, "doctor finds fault after a full disk")
        done = place.run("import", SAMPLE)
        check(done.returncode == 0, f"a small import fails afterwards: {done.stderr.decode()[:200]}")
    finally:
        subprocess.run(["umount", str(mount)], check=False)


@case
def killed_in_the_middle(place):
    with big_file(place) as path:
        check(place.run("import", SAMPLE).returncode == 0, "the first import fails")
        began = time.monotonic()
        other = Place(place.folder / "timing")
        check(subprocess.run([BIN, "--store", str(other.store), "import", str(path)], capture_output=True, check=False).returncode == 0, "import fails")
        whole_s = time.monotonic() - began
        shutil.rmtree(other.folder, ignore_errors=True)
        killed = 0
        for part in (0.05, 0.2, 0.4, 0.6, 0.8, 0.9, 0.97, 0.1, 0.3, 0.5):
            known = {run["run_id"] for run in place.runs()}
            process = subprocess.Popen(place.command("import", path), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=place.environment())
            time.sleep(whole_s * part)
            process.kill()
            killed += process.wait() == -signal.SIGKILL
            for run in place.runs():
                shown = place.run("query", run["run_id"], "SELECT count(*) FROM kernel")
                check(shown.returncode == 0, f"a half run is listed: {shown.stderr.decode()[:200]}")
                if run["run_id"] not in known:  # it was done before the signal came: make room for the next
                    check(place.run("rm", run["run_id"]).returncode == 0, "rm fails")
        check(killed >= 4, f"only {killed} imports could be killed in the middle")
        check(place.run("doctor", "--repair").returncode == 0, "doctor cannot repair it")
        check(not place.leftovers(), f"left after the repair: {place.leftovers()}")
        check(place.run("doctor").returncode == 0, "doctor finds fault after its repair")
        done = place.run("import", path)
        check(done.returncode == 0, f"import fails afterwards: {done.stderr.decode()[:200]}")
        check(len(place.runs()) == 2, f"{len(place.runs())} runs instead of 2")


@case
def two_imports_of_one_file_at_once(place):
    with big_file(place, 15) as path:
        processes = [subprocess.Popen(place.command("import", path, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=place.environment())
                     for _ in range(2)]
        replies = [p.communicate(timeout=120) for p in processes]
    check(all(p.returncode == 0 for p in processes), str([r[1].decode()[:200] for r in replies]))
    results = [json.loads(r[0])["runs"][0] for r in replies]
    check(len(place.runs()) == 1, "two runs were stored")
    check({r["run_id"] for r in results} == {place.runs()[0]["run_id"]}, "they name different runs")
    check(sorted(r["duplicate"] for r in results) == [False, True], "both say they stored it")
    check(not place.leftovers(), f"left in staging: {place.leftovers()}")


@case
def interrupted_import_stores_nothing(place):
    with big_file(place) as path:
        done = None
        for wait_s in (0.15, 0.1, 0.05):
            process = subprocess.Popen(place.command("import", path), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=place.environment())
            time.sleep(wait_s)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=30)
            done = subprocess.CompletedProcess([], process.returncode, out, err)
            if done.returncode != 0:
                break
            place.run("rm", "@latest")
    place.expect_error(done, 130)
    place.expect_nothing_stored()


@case
def interrupted_while_waiting_for_a_pipe(place):
    process = subprocess.Popen(place.command("import", "-"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=place.environment())
    process.stdin.write(b'{"schemaVersion": 1, "traceEvents": [')
    process.stdin.flush()
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise Failure("Ctrl-C has no effect while the pipe gives nothing") from None
    finally:
        process.stdin.close()
    out, err = process.stdout.read(), process.stderr.read()
    place.expect_error(subprocess.CompletedProcess([], process.returncode, out, err), 130)
    place.expect_nothing_stored()


@case
def unknown_format_name(place):
    place.expect_error(place.run("import", SAMPLE, "--format", "nonsense"), 2, "nonsense")
    place.expect_nothing_stored()


@case
def a_bad_file_among_good_ones(place):
    bad = place.file("bad.json", "{")
    done = place.run("import", SAMPLE, bad)
    check(done.returncode == 2, f"exit status {done.returncode}")
    check("bad.json" in done.stderr.decode(), done.stderr.decode()[:200])
    check(len(place.runs()) == 1 and not place.leftovers(), "the good file is not in the store, or something is left over")


def main():
    wanted = os.environ.get("NEUROLENS_TEST_FILTER", "") or next((a for a in sys.argv[1:] if not a.startswith("-")), "")
    failed = 0
    for function in CASES:
        name = function.__name__
        if wanted and wanted not in name and wanted not in "bad_input.py":
            continue
        with tempfile.TemporaryDirectory(prefix="nl-bad-", ignore_cleanup_errors=True) as folder:
            began = time.monotonic()
            try:
                function(Place(folder))
                print(f"PASS {name}", flush=True)
            except Skip as reason:
                print(f"SKIP {name}: {reason}", flush=True)
            except (Failure, OSError, ValueError, KeyError, IndexError, subprocess.TimeoutExpired) as failure:
                failed += 1
                print(f"FAIL {name}: {' '.join(str(failure).split())}", flush=True)
            if "-v" in sys.argv:
                print(f"  {time.monotonic() - began:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""What a user meets with bad input: each ends with the stated exit status and one clear line, and leaves no half run.

Exit status: 0 ok, 2 bad input, 3 the system refused, 130 interrupted.
"""
import concurrent.futures
import fcntl
import gzip
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios

import pytest

from neurolens_cli import BIN, LIMIT_S, SAMPLES, Store, default_signals, wait_until

SAMPLE = SAMPLES / "kineto/rocm.json"
SMALL = ('{"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU"}], "traceEvents": [\n'
         '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1.5, "dur": 2, "args": {"External id": 1}},\n'
         '{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 3, "dur": 4.25, "args": {"External id": 1, '
         '"grid": [1, 2, 3], "device": 0, "stream": 7}},\n'
         '{"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 0, "args": {"name": "python \\"x\\""}}\n'
         '], "traceName": "small"}\n')


class Place(Store):
    """A store and a folder for the inputs of one case."""

    def __init__(self, folder):
        super().__init__(folder / "store", cwd=folder, XDG_CONFIG_HOME=str(folder))

    def file(self, name, content):
        path = self.cwd / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def runs(self):
        return self.json("ls", "--limit", "1000")["runs"]

    def start(self, *words, **options):
        return subprocess.Popen(self.command(*words), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.cwd, preexec_fn=default_signals,
                                env={**os.environ, **self.environment}, **options)

    def leftovers(self):
        staging = self.folder / "staging"
        return sorted(p.name for p in staging.iterdir()) if staging.is_dir() else []

    def expect_error(self, done, status, *words):
        error = done.stderr
        assert done.returncode == status, f"exit status {done.returncode} instead of {status}: {error.strip()[:300]}"
        lines = [line for line in error.split("\n") if line.strip()]
        assert lines and lines[0].startswith("neurolens: error: "), f"no error line: {error[:300]!r}"
        assert len(lines) == 1 or (len(lines) == 2 and lines[1].lstrip().startswith("hint: ")), f"more than an error and a hint: {error[:300]!r}"
        assert max(map(len, lines)) < 1000, f"an error of {max(map(len, lines))} characters"
        for word in words:
            assert word in lines[0], f"the error does not say {word!r}: {lines[0]}"
        assert not done.stdout.strip(), f"an error and an answer: {done.stdout[:200]!r}"

    def expect_nothing_stored(self):
        assert not self.folder.is_dir() or not self.runs(), "a run is in the store"
        assert not self.leftovers(), f"left in staging: {self.leftovers()}"


def big_trace(megabytes):
    """A trace whose import takes long enough to be interrupted."""
    event = ('{{"ph": "X", "cat": "kernel", "name": "kernel_{n}", "pid": 0, "tid": 7, "ts": {ts}.125, "dur": 3.5, '
             '"args": {{"External id": {i}, "device": 0, "context": 1, "stream": 7, "correlation": {i}, "grid": [1, 2, {n}], '
             '"note {m}": "{v:x}"}}}}')
    count = megabytes * 1_000_000 // 200
    noise = random.Random(2)
    body = ",\n".join(event.format(n=i % 500, m=i % 7, i=i, ts=1000 + 4 * i, v=noise.getrandbits(64)) for i in range(count))
    return '{"schemaVersion": 1, "traceEvents": [\n' + body + "\n]}\n"


@pytest.fixture
def place():
    """Outside pytest's folders, which other users may not enter."""
    with tempfile.TemporaryDirectory(prefix="nl-bad-", ignore_cleanup_errors=True) as folder:
        yield Place(pathlib.Path(folder))


@pytest.fixture(scope="module")
def big_file(module_folder):
    """A trace whose import takes long enough to be interrupted."""
    path = module_folder / "big.json"
    path.write_text(big_trace(40))
    return path


def as_nobody():
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        pytest.skip("needs root and setpriv")
    prefix = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    if subprocess.run([*prefix, BIN, "version"], capture_output=True, check=False, cwd="/").returncode != 0:
        pytest.skip("the program cannot be run by another user here")
    return prefix


def test_an_empty_file_is_refused(place):
    place.expect_error(place.run("import", place.file("empty.json", "")), 2, "empty.json", "empty")
    place.expect_nothing_stored()


def test_empty_standard_input_is_refused(place):
    place.expect_error(place.run("import", "-"), 2, "empty")
    place.expect_nothing_stored()


def test_a_file_of_spaces_is_refused(place):
    place.expect_error(place.run("import", place.file("blank.json", " \n" * 100)), 2, "blank.json")
    place.expect_nothing_stored()


def test_binary_junk_is_refused(place):
    junk = random.Random(1).randbytes(100_000)
    for name, content in (("junk.bin", junk), ("zeros", bytes(100_000)), ("elf", b"\x7fELF" + junk), ("array", b"[" + junk),
                          ("object", b"{" + junk), ("events", b'{"traceEvents": [' + junk)):
        place.expect_error(place.run("import", place.file(name, content)), 2, name)
    place.expect_nothing_stored()


def test_a_missing_file_is_named(place):
    place.expect_error(place.run("import", "absent.json"), 2, "absent.json")
    place.expect_nothing_stored()


def test_a_missing_file_to_compare_is_named(place):
    place.expect_error(place.run("compare", "./absent.json", "./other.json"), 2, "absent.json", "no such file")
    place.expect_error(place.run("compare", "absent.json", "other.json"), 2, "there is no file 'absent.json'", "no store at")


def test_gzip_truncated_at_any_byte_is_refused(place):
    whole = gzip.compress(SMALL.encode() * 1, mtime=0)

    def attempt(cut):
        path = place.file(f"cut{cut}.json.gz", whole[:cut])
        done = place.run("import", path)
        place.expect_error(done, 2, "byte" if cut > 2 else "")
        path.unlink()

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(attempt, range(1, len(whole))))
    place.expect_nothing_stored()


def test_damaged_gzip_is_refused(place):
    damaged = bytearray(gzip.compress(SAMPLE.read_bytes()))
    damaged[len(damaged) // 2] ^= 0xFF
    place.expect_error(place.run("import", place.file("damaged.json.gz", bytes(damaged))), 2, "gzip", "damaged")
    place.expect_nothing_stored()


def test_json_truncated_at_any_byte_is_refused(place):
    end = len(SMALL.rstrip())

    def attempt(cut):
        path = place.file(f"cut{cut}.json", SMALL[:cut])
        place.expect_error(place.run("import", path), 2, path.name)
        path.unlink()

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(attempt, range(1, end)))
    place.expect_nothing_stored()
    assert place.run("import", place.file("whole.json", SMALL[:end])).returncode == 0, "the whole file is refused"


@pytest.mark.parametrize("text", ["[", '{"a":', '[{"a":[', " ", '"', "[,", "[{1},", "{", '[{"a":1},'])
def test_endless_repetition_through_a_pipe_is_refused_in_bounded_memory(text, place):
    feeder = "import sys\nblock = sys.argv[1].encode() * 100_000\nfor _ in range(300_000_000 // len(block)): sys.stdout.buffer.write(block)"
    out, err = place.cwd / "out", place.cwd / "err"
    with subprocess.Popen([sys.executable, "-c", feeder, text], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as feed, \
            open(out, "wb") as to, open(err, "wb") as errors:
        try:
            reader = subprocess.Popen(place.command("import", "-"), stdin=feed.stdout, stdout=to, stderr=errors, cwd=place.cwd)
            _, status, used = os.wait4(reader.pid, 0)
            reader.returncode = os.waitstatus_to_exitcode(status)
        finally:
            feed.stdout.close()
            feed.kill()
    place.expect_error(subprocess.CompletedProcess([], reader.returncode, out.read_text(), err.read_text()), 2)
    assert used.ru_maxrss < 700 << 10, f"needed {used.ru_maxrss >> 10} MB"
    # Work that grows with the square of the size would take days.
    assert used.ru_utime + used.ru_stime < 120, f"300 MB of {text!r} took {used.ru_utime + used.ru_stime:.1f} s of CPU time"
    place.expect_nothing_stored()


def test_names_of_a_megabyte_are_kept(place):
    event = '{{"ph": "X", "cat": "cpu_op", "name": "{0}", "pid": 1, "tid": 1, "ts": {1}, "dur": 1, "args": {{"{0}": "{0}"}}}}'
    names = [c * 1_000_000 for c in "abc"] + ["d" * 4_000_000]
    text = '{"schemaVersion": 1, "traceEvents": [' + ",".join(event.format(n, i) for i, n in enumerate(names)) + "]}"
    done = place.run("import", place.file("long.json", text))
    assert done.returncode == 0, done.stderr[:300]
    reply = place.run("query", "@latest", "SELECT length(name) AS n FROM op ORDER BY id", "--format", "csv")
    assert reply.stdout.split() == ["n", "1000000", "1000000", "1000000", "4000000"], reply.stdout[:200]
    assert len(done.stdout) < 100_000, "the summary prints whole names"


def test_an_event_beyond_all_measure_is_counted(place):
    event = '{{"ph": "X", "name": "{0}", "pid": 1, "tid": 1, "ts": 1, "dur": 1}}'
    text = "[" + ",\n".join(event.format(n) for n in ("before", "x" * 40_000_000, "after")) + "]"
    done = place.run("import", place.file("huge.json", text), "--json")
    assert done.returncode == 0, done.stderr[:300]
    counters = {c["name"]: c["count"] for c in json.loads(done.stdout)["runs"][0]["counters"]}
    assert set(counters) == {"bad_event"}, str(counters)
    reply = place.run("query", "@latest", "SELECT name FROM range ORDER BY id", "--format", "csv")
    assert reply.stdout.split() == ["name", "before", "after"], reply.stdout[:200]


def test_many_huge_names_keep_their_own_text(place):
    # More text than a parsing thread keeps: it starts its numbers anew, and names must not get mixed up.
    event = '{{"ph": "X", "cat": "cpu_op", "name": "{0}", "pid": 1, "tid": 1, "ts": {1}, "dur": 1}}'
    names = [chr(97 + i) * 12_000_000 for i in range(6)] + [f"op {i}" for i in range(60_000)]
    text = '{"schemaVersion": 1, "traceEvents": [' + ",\n".join(event.format(n, i) for i, n in enumerate(names)) + "]}"
    assert place.run("import", place.file("huge.json", text)).returncode == 0, "import failed"
    reply = place.run("query", "@latest", "SELECT count(*) AS n FROM op WHERE id >= 6 AND name <> 'op ' || (id - 6)", "--format", "csv")
    assert reply.stdout.split() == ["n", "0"], f"names are mixed up: {reply.stdout}"


def test_nan_infinity_and_absurd_numbers_are_counted(place):
    events = ['{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": NaN, "dur": 1}', '{"ph": "X", "name": "b", "pid": 1, "tid": 1, "ts": 1, "dur": Infinity}',
              '{"ph": "X", "name": "c", "pid": 1, "tid": 1, "ts": 1, "dur": -5}', '{"ph": "X", "name": "d", "pid": 1, "tid": 1, "ts": 1e300, "dur": 5}',
              '{"ph": "X", "name": "e", "pid": 1, "tid": 1, "ts": 1, "dur": 1e17}', '{"ph": "X", "name": "f", "pid": 1, "tid": 1, "ts": 1, "dur": 2}']
    done = place.run("import", place.file("odd.json", "[" + ",".join(events) + "]"), "--json")
    assert done.returncode == 0, done.stderr[:300]
    counters = {c["name"]: c["count"] for c in json.loads(done.stdout)["runs"][0]["counters"]}
    assert counters == {"bad_timestamp": 2, "bad_duration": 3}, str(counters)
    shown = place.run("show", "@latest").stdout
    assert "bad_duration" in shown and "bad_timestamp" in shown, "show does not tell of the losses"


def test_durations_that_add_up_beyond_int64_give_no_negative_wall(place):
    event = '{{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": {0}, "dur": 31000000000000, "args": {{"device": 0, "External id": 1}}}}'
    op = '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": -1500000000000000, "dur": 1, "args": {"External id": 1}}'
    far = '{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 6300000000000000, "dur": 1, "args": {"External id": 2}}'
    text = '{"schemaVersion": 1, "traceEvents": [' + ",".join([op, far] + [event.format(i) for i in range(1000)]) + "]}"
    done = place.run("import", place.file("long.json", text))
    assert done.returncode == 0, done.stderr[:300]
    assert "-" not in done.stdout.split("wall", 1)[1].split(",")[0], "negative wall: " + done.stdout


@pytest.mark.parametrize("words", [("analyze",), ("findings",), ("report", "--out", "r"), ("compare", "@latest"), ("stages",), ("idle",)], ids=lambda w: w[0])
def test_a_kernel_without_a_name_is_explained(words, place):
    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1 + i * 10, "dur": 5, "args": {"External id": i}} for i in range(20)]
    events += [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2 + i * 10, "dur": 1, "args": {"correlation": i, "External id": i}}
               for i in range(20)]
    events += [{"ph": "X", "cat": "kernel", "pid": 0, "tid": 7, "ts": 5 + i * 10, "dur": 4, "args": {"correlation": i, "External id": i, "device": 0, "stream": 7}} for i in range(20)]
    path = place.file("nameless.json", json.dumps({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "NVIDIA H200"}], "traceEvents": events}))
    place.json("import", str(path))
    done = place.run(words[0], "@latest", *words[1:])
    assert done.returncode == 0, done.stderr[-300:]


@pytest.mark.parametrize("table", ["op", "kernel"])
def test_a_table_that_is_gone_is_named_and_not_empty(table, place):
    place.json("import", str(SAMPLE))
    (path,) = (place.folder / "runs").glob(f"*/{table}.parquet")
    path.unlink()
    for words in (("summary", "@latest"), ("operators", "@latest"), ("query", "@latest", "SELECT 1")):
        place.expect_error(place.run(*words), 3, f"{table}.parquet is missing")


def test_duplicate_ids_are_counted(place):
    events = ['{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": %d, "dur": 1, "args": {"External id": 5}}' % i for i in range(3)]
    done = place.run("import", place.file("twice.json", '{"schemaVersion": 1, "traceEvents": [' + ",".join(events) + "]}"), "--json")
    assert done.returncode == 0, done.stderr[:300]
    counters = {c["name"]: c["count"] for c in json.loads(done.stdout)["runs"][0]["counters"]}
    assert counters == {"duplicate_id": 2}, str(counters)


def test_a_folder_without_traces_is_refused(place):
    empty = place.cwd / "empty folder"
    empty.mkdir()
    place.expect_error(place.run("import", empty), 2, "empty folder")
    (empty / "readme.txt").write_text("hello")
    place.expect_error(place.run("import", empty), 2, "empty folder")
    place.expect_nothing_stored()


def test_an_unreadable_file_is_named(place):
    prefix = as_nobody()
    place.cwd.chmod(0o777)
    path = place.file("secret.json", SMALL)
    path.chmod(0o600)
    place.expect_error(place.run("import", path, prefix=prefix), 3, "secret.json", "ermission")
    assert not place.leftovers(), f"left in staging: {place.leftovers()}"


def test_a_read_only_store_can_be_read_and_not_changed(place):
    prefix = as_nobody()
    place.cwd.chmod(0o755)
    assert place.run("import", SAMPLE).returncode == 0, "the store cannot be made"
    path = place.file("other.json", SMALL)
    path.chmod(0o644)
    place.expect_error(place.run("import", path, prefix=prefix), 3)
    listed = place.run("ls", "--json", prefix=prefix)
    assert listed.returncode == 0, f"a reader cannot list a store it may only read: {listed.stderr[:200]}"
    assert len(json.loads(listed.stdout)["runs"]) == 1 and len(place.runs()) == 1, "the store changed"


def test_a_full_disk_leaves_nothing_and_the_next_import_works(place, big_file):
    mount = place.cwd / "small disk"
    mount.mkdir()
    if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(mount)], capture_output=True, check=False).returncode != 0:
        pytest.skip("cannot mount a small file system here")
    try:
        place.folder = mount / "store"
        place.expect_error(place.run("import", big_file), 3, "space")
        place.expect_nothing_stored()
        assert place.run("doctor").returncode == 0, "doctor finds fault after a full disk"
        done = place.run("import", SAMPLE)
        assert done.returncode == 0, f"a small import fails afterwards: {done.stderr[:200]}"
    finally:
        subprocess.run(["umount", str(mount)], check=False)


def consumed(pipe):
    """Nothing is left in a pipe."""
    return struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)))[0] == 0


def half_fed(place, data, share):
    """An import that has read this share of the data from a pipe that stays open."""
    process = place.start("import", "-", stdin=subprocess.PIPE)
    process.stdin.write(data[:int(len(data) * share)])
    process.stdin.flush()
    wait_until(lambda: consumed(process.stdin), "the importer to read", process)
    return process


def in_staging(place, path):
    """A started import of a file that has begun to write."""
    process = place.start("import", path)
    while not place.leftovers() and process.poll() is None:
        pass
    return process


def test_an_import_killed_in_the_middle_leaves_no_half_run(place, big_file):
    assert place.run("import", SAMPLE).returncode == 0, "the first import fails"
    data, killed = big_file.read_bytes(), 0
    for how in (0.02, 0.2, 0.4, 0.6, 0.8, 0.99, "file", "file", "file", "file"):
        known = {run["run_id"] for run in place.runs()}
        process = in_staging(place, big_file) if how == "file" else half_fed(place, data, how)
        process.kill()
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        for run in place.runs():
            shown = place.run("query", run["run_id"], "SELECT count(*) FROM kernel")
            assert shown.returncode == 0, f"a half run is listed: {shown.stderr[:200]}"
            if run["run_id"] not in known:  # a file was imported before the signal came: make room for the next
                assert place.run("rm", run["run_id"]).returncode == 0, "rm fails"
    assert killed >= 6, f"only {killed} imports could be killed in the middle"
    assert place.run("doctor", "--repair").returncode == 0, "doctor cannot repair it"
    assert not place.leftovers(), f"left after the repair: {place.leftovers()}"
    assert place.run("doctor").returncode == 0, "doctor finds fault after its repair"
    done = place.run("import", big_file)
    assert done.returncode == 0, f"import fails afterwards: {done.stderr[:200]}"
    assert len(place.runs()) == 2, f"{len(place.runs())} runs instead of 2"


def test_two_imports_of_one_file_at_once_store_one_run(place):
    path = place.file("big.json", big_trace(15))
    processes = [place.start("import", path, "--json") for _ in range(2)]
    replies = [p.communicate(timeout=LIMIT_S) for p in processes]
    assert all(p.returncode == 0 for p in processes), str([r[1].decode()[:200] for r in replies])
    results = [json.loads(r[0])["runs"][0] for r in replies]
    assert len(place.runs()) == 1, "two runs were stored"
    assert {r["run_id"] for r in results} == {place.runs()[0]["run_id"]}, "they name different runs"
    assert sorted(r["duplicate"] for r in results) == [False, True], "both say they stored it"
    assert not place.leftovers(), f"left in staging: {place.leftovers()}"


def finished(process):
    out, err = process.communicate(timeout=LIMIT_S)
    return subprocess.CompletedProcess([], process.returncode, out.decode(), err.decode())


def test_an_interrupted_import_stores_nothing(place, big_file):
    for _ in range(100):
        process = in_staging(place, big_file)
        process.send_signal(signal.SIGINT)
        done = finished(process)
        if done.returncode != 0:
            break
        place.text("rm", "@latest")  # it was done before the signal came
    place.expect_error(done, 130)
    place.expect_nothing_stored()


def test_an_import_that_waits_for_a_pipe_can_be_interrupted(place):
    process = half_fed(place, b'{"schemaVersion": 1, "traceEvents": [', 1)
    process.send_signal(signal.SIGINT)
    process.wait(LIMIT_S)  # while the pipe is open and gives nothing
    place.expect_error(finished(process), 130)
    place.expect_nothing_stored()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("command", ["analyze", "report", "findings"])
def test_a_command_that_never_looks_at_the_signal_is_ended_too(place, command, number):
    """The rules come from a pipe that gives nothing: the read is begun again after a signal, and nothing polls."""
    run = place.add(place.file("small.json", SMALL)).id
    rules = place.cwd / "rules.yaml"
    os.mkfifo(rules)
    process = place.start(command, run, "--rules", str(rules))
    with open(rules, "wb"):  # opens when the program has opened the other end
        process.send_signal(number)
        process.wait(LIMIT_S)
    done = finished(process)
    assert done.returncode == 128 + number, f"exit status {done.returncode}: {done.stderr[:300]}"
    assert [r["run_id"] for r in place.runs()] == [run] and not place.leftovers(), "the store changed"


def cpu_ticks(pid):
    """What a process and its children have computed."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()
    except OSError:
        return 0
    return int(stat[11]) + sum(map(cpu_ticks, children))


def test_an_endless_query_is_ended_by_a_signal(place):
    run = place.add(place.file("small.json", SMALL)).id
    process = place.start("query", run, "SELECT count(*) FROM range(100000000000) a, range(100000000000) b", "--timeout", "86400")
    wait_until(lambda: cpu_ticks(process.pid) > 30, "the query to compute", process)
    process.send_signal(signal.SIGTERM)
    process.wait(LIMIT_S)
    assert finished(process).returncode == 128 + signal.SIGTERM


def test_an_unknown_format_is_named(place):
    place.expect_error(place.run("import", SAMPLE, "--format", "nonsense"), 2, "nonsense")
    place.expect_nothing_stored()


def test_a_bad_file_among_good_ones_is_named_and_the_good_ones_are_imported(place):
    bad = place.file("bad.json", "{")
    done = place.run("import", SAMPLE, bad)
    assert done.returncode == 2, f"exit status {done.returncode}"
    assert "bad.json" in done.stderr, done.stderr[:200]
    assert len(place.runs()) == 1 and not place.leftovers(), "the good file is not in the store, or something is left over"

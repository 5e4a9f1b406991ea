# SPDX-License-Identifier: Apache-2.0
"""The capture library inside a program, driven by a CUPTI without a GPU (tests/capture): what it records, and how it
behaves when the program or CUPTI does not. The files are read by tests/nlcap_reader.py, which shares no code with it."""
import bisect
import contextlib
import os
import pathlib
import resource
import shutil
import signal
import struct
import subprocess
import tempfile

import pytest

from neurolens_cli import BUILD, LIMIT_S, wait_until
from nlcap_reader import captures

LIBRARY = BUILD / "libneurolens_capture.so"
FAKE = BUILD / "capture_tests/libfake_cupti.so"
FAKE_NVML = BUILD / "capture_tests/libfake_nvml.so"
PROGRAM = BUILD / "capture_tests/gpu_program"
# ControlBlock of src/capture/control.h.
PAGE_BYTES, EPOCH_AT, SLOTS_AT, SLOT_BYTES, SLOTS = 184 + 16 + 240 * 248, 184, 200, 248, 240
DEFAULT_WANTED = 0x7FF
(CUPTI_DROPPED, CUPTI_UNKNOWN, BUFFER_LIMIT, RING_FULL, STRING_CUT, DISK_FULL, COUNTERS_MISSED) = (1, 2, 3, 4, 7, 8, 12)
PM_SAMPLING, NVML = 1, 2
SM_ACTIVE = "TPC.TriageCompute.sm__cycles_active.avg.pct_of_peak_sustained_elapsed"
PUSH, POP, START, END, MARK = 1, 2, 3, 4, 5
GPU_AHEAD_NS = 3_600_000_000_000  # of the host's clock, in the fake CUPTI
MISSING = [p.name for p in (LIBRARY, FAKE, FAKE_NVML, PROGRAM) if not p.exists()]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not built: {', '.join(MISSING)}")


class Page:
    """The control page, as the launcher makes it."""

    def __init__(self, directory, buffer_bytes=256 << 20, start_off=0, capture_range="", wanted=DEFAULT_WANTED, counter_interval_us=100, budget_ppm=0):
        self.path = pathlib.Path(directory) / "control"
        head = struct.pack("<8sIIIIQQIIII128s", b"NLCTL\0\0\1", 1, PAGE_BYTES, os.getpid(), SLOTS, wanted, buffer_bytes, 250, counter_interval_us, budget_ppm,
                           start_off, capture_range.encode())
        commands = struct.pack("<IIII", 1, 1, 0, 0)
        self.path.write_bytes((head + commands).ljust(PAGE_BYTES, b"\0"))

    def request(self, on):
        with open(self.path, "r+b") as page:
            page.seek(EPOCH_AT)
            epoch = struct.unpack("<I", page.read(4))[0] + 1
            page.seek(EPOCH_AT)
            page.write(struct.pack("<II", epoch, on))
        return epoch

    def slot(self, index=0):
        data = self.path.read_bytes()[SLOTS_AT + index * SLOT_BYTES:][:SLOT_BYTES]
        names = "pid state start_ns updated_ns kernels copies api_calls ranges other lost bytes_written buffer_bytes kernel_time_ns cost_program_ns cost_writer_ns epoch_seen has_gpu".split()
        return dict(zip(names, struct.unpack_from("<II13QII", data)), message=data[120:].split(b"\0")[0].decode())


def environment(directory, fake="", nvml=""):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("NEUROLENS_CAPTURE", "CUDA_INJECTION", "NVTX_INJECTION"))}
    return {**clean, "NEUROLENS_CAPTURE_DIR": str(directory), "CUDA_INJECTION64_PATH": str(LIBRARY),
            "NVTX_INJECTION64_PATH": str(LIBRARY), "NEUROLENS_CUPTI": str(FAKE), "NEUROLENS_NVML": str(FAKE_NVML), "FAKE_CUPTI": fake,
            "FAKE_NVML": nvml}


@contextlib.contextmanager
def folder():
    with tempfile.TemporaryDirectory(prefix="nlcap-") as name:
        yield pathlib.Path(name)


def run(directory, *arguments, fake="", nvml="", **options):
    return subprocess.run([str(PROGRAM), *arguments], env=environment(directory, fake, nvml), stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=LIMIT_S, check=False, **options)


@contextlib.contextmanager
def started(directory, *arguments):
    """A program under way, ended by a signal if it has not ended by then."""
    program = subprocess.Popen([str(PROGRAM), *arguments], env=environment(directory), stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield program
    finally:
        program.terminate()
        program.wait(LIMIT_S)


def the_capture(directory):
    """The one capture of a folder, which was closed in order."""
    found = captures(directory)
    assert len(found) == 1, f"{len(found)} files"
    assert found[0].whole, found[0].problem or "no end record"
    return found[0]


def record(*arguments, fake="", nvml="", status=0, out=""):
    """The one capture of a run that must end with `status` and print `out`; out=None: what it prints is .out."""
    with folder() as directory:
        done = run(directory, *arguments, fake=fake, nvml=nvml)
        assert done.returncode == status, f"status {done.returncode}: {done.stderr[-300:]}"
        assert done.stdout == (done.stdout if out is None else out.encode()) and done.stderr == b"", (done.stdout, done.stderr)
        capture = the_capture(directory)
        capture.out = done.stdout.decode()
        return capture


def windows(capture):
    return [w["on"] for w in capture.of("window")]


def names(capture, kind):
    return [capture.text(r) for r in capture.of(kind)]


def test_records_what_the_program_did():
    c = record("push=LLM@prefill", "launch=100", "copy=4", "sync", "pop", "graph=3", "malloc=2", "memset=1")
    assert len(c.of("kernel")) == 112, len(c.of("kernel"))
    assert names(c, "kernel").count("_Z4gemmPfS_S_i") == 50
    kernel = c.of("kernel")[0]
    assert (kernel["grid_x"], kernel["block_x"], kernel["registers"], kernel["static_shared"], kernel["dynamic_shared"],
            kernel["cluster_x"]) == (128, 256, 40, 1024, 2048, 2), kernel
    assert kernel["queued_ns"] == 0 and kernel["end_ns"] - kernel["start_ns"] == 10_000
    nodes = [k for k in c.of("kernel") if k["graph_id"] == 3]
    assert len(nodes) == 12 and {n["graph_node_id"] & 0xFFFFFFFF for n in nodes} == {0, 1, 2, 3}
    assert [(m["kind"], m["src"], m["dst"], m["bytes"]) for m in c.of("memcpy")] == [(1, 2, 3, 4096), (2, 3, 1, 4096), (1, 1, 3, 4096), (2, 3, 1, 4096)]
    assert len(c.of("memset")) == 1 and c.of("memset")[0]["bytes"] == 512
    assert len(c.of("sync")) == 1 and len(c.of("memory")) == 2
    assert c.of("device")[0]["sm_count"] == 132
    launches = {a["correlation"] for a in c.of("api")}
    assert all(k["correlation"] in launches for k in c.of("kernel"))
    assert names(c, "api").count("cudaLaunchKernel_v7000") == 100
    assert c.lost() == 0 and c.facts["cupti.version"] == "130000"
    assert windows(c) == [1, 0]


def test_clock_pairs_are_sandwiched_and_of_one_rate():
    c = record("launch=1", "clock_reads=15", "launch=1")
    pairs = [p for p in c.of("clock") if p["gpu_ns"]]
    assert len(pairs) >= 2, len(pairs)
    for p in pairs:
        assert p["before_ns"] <= p["gpu_ns"] - GPU_AHEAD_NS <= p["after_ns"], p


def test_own_cost_is_written():
    c = record("flood=1000")
    cost = c.of("cost")[-1]
    assert cost["program_calls"] >= 2000 and cost["in_program_ns"] > 0 and cost["in_writer_ns"] > 0, cost


def test_nvtx_calls_of_all_kinds():
    c = record("push=outer", "push=inner", "pop", "pop", "start=across", "end", "domain=lib", "mark=here", "thread_name=boss")
    assert [r["what"] for r in c.of("range")] == [PUSH, PUSH, POP, POP, START, END, MARK]
    assert [c.text(r) for r in c.of("range")] == ["outer", "inner", None, None, "across", None, "here"]
    assert [r["depth"] for r in c.of("range")][:4] == [0, 1, 1, 0]
    start, end, mark = c.of("range")[4:]
    assert start["id"] == end["id"] != 0
    assert (c.text(mark, "domain"), c.text(mark, "category"), mark["payload_type"], mark["payload"], mark["color"]) == (
        "lib", "five", 2, 2**64 - 42, 0xFF00FF00), mark
    assert "boss" in names(c, "thread")


def test_operators_of_torch_share_their_texts():
    c = record(*(word for i in range(50) for word in (f"push=aten::mul, seq = {i}, op_id = {1000 + i}, sizes = [[2, 3], []], input_op_ids = [({i},0)]", "pop")))
    pushes = [r for r in c.of("range") if r["what"] == 1]
    assert {c.text(r) for r in pushes} == {"aten::mul, sizes = [[2, 3], []]"}
    assert [(r["flags"], r["id"], r["payload"]) for r in pushes] == [(1, 1000 + i, i) for i in range(50)]


def test_questions_are_not_recorded():
    c = record("question=50", "launch=2")
    assert set(names(c, "api")) == {"cudaLaunchKernel_v7000"} and len(c.of("api")) == 2, names(c, "api")


def test_a_call_has_its_times_thread_and_result_and_what_it_waited_for():
    c = record("launch=3", "stream_sync=7", "sync", fake="call_fails")
    calls = c.of("api")
    assert names(c, "api") == ["cudaLaunchKernel_v7000"] * 3 + ["cudaStreamSynchronize_v3020", "cudaDeviceSynchronize_v3020"], names(c, "api")
    assert all(a["end_ns"] > a["start_ns"] > 3_600_000_000_000 and a["return_value"] == 2 and a["tid"] == c.of("file")[0]["pid"] for a in calls), calls
    assert [(s["type"], s["stream"], s["context"], s["return_value"], s["correlation"]) for s in c.of("sync")] == [
        (3, 7, 1, 2, calls[3]["correlation"]), (4, 0xFFFFFFFF, 1, 2, calls[4]["correlation"])], c.of("sync")


def test_a_flood_of_calls_from_many_threads_loses_none_that_is_not_counted():
    c = record("racing_threads=6", "launch=60000", "sync", "exit=0", fake="racing")
    launches = {a["correlation"]: a["tid"] for a in c.of("api") if c.text(a) == "cudaLaunchKernel_v7000"}
    main = list(launches.values()).count(c.of("file")[0]["pid"])
    # On a machine that gives the writer no time, rings fill; what they refuse is counted.
    assert main == 60_000 or 60_000 - main <= c.lost(), (len(launches), len(c.of("kernel")), c.of("loss"))
    assert len(c.of("kernel")) >= 60_000, len(c.of("kernel"))
    # But for those that the other threads were in when it ended.
    alone = [k for k in c.of("kernel") if k["correlation"] not in launches]
    assert len(alone) <= 6 + c.lost() and len({a["correlation"] for a in c.of("api")}) == len(c.of("api")), len(alone)


def test_a_call_that_cannot_be_watched_is_said():
    c = record("launch=2", "copy=1", fake="refuse_call=3")
    assert set(names(c, "api")) == {"cudaLaunchKernel_v7000"} and len(c.of("memcpy")) == 1
    assert [m for m in messages(c) if "refused callbacks" in m]


def test_nothing_without_a_directory():
    with folder() as directory:
        env = environment(directory)
        del env["NEUROLENS_CAPTURE_DIR"]
        done = subprocess.run([str(PROGRAM), "push=x", "launch=3", "pop", "exit=4"], env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=LIMIT_S, check=False)
        assert (done.returncode, done.stdout, done.stderr) == (4, b"", b""), done
        assert not list(directory.iterdir())


def test_a_directory_that_is_gone_costs_the_recording_only():
    with folder() as directory:
        assert run(directory / "gone", "push=x", "launch=3", "exit=4").returncode == 4


def test_cpu_only_program_records_ranges():
    c = record("push=x", "pop")
    assert len(c.of("range")) == 2 and not c.of("kernel") and not c.of("message")


def test_fork_gives_the_child_a_file_of_its_own():
    with folder() as directory:
        assert run(directory, "push=before", "pop", "launch=2", "fork_work", "push=after", "pop").returncode == 0
        parent, child = sorted(captures(directory), key=lambda c: c.of("file")[0]["monotonic_ns"])
        assert parent.whole and child.whole
        assert [n for n in names(parent, "range") if n] == ["before", "after"]
        assert [n for n in names(child, "range") if n] == ["in the child"]
        assert child.of("file")[0]["ppid"] == parent.of("file")[0]["pid"]
        assert len(parent.of("kernel")) == 2 and not child.of("kernel")


def test_exec_gives_both_images_a_file():
    with folder() as directory:
        assert run(directory, "push=first", "file", "exec=push=second:pop:exit=5").returncode == 5
        first, second = sorted(captures(directory), key=lambda c: c.of("file")[0]["monotonic_ns"])
        assert first.of("file")[0]["pid"] == second.of("file")[0]["pid"]
        assert not first.problem and not first.whole  # readable, and it shows that it was not closed
        assert second.whole and [n for n in names(second, "range") if n] == ["second"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT])
def test_a_signal_that_ends_the_program_keeps_what_was_written(number):
    with folder() as directory:
        page = Page(directory)
        with started(directory, "push=x", "launch=500", "sleep=1000000") as program:
            wait_until(lambda: page.slot()["kernels"] == 500 and len(captures(directory)[0].of("kernel")) == 500, "500 kernels in the file", program)
            program.send_signal(number)
            program.wait(LIMIT_S)
        assert program.returncode == -number
        c = captures(directory)[0]
        assert not c.whole and c.problem in ("", "cut header", "cut payload"), c.problem
        assert len(c.of("kernel")) == 500 and names(c, "range") == ["x"]
        assert page.slot()["kernels"] == 500 and page.slot()["state"] == 2


def test_underscore_exit_leaves_a_readable_file():
    with folder() as directory:
        assert run(directory, "launch=10", "_exit=6").returncode == 6
        assert all(not c.problem for c in captures(directory))


def test_early_exit_loses_nothing():
    c = record("push=x", "launch=10", "pop", "exit=3", status=3)
    assert len(c.of("kernel")) == 10 and len(c.of("range")) == 2 and c.lost() == 0


def test_threads_that_run_at_exit_do_no_harm():
    for _ in range(3):
        record("busy_threads=4", "launch=20", "sleep=50", "exit=0")


def test_closed_standard_streams_stay_out_of_the_file():
    c = record("close_stdout", "push=x", "launch=5", "print=not for the file", "pop")
    assert len(c.of("kernel")) == 5


def test_the_programs_output_is_its_own():
    with folder() as directory:
        done = run(directory, "launch=5", "print=hello", "push=x")
        assert (done.stdout, done.stderr) == (b"hello\n", b""), done


def test_many_threads_share_rings():
    c = record("threads=8", "threads=8", "threads=8")
    assert len(c.of("range")) + c.lost(RING_FULL) == 8 * 3 * 200
    assert len({r["tid"] for r in c.of("range")}) >= 8


def test_a_flood_is_recorded_or_counted():
    c = record("flood=100000")
    assert len(c.of("range")) + c.lost(RING_FULL) == 200_000, (len(c.of("range")), c.lost())


def test_full_disk_costs_records_only():
    with folder() as directory:
        page = Page(directory)
        done = run(directory, "launch=5000", "exit=2", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)))
        assert done.returncode == 2, done
        c = captures(directory)[0]
        assert not c.problem, c.problem
        slot = page.slot()
        assert slot["kernels"] == 5000 and slot["lost"] >= 5000 - len(c.of("kernel")) > 0, slot


def test_memory_limit_is_kept_and_told():
    with folder() as directory:
        page = Page(directory, buffer_bytes=4 << 20)
        # 48,000 kernels with their calls are 11 MB of records, given back at the end; one buffer is all there is.
        assert run(directory, "launch=48000", fake="hold").returncode == 0
        c = captures(directory)[0]
        assert c.whole and c.lost(BUFFER_LIMIT) > 0
        assert len(c.of("kernel")) < 48_000
        assert page.slot()["buffer_bytes"] <= (4 << 20) + (1 << 20), page.slot()


def test_switched_off_and_on_from_outside():
    with folder() as directory:
        page = Page(directory)
        with started(directory, "steps=1000000") as program:
            wait_until(lambda: page.slot()["state"] == 2 and page.slot()["ranges"] > 0, "ranges", program)
            off = page.request(0)
            wait_until(lambda: page.slot()["state"] == 3 and page.slot()["epoch_seen"] == off, "a pause", program)
            paused_at = page.slot()["ranges"]
            on = page.request(1)
            wait_until(lambda: page.slot()["epoch_seen"] == on and page.slot()["ranges"] > paused_at, "ranges after the pause", program)
            wait_until(lambda: windows(captures(directory)[0]) == [1, 0, 1], "the windows in the file", program)


def test_only_the_range_asked_for_is_recorded():
    with folder() as directory:
        Page(directory, capture_range="LLM@decode_all")
        assert run(directory, "launch=5", "push=LLM@prefill", "launch=5", "pop", "push=LLM@decode_all", "push=in it", "launch=7", "pop",
                   "pop", "launch=5").returncode == 0
        c = captures(directory)[0]
        assert c.whole and len(c.of("kernel")) == 7, len(c.of("kernel"))
        assert [n for n in names(c, "range") if n] == ["LLM@decode_all", "in it"]
        assert len(c.of("device")) == 1 and len(c.of("context")) == 1  # told when the context was made, outside of it


def test_cupti_leaves_while_nothing_is_recorded_and_comes_back():
    """The fake CUPTI ends the program when it is used while it is away."""
    c = record("launch=4", "bursts=2", "clock_reads=5", "recording_off", "leave=1", "launch=3", "copy=2", "sleep=300", "recording_on", "launch=5", "bursts=2",
               "clock_reads=5", "recording_off", "leave=1", "recording_on", "launch=2", "clock_reads=5", "sync")
    on = [w["time_ns"] for w in c.of("window") if w["on"]]
    off = [w["time_ns"] for w in c.of("window") if not w["on"]]
    assert len(on) == 3 and len(c.of("kernel")) == 4 + 5 + 2 and not c.of("memcpy"), (len(on), len(c.of("kernel")))
    assert {a["tid"] for a in c.of("api")} == {c.of("api")[0]["tid"]} and c.of("api")[0]["tid"] != 0
    assert "cudaGetDevice" not in names(c, "api")  # the list of calls is as it was
    # Correlations begin anew each time, but not in the file.
    launches = {a["correlation"]: a["start_ns"] for a in c.of("api") if c.text(a).startswith("cudaLaunch")}
    assert len(launches) == 11 and all(launches[k["correlation"]] <= k["start_ns"] for k in c.of("kernel"))
    # Counters in both windows, of one set; and the clock is read when it comes back.
    assert len([s for s in c.of("counter_set") if s["source"] == PM_SAMPLING]) == 1
    for begin, end in zip(on[:2], off):
        assert any(begin < r["start_ns"] - GPU_AHEAD_NS < end for r in c.readings(PM_SAMPLING)), (begin, end)
    for before, end in zip([0, *off], off):
        assert any(p["gpu_ns"] and before < p["after_ns"] < end for p in c.of("clock")), (before, end, c.of("clock"))
    assert c.lost() == 0 and not [m for m in messages(c) if "refused" in m], (c.of("loss"), messages(c))


def test_cupti_leaves_a_program_that_is_recorded_later():
    with folder() as directory:
        Page(directory, start_off=1)
        assert run(directory, "launch=1", "leave=1", "launch=1", "recording_on", "launch=3").returncode == 0
        c = captures(directory)[0]
        assert c.whole and len(c.of("kernel")) == 3 and len(c.of("device")) == 1


def test_short_pauses_lose_no_kernel():
    c = record("launch=1", *["recording_off", "question=5", "recording_on", "launch=1"] * 20)
    assert len(c.of("kernel")) == 21 and c.whole


def test_leaving_is_taken_back_when_recording_goes_on_before_the_next_call():
    c = record("launch=1", "recording_off", "watched", "recording_on", "launch=2", "question=3", "sync", "print_left", out="left 0 times, not watched\n")
    assert len(c.of("kernel")) == 3 and len(c.of("sync")) == 1 and not [m for m in messages(c) if "refused" in m]


@pytest.mark.parametrize("fake, words, told", [("stays", ["watched", "unwatched"], True), ("version=23", ["sleep=700", "question=5"], False)])
def test_cupti_that_cannot_leave_stays(fake, words, told):
    c = record("launch=1", "recording_off", *words, "sleep=300", "question=5", "print_left", "recording_on", "launch=2", fake=fake, out="left 0 times, not watched\n")
    assert len(c.of("kernel")) == 3, len(c.of("kernel"))
    assert len([m for m in messages(c) if "to leave" in m]) == (1 if told else 0), messages(c)


# Recorded; launched only when it is about to leave; made while nothing was recorded.
@pytest.mark.parametrize("words", [["graph=1", "recording_off"], ["recording_off", "watched", "graph=1", "unwatched"], ["recording_off", "make_graph"]],
                         ids=["recorded", "launched_late", "made_unrecorded"])
def test_cupti_stays_with_cuda_graphs(words):
    c = record("launch=1", *words, "sleep=500", "question=5", "print_left", "recording_on", "launch=2", out="left 0 times, not watched\n")
    assert len(c.of("kernel")) == 3 + 4 * (words[0] == "graph=1"), len(c.of("kernel"))


def test_another_profiler_may_take_cupti_when_it_is_free():
    c = record("launch=1", "push=a", "pop", "recording_off", "leave=1", "recording_on", "launch=2", "push=b", "pop", *["recording_off", "recording_on"] * 5, fake="taken_later")
    assert len(c.of("kernel")) == 1 and [n for n in names(c, "range") if n] == ["a", "b"] and c.whole
    assert len([m for m in messages(c) if "another profiler owns CUPTI" in m]) == 1


def test_cupti_stays_in_a_program_that_calls_cuda_from_several_threads():
    times = ["recording_off", "sleep=350", "recording_on", "launched=20"] * 8
    c = record("launch=1", "racing_threads=4", "launched=20", *times, "recording_off", "sleep=500", "print_left", fake="racing,slow_finalize=5",
               out="left 0 times, not watched\n")
    switched = [w["time_ns"] for w in c.of("window")]
    assert windows(c)[:18] == [1, 0] * 9, windows(c)
    starts = sorted(k["start_ns"] - GPU_AHEAD_NS for k in c.of("kernel"))
    for on, off in zip(switched[::2], switched[1::2]):
        at = bisect.bisect_left(starts, on)
        assert at < len(starts) and starts[at] <= off, "a window without kernels"


def test_recording_pauses_to_hold_a_budget():
    with folder() as directory:
        page = Page(directory, budget_ppm=100)
        with started(directory, "racing_threads=2", "sleep=1000000") as program:
            def turns():
                """Waits for three more turns of the library's thread; the calls it has seen."""
                for _ in range(3):
                    seen = page.slot()["updated_ns"]
                    wait_until(lambda seen=seen: page.slot()["updated_ns"] != seen, "a turn of the library", program)
                return page.slot()["api_calls"]
            wait_until(lambda: page.slot()["state"] == 3, "a pause", program)
            calls = turns()
            assert turns() == calls > 100, "it goes on in a pause"
            launched = lambda: names(captures(directory)[0], "api").count("cudaLaunchKernel_v7000")
            wait_until(lambda: launched() == calls, "every call in the file", program)
        c = captures(directory)[0]
        (on, begin, begun), (off, budget, paused) = [(w["on"], w["reason"], w["time_ns"]) for w in c.of("window")[:2]]
        assert (on, begin, off, budget) == (1, 1, 0, 7), c.of("window")
        assert paused - begun >= 1_000_000_000, "a window shorter than a second"
        # Each thread may have been in a launch when it stopped.
        assert 100 < len(c.of("kernel")) <= calls + 2, (len(c.of("kernel")), calls)


def test_what_is_cheap_is_recorded_whole_within_a_budget():
    with folder() as directory:
        Page(directory, budget_ppm=100_000)
        assert run(directory, "sleep=700", "steps=30", "sleep=700").returncode == 0
        c = captures(directory)[0]
        assert c.whole and windows(c) == [1, 0] and len(c.of("kernel")) == 30, c.of("window")


def test_the_program_switches_itself():
    c = record("push=a", "pop", "recording_off", "push=b", "launch=3", "pop", "recording_on", "push=c", "launch=2", "pop")
    assert [n for n in names(c, "range") if n] == ["a", "c"] and len(c.of("kernel")) == 2


def test_another_profiler_is_named_and_the_rest_recorded():
    c = record("push=x", "launch=5", "pop", fake="taken")
    assert not c.of("kernel") and len(c.of("range")) == 2
    assert any("another profiler" in c.text(m, "text") for m in c.of("message")), c.of("message")


def test_a_kind_that_is_refused_is_said():
    c = record("launch=5", "copy=1", fake="refuse=10")
    assert not c.of("kernel") and len(c.of("memcpy")) == 1
    assert any("refused kernels" in c.text(m, "text") for m in c.of("message"))


def test_records_of_old_layouts():
    c = record("launch=5", "copy=2", "sync", fake="old")
    assert len(c.of("kernel")) == 5 and c.of("kernel")[0]["cluster_x"] == 0 and c.of("kernel")[0]["registers"] == 40
    assert len(c.of("memcpy")) == 2 and c.of("memcpy")[1]["bytes"] == 4096
    assert len(c.of("sync")) == 1


def test_dropped_records_are_counted():
    assert record("launch=5", fake="drop=3").lost(CUPTI_DROPPED) >= 3


def test_unknown_records_are_counted_and_passed_over():
    c = record("launch=5", fake="unknown")
    assert len(c.of("kernel")) == 5 and c.lost(CUPTI_UNKNOWN) >= 5


def test_huge_names_are_cut_and_counted():
    c = record("launch=2", fake="huge")
    assert all(len(n) == 8192 for n in names(c, "kernel")) and c.lost(STRING_CUT) >= 1


def test_disorder_and_early_kernels_are_kept_as_they_are():
    c = record("launch=20", fake="disorder,early")
    assert len(c.of("kernel")) == 20
    starts = {a["correlation"]: a["start_ns"] for a in c.of("api")}
    assert all(k["start_ns"] < starts[k["correlation"]] for k in c.of("kernel"))


def test_kernels_without_an_end_are_kept():
    assert [k["end_ns"] for k in record("launch=3", fake="endless").of("kernel")] == [0, 0, 0]


def test_a_walk_out_of_the_buffer_is_stopped():
    assert record("launch=5", fake="stuck").lost(CUPTI_UNKNOWN) >= 1


def test_context_destroy_flushes():
    assert len(record("launch=5", "destroy", "launch=5").of("kernel")) == 10


def messages(capture):
    return [capture.text(m, "text") for m in capture.of("message")]


def sampled(c):
    return [r for r in c.readings(PM_SAMPLING) if r["values"][SM_ACTIVE] > 0]


def bursts(c, most_gap_ns=50_000):
    """Readings of PM sampling, in runs that follow one another without a gap."""
    found = []
    for r in c.readings(PM_SAMPLING):
        if not found or r["start_ns"] - found[-1][-1]["end_ns"] > most_gap_ns:
            found.append([])
        found[-1].append(r)
    return found


def test_counters_are_sampled_while_kernels_run():
    c = record("launch=1", "bursts=2", "busy_bursts=4")
    counters = c.of("counter_set")
    assert [s["source"] for s in counters] == [NVML, PM_SAMPLING] and counters[1]["interval_ns"] == 100_000, counters
    kernels = sorted((k for k in c.of("kernel") if k["end_ns"] - k["start_ns"] == 200_000), key=lambda k: k["start_ns"])
    starts = [k["start_ns"] for k in kernels]
    at = [(r, bisect.bisect_right(starts, r["start_ns"]) - 1) for r in sampled(c)]
    inside = [(r, i) for r, i in at if i >= 0 and r["end_ns"] <= kernels[i]["end_ns"]]
    # Bursts of 20 ms and more in kernels of 200 us: at least one sample of 100 us wholly in each.
    assert len(inside) > 100, len(inside)
    read = {"_Z4gemmPfS_S_i": 2, "_ZN2at6native10vectorizedILi4EEEvv": 4}
    for r, i in inside:
        assert r["values"][SM_ACTIVE] == 100 and r["values"]["dram__bytes_read.sum"] == read[c.text(kernels[i])] * 100_000, (i, r)
    assert c.lost() == 0, c.of("loss")


def test_sampling_begins_with_the_first_work_of_a_device():
    """The thread that samples has looked for devices before there is one, and does not look again by itself."""
    assert record("launch=1", "bursts=1", fake="slow_context=300").readings(PM_SAMPLING)


def test_a_burst_has_no_gap_and_begins_with_a_sample_of_its_own_time():
    c = record("launch=1", "bursts=5")
    found = bursts(c)
    assert len(found) >= 3, len(found)
    assert all(r["end_ns"] - r["start_ns"] == r["samples"] * 100_000 for b in found for r in b)
    # 200 samples, and some until it is stopped.
    assert all(190 <= sum(r["samples"] for r in b) <= 250 for b in found[:-1]), [sum(r["samples"] for r in b) for b in found]


def test_reading_counters_takes_no_more_than_a_tenth_of_a_core():
    c = record("launch=1", "bursts=8", fake="pm_cost=100")
    found = bursts(c)
    assert len(found) >= 7 and c.lost(COUNTERS_MISSED) == 0, (len(found), c.lost())
    # 100 us of CPU time a sample, and less than that for all the rest: the pause to the next burst pays for it, more or less by chance.
    taken = sum(r["samples"] for b in found[:-1] for r in b)
    span_s = (found[-1][0]["start_ns"] - found[0][0]["start_ns"]) / 1e9
    assert taken * 100e-6 / span_s <= 0.125, (taken, span_s)


def test_an_interval_that_is_asked_for_is_kept():
    with folder() as directory:
        Page(directory, counter_interval_us=20)
        assert run(directory, "launch=1", "bursts=2", fake="pm_cost=50").returncode == 0
        c = captures(directory)[0]
        assert [s["interval_ns"] for s in c.of("counter_set") if s["source"] == PM_SAMPLING] == [20_000]
        assert all(r["end_ns"] - r["start_ns"] == 20_000 * r["samples"] for r in c.readings(PM_SAMPLING)) and c.readings(PM_SAMPLING)


def test_a_program_may_end_at_any_moment_of_sampling():
    for ms in (0, 1, 3, 8, 15, 25, 60, 110):
        record("launch=3", f"sleep={ms}", fake="pm_cost=20")


def test_idle_samples_are_one_reading_with_their_number():
    c = record("launch=1", "bursts=12")
    idle = [r for r in c.readings(PM_SAMPLING) if r["values"][SM_ACTIVE] == 0]
    assert sum(r["samples"] for r in idle) > max(1000, 20 * len(idle)), (len(idle), sum(r["samples"] for r in idle))


def test_clocks_are_read():
    c = record("launch=1", "clocks=4")
    readings = c.readings(NVML)
    assert len(readings) >= 4, len(readings)
    assert readings[0]["values"] == {"sm_clock_mhz": 1755, "memory_clock_mhz": 2619, "power_w": 310.5, "temperature_c": 41, "clock_limit_reasons": 4}, readings[0]
    assert all(0 < r["start_ns"] == r["end_ns"] < 2**62 for r in readings)
    # Ten in a second at most, from the start of the file.
    assert readings[-1]["start_ns"] - c.of("file")[0]["monotonic_ns"] >= (len(readings) - 1) * 100_000_000


def test_clocks_that_cannot_be_read_are_not_made_up():
    c = record("launch=1", "clocks=2", nvml="poor")
    assert c.readings(NVML)[0]["values"]["sm_clock_mhz"] == 1755
    assert all(v != v for n, v in c.readings(NVML)[0]["values"].items() if n != "sm_clock_mhz")
    c = record("launch=1", "bursts=1", nvml="broken")
    assert not c.readings(NVML) and any("nvmlInit failed" in m for m in messages(c)), messages(c)


@pytest.mark.parametrize("fake, why", [("pm_unsupported", "its architecture"), ("pm_denied", "NVreg_RestrictProfilingToAdminUsers=0"),
                                       ("pm_denied_late", "NVreg_RestrictProfilingToAdminUsers=0"), ("pm_busy", "cuptiPmSamplingEnable gave"),
                                       ("pm_nothing", "none is known")])
def test_counters_that_cannot_be_had_are_said_once_and_the_rest_recorded(fake, why):
    c = record("launch=5", "clocks=3", "launch=5", fake=fake)
    told = [m for m in messages(c) if "hardware counters" in m and "not sampled" not in m]
    assert len(told) == 1 and why in told[0], told
    assert len(c.of("kernel")) == 10 and c.readings(NVML) and not c.readings(PM_SAMPLING)


def test_metrics_a_chip_lacks_are_left_out_and_told():
    c = record("launch=1", "bursts=1", fake="pm_unknown")
    assert any("L2 hit rate (unknown to the chip)" in m for m in messages(c)), messages(c)
    values = c.readings(PM_SAMPLING)[0]["values"]
    assert len(values) == 14 and not any("hit_rate" in n for n in values), values


def test_what_one_pass_does_not_hold_is_left_out_least_wanted_first():
    c = record("launch=1", "bursts=1", fake="pm_fit=4")
    names = list(c.readings(PM_SAMPLING)[0]["values"])
    assert len(names) == 4 and names[:3] == [SM_ACTIVE, "dram__bytes_read.sum", "dram__bytes_write.sum"], names
    assert any("not sampled: tensor pipes active" in m for m in messages(c)), messages(c)


@pytest.mark.parametrize("fake, why", [("pm_overflow=2", "buffer overflowed"), ("pm_full=2", "more samples than a burst can hold")])
def test_counters_begin_anew_after_an_overflow(fake, why):
    c = record("launch=1", "bursts=6", fake=fake)
    assert len([m for m in messages(c) if why in m]) == 1, messages(c)
    assert c.lost(COUNTERS_MISSED) == 200 and len(bursts(c)) >= 3, (c.of("loss"), len(bursts(c)))


def test_missing_samples_are_counted():
    c = record("launch=1", "bursts=6", fake="pm_gap=50")
    taken, missed = sum(r["samples"] for r in c.readings(PM_SAMPLING)), c.lost(COUNTERS_MISSED)
    assert 0.7 * taken * 3 / 49 <= missed <= 1.3 * taken * 3 / 49, (taken, missed)


def test_a_reading_that_always_fails_ends_the_counters_only():
    c = record("launch=5", "all_bursts=6", "clocks=2", "launch=5", fake="pm_broken=2")
    assert 1 <= sum("cuptiPmSamplingDecodeData gave" in m for m in messages(c)) <= 4, messages(c)
    assert any(m.endswith("given up") for m in messages(c)), messages(c)
    assert c.readings(PM_SAMPLING) and len(c.of("kernel")) == 10 and len(c.readings(NVML)) >= 2


def test_cycles_are_counted_where_time_cannot_be():
    assert record("launch=1", "bursts=1", fake="pm_sysclk").readings(PM_SAMPLING)


def test_no_counters_while_recording_is_off():
    c = record("launch=1", "bursts=1", "recording_off", "counters_rest", "print_now", "sleep=400", "print_now", "recording_on", "bursts=2", out=None)
    rested, on = map(int, c.out.split())
    # Both are taken by one thread, which has nothing of CUPTI by then.
    times = [r["start_ns"] - GPU_AHEAD_NS for r in c.readings(PM_SAMPLING)] + [r["start_ns"] for r in c.readings(NVML)]
    assert not [t for t in times if rested < t < on], (rested, on)
    assert any(r["start_ns"] - GPU_AHEAD_NS > on for r in c.readings(PM_SAMPLING))
    assert c.lost(COUNTERS_MISSED) == 0


def test_counters_are_not_touched_when_not_wanted():
    with folder() as directory:
        Page(directory, wanted=DEFAULT_WANTED & ~(1 << 5) & ~(1 << 6))
        assert run(directory, "launch=5", "sleep=100", fake="pm_denied").returncode == 0
        c = captures(directory)[0]
        assert not c.of("counter_set") and not c.of("message") and len(c.of("kernel")) == 5


def test_cut_files_are_read_to_the_last_whole_chunk():
    with folder() as directory:
        assert run(directory, "push=x", "launch=50", "pop").returncode == 0
        path = next(directory.glob("*.nlc"))
        whole = path.read_bytes()
        chunks = len(captures(directory)[0].chunks)
        for cut in range(0, len(whole), max(1, len(whole) // 60)):
            path.write_bytes(whole[:cut])
            c = captures(directory)[0]
            assert len(c.chunks) < chunks and c.problem in ("", "cut header", "cut payload"), (cut, c.problem)


def test_only_the_entry_points_are_visible():
    if not shutil.which("nm"):
        pytest.skip("nm is not installed")
    listing = subprocess.run(["nm", "-D", "--defined-only", str(LIBRARY)], capture_output=True, text=True, check=True).stdout
    visible = {line.split()[-1] for line in listing.splitlines()}
    extra = {n for n in visible if not n.startswith("nl_")} - {"InitializeInjection", "InitializeInjectionNvtx2"}
    assert not extra, extra

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""leave_check.py: CUPTI leaves while nothing is recorded and comes back: is everything recorded then? Needs an NVIDIA GPU and PyTorch.

  cmake --preset capture-only && cmake --build build/capture-only -j
  python3 bench/gpu/leave_check.py

Programs under neurolens-capture, each judged by its recording: windows (launches and a CUDA graph made while CUPTI was away), loop and
plain_threads (launches go on while recording is switched), threads, kept and replays (with CUDA graphs), long_kernels (kernels and copies under way when
recording stops), late (a context made while CUPTI was away) and peer (the program's own torch.profiler in a pause). Status 1 when one failed."""
import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "python")]
LAUNCHES, NODES, REPLAYS, WINDOWS = 500, 20, 5, 6
AWAY_S = 0.7


def graph_of(torch, x):
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(NODES):
            x.mul_(1)
    return graph


def away(torch, x):
    """Nothing is recorded for a while: time for CUPTI to leave, and calls at whose end it may."""
    until = time.monotonic() + AWAY_S
    while time.monotonic() < until:
        x.add_(1)
        torch.cuda.synchronize()
        time.sleep(0.01)


def windows():
    import neurolens
    import torch

    x = torch.zeros(1 << 16, device="cuda")
    for i in range(WINDOWS):
        away(torch, x)
        graph = graph_of(torch, x)
        torch.cuda.synchronize()
        began = time.perf_counter()
        neurolens.start()
        started = time.perf_counter()
        for _ in range(LAUNCHES):
            x.add_(1)
        first = time.perf_counter()
        for _ in range(REPLAYS):
            graph.replay()
        torch.cuda.synchronize()
        time.sleep(1.5 if i < 2 else 0)
        ending = time.perf_counter()
        neurolens.stop()
        print(f"window {i}: start {(started - began) * 1e3:.1f} ms, {LAUNCHES} launches {(first - started) * 1e3:.1f} ms, stop "
              f"{(time.perf_counter() - ending) * 1e3:.1f} ms", flush=True)
    away(torch, x)


def launch_until(over):
    import torch

    with torch.cuda.stream(torch.cuda.Stream()):
        x = torch.zeros(1024, device="cuda")
        while not over.is_set():
            x.add_(1)


def threads():
    import neurolens
    import torch

    over = threading.Event()

    def replay():
        x = torch.zeros(1024, device="cuda")
        graph = graph_of(torch, x)
        ready.set()
        with torch.cuda.stream(torch.cuda.Stream()):
            while not over.is_set():
                graph.replay()
                torch.cuda.current_stream().synchronize()

    ready = threading.Event()
    running = [threading.Thread(target=replay)]
    running[0].start()
    ready.wait()
    running += [threading.Thread(target=launch_until, args=(over,)) for _ in range(3)]
    for thread in running[1:]:
        thread.start()
    for _ in range(10):
        neurolens.start()
        time.sleep(0.05)
        neurolens.stop()
        time.sleep(0.4)
    over.set()
    for thread in running:
        thread.join()


def toggle(run):
    """Recording is switched while the program runs on."""
    import neurolens

    over = time.monotonic() + 6
    switch = threading.Thread(target=lambda: [(neurolens.start(), time.sleep(0.05), neurolens.stop(), time.sleep(0.5)) for _ in range(10)])
    switch.start()
    while switch.is_alive() or time.monotonic() < over:
        run()
    switch.join()


def loop():
    import torch

    x = torch.zeros(1024, device="cuda")
    toggle(lambda: x.add_(1))
    torch.cuda.synchronize()


def kept():
    """A graph made while CUPTI was there, replayed when it has left and when it is back."""
    import neurolens
    import torch

    x = torch.zeros(1024, device="cuda")
    neurolens.start()
    graph = graph_of(torch, x)
    graph.replay()
    torch.cuda.synchronize()
    neurolens.stop()
    for _ in range(4):
        away(torch, x)
        for _ in range(100):
            graph.replay()
        torch.cuda.synchronize()
        neurolens.start()
        for _ in range(REPLAYS):
            graph.replay()
        torch.cuda.synchronize()
        neurolens.stop()
    print("kept: survived", flush=True)


def replays():
    """Replays go on, of a graph made before recording, never waited for but by the device."""
    import torch

    x = torch.zeros(1024, device="cuda")
    graph = graph_of(torch, x)

    def run():
        for _ in range(20):
            graph.replay()
        torch.cuda.synchronize()

    toggle(run)


def plain_threads():
    import torch

    over = threading.Event()

    running = [threading.Thread(target=launch_until, args=(over,)) for _ in range(3)]
    for thread in running:
        thread.start()
    toggle(lambda: time.sleep(0.01))
    over.set()
    for thread in running:
        thread.join()
    torch.cuda.synchronize()


def long_kernels():
    """Kernels of 30 ms, copies and several streams under way all the time."""
    import torch

    streams = [torch.cuda.Stream() for _ in range(3)]
    pinned, there = torch.zeros(16 << 20, pin_memory=True), torch.zeros(16 << 20, device="cuda")
    x = torch.zeros(1024, device="cuda")

    def run():
        with torch.cuda.stream(streams[0]):
            torch.cuda._sleep(50_000_000)
        with torch.cuda.stream(streams[1]):
            there.copy_(pinned, non_blocking=True)
        with torch.cuda.stream(streams[2]):
            x.add_(1)
        time.sleep(0.02)

    toggle(run)
    torch.cuda.synchronize()


def late():
    import ctypes

    cuda = ctypes.CDLL("libcuda.so.1")
    cuda.cuInit(0)
    count = ctypes.c_int()
    for _ in range(60):
        cuda.cuDeviceGetCount(ctypes.byref(count))
        time.sleep(0.01)
    import neurolens
    import torch

    x = torch.zeros(1024, device="cuda")
    torch.cuda.synchronize()
    time.sleep(0.1)
    neurolens.start()
    for _ in range(LAUNCHES):
        x.add_(1)
    torch.cuda.synchronize()


def peer():
    import neurolens
    import torch

    x = torch.zeros(1024, device="cuda")
    neurolens.start()
    for _ in range(LAUNCHES):
        x.add_(1)
    torch.cuda.synchronize()
    neurolens.stop()
    away(torch, x)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as prof:
        for _ in range(10):
            x.add_(1)
        torch.cuda.synchronize()
    print("torch.profiler saw", sum(e.count for e in prof.key_averages() if "elementwise" in e.key), "kernels", flush=True)
    neurolens.start()
    for _ in range(LAUNCHES):
        x.add_(1)
    torch.cuda.synchronize()


def judge(name, c):
    """What is wrong with the recording."""
    kernels, wrong = c.of("kernel"), []
    shift = next((p["gpu_ns"] - p["after_ns"] for p in c.of("clock") if p["gpu_ns"]), 0)
    on = []
    for w in c.of("window"):
        if w["on"]:
            on.append([w["time_ns"], None])
        elif on:
            on[-1][1] = w["time_ns"]
    each = [sum(a <= k["start_ns"] - shift <= (b or 1 << 62) for k in kernels) for a, b in on]
    graphs = sum(k["graph_id"] != 0 for k in kernels)
    away_clocks = sum(not p["gpu_ns"] for p in c.of("clock"))
    print(f"  {len(on)} windows of {each} kernels, {graphs} of graphs, {len(c.of('device'))} device and {len(c.of('context'))} context records, "
          f"{len(c.of('clock'))} clock pairs, {away_clocks} of them while CUPTI was away, {len(c.of('counter_values'))} chunks of counters, lost {c.lost()}, whole {c.whole}")
    pairs = [(p["gpu_ns"] - (p["before_ns"] + p["after_ns"]) // 2, p["after_ns"] - p["before_ns"]) for p in c.of("clock") if p["gpu_ns"]]
    print("  clock, ns off the first pair (width): " + f"{min(at for at, _ in pairs) - pairs[0][0]} to {max(at for at, _ in pairs) - pairs[0][0]} ({max(w for _, w in pairs)} at most)")
    calls = {a["correlation"]: a for a in c.of("api")}
    linked = sum(k["correlation"] in calls for k in kernels)
    early = sum(k["correlation"] in calls and 0 < k["start_ns"] < calls[k["correlation"]]["start_ns"] for k in kernels)
    per_name = {}
    for a in c.of("api"):
        per_name[c.text(a)] = per_name.get(c.text(a), 0) + 1
    print(f"  {linked} kernels with their call, {early} before it; calls: " + ", ".join(f"{n} {count}" for n, count in sorted(per_name.items(), key=lambda item: -item[1])[:6])
          + f"; {len(c.of('sync'))} waits, {len({s['stream'] for s in c.of('sync')})} streams")
    if linked < 0.99 * len(kernels) or early:
        wrong.append("kernels without their call")
    last = c.of("cost")[-1]
    print(f"  on the program's threads {last['in_program_ns'] / 1e6:.1f} ms, on its own {last['in_writer_ns'] / 1e6:.1f} ms")
    for message in c.of("message"):
        print("  says:", c.text(message, "text")[:150])
    expected = {"windows": [LAUNCHES + NODES * REPLAYS] * WINDOWS, "late": [LAUNCHES], "peer": [LAUNCHES] * 2}.get(name)
    told = any("another profiler owns CUPTI" in (c.text(m, "text") or "") for m in c.of("message"))
    if name == "peer" and told:  # torch.profiler keeps CUPTI when it is done
        expected = [LAUNCHES, 0]
    if expected and each != expected:
        wrong.append(f"kernels {expected} expected")
    if name == "windows" and graphs != NODES * REPLAYS * WINDOWS:
        wrong.append(f"{NODES * REPLAYS * WINDOWS} kernels of graphs expected")
    untimed = sum(k["start_ns"] == 0 for k in kernels)
    if untimed:
        wrong.append(f"{untimed} kernels without times")
    if name not in ("peer",) and not all(each):
        wrong.append("a window without kernels")
    if not c.of("device"):
        wrong.append("no device facts")
    if not c.whole or (name != "peer" and not away_clocks):
        wrong.append("not whole, or CUPTI never left")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--capture", default=str(ROOT / "build/capture-only/neurolens-capture"))
    parser.add_argument("--options", help="more of neurolens-capture", default=[], type=lambda text: text.split(","))
    parser.add_argument("--only", help="programs, by name", type=lambda text: text.split(","))
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    args = parser.parse_args()
    programs = {f.__name__: f for f in (windows, threads, loop, kept, replays, plain_threads, long_kernels, late, peer)}
    if args.worker:
        return programs[args.worker]()
    from nlcap_reader import captures

    failed = 0
    for name in args.only or programs:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([args.capture, "--capture-range", "api", *args.options, "--no-cpu", "--no-python", "--no-ops", "--no-modules", "--out", f"{folder}/x.nlcap", "--", sys.executable,
                                   __file__, "--worker", name], capture_output=True, text=True, check=False, timeout=120)
            print(f"{name}: status {done.returncode}")
            print("".join(f"  {line}\n" for line in (done.stdout + done.stderr[-600:]).splitlines()), end="")
            found = [c for c in captures(f"{folder}/x.nlcap") if c.of("kernel")]
            wrong = ([] if done.returncode == 0 else ["its status"]) + (judge(name, found[0]) if found else ["no kernels at all"])
        failed += bool(wrong)
        print("  WRONG: " + "; ".join(wrong) if wrong else "  fine", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

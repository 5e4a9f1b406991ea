#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hardware counters on a real GPU: records a small PyTorch program with neurolens-capture and measures the same kernels
with Nsight Compute, for bench/gpu/counters_compare.py to hold against each other.

  python3 bench/gpu/counters_check.py OUT     in the repository's root; builds the capture-only preset first

OUT gets counters.nlc (every 100 us, the default), fast.nlc (every 20 us), slow.nlc (every 1000 us), ncu.csv and log.txt. Every program must
end with status 0. Needs torch and ncu; takes about two minutes."""
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/capture-only"
METRICS = ["gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum", "sm__warps_active.avg.pct_of_peak_sustained_active",
           "lts__t_sector_hit_rate.pct", "lts__t_sectors.sum", "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
           "sm__throughput.avg.pct_of_peak_sustained_elapsed", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
           "dram__throughput.avg.pct_of_peak_sustained_elapsed", "gpc__cycles_elapsed.avg.per_second",
           "smsp__thread_inst_executed_per_inst_executed.ratio", "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"]

ROUNDS = "600"


def workload(rounds):
    """Copy, matrix product, softmax, tanh and random numbers, each some hundred microseconds, the same ones in every round."""
    import torch
    torch.manual_seed(0)
    x = torch.rand(256 << 20, device="cuda")
    y = torch.empty_like(x)
    a = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    b = torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16)
    rows = torch.rand(16384, 8192, device="cuda")
    product, out = torch.empty_like(a), torch.empty_like(rows)
    torch.cuda.synchronize()
    works = {"copy": lambda: torch.add(x, 1, out=y), "gemm": lambda: torch.mm(a, b, out=product),
             "softmax": lambda: torch.softmax(rows, 1, out=out), "tanh": lambda: torch.tanh(x, out=y), "uniform": lambda: out.uniform_()}
    for work in works.values():
        work()
    torch.cuda.synchronize()
    if rounds > 10:
        time.sleep(1)  # the counters begin with the first context, and take a moment to
    for name, work in works.items():
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(rounds):
            work()
        end.record()
        torch.cuda.synchronize()
        print(f"{name}: {begin.elapsed_time(end) / rounds * 1000:.1f} us each", flush=True)


class Log:
    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")

    def say(self, text):
        print(text, flush=True)
        print(text, file=self.file, flush=True)

    def run(self, title, command, seconds=120):
        begin = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=seconds, check=False)
        self.say(f"== {title}: status {done.returncode}, {time.monotonic() - begin:.1f} s")
        self.say("\n".join(done.stdout.splitlines()[-25:]))
        return done


def summary(log, path):
    """What the capture holds, as its independent reader sees it."""
    sys.path.insert(0, str(ROOT / "tests"))
    from nlcap_reader import Capture
    c = Capture(path)
    if c.problem:
        log.say(f"problem: {c.problem}")
    for message in c.of("message"):
        log.say(f"message {message['level']}: {c.text(message, 'text')}")
    readings = c.readings(1)
    log.say(f"{path.name}: {path.stat().st_size} bytes, {len(c.of('kernel'))} kernels, {len(readings)} readings of "
            f"{sum(r['samples'] for r in readings)} samples, {len(c.readings(2))} of clocks, lost {[(r['what'], r['count']) for r in c.of('loss')]}")
    for cost in c.of("cost")[-1:]:
        log.say(f"cost: {cost}")
    first = [k for k in c.of("kernel")][:1]
    if first and readings:
        log.say(f"first kernel {first[0]['start_ns']}, first reading {readings[0]['start_ns']}, last {readings[-1]['end_ns']}")
    by_kernel = {}
    kernels = sorted((k for k in c.of("kernel") if k["end_ns"] - k["start_ns"] > 100_000), key=lambda k: k["start_ns"])
    at = 0
    for r in readings:
        while at < len(kernels) and kernels[at]["end_ns"] <= r["start_ns"]:
            at += 1
        if at < len(kernels) and kernels[at]["start_ns"] <= r["start_ns"] and r["end_ns"] <= kernels[at]["end_ns"]:
            by_kernel.setdefault(c.text(kernels[at])[:60], []).append(r)
    for name, inside in by_kernel.items():
        log.say(f"{name}: {len(inside)} samples inside")
        for metric in inside[0]["values"]:
            log.say(f"    {sum(r['values'][metric] for r in inside) / len(inside):16.3f}  {metric}")
    for r in c.readings(2)[-1:]:
        log.say(f"clocks: {r['values']}")


def main():
    if sys.argv[1:2] == ["--workload"]:
        return workload(int(sys.argv[2]))
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    log = Log(out / "log.txt")
    log.run("configure", ["cmake", "--preset", "capture-only"])
    if log.run("build", ["cmake", "--build", "build/capture-only", "-j16"]).returncode != 0:
        return 1
    program = [sys.executable, str(pathlib.Path(__file__).resolve()), "--workload"]
    log.run("not recorded", [*program, ROUNDS])
    capture, failed = str(BUILD / "neurolens-capture"), False
    for name, options in (("plain", ["--no-counters"]), ("counters", []), ("fast", ["--counter-interval-us", "20"]),
                          ("slow", ["--counter-interval-us", "1000"])):
        folder = pathlib.Path(f"/tmp/counters-{os.getpid()}-{name}.nlcap")
        done = log.run(f"recorded, {name}", [capture, "--no-cpu", "--no-python", "--no-ops", "--no-modules", *options, "--out", str(folder),
                                             "--", *program, ROUNDS])
        failed = failed or done.returncode != 0
        if name == "plain":
            continue
        file = out / f"{name}.nlc"
        file.write_bytes(b"".join(p.read_bytes() for p in sorted(folder.glob("[0-9]*.nlc"))))
        try:
            summary(log, file)
        except Exception as error:  # the files are what counts
            log.say(f"summary: {type(error).__name__} {error}")
    done = log.run("ncu", ["ncu", "--clock-control", "none", "--cache-control", "none", "--csv", "--page", "raw", "--metrics", ",".join(METRICS),
                           "--log-file", str(out / "ncu.csv"), *program, "2"], 200)
    return 1 if failed else done.returncode


if __name__ == "__main__":
    sys.exit(main())

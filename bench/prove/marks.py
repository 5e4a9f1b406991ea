#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Marks of `neurolens prove`: aa (false verdicts beside a load), power (smallest difference found, against hyperfine), overhead.

    scripts/bench prove aa --pairs 500
    scripts/bench prove power --budget 20 --trials 20      (an idle machine, about 70 minutes; --cpus 1 2 3: several trials at a time)
    scripts/bench prove overhead
Prints one JSON object. docs/performance.md has the numbers of the reference machine.
"""
import argparse
import concurrent.futures
import json
import math
import os
import pathlib
import queue
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = os.environ.get("NEUROLENS_BIN") or str(ROOT / "build/release/neurolens")
HERE = ROOT / "bench/prove"


def compiled(folder, name):
    out = folder / name
    subprocess.run([os.environ.get("CXX", "c++"), "-O2", "-std=c++20", f"-I{ROOT}/include", HERE / f"{name}.cc", "-o", out], check=True)
    return str(out)


def prove(folder, a, b, *words, on=()):
    done = subprocess.run([*on, BIN, "--store", folder / "store", "--json", "prove", "--a", a, "--b", b, "--no-why", "--no-check-output", "--no-keep", *map(str, words)],
                          capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 2):
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def aa(folder, options):
    """The same command on both sides: every verdict of a difference is false."""
    spin = compiled(folder, "spin")
    loads = [subprocess.Popen([spin, str(10**15)]) for _ in range(options.load)]
    verdicts = {"faster": 0, "slower": 0, "same": 0, "undecided": 0}
    try:
        for i in range(options.pairs):
            command = f"{spin} {options.work}"
            verdicts[prove(folder, command, command, "--iterations", options.iterations, "--seed", i)["verdict"]] += 1
    finally:
        for load in loads:
            load.kill()
            load.wait()
    wrong = verdicts["faster"] + verdicts["slower"]
    return {"pairs": options.pairs, "iterations": options.iterations, "busy_processes": options.load, "verdicts": verdicts, "false_share": wrong / options.pairs}


def hyperfine_finds(out, a, b, budget_s, pair_s, on):
    """Welch's test at 1 % on what hyperfine measured in the same time; it has no test of its own."""
    runs = max(10, int(budget_s / pair_s))
    subprocess.run([*on, "hyperfine", "-N", "--style", "none", "--warmup", "5", "--runs", str(runs), "--export-json", out, a, b], check=True, capture_output=True)
    x, y = (r["times"] for r in json.loads(out.read_text())["results"])
    se = math.sqrt(statistics.variance(x) / len(x) + statistics.variance(y) / len(y))
    return (statistics.mean(x) - statistics.mean(y)) / se > 2.6 if se > 0 else False


def power(folder, options):
    """Share of trials in which the planted difference is found (B does less work), for each size of it."""
    spin = compiled(folder, "spin")
    b = f"{spin} {options.work}"
    cpus = options.cpus or [None]
    # Each trial has a CPU of its own for both tools and what they start.
    free, deadline = queue.SimpleQueue(), time.monotonic() + options.limit
    for cpu in cpus:
        free.put(cpu)

    def pinned(cpu):
        return () if cpu is None else ("taskset", "-c", str(cpu))
    pair_s = prove(folder, b, b, "--iterations", 50, on=pinned(cpus[0]))["timed_s"] / 50
    found = {size: {"prove": [], "hyperfine": []} for size in options.sizes}

    def trial(number, size):
        cpu = free.get()
        try:
            if time.monotonic() + 2 * options.budget > deadline:
                return
            a, on = f"{spin} {round(options.work * (1 + size))}", pinned(cpu)

            def ours():
                found[size]["prove"].append(prove(folder, a, b, "--budget", f"{options.budget}s", "--precision", "0.01%", on=on)["verdict"] == "faster")

            def theirs():
                found[size]["hyperfine"].append(hyperfine_finds(folder / f"{number}_{size}.json", a, b, options.budget, pair_s, on))
            for tool in (ours, theirs) if number % 2 == 0 else (theirs, ours):  # in turns: the load of the machine changes
                tool()
        finally:
            free.put(cpu)
    with concurrent.futures.ThreadPoolExecutor(len(cpus)) as pool:
        for done in [pool.submit(trial, number, size) for number in range(options.trials) for size in options.sizes]:
            done.result()
    rows = [{"difference": size, "trials": len(r["prove"]), **{tool: sum(r[tool]) / len(r[tool]) if r[tool] else None for tool in r}} for size, r in found.items()]
    for row in rows:
        print(json.dumps(row), file=sys.stderr)
    smallest = {tool: next((r["difference"] for r in rows if all((s[tool] or 0) >= 0.95 for s in rows if s["difference"] >= r["difference"])), None)
                for tool in ("prove", "hyperfine")}
    return {"budget_s": options.budget, "cpus": options.cpus, "pair_ms": 1e3 * pair_s, "rows": rows, "smallest_found": smallest}


def overhead(folder, _):
    """Time per iteration that the harness takes besides the reported time, and what it reports for nothing."""
    out = {}
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    for name, words in (("cpp", [compiled(folder, "empty")]), ("python", [sys.executable, "-m", "neurolens.bench", str(HERE / "empty.py")])):
        worker = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

        def ask(request, worker=worker):
            worker.stdin.write(json.dumps(request) + "\n")
            worker.stdin.flush()
            return json.loads(worker.stdout.readline())
        ask({"do": "setup", "seed": 1})
        count, best, reported = 20_000, math.inf, math.inf
        for _ in range(7):
            start = time.perf_counter_ns()
            reply = ask({"do": "run", "n": count})
            best = min(best, (time.perf_counter_ns() - start - sum(reply["ns"])) / count)
            reported = min(reported, statistics.median(reply["ns"]))
        worker.stdin.close()
        worker.wait()
        out[name] = {"reported_ns_of_nothing": reported, "harness_ns_per_iteration": round(best, 1)}
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mark", choices=["aa", "power", "overhead"])
    parser.add_argument("--pairs", type=int, default=500)
    parser.add_argument("--iterations", type=int, default=40)
    parser.add_argument("--load", type=int, default=os.cpu_count())
    parser.add_argument("--work", type=int, default=300_000, help="of spin: a run takes a few milliseconds at most")
    parser.add_argument("--budget", type=float, default=20)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--cpus", type=int, nargs="*", help="of power: a trial at a time on each of these CPUs; without it, one trial at a time on any")
    parser.add_argument("--limit", type=float, default=1e9, help="of power: seconds after which no trial begins that would not end by then")
    parser.add_argument("--sizes", type=float, nargs="*", default=[0.002, 0.005, 0.01, 0.02, 0.05])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps({"aa": aa, "power": power, "overhead": overhead}[options.mark](pathlib.Path(folder), options), indent=2))


if __name__ == "__main__":
    main()

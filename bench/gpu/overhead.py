#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""overhead.py: what recording costs on a machine with an NVIDIA GPU, PyTorch and transformers.

  cmake --preset capture-only && cmake --build build/capture-only -j
  python3 bench/gpu/overhead.py [--quick] [--json FILE]

Each client is switched on and off inside one process, off-on-on-off, and the median of on/off of all pairs is given: the
machine's own drift is in both halves; off is without CUPTI in the process, where a client can send it away (clients.py). Only one client may own CUPTI in a process, so each has a process of its own; all are started
first and then asked in turns, so that every client meets the same weather. Starting, stopping and reading out are not timed.
The launches that neurolens must have recorded are counted by the empty client, which runs the same loads."""
import argparse
import gc
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "python")]

# Process: (options of neurolens-capture or None, {client: (loads, pairs, pairs with --quick)}).
ONLY_GPU = ["--no-ops", "--no-modules", "--no-cpu", "--no-python", "--no-counters"]
ONLY_CPU = ["--no-ops", "--no-modules", "--no-gpu", "--no-counters"]
# Clients that do more in some forwards than in others: so many runs are timed together, which are three rounds of what they do in turns
# (python/neurolens/_torch.py ForwardTurns; a run of eager has 12 forwards of a kind, one of resnet 10). Prefill has one: there it is more than the average.
IN_TURNS = {"neurolens_default": 16, "neurolens_default_graph": 4, "neurolens_ops": 16}
MAIN = ("eager", "tiny", "prefill", "resnet")
PEER = ("eager", "tiny", "resnet")
PLAN = {
    "plain": (None, {"nothing": (PEER, 12, 6), "ops_names_alone": (("eager",), 12, 4), "ops_shapes_alone": (("eager",), 12, 4),
                     "modules_alone": (("eager",), 12, 4)}),
    "empty_graph": (None, {"empty_graph": (("graph",), 20, 8)}),
    "neurolens_graph": (ONLY_GPU, {"neurolens_graph": (("graph",), 20, 8)}),
    "empty": (None, {"empty": (MAIN, 20, 8)}),
    "empty_others": (None, {"empty_kernels": (PEER, 12, 4), "empty_records": (PEER, 12, 4)}),
    "neurolens": (ONLY_GPU, {"neurolens": (MAIN, 20, 8)}),
    "neurolens_ops": (["--no-modules", "--no-cpu", "--no-python", "--no-counters"], {"neurolens_ops": (PEER, 20, 6)}),
    "neurolens_modules": (["--no-ops", "--no-cpu", "--no-python", "--no-counters"], {"neurolens_modules": (("eager", "resnet"), 20, 6)}),
    "neurolens_full": (["--no-cpu", "--no-python", "--no-counters"], {"neurolens_full": (PEER, 20, 6)}),
    "neurolens_default": ([], {"neurolens_default": (MAIN, 60, 6)}),
    "neurolens_default_graph": ([], {"neurolens_default_graph": (("graph",), 20, 6)}),
    "neurolens_cpu": (ONLY_CPU, {"neurolens_cpu": (PEER, 20, 8)}),
    "neurolens_cpu_native": (ONLY_CPU + ["--no-python"], {"neurolens_cpu_native": (("eager",), 12, 4)}),
    "neurolens_cpu_python": (ONLY_CPU + ["--no-cpu"], {"neurolens_cpu_python": (("eager",), 12, 4)}),
    "torch": (None, {"torch_cuda": (PEER, 20, 4)}),
    "torch_full": (None, {"torch_cpu_cuda": (("eager",), 6, 2), "torch_shapes": (("eager",), 6, 2)}),
    "proton": (None, {"proton": (PEER, 20, 4)}),
}


def worker(clients, loads):
    """Answers lines of JSON on stdin: makes what is asked for, then runs off-on-on-off of one client and load."""
    import torch

    import clients as makers
    from loads import Loads

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not ours
    made, work = {}, Loads()
    for name in loads:
        work.run(name)
    for name in clients:
        try:
            made[name] = makers.MAKERS[name]()
        except Exception as problem:
            print(json.dumps({"client": name, "problem": f"{type(problem).__name__}: {problem}"}), file=out, flush=True)
    print(json.dumps({"ready": list(made), "torch": torch.__version__, "gpu": torch.cuda.get_device_name()}), file=out, flush=True)
    gc.disable()
    for line in sys.stdin:
        asked = json.loads(line)
        client, load = made[asked["client"]], asked.get("load")
        if load is None:
            client.on()
            print(json.dumps(own_profiler(torch)), file=out, flush=True)
            client.off()
            continue
        kernels = getattr(client, "kernels", lambda: 0)

        def timed():
            began = time.perf_counter()
            work.run(load)
            return (time.perf_counter() - began) * 1e3

        cost_ms = getattr(client, "cost_ms", lambda: None)
        runs = IN_TURNS.get(asked["client"], 0)
        off, before, cost_before = [timed() for _ in range(max(1, runs // 4))], kernels(), cost_ms()
        client.on()
        work.run(load)  # what only the first one pays
        on = [timed() for _ in range(runs or 2)]
        client.off()
        client.settle()
        counted = kernels() - before
        stated = None if cost_before is None else (cost_ms() - cost_before) / (1 + len(on))
        work.run(load)
        off += [timed() for _ in range(max(1, runs // 4))]
        gc.collect()
        runs_on = 1 + len(on)
        if runs:  # one pair of the means
            on, off = [statistics.mean(on)], [statistics.mean(off)]
        print(json.dumps({"off": off, "on": on, "runs_on": runs_on, "kernels": counted, "stated_ms": stated}), file=out, flush=True)


def own_profiler(torch):
    """Does a program's own torch.profiler still work while it is recorded?"""
    try:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as prof:
            torch.zeros(8).add_(1)
        return {"own_profiler": "works" if any(e.key == "aten::add_" for e in prof.key_averages()) else "shows nothing"}
    except Exception as problem:
        return {"own_profiler": f"{type(problem).__name__}: {problem}"}


class Process:
    def __init__(self, name, folder, capture, environment):
        options, self.clients = PLAN[name]
        self.name, self.folder, self.problems = name, folder, []
        loads = sorted({load for work, _, _ in self.clients.values() for load in work})
        words = [sys.executable, __file__, "--worker", ",".join(self.clients), ",".join(loads)]
        if options is not None:
            words = [capture, "--capture-range", "api", "--out", f"{folder}/{name}.nlcap", *options, "--", *words]
        self.errors = open(f"{folder}/{name}.err", "w+", encoding="utf-8", errors="replace")
        self.child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, text=True, env=environment)
        self.ready = None

    def wait(self, deadline):
        while self.ready is None:
            line = self.child.stdout.readline()
            if not line or time.monotonic() > deadline:
                self.problems.append("did not start: " + self.said()[-300:])
                self.ready = []
                return
            answer = json.loads(line)
            if "problem" in answer:
                self.problems.append(f"{answer['client']}: {answer['problem']}")
            self.ready = answer.get("ready")

    def ask(self, **what):
        try:
            self.child.stdin.write(json.dumps(what) + "\n")
            self.child.stdin.flush()
            return json.loads(self.child.stdout.readline())
        except (OSError, ValueError):
            self.problems.append(f"died at {what}: " + self.said()[-300:])
            self.ready = []
            return None

    def said(self):
        self.errors.flush()
        return Path(self.errors.name).read_text(encoding="utf-8", errors="replace")

    def end(self):
        try:
            self.child.stdin.close()
            self.child.wait(60)
        except (OSError, subprocess.TimeoutExpired):
            self.child.kill()
        return self.said()


def build_empty_client(folder):
    out = f"{folder}/empty_client.so"
    subprocess.run([os.environ.get("CXX", "c++"), "-O2", "-std=c++20", "-shared", "-fPIC", "-I", str(ROOT / "src"),
                    str(HERE / "empty_client.cc"), str(ROOT / "src/capture/lib/api_list.cc"), "-ldl", "-o", out], check=True, timeout=120)
    return out


def measure(processes, chosen, quick, limit_s):
    """{(client, load): {"ratios", "off", "on", "runs_on", "kernels"}}, in turns until all have their pairs or time is up."""
    jobs, found, until = [], {}, time.monotonic() + limit_s
    for process in processes:
        for client, (loads, pairs, few) in process.clients.items():
            for load in (load for load in loads if chosen is None or load in chosen):
                # The first turn of all comes before the second of any: time may run out.
                jobs += [(turn / ((few if quick else pairs) / 2), process, client, load) for turn in range((few if quick else pairs) // 2)]
    random.Random(1).shuffle(jobs)
    jobs.sort(key=lambda job: job[0])
    for _, process, client, load in jobs:
        if time.monotonic() > until:
            print("time is up: fewer pairs than asked for", file=sys.stderr)
            break
        if client not in (process.ready or []):
            continue
        answer = process.ask(client=client, load=load)
        if answer is None:
            continue
        entry = found.setdefault((client, load), {"ratios": [], "off": [], "on": [], "stated": [], "runs_on": 0, "kernels": 0})
        entry["ratios"] += [on / off for on, off in zip(answer["on"], answer["off"])]
        if answer["stated_ms"] is not None:
            entry["stated"].append(100 * answer["stated_ms"] / statistics.mean(answer["off"]))
        for key in ("off", "on"):
            entry[key] += answer[key]
        for key in ("runs_on", "kernels"):
            entry[key] += answer[key]
    return found


def spread(ratios):
    """Half of the 95 % interval of the median, by resampling, in points."""
    draw = random.Random(2)
    medians = sorted(statistics.median(draw.choices(ratios, k=len(ratios))) for _ in range(400))
    return (medians[389] - medians[10]) / 2 * 100


def summary(found):
    rows = []
    for (client, load), entry in sorted(found.items(), key=lambda item: (item[0][1], item[0][0])):
        rows.append({"load": load, "client": client, "pairs": len(entry["ratios"]), "off_ms": statistics.median(entry["off"]),
                     "on_ms": statistics.median(entry["on"]), "overhead_percent": (statistics.median(entry["ratios"]) - 1) * 100,
                     "stated_percent": statistics.median(entry["stated"]) if entry["stated"] else None,
                     "spread_points": spread(entry["ratios"]), "quietest_percent": (min(entry["on"]) / min(entry["off"]) - 1) * 100,
                     "kernels_counted": entry["kernels"], "runs_on": entry["runs_on"]})
    return rows


def records_check(rows, said):
    """Kernels that neurolens reports against what the empty client counted for the same loads."""
    each = {r["load"]: r["kernels_counted"] / r["runs_on"] for r in rows if r["client"] in ("empty", "empty_graph") and r["runs_on"]}
    expected = sum(r["runs_on"] * each.get(r["load"], 0) for r in rows if r["client"] in ("neurolens", "neurolens_graph"))
    found = [re.search(r"\((\d+) kernels, (\d+) ranges, (\d+) CPU samples, (\d+) lost\)", text) for text in said]
    counts = [(int(match[1]), int(match[4])) for match in found if match]
    return {"kernels_per_run": each, "expected": round(expected), "recorded": sum(kernels for kernels, _ in counts), "lost": sum(lost for _, lost in counts)}


def show(result):
    print(f"{result['gpu']}, torch {result['torch']}; pairs of off and on within one process; +-: 95 % interval of the median")
    print(f"{'load':<9}{'client':<22}{'pairs':>6}{'off ms':>9}{'on ms':>9}{'overhead':>10}{'+-':>6}{'stated':>8}{'quietest':>10}")
    for r in result["rows"]:
        stated = f"{r['stated_percent']:.1f}%" if r["stated_percent"] is not None else ""
        print(f"{r['load']:<9}{r['client']:<22}{r['pairs']:>6}{r['off_ms']:>9.1f}{r['on_ms']:>9.1f}{r['overhead_percent']:>9.1f}%"
              f"{r['spread_points']:>6.1f}{stated:>8}{r['quietest_percent']:>9.1f}%")
    by = {(r["client"], r["load"]): r["overhead_percent"] for r in result["rows"]}
    print("marks")
    for load in ("eager", "tiny", "graph"):
        ours, empty = ("neurolens_graph", "empty_graph") if load == "graph" else ("neurolens", "empty")
        if (ours, load) in by and (empty, load) in by:
            print(f"  above an empty client, {load}: {by[ours, load] - by[empty, load]:+.1f} points (1.5)")
    if ("neurolens", "prefill") in by:
        print(f"  kernels of 50 us and more: {by['neurolens', 'prefill']:+.1f} % (1)")
    for peer in ("torch_cuda", "proton"):
        if (peer, "eager") in by and ("neurolens", "eager") in by:
            print(f"  eager decode against {peer}: {by['neurolens', 'eager']:+.1f} % to {by[peer, 'eager']:+.1f} %")
    if ("neurolens_full", "eager") in by and ("torch_shapes", "eager") in by:
        print(f"  with operators and modules against torch.profiler with shapes: {by['neurolens_full', 'eager']:+.1f} % to {by['torch_shapes', 'eager']:+.1f} %")
    for load in ("eager", "tiny"):
        if ("neurolens_cpu", load) in by:
            print(f"  CPU sampling at 200 Hz, {load}: {by['neurolens_cpu', load]:+.1f} % (1)")
    check = result["records"]
    print(f"  kernels expected {check['expected']}, recorded {check['recorded']}, lost {check['lost']}; per run {check['kernels_per_run']}")
    print(f"  a program's own torch.profiler while recorded: {result['own_profiler']}")
    for problem in result["problems"]:
        print("problem:", problem)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer pairs: 90 s")
    parser.add_argument("--json", default=os.path.join(os.environ.get("OUT", "."), "overhead.json"))
    parser.add_argument("--capture", default=str(ROOT / "build/capture-only/neurolens-capture"))
    parser.add_argument("--only", help="processes, by name: " + ", ".join(PLAN), type=lambda text: text.split(","))
    parser.add_argument("--loads", help="of " + ", ".join((*MAIN, "graph")), type=lambda text: text.split(","))
    parser.add_argument("--limit", type=float, help="seconds in all")
    parser.add_argument("--worker", nargs=2, metavar=("CLIENTS", "LOADS"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return worker(*(text.split(",") for text in args.worker))
    began = time.monotonic()
    limit = args.limit or (90 if args.quick else 240)
    folder = tempfile.mkdtemp(prefix="overhead-")
    environment = {**os.environ, "NL_BENCH_TMP": folder, "NL_EMPTY_CLIENT": build_empty_client(folder), "PYTHONPATH": str(ROOT / "python"), "TEARDOWN_CUPTI": "1"}
    processes = [Process(name, folder, args.capture, environment) for name in PLAN if args.only is None or name in args.only]
    for process in processes:
        process.wait(began + limit / 2)
    print(f"ready after {time.monotonic() - began:.0f} s", file=sys.stderr)
    found = measure(processes, args.loads, args.quick, limit - (time.monotonic() - began) - 12)
    full = [p for p in processes if p.name == "neurolens_full" and p.ready]
    own = (full[0].ask(client="neurolens_full") or {}).get("own_profiler") if full else None
    said = {process.name: process.end() for process in processes}
    rows = summary(found)
    facts = subprocess.run([sys.executable, "-c", "import torch; print(torch.__version__); print(torch.cuda.get_device_name())"],
                           capture_output=True, text=True, check=False, timeout=60).stdout.split("\n")
    result = {"torch": facts[0], "gpu": facts[1] if len(facts) > 1 else "", "quick": args.quick, "seconds": time.monotonic() - began, "rows": rows,
              "records": records_check(rows, [said.get(name, "") for name in ("neurolens", "neurolens_graph")]), "own_profiler": own,
              "problems": [f"{p.name}: {text}" for p in processes for text in p.problems]
              + [f"{name} says at its end: {line}" for name, text in said.items() for line in text.splitlines() if "Leaked" in line or "Traceback" in line or "not recorded" in line],
              "said": {name: text[-2000:] for name, text in said.items()},
              "samples": {f"{client}/{load}": entry for (client, load), entry in found.items()}}
    show(result)
    Path(args.json).write_text(json.dumps(result, indent=1))
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())

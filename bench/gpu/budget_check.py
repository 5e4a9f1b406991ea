#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""budget_check.py: does --budget hold? Needs an NVIDIA GPU, PyTorch and transformers.

  cmake --preset capture-only && cmake --build build/capture-only -j
  python3 bench/gpu/budget_check.py [--budgets 1%,5%,20%] [--seconds 40]

The eager decode of bench/workloads/llama.py, again and again, recorded with all there is but samples, under each budget. Requests in
which nothing was recorded say what a request takes; what all took above that is the cost."""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def worker(seconds):
    sys.path.insert(0, str(HERE))
    from loads import Loads
    from neurolens import _emit

    work, rows = Loads(), []
    work.run("eager")
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        began, on = time.perf_counter(), _emit.current.recording()
        work.run("eager")
        rows.append((time.perf_counter() - began, bool(on or _emit.current.recording())))
    print(json.dumps(rows), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budgets", default="1%,5%,20%", type=lambda text: text.split(","))
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--capture", default=str(ROOT / "build/capture-only/neurolens-capture"))
    parser.add_argument("--worker", type=float, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return worker(args.worker)
    print(f"{'budget':<8}{'requests':>9}{'recorded':>9}{'off ms':>8}{'on ms':>8}{'cost':>8}  what neurolens says")
    for budget in args.budgets:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([args.capture, "--budget", budget, "--no-cpu", "--no-python", "--no-counters", "--out", f"{folder}/x.nlcap", "--", sys.executable, __file__,
                                   "--worker", str(args.seconds)], capture_output=True, text=True, check=False, timeout=args.seconds + 120)
        rows = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("[[")))
        off, on = [s for s, recorded in rows if not recorded], [s for s, recorded in rows if recorded]
        base = statistics.median(off) if off else float("nan")
        # Means of middle halves: a slow moment of the machine is in neither.
        middle = lambda values: statistics.mean(sorted(values)[len(values) // 4:len(values) - len(values) // 4] or values)
        cost = (middle(on) / middle(off) - 1) * len(on) / len(rows) * 100 if on and off else float("nan")
        print(f"{budget:<8}{len(rows):>9}{len(on):>9}{base * 1e3:>8.1f}{statistics.median(on) * 1e3 if on else 0:>8.1f}{cost:>7.1f}%  "
              f"{done.stderr.strip().splitlines()[-1][:90] if done.stderr.strip() else ''}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

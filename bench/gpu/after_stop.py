#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""after_stop.py: what a recording that was stopped still costs its program. Needs an NVIDIA GPU and PyTorch.

  cmake --preset capture-only && cmake --build build/capture-only -j
  python3 bench/gpu/after_stop.py [--processes N]

A process runs a loop of tiny kernels, takes up the capture library, records the loop, stops, and runs it again: after/before is what
stays. Other processes do the same without the library and give the drift. They take turns. A loop is short and there are many of them:
of each process the fastest tenth's slowest loop counts, because what slows the machine down for a while is not ours; of each kind the median
process, with its 95 % interval."""
import argparse
import ctypes
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
from overhead import spread  # noqa: E402

LAUNCHES, LOOPS = 500, 1_000
KINDS = ("nothing", "stopped")


def worker(kind, library):
    import torch

    x = torch.zeros(32, device="cuda")

    def loop():
        began = time.perf_counter()
        for _ in range(LAUNCHES):
            x.add_(1)
        torch.cuda.synchronize()
        return time.perf_counter() - began

    def fast():
        return sorted(loop() for _ in range(LOOPS))[LOOPS // 10]

    gc.disable()
    fast()
    before = fast()
    recorded = None
    if kind != "nothing":
        capture = ctypes.CDLL(library)
        capture.InitializeInjection()
        recorded = fast()
        capture.nl_stop()
    else:
        fast()
    # CUPTI leaves at the end of a call, some time after the stop.
    for _ in range(100):
        loop()
        time.sleep(0.01)
    print(json.dumps({"before": before, "recorded": recorded, "after": fast()}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=12, help="of each kind")
    parser.add_argument("--library", default=str(ROOT / "build/capture-only/libneurolens_capture.so"))
    parser.add_argument("--worker", choices=KINDS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.worker:
        return worker(args.worker, args.library)
    found = {kind: [] for kind in KINDS}
    for _ in range(args.processes):
        for kind in KINDS:
            with tempfile.TemporaryDirectory() as folder:
                done = subprocess.run([sys.executable, __file__, "--worker", kind, "--library", args.library], capture_output=True, text=True, check=False,
                                      timeout=120, env={**os.environ, "NEUROLENS_CAPTURE_DIR": folder, "NEUROLENS_CAPTURE": "kernels,api,sync,memory,ranges"})
            if done.returncode != 0:
                print(f"{kind}: status {done.returncode}: {done.stderr[-300:]}")
                continue
            found[kind].append(json.loads(done.stdout.splitlines()[-1]))
            print(kind, done.stdout.splitlines()[-1], file=sys.stderr, flush=True)
    print(f"{LAUNCHES} launches a loop, {LOOPS} loops; after against before, percent; +-: 95 % interval of the median")
    for kind, rows in found.items():
        if not rows:
            continue
        after = [r["after"] / r["before"] for r in rows]
        line = f"{kind:<10}{len(rows):>3} processes  after {(statistics.median(after) - 1) * 100:+.2f} +- {spread(after):.2f}"
        if rows[0]["recorded"]:
            line += f"  while recorded {statistics.median((r['recorded'] / r['before'] - 1) * 100 for r in rows):+.1f}"
        print(line)
    return 0


if __name__ == "__main__":
    sys.exit(main())

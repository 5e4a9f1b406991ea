#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ops_check.py: what PyTorch's operators cost by our observer and by its NVTX profiler. Needs PyTorch; run it recorded:

  neurolens-capture --no-cpu --no-python --no-counters --no-modules --no-gpu --capture-range api -- python3 bench/gpu/ops_check.py

In one process, in turns: loops of a tiny operator with nothing, the observer (names; shapes) and the NVTX profiler (likewise). Of each
the fastest tenth's slowest loop counts, per call."""
import statistics
import sys
import time

import neurolens
import torch
from neurolens import _emit, _torch

CALLS, LOOPS = 300, 60


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x = torch.zeros(32, device=device)

    def fast():
        times = []
        for _ in range(LOOPS):
            began = time.perf_counter()
            for _ in range(CALLS):
                x.add_(1)
            if device == "cuda":
                torch.cuda.synchronize()
            times.append(time.perf_counter() - began)
        return sorted(times)[LOOPS // 10] / CALLS * 1e9

    observer = _torch._observer(torch, _emit.current)
    print("observer:", "usable" if observer else "not usable", "torch", torch.__version__, file=sys.stderr)
    ways = {}
    if observer:
        ways |= {"observer, names": (observer, _torch.NAMES), "observer, shapes": (observer, _torch.SHAPES)}
    try:
        nvtx = _torch._NvtxProfiler(torch, _emit.current)
        ways |= {"NVTX, names": (nvtx, _torch.NAMES), "NVTX, shapes": (nvtx, _torch.SHAPES)}
    except RuntimeError:
        pass
    neurolens.start()
    if observer:
        observer.run(_torch.OFF)
    fast()
    found = {name: [] for name in ways}
    for _ in range(5):
        for name, (source, detail) in ways.items():
            before = fast()
            source.run(detail)
            on = fast()
            source.run(_torch.OFF)
            found[name].append((on, before))
    neurolens.stop()
    for name, rows in found.items():
        print(f"{name:<20}{statistics.median(on for on, _ in rows):>8.0f} ns a call, {statistics.median(on - off for on, off in rows):>+7.0f} above none", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())

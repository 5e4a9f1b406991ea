#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kinds.py: what each kind of record costs a launch, by an empty CUPTI client. Needs an NVIDIA GPU and PyTorch.

  python3 bench/gpu/kinds.py [--rounds N]

One process; loops of 500 tiny launches without CUPTI and with one choice of kinds, in turns; CUPTI leaves the process between them. Of each the
fastest tenth's slowest loop counts, per launch; the median of the rounds, against the loops without just before and after."""
import argparse
import gc
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from clients import (DRIVER, DRIVER_CALLBACKS, EXTERNAL, KERNELS, LIKE_OURS, MEMORY, OVERHEAD, RECORDS, RUNTIME, RUNTIME_CALLBACKS, SYNC, Empty)  # noqa: E402
from overhead import build_empty_client  # noqa: E402

CHOICES = {
    "kernels": KERNELS,
    "kernels, runtime": KERNELS | RUNTIME,
    "kernels, runtime, driver": KERNELS | RUNTIME | DRIVER,
    "kernels, listed runtime calls by callback": KERNELS | RUNTIME_CALLBACKS,
    "kernels, listed calls by callback": KERNELS | RUNTIME_CALLBACKS | DRIVER_CALLBACKS,
    "kernels, callbacks, external": KERNELS | RUNTIME_CALLBACKS | DRIVER_CALLBACKS | EXTERNAL,
    "kernels, callbacks, overhead": KERNELS | RUNTIME_CALLBACKS | DRIVER_CALLBACKS | OVERHEAD,
    "kernels, callbacks, memory": KERNELS | RUNTIME_CALLBACKS | DRIVER_CALLBACKS | MEMORY,
    "kernels, callbacks, synchronisation": KERNELS | RUNTIME_CALLBACKS | DRIVER_CALLBACKS | SYNC,
    "kernels, synchronisation": KERNELS | SYNC,
    "callbacks alone": RUNTIME_CALLBACKS | DRIVER_CALLBACKS,
    "as neurolens": LIKE_OURS,
    "everything by records": RECORDS,
}
LAUNCHES, LOOPS = 500, 150


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    os.environ["NL_EMPTY_CLIENT"] = build_empty_client(tempfile.mkdtemp())
    import torch

    x = torch.zeros(32, device="cuda")

    def fast():
        times = []
        for _ in range(LOOPS):
            began = time.perf_counter()
            for _ in range(LAUNCHES):
                x.add_(1)
            torch.cuda.synchronize()
            times.append(time.perf_counter() - began)
        return sorted(times)[LOOPS // 10] / LAUNCHES * 1e6

    gc.disable()
    fast()
    found = {name: [] for name in CHOICES}
    for _ in range(args.rounds):
        before = fast()
        for name, parts in CHOICES.items():
            client = Empty(parts)
            client.on()
            fast_on = fast()
            client.off()
            client.settle()
            after = fast()
            found[name].append((fast_on, (before + after) / 2))
            before = after
    print(f"{'':<44}{'us a launch':>12}{'above none':>12}   in each round")
    for name, rows in found.items():
        print(f"{name:<44}{statistics.median(on for on, _ in rows):>12.2f}{statistics.median(on - off for on, off in rows):>+12.2f}   "
              + " ".join(f"{on - off:+.2f}" for on, off in rows))
    print(f"{'none':<44}{statistics.median(off for rows in found.values() for _, off in rows):>12.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""timeline.py [--events N] [--folder DIR]: the marks of the timeline on a large run.

Imports a trace of N events (default 100 million) that make_trace writes into a pipe, then runs timeline_bench on the run: rate of
the overview, its size, tiles of random windows. The store in DIR is used again when it is there. Build first: ninja -C build/release
make_trace timeline_bench neurolens. Needs about 6 bytes of disk per event.
"""
import argparse
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
SOURCES = [ROOT / "data" / "h200" / name for name in ("base.json.gz", "compile.json.gz", "resnet50_train_stack.json.gz")]


def import_large(store, events):
    """Imports through a pipe: the text of 100 million events is 34 GB."""
    trace = subprocess.Popen([BUILD / "bench" / "make_trace", "--events", str(events), "--out", "-", *SOURCES], stdout=subprocess.PIPE)
    done = subprocess.run([BUILD / "neurolens", "--store", store, "import", "-"], stdin=trace.stdout, check=False)
    trace.stdout.close()
    if trace.wait() != 0 or done.returncode != 0:
        sys.exit("timeline.py: the import failed")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=float, default=1e8, help="events of the trace")
    parser.add_argument("--tiles", type=int, default=1000, help="tiles to measure")
    parser.add_argument("--folder", type=Path, default=Path("/tmp/neurolens-timeline-bench"), help="folder of the store")
    args = parser.parse_args()
    runs = args.folder / "runs"
    if not runs.is_dir() or not any(runs.iterdir()):
        import_large(args.folder, int(args.events))
    run = sorted(runs.iterdir())[-1]
    return subprocess.run([BUILD / "bench" / "timeline_bench", run, str(args.tiles)], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())

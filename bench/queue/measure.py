#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""measure.py [--entries N] [--replay N] [--folder DIR]: the marks of the queue.

start-to-start: time from the start of one entry to the start of the next, measured by the entries themselves (each writes the
clock when it runs), with every record of the journal synced. Mark: 50 ms in the median; the 99th percentile is that of the machine's disk and load.
replay: time of `queue ls` on a journal of N entries that have each been added, started and ended. Mark: 1 s for 10,000.

Writes one line per number. Build first: ninja -C build/release neurolens make_queue_journal. DIR should be on a real disk, as fsync is free on tmpfs.
"""
import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ROOT / "build/release/neurolens"
LATENCY_MARK_MS, REPLAY_MARK_S = 50, 1.0
ROUNDS = 6


def queue(store, *words, status=0):
    environment = {**os.environ, "NEUROLENS_QUEUE_LOCK": str(store / "runner.lock")}
    done = subprocess.run([PROGRAM, "--store", store, "queue", *words], env=environment, check=False, capture_output=True)
    assert done.returncode == status, done.stderr
    return done.stdout


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def start_to_start(folder, entries, waiting):
    """Milliseconds between starts, with `waiting` more entries in the journal that are over."""
    store = Path(tempfile.mkdtemp(dir=folder))
    if waiting:
        make_journal(store / "queue", waiting)
    # The clock is read by the entry: what counts is when it runs, not when the runner says so.
    for _ in range(entries):
        queue(store, "add", "--", "sh", "-c", f"date +%s%N >> '{store}/clock'")
    queue(store, "run")
    times = [int(line) for line in (store / "clock").read_text().split()]
    assert len(times) == entries
    return [(b - a) / 1e6 for a, b in zip(times, times[1:])]


def make_journal(folder, entries):
    """A journal as a runner leaves it: the records that the program wrote for one entry, repeated with other ids. Returns records per entry."""
    scratch = folder.parent / "one"
    queue(scratch, "add", "--", "sh", "-c", "python3 train.py --steps 100 | tee log; true")
    queue(scratch, "run")
    made = subprocess.run([PROGRAM.parent / "bench/make_queue_journal", scratch / "queue", folder, str(entries)], check=True, capture_output=True, text=True)
    return int(made.stdout)


def replay(folder, entries):
    """Seconds of `queue ls`, several times."""
    store = folder / "replay"
    store.mkdir()
    records = make_journal(store / "queue", entries)
    seconds = []
    for _ in range(7):
        begin = time.perf_counter()
        listed = json.loads(queue(store, "ls", "--json"))
        seconds.append(time.perf_counter() - begin)
        assert listed["entries_total"] == entries, listed["entries_total"]
    return seconds, records, (store / "queue/journal").stat().st_size


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--entries", type=int, default=300, help="entries to start for each length of the journal")
    parser.add_argument("--replay", type=int, default=10_000, help="entries of the journal that is replayed")
    parser.add_argument("--folder", type=Path, help="folder for the stores; otherwise a temporary one")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="neurolens-queue-bench-", dir=args.folder))
    missed = False
    try:
        # In turns, in changing order: what else the machine does hits both.
        found = {0: [], args.replay: []}
        for i in range(ROUNDS):
            for waiting in sorted(found, reverse=i % 2 == 1):
                found[waiting] += start_to_start(folder, max(2, args.entries // ROUNDS), waiting)
        print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        for waiting, gaps in found.items():
            p99 = percentile(gaps, 0.99)
            missed |= statistics.median(gaps) > LATENCY_MARK_MS
            print(f"start to start, {waiting} entries in the journal: median {statistics.median(gaps):.1f} ms, p99 {p99:.1f} ms, most {max(gaps):.1f} ms "
                  f"over {len(gaps)} (mark {LATENCY_MARK_MS} ms)", flush=True)
        seconds, records, size = replay(folder, args.replay)
        missed |= statistics.median(seconds) > REPLAY_MARK_S
        print(f"replay of {args.replay} entries with {records} records each ({size / 1e6:.1f} MB): median {statistics.median(seconds):.3f} s, "
              f"most {max(seconds):.3f} s (mark {REPLAY_MARK_S:.0f} s)")
    finally:
        shutil.rmtree(folder)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())

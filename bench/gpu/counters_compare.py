#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the counters of a recorded run against those Nsight Compute measured of the same program.

  python3 bench/gpu/counters_compare.py CAPTURE NCU_CSV    with what bench/gpu/counters_check.py wrote

CAPTURE (a .nlc file or a .nlcap folder) is imported by neurolens (NEUROLENS_BIN, or build/release/neurolens) into a store of its own;
NCU_CSV is read here. Kernels are joined by the order in which each is first launched. Of one kernel ncu's values are the median over
its executions, ours the mean over the samples of all of them. Exit status 1 when a mark is missed: DRAM bytes, occupancy and L2 hit
rate within 5 % for kernels of at least 100 us."""
import csv
import io
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
MARK, LEAST_NS = 0.05, 100_000
# Column of kernel_counter, metric of ncu, what ncu's is multiplied by, whether the mark holds for it.
COLUMNS = [("dram_read_bytes", "dram__bytes_read.sum", 1, True), ("dram_write_bytes", "dram__bytes_write.sum", 1, True),
           ("achieved_occupancy", "sm__warps_active.avg.pct_of_peak_sustained_active", 0.01, True),
           ("l2_hit_rate", "lts__t_sector_hit_rate.pct", 0.01, True),
           ("sm_efficiency", "sm__cycles_active.avg.pct_of_peak_sustained_elapsed", 0.01, False),
           ("tensor_active", "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", 0.01, False),
           ("sm_throughput", "sm__throughput.avg.pct_of_peak_sustained_elapsed", 0.01, False),
           ("dram_throughput", "dram__throughput.avg.pct_of_peak_sustained_elapsed", 0.01, False),
           ("warp_execution_efficiency", "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio", 1 / 32, False)]
# A kernel that moves less than this has nothing to be 5 % of.
LEAST_BYTES = 10 << 20
SQL = """SELECT any_value(k.name) AS name, k.grid_x, k.block_x, min(k.start_ns) AS first_ns, count(*) AS executions, count(c.id) AS counted,
 avg(k.dur_ns) AS dur_ns, sum(m.value) FILTER (c.joined_by = 'recorded') AS own_samples, max(m.value) AS most_samples, {columns}
 FROM kernel k LEFT JOIN kernel_counter c ON c.kernel_id = k.id LEFT JOIN kernel_metric m ON m.kernel_id = k.id AND m.name = 'samples'
 GROUP BY k.name, k.grid_x, k.grid_y, k.grid_z, k.block_x, k.block_y, k.block_z ORDER BY first_ns"""


def ask(store, *arguments):
    done = subprocess.run([BIN, "--store", store, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        sys.exit(f"neurolens {arguments[0]}: {done.stderr.strip()}")
    return done.stdout


def ours(capture):
    with tempfile.TemporaryDirectory() as store:
        ask(store, "import", str(capture))
        columns = ", ".join(f"avg(c.{name}) AS {name}" for name, *_ in COLUMNS)
        return list(csv.DictReader(io.StringIO(ask(store, "query", SQL.format(columns=columns), "--format", "csv"))))


def number(text):
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def ncu(path):
    """Kernels by the order of their first launch: name, and the values of all executions by metric."""
    lines = [line for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines() if line.startswith('"')]
    head, _, *rows = list(csv.reader(lines))
    kernels = {}
    for row in (dict(zip(head, r)) for r in rows):
        key = (row["Kernel Name"], row["Grid Size"], row["Block Size"])
        for metric in (m for m in row if "__" in m):
            kernels.setdefault(key, {}).setdefault(metric, []).append(number(row[metric]))
    return [(key[0], values) for key, values in kernels.items()]


def short(name):
    return re.sub(r"<.*|\(.*", "", name.replace("(anonymous namespace)", "").replace("<unnamed>", "")).split("::")[-1].split(" ")[-1]


def shown(value, is_bytes):
    return "-" if value is None else f"{value / 1e6:10.2f} MB" if is_bytes else f"{value:10.4f}   "


def main():
    measured, reference = ours(sys.argv[1]), ncu(sys.argv[2])
    if [short(k["name"]) for k in measured] != [short(name) for name, _ in reference]:
        print("kernels differ:", [short(k["name"]) for k in measured], [short(name) for name, _ in reference])
    missed = checked = unsampled = 0
    for k, (name, values) in zip(measured, reference):
        duration = statistics.median(values["gpu__time_duration.sum"])
        print(f"{name[:90]}\n  {float(k['dur_ns']) / 1000:.1f} us here, {duration / 1000:.1f} us under ncu; {k['executions']} executions, "
              f"{k['own_samples'] or 0} samples in executions of their own, {k['most_samples'] or 0} behind a value at most")
        if not int(k["counted"]):
            unsampled += 1
            print("    not sampled")
            continue
        for column, metric, factor, marked in COLUMNS:
            theirs = [v * factor for v in values.get(metric, []) if v is not None]
            theirs = statistics.median(theirs) if theirs else None
            mine = number(k[column] or "")
            is_bytes = column.endswith("bytes")
            error = (mine - theirs) / theirs if mine is not None and theirs else None
            counts = marked and float(k["dur_ns"]) >= LEAST_NS and theirs is not None and (not is_bytes or theirs >= LEAST_BYTES)
            bad = counts and (error is None or abs(error) > MARK)
            checked, missed = checked + counts, missed + bad
            print(f"    {column:26} {shown(mine, is_bytes)}  ncu {shown(theirs, is_bytes)}  "
                  f"{'' if error is None else f'{100 * error:+7.2f} %'}{'  MISSED' if bad else ''}")
    print(f"{checked - missed} of {checked} values within {100 * MARK:.0f} %; {unsampled} kernels not sampled")
    return 1 if missed or not checked else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""many_runs.py STORE COUNT: fills the catalog of a store that has a run up to COUNT runs, for tests and measurements of long lists.

The runs have rows in the catalog and no files: they are listed, filtered and sorted, and cannot be opened. They follow from the number of the run
alone: 50 models, three devices, three formats, the tag `n` with seven values, one run a minute."""
import pathlib
import sqlite3
import sys

DEVICES, FORMATS, PRECISIONS = ("NVIDIA H200", "NVIDIA A100-SXM4-80GB", "NVIDIA L4"), ("kineto", "nsys", "rocprof"), ("bf16", "fp32")


def values(i, one):
    """Row of run i, changed from the columns of a real one."""
    return {**one, "run_id": f"{0x01800000 + i:08x}-0000-7000-8000-{i:012x}", "created_at_ns": one["created_at_ns"] - (i + 1) * 60_000_000_000, "model": f"model {i % 50}",
            "device": DEVICES[i % 3], "device_count": 1, "precision": PRECISIONS[i % 2], "adapter": FORMATS[i % 3], "source_name": f"trace_{i}.json", "content_sha256": f"{i:064x}",
            "wall_ns": 1_000_000 * (1 + i * 7919 % 10_007), "kernel_count": i}


def fill(store, count):
    with sqlite3.connect(pathlib.Path(store) / "catalog.sqlite") as db:
        db.row_factory = sqlite3.Row
        one = {key: value for key, value in dict(db.execute("SELECT * FROM run LIMIT 1").fetchone()).items() if key != "added_seq"}
        have = db.execute("SELECT count(*) FROM run").fetchone()[0]
        rows = [values(i, one) for i in range(count - have)]
        db.executemany(f"INSERT INTO run ({', '.join(one)}) VALUES ({', '.join(f':{name}' for name in one)})", rows)
        db.executemany("INSERT INTO tag (run_id, key, value) VALUES (?, 'n', ?)", [(row["run_id"], str(i % 7)) for i, row in enumerate(rows)])


if __name__ == "__main__":
    fill(sys.argv[1], int(float(sys.argv[2])))

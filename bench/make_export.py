#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a large Nsight Systems SQLite export with the tables and columns of nsys 2026.2 (schema 3.25).

    bench/make_export.py OUT.sqlite [--kernels 1000000]

A training step repeated: per kernel one launch call, 1.5 ops from emit_nvtx around it, now and then a copy, a fill and a wait;
two processes with a device each, as under torchrun.
"""
import argparse
import pathlib
import random
import sqlite3
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests"))
from make_nsys_samples import API, KERNEL_2026, MEMCPY, MEMSET, NVTX, TEXT, gpid, gtid  # noqa: E402

OPS = ["aten::linear", "aten::addmm", "aten::mul", "aten::add", "aten::copy_", "aten::_to_copy", "aten::native_layer_norm", "aten::gelu",
       "flash_attn::_flash_attn_forward", "aten::cat", "aten::empty_strided", "aten::view"]
KERNELS = [f"void at::native::vectorized_elementwise_kernel<(int){i}, at::native::CUDAFunctor_add<float>, std::array<char *, (unsigned long)3>>"
           f"(int, T2, T3) /* {i} */" for i in range(40)] + [f"nvjet_tst_{64 * i}x192_64x4_2x1_v_bz_coopB_bias_TNN" for i in range(1, 20)]
TABLES = {
    "NVTX_EVENTS": NVTX, "CUPTI_ACTIVITY_KIND_RUNTIME": API, "CUPTI_ACTIVITY_KIND_KERNEL": KERNEL_2026,
    "CUPTI_ACTIVITY_KIND_MEMCPY": MEMCPY + " copyCount", "CUPTI_ACTIVITY_KIND_MEMSET": MEMSET,
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "start end deviceId contextId greenContextId streamId correlationId globalPid deprecatedSyncType "
                                           "syncType eventId eventSyncId",
}


class Writer:
    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.execute("PRAGMA journal_mode = OFF")
        self.db.execute("PRAGMA synchronous = OFF")
        self.columns, self.pending = {}, {}
        for table, columns in TABLES.items():
            names = columns.split()
            kinds = ", ".join(f"{c} {'TEXT' if c in TEXT - {'value'} else 'INTEGER'}" for c in names)
            self.db.execute(f"CREATE TABLE {table} ({kinds})")
            self.columns[table] = {name: i for i, name in enumerate(names)}
            self.pending[table] = []
        self.db.execute("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)")
        self.db.execute("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)")
        self.db.execute("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_VERSION', '2026.2.1.210')")
        self.strings = {}

    def text(self, value):
        if value not in self.strings:
            self.strings[value] = 11 * len(self.strings)
            self.db.execute("INSERT INTO StringIds VALUES (?, ?)", (self.strings[value], value))
        return self.strings[value]

    def put(self, table, **values):
        columns = self.columns[table]
        row = [None] * len(columns)
        for name, value in values.items():
            row[columns[name]] = value
        rows = self.pending[table]
        rows.append(row)
        if len(rows) >= 10000:
            self.flush(table)

    def flush(self, table):
        rows = self.pending[table]
        if rows:
            self.db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(self.columns[table]))})", rows)
            rows.clear()


def build(path, kernels):
    w, rng = Writer(path), random.Random(1)
    clock = {144: 60_000_000_000, 145: 60_000_000_137}
    device_free = dict(clock)
    op_id = {144: 990_000, 145: 990_000}
    for i in range(kernels):
        rank = i & 1
        pid = 144 + rank
        tid, process, t = gtid(pid, pid), gpid(pid), clock[pid]
        place = {"deviceId": rank, "contextId": 1 + rank, "greenContextId": 0, "streamId": 7 + 8 * rank, "globalPid": process}
        correlation = 2_600_000 + i
        name = OPS[i % len(OPS)]
        op_id[pid] += 1
        w.put("NVTX_EVENTS", start=t, end=t + 9_000, eventType=59, text=f"{name}, seq = {45_000 + i // 24}, op_id = {op_id[pid]}", globalTid=tid,
              domainId=0)
        if i % 2:
            op_id[pid] += 1
            w.put("NVTX_EVENTS", start=t + 500, end=t + 8_500, eventType=59, text=f"aten::empty, op_id = {op_id[pid]}", globalTid=tid, domainId=0)
        w.put("CUPTI_ACTIVITY_KIND_RUNTIME", start=t + 1_000, end=t + 6_000 + rng.randrange(900), eventClass=0, globalTid=tid,
              correlationId=correlation, nameId=w.text("cudaLaunchKernel_v7000"), returnValue=0)
        start = max(device_free[pid], t + 8_000)
        device_free[pid] = start + 2_000 + rng.randrange(12_000)
        demangled = rng.choice(KERNELS)
        w.put("CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=device_free[pid], correlationId=correlation, demangledName=w.text(demangled),
              shortName=w.text(demangled.split("<")[0]), mangledName=w.text("_Z" + demangled[:20]), launchType=1, cacheConfig=1, registersPerThread=32,
              gridX=rng.randrange(1, 90_000), gridY=1, gridZ=1, blockX=128, blockY=1, blockZ=1, staticSharedMemory=0, dynamicSharedMemory=49_152,
              localMemoryPerThread=0, localMemoryTotal=250_871_808, gridId=160_000 + i, sharedMemoryExecuted=32_768, sharedMemoryLimitConfig=0,
              clusterX=0, clusterY=0, clusterZ=0, clusterSchedulingPolicy=1, maxPotentialClusterSize=0, maxActiveClusters=0,
              tensorSizeMinusOneElements="[]", **place)
        if i % 8 == 7:
            w.put("CUPTI_ACTIVITY_KIND_RUNTIME", start=t + 7_000, end=t + 7_900, eventClass=0, globalTid=tid, correlationId=correlation + 50_000_000,
                  nameId=w.text("cudaMemcpyAsync_v3020"), returnValue=0)
            w.put("CUPTI_ACTIVITY_KIND_MEMCPY", start=device_free[pid], end=device_free[pid] + 900, correlationId=correlation + 50_000_000, bytes=4096,
                  copyKind=8, srcKind=2, dstKind=2, copyCount=1, **place)
            device_free[pid] += 900
        if i % 64 == 63:
            w.put("CUPTI_ACTIVITY_KIND_MEMSET", start=device_free[pid], end=device_free[pid] + 500, correlationId=None, value=0, bytes=64, memKind=2,
                  **place)
            w.put("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", start=t + 9_100, end=t + 9_400, correlationId=correlation + 90_000_000, syncType=3,
                  eventId=0xFFFFFFFF, eventSyncId=0, **place)
        clock[pid] = t + 10_000
    for table in TABLES:
        w.flush(table)
    w.db.commit()
    w.db.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--kernels", type=int, default=1_000_000)
    options = parser.parse_args()
    options.out.unlink(missing_ok=True)
    build(options.out, options.kernels)


if __name__ == "__main__":
    main()

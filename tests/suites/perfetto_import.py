#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Perfetto traces become runs: what was exported comes back to the nanosecond, and traces of other writers are read.

round_trip.*   a run, exported and imported again: the same kernels, copies, calls, ops, ranges and links
other.*        traces written here, packet by packet, the way the Perfetto SDK writes them
"""
import collections
import csv
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

ROOT = pathlib.Path(os.environ.get("NEUROLENS_ROOT", pathlib.Path(__file__).resolve().parents[2]))
BIN = os.environ.get("NEUROLENS_BIN", str(ROOT / "build/release/neurolens"))
COLUMNS = {
    "kernel": "name, start_ns, dur_ns, device, stream, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread, "
              "shared_bytes, correlation, external_id",
    "memcpy": "name, start_ns, dur_ns, device, stream, kind, bytes, correlation",
    "memset": "name, start_ns, dur_ns, device, stream, bytes, correlation",
    "sync": "name, start_ns, dur_ns, correlation",
    "api_call": "name, start_ns, dur_ns, domain, correlation, external_id",
    "op": "name, start_ns, dur_ns, external_id, sequence_number, input_dims, input_types",
    "python_call": "name, start_ns, dur_ns",
    "range": "name, start_ns, dur_ns, category, kind",
    "step": "name, number, start_ns, dur_ns",
}
LINKS = ("SELECT k.name, k.start_ns, a.name, a.start_ns, o.name, o.start_ns FROM kernel k LEFT JOIN api_call a ON a.id = k.api_call_id "
         "LEFT JOIN op o ON o.id = k.op_id")
# Captures link ops by time, which a Perfetto trace does not carry (docs/formats/perfetto.md).
LAUNCHES = "SELECT k.name, k.start_ns, a.name, a.start_ns FROM kernel k LEFT JOIN api_call a ON a.id = k.api_call_id"


class Failure(Exception):
    pass


def expect(what, expected, found):
    if expected != found:
        gone, more = expected, found
        if isinstance(expected, collections.Counter):
            gone, more = list((expected - found).items())[:2], list((found - expected).items())[:2]
        raise Failure(f"{what}: expected {str(gone)[:300]}, found {str(more)[:300]}")


def call(store, *arguments):
    done = subprocess.run([BIN, "--store", str(store), *map(str, arguments)], stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          timeout=300)
    if done.returncode != 0:
        raise Failure(f"{arguments[0]} ended with {done.returncode}: {done.stderr.decode()[-300:]}")
    return done.stdout.decode()


def imported(store, path):
    (run,) = json.loads(call(store, "import", path, "--json"))["runs"]
    return run


def rows(store, run, sql):
    return list(map(tuple, csv.reader(io.StringIO(call(store, "query", run, sql, "--format", "csv", "--max-rows", "10000000")))))[1:]


def round_trip(path):
    def check(folder):
        store, trace = folder / "store", folder / "out.pftrace"
        first = imported(store, path)
        call(store, "export", first["run_id"], "--format", "perfetto", "--out", trace)
        second = imported(store, trace)
        expect("adapter", "perfetto", second["adapter"])
        losses = [c for c in second["counters"] if c["severity"] == "data_loss"]
        expect("losses", [], losses)
        for table, columns in COLUMNS.items():
            sql = f"SELECT {columns} FROM {table} WHERE start_ns >= 0"
            expect(table, collections.Counter(rows(store, first["run_id"], sql)), collections.Counter(rows(store, second["run_id"], sql)))
        links = LAUNCHES if path.name.endswith(".nlc.gz") else LINKS
        expect("links", collections.Counter(rows(store, first["run_id"], links)), collections.Counter(rows(store, second["run_id"], links)))
    return check


# ------------------------------------------------------------------ a small writer of its own


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, value):
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    return varint(number << 3) + varint(value)


def message(*pairs):
    return b"".join(field(number, value) for number, value in pairs)


def packet(*pairs):
    return field(1, message(*pairs))


PROCESS = packet((10, 1), (60, message((1, 10), (3, message((1, 77), (6, "server"))))))
THREAD = packet((10, 1), (60, message((1, 11), (5, 10), (4, message((1, 77), (2, 78), (5, "worker"))))))


def begin(at, name, track=11, **more):
    return packet((8, at), (10, 1), (11, message((9, 1), (22, "app"), (23, name), (11, track), *more.get("notes", ()))))


def end(at, track=11):
    return packet((8, at), (10, 1), (11, message((9, 2), (11, track))))


def read(folder, data, sql, name="trace.bin"):
    path = folder / name
    path.write_bytes(data)
    run = imported(folder / "store", path)
    return run, rows(folder / "store", run["run_id"], sql)


SPANS = "SELECT r.name, r.start_ns, r.dur_ns, r.category, t.tid, p.pid, p.name FROM range r JOIN thread t ON t.id = r.thread_id " \
        "JOIN process p ON p.id = t.process_id ORDER BY r.start_ns, r.dur_ns DESC"


def names_in_full_and_nesting(folder):
    data = PROCESS + THREAD + begin(100, "outer") + begin(150, "inner", notes=((4, message((10, "rows"), (4, 12))),)) + end(180) + end(300)
    run, found = read(folder, data, SPANS)
    expect("spans", [("outer", "100", "200", "app", "78", "77", "server"), ("inner", "150", "30", "app", "78", "77", "server")], found)
    notes = rows(folder / "store", run["run_id"], "SELECT key, value FROM args WHERE owner = 'range'")
    expect("annotation", [("rows", "12")], notes)


def clocks_that_count_on(folder):
    """The SDK writes times as differences on a clock of the sequence, related to boot time by a snapshot."""
    clocks = message((1, message((1, 6), (2, 5_000_000))), (1, message((1, 64), (2, 1_000), (3, 1), (4, 1000))))
    data = packet((10, 1), (13, 1), (6, clocks), (59, message((58, 64), (11, message((11, 11)))))) + PROCESS + THREAD
    for delta, kind, name in ((5, 1, "a"), (2, 2, ""), (3, 1, "b"), (4, 2, "")):
        data += packet((8, delta), (10, 1), (13, 2), (11, message((9, kind), *([(23, name)] if name else []))))
    _, found = read(folder, data, "SELECT name, start_ns, dur_ns FROM range ORDER BY start_ns")
    expect("spans", [("a", "5005000", "2000"), ("b", "5010000", "4000")], found)


def packed_packets(folder):
    inner = begin(10, "packed") + end(30)
    _, found = read(folder, PROCESS + THREAD + packet((50, zlib.compress(inner))), "SELECT name, start_ns, dur_ns FROM range")
    expect("spans", [("packed", "10", "20")], found)


def counters_instants_and_flows(folder):
    track = packet((10, 1), (60, message((1, 20), (2, "queue depth"), (5, 10), (8, message((4, 2))))))
    data = PROCESS + THREAD + track
    data += b"".join(packet((8, at), (10, 1), (11, message((9, 4), (11, 20), (30, value)))) for at, value in ((5, 3), (9, -1)))
    data += packet((8, 12), (10, 1), (11, message((9, 4), (11, 20), (44, 0.25))))
    data += packet((8, 20), (10, 1), (11, message((9, 3), (23, "mark"), (11, 11))))
    flow = lambda number, value: varint(number << 3 | 1) + struct.pack("<Q", value)
    for at, number in ((30, 47), (40, 48)):
        data += packet((8, at), (10, 1), (11, message((9, 1), (23, "step"), (11, 11)) + flow(number, 99))) + end(at + 5)
    run, found = read(folder, data, "SELECT name, start_ns, value FROM counter_sample ORDER BY start_ns")
    expect("counter", [("queue depth", "5", "6.0"), ("queue depth", "9", "-2.0"), ("queue depth", "12", "0.5")], found)
    ask = lambda sql: rows(folder / "store", run["run_id"], sql)
    expect("instant", [("mark", "20", "instant")], ask("SELECT name, start_ns, kind FROM range WHERE dur_ns IS NULL"))
    expect("flows", [("s", "30", "99"), ("f", "40", "99")], ask("SELECT phase, start_ns, flow_id FROM flow ORDER BY start_ns"))


def other_packets_are_counted(folder):
    data = PROCESS + THREAD + begin(1, "x") + end(2) + packet((10, 2), (8, 3), (1, message((1, 0)))) + packet((10, 2), (8, 4), (2, b""))
    run, _ = read(folder, data, "SELECT 1")
    expect("counters", {"packet_not_read": 2}, {c["name"]: c["count"] for c in run["counters"]})


def main():
    chosen = os.environ.get("NEUROLENS_TEST_FILTER", "")
    traces = [*sorted((ROOT / "data/h200").glob("*.gz")), ROOT / "tests/cases/samples/kineto/h200_inference.json",
              ROOT / "tests/cases/samples/kineto/h200_training_stacks.json", ROOT / "tests/cases/samples/rocprof/training_results.json"]
    cases = [(f"round_trip.{p.name.split('.')[0]}", round_trip(p)) for p in traces]
    cases += [(f"other.{f.__name__}", f) for f in (names_in_full_and_nesting, clocks_that_count_on, packed_packets,
                                                   counters_instants_and_flows, other_packets_are_counted)]
    failed = False
    for name, check in cases:
        if chosen and chosen not in name:
            continue
        with tempfile.TemporaryDirectory(prefix="nl-perfetto-import-") as folder:
            try:
                check(pathlib.Path(folder))
                print(f"PASS {name}", flush=True)
            except (Failure, OSError, ValueError, LookupError, subprocess.TimeoutExpired) as error:
                failed = True
                print(f"FAIL {name}: {type(error).__name__} {' '.join(str(error).split())[:500]}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Perfetto traces become runs: what was exported comes back, and traces written here, packet by packet, the way the Perfetto SDK
writes them, are read."""
import collections
import struct
import zlib

import pytest

from neurolens_cli import H200, SAMPLES, equal, named

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


def traces():
    return [*sorted(H200.glob("*.gz")), SAMPLES / "kineto/h200_inference.json", SAMPLES / "kineto/h200_training_stacks.json",
            SAMPLES / "rocprof/training_results.json"]


@pytest.mark.parametrize("path", named(traces()))
def test_an_exported_run_comes_back_to_the_nanosecond(path, imported, exported_perfetto, store):
    first = imported(path)
    second = store.add(exported_perfetto(path))
    equal("adapter", "perfetto", second.adapter)
    equal("losses", [], [c for c in second.reply["counters"] if c["severity"] == "data_loss"])
    for table, columns in COLUMNS.items():
        sql = f"SELECT {columns} FROM {table} WHERE start_ns >= 0"
        equal(table, collections.Counter(first.rows(sql)), collections.Counter(second.rows(sql)))
    links = LAUNCHES if path.name.endswith(".nlc.gz") else LINKS
    equal("links", collections.Counter(first.rows(links)), collections.Counter(second.rows(links)))


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


@pytest.fixture
def read(store, tmp_path):
    """read(data): the run of these bytes."""
    def run(data):
        (tmp_path / "trace.bin").write_bytes(data)
        return store.add(tmp_path / "trace.bin")
    return run


SPANS = "SELECT r.name, r.start_ns, r.dur_ns, r.category, t.tid, p.pid, p.name FROM range r JOIN thread t ON t.id = r.thread_id " \
        "JOIN process p ON p.id = t.process_id ORDER BY r.start_ns, r.dur_ns DESC"


def test_names_in_full_and_nesting_are_read(read):
    data = PROCESS + THREAD + begin(100, "outer") + begin(150, "inner", notes=((4, message((10, "rows"), (4, 12))),)) + end(180) + end(300)
    run = read(data)
    equal("spans", [("outer", "100", "200", "app", "78", "77", "server"), ("inner", "150", "30", "app", "78", "77", "server")], run.rows(SPANS))
    equal("annotation", [("rows", "12")], run.rows("SELECT key, value FROM args WHERE owner = 'range'"))


def test_clocks_that_count_on_are_followed(read):
    """The SDK writes times as differences on a clock of the sequence, related to boot time by a snapshot."""
    clocks = message((1, message((1, 6), (2, 5_000_000))), (1, message((1, 64), (2, 1_000), (3, 1), (4, 1000))))
    data = packet((10, 1), (13, 1), (6, clocks), (59, message((58, 64), (11, message((11, 11)))))) + PROCESS + THREAD
    for delta, kind, name in ((5, 1, "a"), (2, 2, ""), (3, 1, "b"), (4, 2, "")):
        data += packet((8, delta), (10, 1), (13, 2), (11, message((9, kind), *([(23, name)] if name else []))))
    equal("spans", [("a", "5005000", "2000"), ("b", "5010000", "4000")], read(data).rows("SELECT name, start_ns, dur_ns FROM range ORDER BY start_ns"))


def test_packed_packets_are_read(read):
    inner = begin(10, "packed") + end(30)
    run = read(PROCESS + THREAD + packet((50, zlib.compress(inner))))
    equal("spans", [("packed", "10", "20")], run.rows("SELECT name, start_ns, dur_ns FROM range"))


def test_counters_instants_and_flows_are_read(read):
    track = packet((10, 1), (60, message((1, 20), (2, "queue depth"), (5, 10), (8, message((4, 2))))))
    data = PROCESS + THREAD + track
    data += b"".join(packet((8, at), (10, 1), (11, message((9, 4), (11, 20), (30, value)))) for at, value in ((5, 3), (9, -1)))
    data += packet((8, 12), (10, 1), (11, message((9, 4), (11, 20), (44, 0.25))))
    data += packet((8, 20), (10, 1), (11, message((9, 3), (23, "mark"), (11, 11))))
    flow = lambda number, value: varint(number << 3 | 1) + struct.pack("<Q", value)
    for at, number in ((30, 47), (40, 48)):
        data += packet((8, at), (10, 1), (11, message((9, 1), (23, "step"), (11, 11)) + flow(number, 99))) + end(at + 5)
    run = read(data)
    equal("counter", [("queue depth", "5", "6.0"), ("queue depth", "9", "-2.0"), ("queue depth", "12", "0.5")],
          run.rows("SELECT name, start_ns, value FROM counter_sample ORDER BY start_ns"))
    equal("instant", [("mark", "20", "instant")], run.rows("SELECT name, start_ns, kind FROM range WHERE dur_ns IS NULL"))
    equal("flows", [("s", "30", "99"), ("f", "40", "99")], run.rows("SELECT phase, start_ns, flow_id FROM flow ORDER BY start_ns"))


def test_other_packets_are_counted(read):
    data = PROCESS + THREAD + begin(1, "x") + end(2) + packet((10, 2), (8, 3), (1, message((1, 0)))) + packet((10, 2), (8, 4), (2, b""))
    equal("counters", {"packet_not_read": 2}, {c["name"]: c["count"] for c in read(data).reply["counters"]})

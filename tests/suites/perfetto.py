# SPDX-License-Identifier: Apache-2.0
"""`neurolens export --format perfetto` against an own reader of the protobuf bytes and the tables by SQL.

Every slice of the trace (name, start, duration) is a row of a table and the other way round; times in a sequence
never go back; begins and ends balance; every id that is used is defined; arrows lead from a launch to its work.
"""
import collections
import json
import struct

import pytest

from neurolens_cli import H200, SAMPLES, equal

SPANS = ("kernel", "memcpy", "memset", "sync", "api_call", "op", "python_call", "range")
DEVICE = ("kernel", "memcpy", "memset", "sync")
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


# ------------------------------------------------------------------ protobuf


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        assert shift < 70, "a varint of more than ten bytes"


def fields(data):
    """(field number, value) of one message: int for varint and fixed64, bytes for the rest."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        elif kind == 2:
            size, at = varint(data, at)
            assert at + size <= len(data), "a message runs over its end"
            value, at = data[at:at + size], at + size
        else:
            pytest.fail(f"wire type {kind}")
        yield key >> 3, value


def message(data):
    out = collections.defaultdict(list)
    for number, value in fields(data):
        out[number].append(value)
    return out


def signed(value):
    return value - (1 << 64) if value >> 63 else value


class Trace:
    """All of a .pftrace, checked while it is read."""

    def __init__(self, data):
        self.tracks = {}  # uuid -> descriptor
        self.slices = []  # (name, start, duration, categories, notes, flows out, flows in, track)
        self.instants = []
        self.counters = collections.defaultdict(list)  # track -> [(time, value)]
        self.sequences = {}
        for number, packet in fields(data):
            assert number == 1, f"field {number} in the trace"
            self.packet(message(packet))
        for sequence in self.sequences.values():
            assert not sequence["open"], "a slice that never ends"
        for uuid, track in self.tracks.items():
            for parent in track[5]:
                assert parent in self.tracks, f"track {uuid} has an unknown parent"

    def packet(self, packet):
        assert len(packet[10]) == 1, "a packet without sequence"
        for descriptor in packet[60]:
            track = message(descriptor)
            assert track[1][0] not in self.tracks and track[1][0] != 0, "a track described twice"
            self.tracks[track[1][0]] = track
        if not packet[11]:
            return
        flags = packet[13][0]
        if flags & 1:
            assert packet[10][0] not in self.sequences, "a sequence that starts twice"
            defaults = message(message(packet[59][0])[11][0])
            self.sequences[packet[10][0]] = {"track": defaults[11][0], "time": 0, "open": [],
                                             "names": {}, "categories": {}, "keys": {}, "texts": {}}
        sequence = self.sequences[packet[10][0]]
        for interned in packet[12]:
            for number, entry in fields(interned):
                table = sequence[{1: "categories", 2: "names", 3: "keys", 29: "texts"}[number]]
                entry = message(entry)
                assert entry[1][0] not in table and entry[1][0] != 0, "an interned id used twice"
                table[entry[1][0]] = entry[2][0].decode()
        time = packet[8][0]
        assert time >= sequence["time"], f"time goes back on sequence {packet[10][0]}: {sequence['time']} to {time}"
        sequence["time"] = time
        self.event(sequence, time, message(packet[11][0]))

    def event(self, sequence, time, event):
        kind = event[9][0]
        track = event[11][0] if event[11] else sequence["track"]
        assert track in self.tracks, "an event on a track that was not described before it"
        if kind == END:
            assert sequence["open"], "an end without begin"
            begun = sequence["open"].pop()
            self.slices.append((begun[0], begun[1], time - begun[1], *begun[2:]))
            return
        if kind == COUNTER:
            assert self.tracks[track][8], "a counter value on a track of slices"
            value = signed(event[30][0]) if event[30] else struct.unpack("<d", struct.pack("<Q", event[44][0]))[0]
            self.counters[track].append((time, value))
            return
        assert kind in (BEGIN, INSTANT), f"event type {kind}"
        name = sequence["names"][event[10][0]] if event[10] else ""
        notes = dict(self.note(sequence, message(n)) for n in event[4])
        what = (name, time, [sequence["categories"][c] for c in event[3]], notes, event[47], event[48], track)
        (sequence["open"] if kind == BEGIN else self.instants).append(what)

    @staticmethod
    def note(sequence, note):
        name = sequence["keys"][note[1][0]]
        if note[4]:
            return name, signed(note[4][0])
        if note[5]:
            return name, struct.unpack("<d", struct.pack("<Q", note[5][0]))[0]
        return name, sequence["texts"][note[17][0]] if note[17] else note[6][0].decode()


# ------------------------------------------------------------------ against the tables


def compare(run, trace):
    union = " UNION ALL ".join(f"SELECT '{t}' AS kind, name, start_ns, dur_ns FROM {t}" for t in SPANS)
    stored = run.values(f"SELECT name, start_ns, dur_ns FROM ({union}) WHERE dur_ns >= 0")
    shift = min([0, *[r[0] for r in run.values(f"SELECT min(start_ns) FROM ({union})") if r[0] is not None]])
    expected = collections.Counter((name or "", start - shift, dur) for name, start, dur in stored)
    found = collections.Counter(s[:3] for s in trace.slices)
    assert found == expected, (f"{sum(found.values())} slices, {sum(expected.values())} rows; "
           f"only in the trace {list((found - expected).items())[:3]}, only in the tables {list((expected - found).items())[:3]}")

    sums = collections.defaultdict(lambda: [0, 0])
    for name, _, dur, *_ in trace.slices:
        sums[name][0] += 1
        sums[name][1] += dur
    by_sql = run.values(f"SELECT name, count(*), CAST(sum(dur_ns) AS BIGINT) FROM ({union}) WHERE dur_ns >= 0 GROUP BY name")
    assert {n or "": [c, int(s)] for n, c, s in by_sql} == dict(sums), "sums per name differ"

    instants = run.values(f"SELECT name, start_ns FROM ({union} UNION ALL SELECT 'm', name, start_ns, NULL FROM memory_event "
                                "UNION ALL SELECT 's', 'cpu_sample', start_ns, NULL FROM cpu_sample WHERE start_ns IS NOT NULL) "
                                "WHERE dur_ns IS NULL OR dur_ns < 0")
    assert collections.Counter((i[0], i[1]) for i in trace.instants) == collections.Counter((n or "", s - shift) for n, s in instants), "instants differ"
    samples = run.values("SELECT (SELECT count(*) FROM counter_sample WHERE value IS NOT NULL) + "
                               "(SELECT count(total_allocated_bytes) + count(total_reserved_bytes) FROM memory_event)")[0][0]
    assert sum(map(len, trace.counters.values())) == samples, f"{samples} counter values are stored"

    union = " UNION ALL ".join(f"SELECT a.name, a.start_ns, d.name, d.start_ns FROM {t} d JOIN api_call a ON a.id = d.api_call_id" for t in DEVICE)
    launches = collections.Counter((a, x - shift, b, y - shift) for a, x, b, y in run.values(union))
    sources = {}
    for s in trace.slices:
        for flow in s[5]:
            sources.setdefault(flow, []).append(s)
    arrows = collections.Counter()
    others = 0
    for s in trace.slices:
        for flow in s[6]:
            assert flow in sources, "an arrow from nowhere"
            if set(s[3]) & set(DEVICE):
                assert len(sources[flow]) == 1, "a launch arrow with two sources"
                arrows[(*sources[flow][0][:2], *s[:2])] += 1
            else:
                others += 1
    assert arrows == launches, f"{sum(arrows.values())} launch arrows, {sum(launches.values())} links"
    return others


def check_notes(run, trace):
    kernels = [s for s in trace.slices if s[3] == ["kernel"]]
    stored = run.values("SELECT name, start_ns, grid_x, grid_y, grid_z, block_x, block_y, block_z, registers_per_thread, "
                              "shared_bytes, correlation FROM kernel")
    extents = lambda xyz: None if None in xyz else f"[{xyz[0]}, {xyz[1]}, {xyz[2]}]"
    expected = collections.Counter((r[0], r[1], extents(r[2:5]), extents(r[5:8]), *r[8:]) for r in stored)
    found = collections.Counter((k[0], k[1], k[4].get("grid"), k[4].get("block"), k[4].get("registers_per_thread"),
                                 k[4].get("shared_bytes"), k[4].get("correlation")) for k in kernels)
    assert found == expected, f"kernel notes differ: {list((found - expected).items())[:2]} {list((expected - found).items())[:2]}"
    ops = [s for s in trace.slices if s[3] == ["op"]]
    dims = collections.Counter(r[0] for r in run.values("SELECT input_dims FROM op WHERE input_dims != ''"))
    assert collections.Counter(o[4]["input_dims"] for o in ops if "input_dims" in o[4]) == dims, "shapes differ"
    copies = [s for s in trace.slices if s[3] == ["memcpy"]]
    moved = run.values("SELECT coalesce(CAST(sum(bytes) AS BIGINT), 0) FROM memcpy")[0][0]
    assert sum(c[4].get("bytes", 0) for c in copies) == int(moved), "bytes of copies differ"


# ------------------------------------------------------------------ cases


def traces():
    return [*sorted(H200.glob("*.gz")), *sorted(SAMPLES.glob("*/*.json"))]


@pytest.mark.parametrize("path", [pytest.param(p, id=f"{p.parent.name}_{p.name.split('.')[0]}") for p in traces()])
def test_slices_equal_rows(path, imported, exported_perfetto):
    run, trace = imported(path), Trace(exported_perfetto(path).read_bytes())
    others = compare(run, trace)
    check_notes(run, trace)
    if "train_stack" in path.name:
        assert others > 500, f"{others} arrows from forward to backward"
        names = [t[2][0].decode() for t in trace.tracks.values() if t[8]]
        assert any("memory allocated" in n for n in names), f"counter tracks {names}"
        values = [v for u, t in trace.tracks.items() if t[8] and b"device 0 memory allocated" in t[2][0] for _, v in trace.counters[u]]
        top = run.values("SELECT max(total_allocated_bytes) FROM memory_event WHERE device = 0 AND device_type != 0")[0][0]
        equal("largest memory", top, max(values))


def test_lanes_have_names(exported_perfetto):
    trace = Trace(exported_perfetto(H200 / "base.json.gz").read_bytes())
    processes = [message(t[3][0]) for t in trace.tracks.values() if t[3]]
    assert [p[6][0] for p in processes if p[6]] == [b"python3"], f"processes {processes}"
    threads = [message(t[4][0]) for t in trace.tracks.values() if t[4]]
    assert threads and all(t[5][0] for t in threads), "a thread without name"
    plain = {t[2][0].decode(): t for t in trace.tracks.values() if t[2]}
    assert "GPU 0" in plain and any(n.startswith("stream") for n in plain), f"tracks {sorted(plain)}"
    kernels = {s[7] for s in trace.slices if s[3] == ["kernel"]}
    assert all(b"stream" in trace.tracks[k][2][0] for k in kernels), "kernels lie on other tracks than streams"


@pytest.fixture
def made(store, tmp_path):
    """made(events): the run of a trace of these events, and its export."""
    def make(events):
        path = tmp_path / "made.json"
        path.write_text(json.dumps({"traceEvents": events}))
        run = store.add(path)
        return run, Trace(store.text("export", run.id, "--format", "perfetto", "--out", "-", text=False))
    return make


def span(name, start, dur, tid=1, **more):
    return {"ph": "X", "name": name, "cat": "made", "pid": 7, "tid": tid, "ts": start, "dur": dur, **more}


def test_overlapping_spans_are_all_kept(made):
    events = [span(f"staircase {i % 7}", i, 4000, 1) for i in range(3000)]
    events += [span("nested", 10 * i, 9.5, 2) for i in range(100)] + [span("around", 0, 1000, 2)]
    events += [span("crossing", 995, 10, 2), span("in crossing", 1001, 2, 2), span("after", 1002, 1, 2)]
    run, trace = made(events)
    compare(run, trace)
    by_name = {s[0]: s for s in trace.slices}
    assert by_name["around"][7] != by_name["crossing"][7], "crossing spans share a track"
    tracks = {s[7] for s in trace.slices if s[0].startswith("staircase")}
    assert len(tracks) == 3000, f"{len(tracks)} tracks for 3000 spans that all cross"


def test_a_hundred_thousand_crossing_spans_are_all_kept(made):
    events = [span("s", i, 200000) for i in range(100000)]
    _, trace = made(events)
    assert len(trace.slices) == 100000, f"{len(trace.slices)} slices"


def test_odd_times_and_names_are_kept(made):
    events = [span("", 0, 1), span("\u0000\u001b[31m\n", 1, 1), span("é😀" * 150000, 2, 1), span("zero", 5, 0), span("zero", 5, 0),
              span("around zero", 5, 1), span("before", -1000.001, 3), span("exact", 0.001, 0.002), span("ends at start", 4, 1),
              span("late", 9e12, 1), {"ph": "i", "name": "mark", "pid": "text", "tid": "lane", "ts": 3, "s": "t"},
              {"ph": "C", "name": "load", "pid": 7, "ts": -5, "args": {"a": 1.5, "b": -2}},
              {"ph": "C", "name": "load", "pid": 7, "ts": 4, "args": {"a": 1e300}},
              {"ph": "B", "name": "open", "pid": 0, "tid": 0, "ts": 1}, {"ph": "X", "name": "p0", "pid": 0, "tid": 0, "ts": 1, "dur": 1},
              {"ph": "X", "name": "big ids", "pid": 2**40, "tid": 2**50, "ts": 1, "dur": 1},
              {"ph": "X", "name": "negative ids", "pid": -1, "tid": -9, "ts": 1, "dur": 1}]
    run, trace = made(events)
    compare(run, trace)
    assert sorted(v for values in trace.counters.values() for _, v in values) == [-2, 1.5, 1e300], f"{dict(trace.counters)}"


def test_the_same_run_gives_the_same_bytes(imported):
    run = imported(H200 / "compile.json.gz")
    one, two = (run.store.text("export", run.id, "--format", "perfetto", "--out", "-", text=False) for _ in range(2))
    assert one == two

# SPDX-License-Identifier: Apache-2.0
"""An independent reader of .nlcap files, written from docs/formats/nlcap.md: for tests, not for speed.

Capture is one file; Recording is a folder as the launcher leaves it, with texts instead of their numbers."""
import gzip
import struct
from pathlib import Path

try:
    import numpy
except ImportError:
    numpy = None

MAGIC = 0xC14E4C43
HEADER = struct.Struct("<IHHIIHHIQII")
KINDS = {1: "file", 2: "string", 3: "fact", 4: "process", 5: "thread", 6: "clock", 7: "kernel", 8: "memcpy", 9: "memset", 10: "sync",
         11: "api", 12: "memory", 13: "external", 14: "overhead", 15: "device", 16: "context", 17: "range", 18: "frame", 19: "stack",
         20: "cpu_sample", 21: "counter_sample", 22: "loss", 23: "cost", 24: "message", 25: "window", 26: "graph", 27: "end", 28: "counter_set", 29: "counter_values",
         30: "observed"}
# Fields of the records a test looks at, in order; x: not looked at.
LAYOUTS = {
    "file": ("<HHIIIqqqQ", "format_version alignment writer pid ppid monotonic_ns realtime_ns process_start_ns boot_id_hash"),
    "process": ("<IIqqiiIIII", "pid ppid start_ns end_ns exit_status exit_signal executable arguments flags name"),
    "thread": ("<IIIIqq", "pid tid name flags start_ns end_ns"),
    "clock": ("<qqqq", "gpu_ns before_ns after_ns realtime_ns"),
    "kernel": ("<qqqqQIIIIII3i3i3IIIIHBBIII",
               "start_ns end_ns queued_ns submitted_ns graph_node_id device context stream correlation name graph_id grid_x grid_y grid_z "
               "block_x block_y block_z cluster_x cluster_y cluster_z static_shared dynamic_shared local registers shared_config launch_type "
               "shared_executed channel x"),
    "memcpy": ("<qqQQIIIIIBBBBIIQ", "start_ns end_ns bytes graph_node_id device context stream correlation graph_id kind src dst flags "
               "peer_src peer_dst copies"),
    "memset": ("<qqQQIIIIIIHHI", "start_ns end_ns bytes graph_node_id device context stream correlation graph_id value memory flags x"),
    "sync": ("<qqIIIIIIQ", "start_ns end_ns type correlation context stream event return_value event_sync_id"),
    "api": ("<qqIHHIIIIII", "start_ns end_ns callback_id domain x tid cupti_tid correlation return_value name flags"),
    "memory": ("<qQQQQIIIIIIII", "time_ns address bytes pc pool operation memory correlation device context stream flags source"),
    "range": ("<qQQIIIIIIBBHI", "time_ns id payload tid domain category category_id name color what payload_type flags depth"),
    "loss": ("<IHHQq", "what kind x count time_ns"),
    "cost": ("<qqqQQQ", "time_ns in_program_ns in_writer_ns program_calls bytes_written peak_buffer_bytes"),
    "message": ("<qII", "time_ns level text"),
    "window": ("<qII", "time_ns on reason"),
    "observed": ("<qII", "time_ns operators shapes"),
    "end": ("<qQ", "time_ns records"),
    "cpu_sample": ("<qqIIIBBH", "time_ns weight_ns pid tid stack state gil cpu"),
    "external": ("<QII", "external_id external_kind correlation"),
    "overhead": ("<qqIIIIII", "start_ns end_ns kind object_kind pid tid correlation x"),
    "context": ("<IIII", "context device null_stream flags"),
    "frame": ("<QIIIIII", "address id kind name file module line"),
    "counter_sample": ("<qqdIIII", "start_ns end_ns value name device clock source"),
    "graph": ("<qqIIIIII", "start_ns end_ns device context stream correlation graph_id x"),
    "device": ("<IIQQ12I16sII", "device name memory_bytes bandwidth sm_count compute_major compute_minor warp max_warps max_blocks shared "
               "registers l2 clock max_threads engines uuid flags x"),
}


def crc32c_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = (i >> 1) ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


TABLE = crc32c_table()


def extended(crc, data):
    """The register after these bytes."""
    for byte in data:
        crc = (crc >> 8) ^ TABLE[(crc ^ byte) & 0xFF]
    return crc


LANES = 256


def crc32c(data):
    """In lanes that are joined at the end where that is quicker and numpy is here."""
    columns = len(data) // LANES
    if numpy is None or columns < 32:
        return extended(0xFFFFFFFF, data) ^ 0xFFFFFFFF
    table = numpy.array(TABLE, dtype=numpy.uint32)
    state = numpy.zeros(LANES, dtype=numpy.uint32)
    state[0] = 0xFFFFFFFF
    bits = numpy.left_shift(numpy.uint32(1), numpy.arange(32, dtype=numpy.uint32))
    for column in numpy.ascontiguousarray(numpy.frombuffer(data, dtype=numpy.uint8, count=LANES * columns).reshape(LANES, columns).T):
        state = (state >> 8) ^ table[(state ^ column) & 0xFF]
        bits = (bits >> 8) ^ table[bits & 0xFF]  # what each bit of a register becomes after a lane
    crc, bits = 0, bits.tolist()
    for lane in state.tolist():
        moved = 0
        for bit in range(32):
            if crc >> bit & 1:
                moved ^= bits[bit]
        crc = moved ^ lane
    return extended(crc, data[LANES * columns:]) ^ 0xFFFFFFFF


class Capture:
    """The records of one file (packed or not) as lists of dictionaries by kind; `whole`: it was closed in order."""

    def __init__(self, path):
        self.records, self.strings, self.facts, self.stacks, self.chunks, self.problem = {}, {0: None}, {}, {}, [], ""
        data = Path(path).read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        at = 0
        while at < len(data):
            if len(data) - at < HEADER.size:
                self.problem = "cut header"
                break
            magic, _, kind, payload_bytes, records, record_bytes, _, sequence, stream, payload_crc, header_crc = HEADER.unpack_from(data, at)
            if magic != MAGIC or crc32c(data[at:at + 36]) != header_crc:
                self.problem = "bad header"
                break
            payload = data[at + 40:at + 40 + payload_bytes]
            if len(payload) < payload_bytes:
                self.problem = "cut payload"
                break
            if crc32c(payload) != payload_crc:
                self.problem = "bad payload"
                break
            self.chunks.append((KINDS[kind], sequence, stream))
            self.take(KINDS[kind], payload, records, record_bytes)
            at += 40 + (payload_bytes + 7) // 8 * 8
        self.whole = not self.problem and "end" in self.records

    def take(self, kind, payload, count, size):
        if kind in ("string", "fact"):
            at = 0
            while at < len(payload):
                first, second = struct.unpack_from("<II", payload, at)
                if kind == "string":
                    self.strings[first] = payload[at + 8:at + 8 + second].decode(errors="replace")
                    at += 8 + (second + 7) // 8 * 8
                else:
                    key = payload[at + 8:at + 8 + first].decode()
                    self.facts[key] = payload[at + 8 + first:at + 8 + first + second].decode()
                    at += (8 + first + second + 7) // 8 * 8
            return None
        if kind in ("counter_set", "counter_values"):
            return self.take_counters(kind, payload)
        if kind == "stack":
            at = 0
            while at + 8 <= len(payload):
                number, frames = struct.unpack_from("<II", payload, at)
                self.stacks[number] = struct.unpack_from(f"<{frames}I", payload, at + 8)
                at += 8 + (4 * frames + 7) // 8 * 8
            return None
        layout, names = LAYOUTS.get(kind, ("<", ""))
        assert size * count == len(payload), (kind, size, count, len(payload))
        for i in range(count):
            values = struct.unpack_from(layout, payload, i * size)
            self.records.setdefault(kind, []).append(dict(zip(names.split(), values)))
        return None

    def take_counters(self, kind, payload):
        layout, names = {"counter_set": ("<IIIIII", "id device clock source interval_ns count"),
                         "counter_values": ("<qqIHH", "start_ns end_ns set samples count")}[kind]
        at = 0
        while at < len(payload):
            entry = dict(zip(names.split(), struct.unpack_from(layout, payload, at)))
            behind = struct.unpack_from(f"<{entry['count']}{'I' if kind == 'counter_set' else 'f'}", payload, at + 24)
            entry["names" if kind == "counter_set" else "values"] = behind
            self.records.setdefault(kind, []).append(entry)
            at += (24 + 4 * entry["count"] + 7) // 8 * 8

    def readings(self, source):
        """Readings of the sets of one source (1 PM sampling, 2 NVML), values by name."""
        sets = {s["id"]: s for s in self.of("counter_set") if s["source"] == source}
        return [dict(r, values=dict(zip((self.strings[n] for n in sets[r["set"]]["names"]), r["values"])))
                for r in self.of("counter_values") if r["set"] in sets]

    def of(self, kind):
        return self.records.get(kind, [])

    def text(self, record, field="name"):
        return self.strings.get(record[field])

    def lost(self, what=None):
        return sum(r["count"] for r in self.of("loss") if what is None or r["what"] == what)


    def texts(self, kind, *fields):
        """The records of a kind with the texts of `fields`, "" where there is none."""
        return [dict(r, **{field: self.strings.get(r[field]) or "" for field in fields}) for r in self.of(kind)]


class Recording:
    """A capture folder: ranges of every process, the rest from the launcher's own file. May be read while it is written."""

    def __init__(self, folder):
        files = {path.name: Capture(path) for path in sorted(Path(folder).glob("*.nlc"))}
        launcher = files.get("launcher.nlc") or Capture("/dev/null")
        self.whole, self.facts, self.stacks = launcher.whole, launcher.facts, launcher.stacks
        self.processes = launcher.texts("process", "executable", "arguments")
        self.threads = launcher.texts("thread", "name")
        self.frames = {f["id"]: f for f in launcher.texts("frame", "name", "file", "module")}
        self.samples, self.windows = launcher.of("cpu_sample"), launcher.of("window")
        self.messages = [m["text"] for m in launcher.texts("message", "text")]
        self.losses = launcher.lost()
        self.observed = sorted((r for file in files.values() for r in file.of("observed")), key=lambda r: r["time_ns"])
        self.ranges = [r for file in files.values() for r in file.texts("range", "name", "domain")]

    def names(self, sample):
        """Names of a sample's frames, outermost first."""
        return [self.frames[f]["name"] for f in self.stacks.get(sample["stack"], ())]

    def root(self):
        """The last record of the program itself."""
        return [p for p in self.processes if p["flags"] & 1][-1]


def captures(directory):
    return [Capture(path) for path in sorted(Path(directory).glob("*.nlc"))]

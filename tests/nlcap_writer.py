# SPDX-License-Identifier: Apache-2.0
"""Makes captures of lines of text, for cases and samples: KIND FIELD=VALUE..., with the fields of tests/nlcap_reader.py.

  file pid=10 monotonic_ns=1000        begins the file of a process; what follows is in it
  kernel start_ns=5 end_ns=9 name="k"  a record; a quoted value is a text, its number goes into the field
  fact host.os some text               a fact
  stack id=1 frames=1,2                a stack
  counter_set id=1 device=0 clock=1 source=1 interval_ns=100000 names="a|b"
                                       counters that are read together
  counter_values set=1 start_ns=5 end_ns=9 samples=1 values=1.5,nan
                                       one reading of them
  unknown kind=99                      a chunk of a kind nobody knows
  chunk                                what follows goes into chunks of its own
Lines that begin with # say something to the reader.
"""
import re
import struct

from nlcap_reader import HEADER, KINDS, LAYOUTS, MAGIC, crc32c

NUMBERS = {name: number for number, name in KINDS.items()}
VARIABLE = ("string", "fact", "stack", "counter_set", "counter_values")
FIELD = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|\S+)')


def padded(data):
    return data + bytes(-len(data) % 8)


class File:
    def __init__(self, fields, number):
        self.data, self.sequence, self.strings, self.pending = b"", 0, {}, []
        self.stream = fields.get("pid", 1) << 32 | number
        defaults = {"format_version": 1, "alignment": 8, "writer": 1, "pid": 1, "ppid": 0, "monotonic_ns": 1_000_000, "realtime_ns": 1_001_000_000,
                    "process_start_ns": 0, "boot_id_hash": 7}
        self.record("file", {**defaults, **fields})

    def number(self, text):
        if text not in self.strings:
            self.strings[text] = len(self.strings) + 1
            raw = text.encode("latin-1", "backslashreplace").decode("unicode_escape").encode("latin-1")
            self.pending.append(("string", padded(struct.pack("<II", self.strings[text], len(raw)) + raw)))
        return self.strings[text]

    def record(self, kind, fields):
        layout, names = LAYOUTS[kind]
        assert struct.calcsize(layout) % 8 == 0, kind
        names = names.split()
        unknown = set(fields) - set(names)
        if unknown:
            raise ValueError(f"{kind} has no field {', '.join(sorted(unknown))}")
        empty = {"uuid": bytes(16)}
        self.pending.append((kind, struct.pack(layout, *(fields.get(n, empty.get(n, 0)) for n in names))))

    def flush(self):
        order = sorted({k for k, _ in self.pending}, key=lambda k: NUMBERS.get(k, 99))
        for kind in order:
            records = [data for k, data in self.pending if k == kind]
            size = 0 if kind in VARIABLE else len(records[0])
            self.chunk(NUMBERS[kind], b"".join(records), len(records), size)
        self.pending = []

    def chunk(self, kind, payload, records, record_bytes):
        head = HEADER.pack(MAGIC, 1, kind, len(payload), records, record_bytes, 0, self.sequence, self.stream, crc32c(payload), 0)[:36]
        self.data += head + struct.pack("<I", crc32c(head)) + padded(payload)
        self.sequence += 1


def value_of(file, text):
    if text.startswith('"'):
        return file.number(text[1:-1])
    return float(text) if "." in text or text == "nan" else int(text, 0)


def files_of(text):
    """The bytes of each file."""
    files = []
    for line in text.splitlines():
        line = line.strip()
        if not line or line.startswith("#"):
            continue
        kind, _, rest = line.partition(" ")
        if kind == "file":
            if files:
                files[-1].flush()
            files.append(File({k: int(v, 0) for k, v in FIELD.findall(rest)}, len(files) + 1))
            files[-1].flush()
            continue
        file = files[-1]
        if kind == "fact":
            key, _, value = rest.partition(" ")
            raw = key.encode(), value.encode()
            file.pending.append(("fact", padded(struct.pack("<II", len(raw[0]), len(raw[1])) + raw[0] + raw[1])))
        elif kind == "stack":
            fields = dict(FIELD.findall(rest))
            frames = [int(f) for f in fields["frames"].split(",")]
            file.pending.append(("stack", padded(struct.pack(f"<II{len(frames)}I", int(fields["id"]), len(frames), *frames))))
        elif kind == "counter_set":
            fields = dict(FIELD.findall(rest))
            names = [file.number(n) for n in fields["names"].strip('"').split("|")]
            head = (int(fields.get(f, 0)) for f in "id device clock source interval_ns".split())
            file.pending.append((kind, padded(struct.pack(f"<6I{len(names)}I", *head, len(names), *names))))
        elif kind == "counter_values":
            fields = dict(FIELD.findall(rest))
            values = [float(v) for v in fields["values"].split(",")]
            head = (int(fields.get(f, 1)) for f in "start_ns end_ns set samples".split())
            file.pending.append((kind, padded(struct.pack(f"<qqIHH{len(values)}f", *head, len(values), *values))))
        elif kind == "unknown":
            file.flush()
            file.chunk(int(dict(FIELD.findall(rest))["kind"]), b"12345678", 1, 8)
        elif kind == "chunk":
            file.flush()
        else:
            file.record(kind, {k: value_of(file, v) for k, v in FIELD.findall(rest)})
    if files:
        files[-1].flush()
    return [f.data for f in files]

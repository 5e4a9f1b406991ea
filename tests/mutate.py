# SPDX-License-Identifier: Apache-2.0
"""Broken and hostile profiles made of good ones: mutant(seed, random) gives other bytes for each state of `random`, the same for the same.

What changes is chosen by what the bytes are: members, numbers and texts of JSON, cells of CSV and SQLite, fields of protobuf, records of
captures with their check sums mended; and in any of them bits, lines, the order and the end. tests/mutate_bundle.py does it to bundles.
"""
import dataclasses
import gzip
import json
import pathlib
import re
import sqlite3
import struct
import tempfile

from case_inputs import CASES, parse, place_input
from nlcap_reader import HEADER, MAGIC, crc32c
from protobuf_text import varint

LARGEST_SEED = 64 << 10
FORMATS = ("chrome", "collapsed", "kineto", "ncu", "nlcap", "nsys", "onnxrt", "perfetto", "proton", "rocprof", "speedscope", "tensorrt", "xplane")

INTEGERS = [0, 1, -1, 2, -5, 7, 255, 256, 800, 65535, 65536, 2**31 - 1, 2**31, -2**31, 2**32 - 1, 2**32, 2**40, 2**53 + 1, 2**61, 2**62, 2**63 - 1,
            -2**63, 2**64 - 1]
REALS = ["1e308", "-1e308", "1e-320", "-0.0", "NaN", "Infinity", "-Infinity", "1e400", "0.5", "-0.001", "9223372036854775807.5", "1.7976931348623157e308"]
TEXTS = ["", " ", "\0", "\x01\x1b[31m\x7f", "\n", "\r\n\t", "null", "NaN", "-1", "0", "\u202e\u2028", "\ufeff", "\U0001f600" * 7, "%s%n%s",
         "../../etc/passwd", "'; DROP TABLE run; --", "<script>alert(1)</script>", "a" * 5000, "(" * 3000, "<" * 2000, "void f<" * 300, "[" * 500, "::" * 400, ",", "\\", '"', "{}",
         "[[1,2],[3]]", "((2, -3), (9223372036854775807, 4))", "[[-1, 99999999999999999999]]", "ProfilerStep#-1", "ProfilerStep#99999999999999999999",
         "execute_context_-1(0)_generation_9999999999(1)", "step[DECODE bs=-1]", "cudaLaunchKernel", "Memcpy HtoD (Pageable -> Device)", "aten::mm", "ncclKernel",
         "gemm_128x0x-1_bf16", "stream 4294967295", "GPU -1", "/device:GPU:99999999"]
BAD_UTF8 = [b"\xff\xfe", b"\xc0\x80", b"\xed\xa0\x80", b"abc\x80", b"\xf4\x90\x80\x80", b"\xe2\x82"]


@dataclasses.dataclass
class Seed:
    format: str
    name: str  # of the file a mutant is written to
    data: bytes


def seeds(shared=None):
    """Small good profiles by format: the inputs of the cases, the samples and the small files of the folder of real profiles."""
    found = {name: [] for name in FORMATS}

    def add(name, path):
        data = path.read_bytes()
        try:
            data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        except EOFError:  # a case of a cut file
            return
        if len(data) <= LARGEST_SEED:
            found[name].append(Seed(name, path.name.removesuffix(".gz"), data))

    for name, into in found.items():
        for path in sorted((CASES / "samples" / name).iterdir()):
            add(name, path)
        for path in sorted((CASES / name).glob("*.case")):
            with tempfile.TemporaryDirectory() as folder:
                for one in place_input(parse(path.read_text(encoding="utf-8"))[1], pathlib.Path(folder)):
                    if "/" not in one and (pathlib.Path(folder) / one).is_file():
                        add(name, pathlib.Path(folder) / one)
        if shared:
            for path in sorted(pathlib.Path(shared).glob(f"data/*/{name}/*")):
                if path.stat().st_size <= LARGEST_SEED:
                    add(name, path)
        assert into, f"no seed of {name}"
    return found


# Bytes and lines: any format.

def flip_bits(data, random):
    data = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8, 64))):
        if data:
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    return bytes(data)


def overwrite(data, random):
    data = bytearray(data)
    if data:
        at = random.randrange(len(data))
        size = random.choice((1, 2, 4, 8, 100))
        data[at:at + size] = random.choice((b"\0", b"\xff", b"9", b"\x80", b"[", b'"')) * size
    return bytes(data)


def cut(data, random):
    return data[:random.randrange(len(data) + 1)]


def remove_piece(data, random):
    at = random.randrange(len(data) + 1)
    return data[:at] + data[at + random.choice((1, 3, 50, 1000)):]


def double_piece(data, random):
    at = random.randrange(len(data) + 1)
    end = at + random.choice((1, 7, 80, 2000))
    return data[:end] + data[at:end] * random.choice((1, 1, 30)) + data[end:]


def extreme_number(data, random):
    """Another number in the place of one that stands in the text."""
    numbers = list(re.finditer(rb"-?\d+(\.\d+)?", data[:LARGEST_SEED * 4]))
    if not numbers:
        return flip_bits(data, random)
    for one in sorted(random.sample(numbers, min(len(numbers), random.choice((1, 1, 3, 20)))), key=lambda m: -m.start()):
        data = data[:one.start()] + extreme_token(random).encode() + data[one.end():]
    return data


def extreme_token(random):
    return str(random.choice(INTEGERS)) if random.random() < 0.6 else random.choice(REALS)


def extreme_text(random):
    """Bytes in the place of a text."""
    return random.choice(BAD_UTF8) if random.random() < 0.2 else random.choice(TEXTS).encode()


def shuffle_lines(data, random):
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return double_piece(data, random)
    what = random.randrange(4)
    at = random.randrange(len(lines))
    if what == 0:
        del lines[at]
    elif what == 1:
        lines[at:at] = [lines[at]] * random.choice((1, 2, 100))
    elif what == 2:
        random.shuffle(lines)
    else:
        lines[at] = extreme_text(random) + b"\n"
    return b"".join(lines)


ANY = (flip_bits, overwrite, cut, remove_piece, double_piece, extreme_number, shuffle_lines)


# JSON. What json.dumps cannot write stands behind a mark and is put in afterwards.

RAW, TWICE = "\x01raw:", "\x01twice:"


def written(value):
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")
    text = re.sub(rb'"\\u0001raw:([0-9a-f]*)"', lambda m: bytes.fromhex(m.group(1).decode()), text)
    return text.replace(b"\\u0001twice:", b"")


def raw(token):
    return RAW + (token if isinstance(token, bytes) else token.encode()).hex()


MOST_PLACES = 40_000  # of a changed document: copies of copies grow without end


def places(value):
    """(container, key) of every value of a document, up to the most."""
    stack, out = [value], []
    while stack and len(out) < MOST_PLACES:
        one = stack.pop()
        for key in one if isinstance(one, dict) else range(len(one)):
            out.append((one, key))
            if isinstance(one[key], (dict, list)):
                stack.append(one[key])
    return out


def other_value(old, random):
    chance = random.random()
    if isinstance(old, (int, float)) and not isinstance(old, bool) and chance < 0.7:
        return raw(extreme_token(random))
    if isinstance(old, str) and chance < 0.6:
        return raw(b'"' + random.choice(BAD_UTF8) + b'"') if random.random() < 0.2 else random.choice(TEXTS)
    if isinstance(old, str) and chance < 0.7:
        return old * random.choice((2, 100))
    return random.choice([None, True, False, [], {}, [[]], {"a": {}}, "", "text", 0, -1, raw("1e999"), raw("[" * 200 + "]" * 200), [None] * 3, {"": None}])


def change_member(document, random):
    found = places(document)
    if not found:
        return
    container, key = random.choice(found)
    what = random.randrange(8)
    if what < 4:
        # The same member of many records: a source with one odd habit.
        new = other_value(container[key], random)
        same = [c for c, k in found if k == key and isinstance(c, dict)] if isinstance(key, str) and random.random() < 0.3 else [container]
        for one in same:
            one[key] = new
    elif what == 4:
        del container[key]
    elif what == 5 and isinstance(container, dict):
        container[TWICE + key] = other_value(container[key], random)
    elif what == 6 and isinstance(container, list):
        random.shuffle(container)
    elif isinstance(container, list):
        container[key:key] = [container[key]] * min(random.choice((1, 3, 200)), MOST_PLACES // len(found))
    elif len(found) < MOST_PLACES // 4:
        other, other_key = random.choice(found)
        container[key], other[other_key] = other[other_key], container[key]  # into itself: cannot be written, another is tried


def written_or_none(document):
    try:
        return written(document)
    except (ValueError, RecursionError):
        return None


def change_json(data, random):
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, (dict, list)):
        return None
    for _ in range(random.choice((1, 1, 2, 5, 20))):
        change_member(document, random)
    return written_or_none(document)


# Tables of text.

def change_cells(data, random):
    lines = data.split(b"\n")
    for _ in range(random.choice((1, 1, 3, 30))):
        at = random.randrange(len(lines))
        cells = lines[at].split(b",")
        column = random.randrange(len(cells))
        what = random.randrange(6)
        if what < 3:
            cells[column] = extreme_token(random).encode()
        elif what == 3:
            cells[column] = b'"' + extreme_text(random).replace(b'"', b'""') + b'"'
        elif what == 4:
            del cells[column]
        else:
            cells[column:column] = [cells[column]] * random.choice((1, 40))
        lines[at] = b",".join(cells)
    return b"\n".join(lines)


# SQLite.

def change_database(data, random):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "a.sqlite"
        path.write_bytes(data)
        try:
            database = sqlite3.connect(path)
            tables = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for _ in range(random.choice((1, 1, 3, 10))):
                if tables:
                    change_table(database, random.choice(tables), random)
            database.commit()
            database.close()
        except sqlite3.Error:
            return None
        return path.read_bytes()


def cell_value(random):
    chance = random.random()
    if chance < 0.5:
        return random.choice([n for n in INTEGERS if -2**63 <= n < 2**63])
    if chance < 0.6:
        return random.choice((1e308, -1e308, 1e-320, 0.5, float("inf")))
    if chance < 0.7:
        return None
    return extreme_text(random) if chance < 0.8 else random.choice(TEXTS)


def change_table(database, table, random):
    columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
    if not columns:
        return
    column = random.choice(columns)
    where = "" if random.random() < 0.3 else f' WHERE rowid IN (SELECT rowid FROM "{table}" LIMIT 1 OFFSET {random.randrange(8)})'
    what = random.randrange(10)
    try:
        if what < 6:
            database.execute(f'UPDATE "{table}" SET "{column}" = ?{where}', (cell_value(random),))
        elif what == 6:
            database.execute(f'DELETE FROM "{table}"{where}')
        elif what == 7:
            database.execute(f'INSERT INTO "{table}" SELECT * FROM "{table}"')
        elif what == 8:
            database.execute(f'ALTER TABLE "{table}" DROP COLUMN "{column}"')
        else:
            database.execute(f'DROP TABLE "{table}"' if random.random() < 0.5 else f'ALTER TABLE "{table}" RENAME COLUMN "{column}" TO "other"')
    except sqlite3.Error:
        pass  # a key that must stay unique, a column that an index needs


# Protobuf: a message is a list of [field, wire type, value]; a value of type 2 is bytes, or a list where it reads as a message.

def take_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError("no varint")


def decoded(data, depth=0):
    out, at = [], 0
    while at < len(data):
        tag, at = take_varint(data, at)
        field, kind = tag >> 3, tag & 7
        if field == 0 or kind in (3, 4, 6, 7):
            raise ValueError("no field")
        if kind == 0:
            value, at = take_varint(data, at)
        else:
            size = 8 if kind == 1 else 4
            if kind == 2:
                size, at = take_varint(data, at)
            if at + size > len(data):
                raise ValueError("cut")
            value = data[at:at + size]
            at += size
            if kind == 2 and size > 1 and depth < 12:
                try:
                    value = decoded(value, depth + 1)
                except (ValueError, IndexError):
                    pass
        out.append([field, kind, value])
    return out


def encoded(fields):
    out = b""
    for field, kind, value in fields:
        out += varint(field << 3 | kind)
        if kind == 0:
            out += varint(value)
        else:
            body = encoded(value) if isinstance(value, list) else value
            out += (varint(len(body)) if kind == 2 else b"") + body
    return out


def change_message(data, random):
    try:
        root = decoded(data)
    except (ValueError, IndexError):
        return None
    found, stack = [], [root]
    while stack:
        one = stack.pop()
        for i, (_, _, value) in enumerate(one):
            found.append((one, i))
            if isinstance(value, list):
                stack.append(value)
    for _ in range(random.choice((1, 1, 3, 10))):
        if found:
            change_field(*random.choice(found), random)
    return encoded(root)


def change_field(fields, i, random):
    if i >= len(fields):
        return
    field, kind, value = fields[i]
    what = random.randrange(10)
    if what < 6:
        if kind == 0:
            value = random.choice(INTEGERS)
        elif kind == 1:
            value = random.choice((struct.pack("<q", random.choice([n for n in INTEGERS if n < 2**63])), struct.pack("<d", float(random.choice(REALS)))))
        elif kind == 5:
            value = struct.pack("<i", random.choice((0, -1, 2**31 - 1, -2**31)))
        else:
            value = extreme_text(random)
        fields[i] = [field, kind, value]
    elif what == 6:
        del fields[i]
    elif what == 7:
        fields[i:i] = [list(fields[i])] * random.choice((1, 2, 50))
    elif what == 8:
        random.shuffle(fields)
    else:
        fields[i] = [random.choice((1, 2, 3, 4, 5, 7, 11, 2**29 - 1)), kind, value]


# Captures: chunks with check sums that stay right.

def chunks_of(data):
    out, at = [], 0
    while at + HEADER.size <= len(data):
        head = list(HEADER.unpack_from(data, at))
        if head[0] != MAGIC or at + HEADER.size + head[3] > len(data):
            return None
        out.append((head, bytearray(data[at + HEADER.size:at + HEADER.size + head[3]])))
        at += HEADER.size + (head[3] + 7) // 8 * 8
    return out


def joined(chunks):
    out = b""
    for head, payload in chunks:
        head = HEADER.pack(*head[:9], crc32c(bytes(payload)), 0)[:36]
        out += head + struct.pack("<I", crc32c(head)) + bytes(payload) + bytes(-len(payload) % 8)
    return out


def change_record(payload, random):
    size = random.choice((1, 2, 4, 4, 4, 8, 8))
    if len(payload) < size:
        return
    at = random.randrange(len(payload) // size) * size
    if size == 8 and random.random() < 0.2:
        payload[at:at + 8] = struct.pack("<d", float(random.choice(REALS)))
    elif random.random() < 0.3:
        payload[at:at + size] = bytes(random.choice(BAD_UTF8) * 8)[:size]
    else:
        payload[at:at + size] = (random.choice(INTEGERS) & (1 << 8 * size) - 1).to_bytes(size, "little")


def change_capture(data, random):
    chunks = chunks_of(data)
    if not chunks:
        return None
    for _ in range(random.choice((1, 1, 3, 10, 40))):
        i = random.randrange(len(chunks))
        head, payload = chunks[i]
        what = random.randrange(12)
        if what < 8:
            change_record(payload, random)
        elif what == 8 and len(chunks) > 1:
            del chunks[i]
        elif what == 9:
            chunks.insert(random.randrange(len(chunks) + 1), (list(head), bytearray(payload)))
        elif what == 10:
            field = random.choice((1, 2, 4, 5, 7, 8))  # version, kind, records, record size, sequence, stream
            top = {1: 16, 2: 16, 5: 16, 8: 64}.get(field, 32)
            head[field] = random.choice((random.randrange(32), random.choice(INTEGERS))) & (1 << top) - 1
        else:
            random.shuffle(chunks)
    return joined(chunks)


def kind_of(seed):
    if seed.data[:15] == b"SQLite format 3":
        return change_database
    if seed.format == "nlcap":
        return change_capture
    if seed.format in ("xplane", "perfetto"):
        return change_message
    if seed.data.lstrip()[:1] in (b"{", b"["):
        return change_json
    return change_cells


def mutant(seed, random):
    """Other bytes than the seed's: mostly well-formed ones with odd values, sometimes broken ones too."""
    data = None
    if random.random() < 0.75:
        data = kind_of(seed)(seed.data, random)
    if data is None or random.random() < 0.1:
        data = random.choice(ANY)(seed.data if data is None else data, random)
    return data

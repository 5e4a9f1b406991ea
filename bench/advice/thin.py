#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes of a recording with operators in every step what the recorder would have written with operators in some steps only, to see what that
changes without a GPU:

  bench/advice/thin.py IN OUT [--first N --block N --every N]    a .nlcap folder, its .tar.xz, or one .nlc or .nlc.gz

The rule is the recorder's own (python/neurolens/_torch.py ForwardTurns; of programs without forwards, turns by the number of operators as in
src/capture/lib/torch_ops.cc). Short recordings have too few steps for it: the options take other numbers. What is left out are operators and calls of modules
inside of modules; times stay those of the full recording, so that steps without operators look as slow as the others.
"""
import argparse
import bisect
import dataclasses
import gzip
import pathlib
import struct
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "python")]
from neurolens._torch import ForwardTurns  # noqa: E402
from nlcap_reader import HEADER, MAGIC, crc32c  # noqa: E402

STRING, RANGE, END, OBSERVED = 2, 17, 27, 30
RANGES = struct.Struct("<qQQIIIIIIBBHI")
PUSH, POP = 1, 2
MODULE, STAGE = "nn.Module: ", "LLM@"
FIRST_OPS, TURN_OPS, REST_TURNS = 8_000, 4_000, 8


@dataclasses.dataclass
class Options:
    first: int = ForwardTurns.FIRST
    block: int = ForwardTurns.BLOCK
    every: int = ForwardTurns.EVERY
    ops_first: int = FIRST_OPS
    ops_turn: int = TURN_OPS


class Turns(ForwardTurns):
    def __init__(self, first, block, every):
        super().__init__()
        self.FIRST, self.BLOCK, self.EVERY = first, block, every


def is_op(record, name):
    """As src/model/labels/torch_label.cc has it; labels of record_function are recorded in every step."""
    if not record[11] & 1:
        return False
    name = name.split(", sizes = ")[0]
    return record[10] != 0 or name.startswith("autograd::") or name in ("record_param_comms", "detach", "detach_") or "::" in name and " " not in name


def chunk_of(kind, payload, records, record_bytes, sequence, stream):
    head = HEADER.pack(MAGIC, 1, kind, len(payload), records, record_bytes, 0, sequence, stream, crc32c(payload), 0)[:36]
    return head + struct.pack("<I", crc32c(head)) + payload + bytes(-len(payload) % 8)


def chunks_of(data):
    at = 0
    while at + HEADER.size <= len(data):
        fields = HEADER.unpack_from(data, at)
        payload = data[at + 40:at + 40 + fields[3]]
        yield fields, payload
        at += 40 + (fields[3] + 7) // 8 * 8


class Thinner:
    def __init__(self, data, turns, ops_first, ops_turn):
        self.chunks = list(chunks_of(data))
        self.strings, self.ranges = {0: ""}, []
        for fields, payload in self.chunks:
            if fields[2] == STRING:
                at = 0
                while at + 8 <= len(payload):
                    number, size = struct.unpack_from("<II", payload, at)
                    self.strings[number] = payload[at + 8:at + 8 + size].decode(errors="replace")
                    at += 8 + (size + 7) // 8 * 8
            if fields[2] == RANGE:
                self.ranges += [RANGES.unpack_from(payload, i * fields[5]) for i in range(fields[4])]
        self.turns, self.ops_first, self.ops_turn = turns, ops_first, ops_turn

    def name(self, record):
        return self.strings.get(record[7], "")

    def forwards(self):
        """[(when, kind)] of the modules called from outside any other; the pushes of those inside others."""
        found, inner, stacks, module_depth, stage = [], set(), {}, {}, {}
        for i, r in enumerate(self.ranges):
            key = r[3], r[4]
            stack = stacks.setdefault(key, [])
            if r[9] == PUSH:
                name = self.name(r)
                is_module = name.startswith(MODULE) and not r[11] & 1
                if name.startswith(STAGE) and not module_depth.get(r[3]):
                    stage[r[3]] = (r[0], name)
                if is_module and module_depth.get(r[3], 0) > 0:
                    inner.add(i)
                elif is_module:
                    began, label = stage.pop(r[3], (r[0], ""))
                    found.append((began - 1, (name, label)))
                module_depth[r[3]] = module_depth.get(r[3], 0) + is_module
                stack.append((i, is_module))
            elif r[9] == POP and stack:
                module_depth[r[3]] -= stack.pop()[1]
        return sorted(found), inner

    def switches(self, forwards):
        """[(when, observed)], and the first one is not needed where it says that operators are observed."""
        out, on = [], True
        if forwards:
            for when, kind in forwards:
                if self.turns.choose(kind) != on:
                    on = not on
                    out.append((when, on))
            return out
        times = sorted(r[0] for r in self.ranges if r[9] == PUSH and r[11] & 1)
        at, left = 0, self.ops_first
        while at + left < len(times):
            began, ended = times[at], times[at + left]
            resumes = ended + REST_TURNS * (ended - began)
            out += [(ended, False), (resumes, True)]
            while at < len(times) and times[at] < resumes:
                at += 1
            left = self.ops_turn
        return out

    def thinned(self):
        forwards, inner = self.forwards()
        switches = self.switches(forwards)
        if not switches:
            return b"".join(chunk_of(f[2], p, f[4], f[5], f[7], f[8]) for f, p in self.chunks), []

        times = [when for when, _ in switches]

        def observed(time):
            at = bisect.bisect_right(times, time)
            return at == 0 or switches[at - 1][1]

        dropped, stacks = set(), {}
        for i, r in enumerate(self.ranges):
            stack = stacks.setdefault((r[3], r[4]), [])
            if r[9] == PUSH:
                stack.append(i)
                if (is_op(r, self.name(r)) or i in inner) and not observed(r[0]):
                    dropped.add(i)
            elif r[9] == POP and stack and stack.pop() in dropped:
                dropped.add(i)
        out, at, sequence = [], 0, {}

        def put(kind, payload, count, size, stream):
            out.append(chunk_of(kind, payload, count, size, sequence.get(stream, 0), stream))
            sequence[stream] = sequence.get(stream, 0) + 1

        marks = b"".join(struct.pack("<qII", when, on, on) for when, on in switches)
        written = False
        for fields, payload in self.chunks:
            kind, count, size, stream = fields[2], fields[4], fields[5], fields[8]
            if kind == RANGE:
                kept = [payload[i * size:(i + 1) * size] for i in range(count) if at + i not in dropped]
                at += count
                payload, count = b"".join(kept), len(kept)
                if not kept:
                    continue
            if kind == END and not written:
                put(OBSERVED, marks, len(switches), 16, stream)
                written = True
            put(kind, payload, count, size, stream)
        if not written:  # it was killed
            put(OBSERVED, marks, len(switches), 16, stream)
        return b"".join(out), switches


def thin_file(source, target, options):
    data = source.read_bytes()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    turns = Turns(options.first, options.block, options.every)
    thinner = Thinner(data, turns, options.ops_first, options.ops_turn)
    out, switches = thinner.thinned()
    target.write_bytes(out)
    return len(data), len(out), len(switches)


def thin(source, target, options):
    """Of a folder, its packed form, or one file."""
    source, target = pathlib.Path(source), pathlib.Path(target)
    if source.name.endswith(".tar.xz"):
        with tempfile.TemporaryDirectory() as folder:
            with tarfile.open(source) as archive:
                archive.extractall(folder)
            return thin(next(pathlib.Path(folder).glob("*.nlcap")), target, options)
    if not source.is_dir():
        return [thin_file(source, target, options)]
    target.mkdir(parents=True, exist_ok=True)
    return [thin_file(file, target / file.name, options) for file in sorted(source.glob("*.nlc"))]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--first", type=int, default=Options.first, help="forwards of each kind that are observed at the beginning")
    parser.add_argument("--block", type=int, default=Options.block, help="forwards that are observed one after the other")
    parser.add_argument("--every", type=int, default=Options.every, help="out of so many")
    parser.add_argument("--ops-first", type=int, default=Options.ops_first, help="operators of the first turn of a program without forwards")
    parser.add_argument("--ops-turn", type=int, default=Options.ops_turn, help="operators of a later one")
    given = vars(parser.parse_args())
    source, target = given.pop("source"), given.pop("target")
    for before, after, switches in thin(source, target, Options(**given)):
        print(f"{before} bytes -> {after}, {switches} switches")


if __name__ == "__main__":
    main()

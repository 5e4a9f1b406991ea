# SPDX-License-Identifier: Apache-2.0
"""A reader of .nlc capture files of its own, from docs/formats/nlcap.md: for tests, and small."""
import struct
from pathlib import Path

MAGIC = 0xC14E4C43
FILE, STRING, FACT, PROCESS, THREAD, RANGE, FRAME, STACK, SAMPLE, LOSS, COST, MESSAGE, WINDOW, END = (
    1, 2, 3, 4, 5, 17, 18, 19, 20, 22, 23, 24, 25, 27)
RUNNING, SLEEPING = 1, 2
GIL_NOT_PYTHON, GIL_HOLDS, GIL_WAITS, GIL_RELEASED = 1, 2, 3, 4


def chunks(data):
    """(kind, record size, payload) of every whole chunk, up to the first that is not."""
    at = 0
    while at + 40 <= len(data):
        magic, _, kind, size, _, record, _, _, _, _, _ = struct.unpack_from("<IHHIIHHIQII", data, at)
        if magic != MAGIC or at + 40 + size > len(data):
            return
        yield kind, record, data[at + 40:at + 40 + size]
        at += 40 + (size + 7) // 8 * 8


class Capture:
    """The launcher's file of a capture folder."""

    def __init__(self, folder):
        self.strings, self.facts, self.frames, self.stacks = {}, {}, {}, {}
        self.processes, self.threads, self.samples, self.messages, self.windows, self.ranges = [], [], [], [], [], []
        self.losses = {}
        self.whole = False
        for path in sorted(Path(folder).glob("*.nlc"), key=lambda p: p.name != "launcher.nlc"):
            self._file(path.read_bytes(), path.name == "launcher.nlc")

    def _file(self, data, launcher):
        strings = {}
        for kind, size, payload in chunks(data):
            records = [payload[i:i + size] for i in range(0, len(payload), size)] if size else []
            if kind == STRING:
                at = 0
                while at + 8 <= len(payload):
                    number, length = struct.unpack_from("<II", payload, at)
                    strings[number] = payload[at + 8:at + 8 + length].decode(errors="replace")
                    at += 8 + (length + 7) // 8 * 8
            elif kind == RANGE:
                for r in records:
                    time, _, _, tid, domain, _, _, name, _, what = struct.unpack_from("<qQQIIIIIIB", r)
                    self.ranges.append({"time": time, "tid": tid, "domain": strings.get(domain, ""), "name": strings.get(name, ""), "what": what})
            elif launcher:
                self._launcher(kind, records, payload, strings)
        if launcher:
            self.strings = strings

    def _launcher(self, kind, records, payload, strings):
        if kind == FACT:
            at = 0
            while at + 8 <= len(payload):
                k, v = struct.unpack_from("<II", payload, at)
                self.facts[payload[at + 8:at + 8 + k].decode()] = payload[at + 8 + k:at + 8 + k + v].decode(errors="replace")
                at += (8 + k + v + 7) // 8 * 8
        elif kind == PROCESS:
            for r in records:
                pid, ppid, start, end, status, sig, exe, args, flags, _ = struct.unpack_from("<IIqqiiIIII", r)
                self.processes.append({"pid": pid, "ppid": ppid, "start": start, "end": end, "status": status, "signal": sig,
                                       "executable": strings.get(exe, ""), "arguments": strings.get(args, ""), "flags": flags})
        elif kind == THREAD:
            for r in records:
                pid, tid, name = struct.unpack_from("<III", r)
                self.threads.append({"pid": pid, "tid": tid, "name": strings.get(name, "")})
        elif kind == FRAME:
            for r in records:
                address, number, what, name, file, module, line = struct.unpack_from("<QIIIIII", r)
                self.frames[number] = {"kind": what, "name": strings.get(name, ""), "file": strings.get(file, ""),
                                       "module": strings.get(module, ""), "line": line, "address": address}
        elif kind == STACK:
            at = 0
            while at + 8 <= len(payload):
                number, count = struct.unpack_from("<II", payload, at)
                self.stacks[number] = struct.unpack_from(f"<{count}I", payload, at + 8)
                at += 8 + (4 * count + 7) // 8 * 8
        elif kind == SAMPLE:
            for r in records:
                time, weight, pid, tid, stack, state, gil, cpu = struct.unpack_from("<qqIIIBBH", r)
                self.samples.append({"time": time, "weight": weight, "pid": pid, "tid": tid, "stack": stack, "state": state, "gil": gil, "cpu": cpu})
        elif kind == LOSS:
            for r in records:
                what, _, _, count = struct.unpack_from("<IHHQ", r)
                self.losses[what] = self.losses.get(what, 0) + count
        elif kind == MESSAGE:
            self.messages += [strings.get(struct.unpack_from("<qII", r)[2], "") for r in records]
        elif kind == WINDOW:
            self.windows += [struct.unpack_from("<qII", r) for r in records]
        elif kind == END:
            self.whole = True

    def names(self, sample):
        """Names of a sample's frames, outermost first."""
        return [self.frames[f]["name"] for f in self.stacks.get(sample["stack"], ())]

    def root(self):
        """The last word on the program itself."""
        return [p for p in self.processes if p["flags"] & 1][-1]

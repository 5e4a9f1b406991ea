#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes an XSpace of the shape JAX 0.11 writes: streams of kernels, copies and fills with all their stats, and host threads with
their launches, Python calls and annotations.

    bench/make_xspace.py --bytes 120000000 big.xplane.pb
"""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests"))
from protobuf_text import message, number, varint  # noqa: E402 pylint: disable=wrong-import-position
from xspace import Names, stat  # noqa: E402 pylint: disable=wrong-import-position

KERNELS = 400   # distinct
BATCH = 100_000  # events of one line


def kernel(i, names):
    """Stats of one distinct kernel behind its correlation id."""
    grid = f"{1 + i * 7 % 4096},{1 + i % 3},1"
    values = {"scope_range_id": 281474976710658 + i // 50, "context_id": "$$1", "theoretical_occupancy_pct": 18.75 + i % 4, "occupancy_min_grid_size": 132,
              "occupancy_suggested_block_size": 384,
              "kernel_details": {"ref": f"regs:{32 + i % 200} static_shared:0 dynamic_shared:{i % 9 * 4096} grid:{grid} block:128,1,1 occ_pct:18.75"},
              "tf_op": {"ref": "XlaModule:"}, "hlo_op": {"ref": f"loop_add_fusion.{i // 2}"}, "hlo_module": {"ref": f"jit_step_{i // 100}"}, "program_id": 2654}
    return b"".join(message(4, stat(k, v, names)) for k, v in values.items())


def stream(line_id, first, count, events, names, correlation):
    parts = [number(1, line_id), message(2, f"Stream #{line_id}(Compute)".encode()), number(3, 26095992)]
    tails = [kernel(i, names) for i in range(KERNELS)]
    copy = b"".join(message(4, stat(k, v, names)) for k, v in {
        "memcpy_details": {"ref": "kind_src:pageable kind_dst:device size:4096 dest:0 async:1"}, "context_id": "$$1"}.items())
    key = number(1, names["correlation_id"])
    for i in range(count):
        n = first + i
        kind = n % KERNELS
        name, tail = (events["MemcpyH2D"], copy) if kind == 7 else (events[f"void nvjet_sm90_kernel_{kind}<float, {kind % 5}>(float*)"], tails[kind])
        body = (b"\x08" + varint(name) + b"\x10" + varint(n * 5_000_000) + b"\x18" + varint((900 + n * 37 % 3000) * 1000) +
                message(4, key + b"\x18" + varint(correlation + i)) + tail)
        parts.append(message(4, body))
    return b"".join(parts)


def thread(line_id, first, count, events, names, correlation):
    parts = [number(1, line_id), message(2, b"python3"), number(3, 26095992)]
    key = number(1, names["correlation_id"])
    source = message(4, stat("_src", {"ref": "external/xla+/xla/pjrt/c_api_client/pjrt_c_api_client.cc"}, names))
    for i in range(count):
        n = first + i
        kind = n % 4
        name = ("cuLaunchKernelEx", "PjRtCApiLoadedExecutable::Execute", "$api.py:307 step", "PjitFunction(step)")[kind]
        tail = message(4, key + b"\x18" + varint(correlation + i)) if kind == 0 else source if kind == 1 else b""
        parts.append(message(4, b"\x08" + varint(events[name]) + b"\x10" + varint(n * 5_000_000) + b"\x18" + varint(1_200_000) + tail))
    return b"".join(parts)


def metadata(events, names):
    out = [message(4, number(1, i) + message(2, number(1, i) + message(2, text.encode()))) for text, i in events.ids.items()]
    out += [message(5, number(1, i) + message(2, number(1, i) + message(2, text.encode()))) for text, i in names.ids.items()]
    return b"".join(out)


def plane(name, make, size, first_line):
    events, names, lines, total = Names(), Names(), [], 0
    while total < size:
        n = len(lines)
        lines.append(message(3, make(first_line + n, n * BATCH, BATCH, events, names, 1 + n * BATCH)))
        total += len(lines[-1])
    return message(1, message(2, name) + b"".join(lines) + metadata(events, names))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bytes", type=int, default=120_000_000)
    parser.add_argument("out")
    options = parser.parse_args()
    with open(options.out, "wb") as out:
        out.write(plane(b"/device:GPU:0", stream, options.bytes * 3 // 4, 14))
        out.write(plane(b"/host:CPU", thread, options.bytes // 4, 1000))
        out.write(message(4, b"vm"))


if __name__ == "__main__":
    main()

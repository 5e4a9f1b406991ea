#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Small models for tests, written on the fly; none is committed.

  make_models.py onnx-mlp FILE      x [batch, 64] float: MatMul, Add, Relu, MatMul
  make_models.py onnx-tokens FILE   input_ids and attention_mask [batch, sequence] int64: Gather, Mul, ReduceMean
  make_models.py torchscript FILE   Linear, ReLU, Linear (needs torch)

ONNX files are protobuf, written field by field from the public field numbers of onnx.proto.
"""
import struct
import sys

FLOAT, INT64 = 1, 7


def varint(value):
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def bytes_of(field, value):
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def tensor(name, dims, values):
    packed = struct.pack(f"<{len(values)}f", *values)
    return b"".join(number(1, d) for d in dims) + number(2, FLOAT) + bytes_of(8, name) + bytes_of(9, packed)


def value_info(name, kind, dims):
    shape = b"".join(bytes_of(1, number(1, d) if isinstance(d, int) else bytes_of(2, d) if d else b"") for d in dims)
    return bytes_of(1, name) + bytes_of(2, bytes_of(1, number(1, kind) + bytes_of(2, shape)))


def integers(name, values):
    return bytes_of(1, name) + b"".join(number(8, v) for v in values) + number(20, 7)


def integer(name, value):
    return bytes_of(1, name) + number(3, value) + number(20, 2)


def node(kind, inputs, outputs, attributes=()):
    return b"".join(bytes_of(1, i) for i in inputs) + b"".join(bytes_of(2, o) for o in outputs) + bytes_of(3, f"{kind}_{outputs[0]}") + \
        bytes_of(4, kind) + b"".join(bytes_of(5, a) for a in attributes)


def model(nodes, inputs, outputs, tensors):
    graph = b"".join(bytes_of(1, n) for n in nodes) + bytes_of(2, "g") + b"".join(bytes_of(5, t) for t in tensors) + \
        b"".join(bytes_of(11, i) for i in inputs) + b"".join(bytes_of(12, o) for o in outputs)
    return number(1, 8) + bytes_of(2, "neurolens tests") + bytes_of(7, graph) + bytes_of(8, bytes_of(1, "") + number(2, 13))


def onnx_mlp():
    weights = [((i * 37) % 101 - 50) / 500 for i in range(64 * 128)]
    return model([node("MatMul", ["x", "w1"], ["a"]), node("Add", ["a", "b1"], ["b"]), node("Relu", ["b"], ["c"]), node("MatMul", ["c", "w2"], ["y"])],
                 [value_info("x", FLOAT, ["batch", 64]), value_info("b1", FLOAT, [128])], [value_info("y", FLOAT, ["batch", 64])],
                 [tensor("w1", [64, 128], weights), tensor("b1", [128], weights[:128]), tensor("w2", [128, 64], weights)])


def onnx_tokens():
    table = [((i * 13) % 97) / 97 for i in range(100 * 16)]
    return model([node("Gather", ["table", "input_ids"], ["e"]), node("Cast", ["attention_mask"], ["m"], [integer("to", FLOAT)]),
                  node("ReduceMean", ["e"], ["r"], [integers("axes", [2]), integer("keepdims", 0)]), node("Mul", ["r", "m"], ["y"])],
                 [value_info("input_ids", INT64, ["batch_size", "sequence_length"]), value_info("attention_mask", INT64, ["batch_size", "sequence_length"])],
                 [value_info("y", FLOAT, ["batch_size", "sequence_length"])], [tensor("table", [100, 16], table)])


def torchscript(path):
    import torch
    net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
    torch.jit.script(net).save(path)


def main():
    kind, path = sys.argv[1:]
    if kind == "torchscript":
        torchscript(path)
        return
    with open(path, "wb") as to:
        to.write({"onnx-mlp": onnx_mlp, "onnx-tokens": onnx_tokens}[kind]())


main()

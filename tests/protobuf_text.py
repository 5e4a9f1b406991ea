# SPDX-License-Identifier: Apache-2.0
"""The wire format of protobuf, written: by field, and whole messages from JSON, for cases. There a message is a list of [field, value].

A value is a number (varint), a text (bytes), a list (a message), or an object: {"double": 0.5}, {"fixed64": 7}, {"hex": "ff00"},
{"zlib": message}: the message packed.
"""
import struct
import zlib


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def message(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def encode(description):
    out = b""
    for field, value in description:
        if isinstance(value, (bool, int)):
            out += number(field, int(value))
        elif isinstance(value, dict) and "double" in value:
            out += varint(field << 3 | 1) + struct.pack("<d", value["double"])
        elif isinstance(value, dict) and "fixed64" in value:
            out += varint(field << 3 | 1) + struct.pack("<Q", value["fixed64"])
        else:
            out += message(field, payload(value))
    return out


def payload(value):
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict):
        return bytes.fromhex(value["hex"]) if "hex" in value else zlib.compress(encode(value["zlib"]))
    return encode(value)
